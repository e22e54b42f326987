//! `iotrace schema`: the JSON Schema of what `--format json` prints.
//!
//! Must not hold a schema of its own: it is made from the types printed.

use std::io::Write;

use crate::report::json;

/// Prints the schema of one line.
///
/// # Errors
/// When `out` cannot be written.
pub fn run(out: &mut impl Write) -> anyhow::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &json::schema())?;
    out.write_all(b"\n")?;
    Ok(())
}
