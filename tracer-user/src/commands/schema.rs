//! `iotrace schema`: the JSON Schema of what `--format json` prints.
//!
//! Must not hold a schema of its own: it is made from the types printed.

use std::io::Write;

use clap::ValueEnum;

use crate::report::{findings, json, stack_json};

/// Whose output is described.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SchemaOf {
    /// A line of the live view.
    Live,
    /// What `iotrace stack` prints.
    Stack,
    /// What `iotrace doctor` prints.
    Doctor,
}

/// Prints a schema.
///
/// # Errors
/// When `out` cannot be written.
pub fn run(of: SchemaOf, out: &mut impl Write) -> anyhow::Result<()> {
    let schema = match of {
        SchemaOf::Live => json::schema(),
        SchemaOf::Stack => stack_json::schema(),
        SchemaOf::Doctor => findings::json::schema(),
    };
    serde_json::to_writer_pretty(&mut *out, &schema)?;
    out.write_all(b"\n")?;
    Ok(())
}
