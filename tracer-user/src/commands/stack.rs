//! `iotrace stack`: how the storage is built.
//!
//! Must not judge it.

use std::{fs::File, io::Write, path::Path};

use anyhow::Context as _;

use super::{TO_STDOUT, machine::OpenedStack, shown, tell};
use crate::{
    cli::{PrintFormat, StackArgs},
    privileges,
    report::{stack, stack_json},
    stack::{capture, tree::Tree},
};

/// Looks once, and prints or writes what was seen.
///
/// # Errors
/// For a device that is not there, a capture that is none, or where the
/// output cannot be written.
pub fn run(args: &StackArgs, out: &mut impl Write) -> anyhow::Result<()> {
    if let Err(error) = privileges::keep_needed() {
        tell(&error.to_string());
    }
    let opened = OpenedStack::open(&args.source)?;
    if let Some(file) = &args.capture {
        return write_capture(&opened, file, args.with_serials);
    }
    let tree = Tree::new(&opened.stack, &opened.selection);
    match args.format {
        PrintFormat::Plain => shown(out, |text| stack::print(&opened.stack, &tree, text)),
        PrintFormat::Json => stack_json::print(&opened.stack, &tree, out),
    }
    .context(TO_STDOUT)
}

fn write_capture(opened: &OpenedStack, path: &Path, with_serials: bool) -> anyhow::Result<()> {
    let done = {
        let _raised = privileges::raise_for_named_files();
        let file = File::create(path);
        let sys = opened.place.sys();
        file.and_then(|file| capture::write(file, &opened.stack, &sys, with_serials))
    };
    let done = done.with_context(|| format!("cannot write {}", path.display()))?;
    let serials = if with_serials { "with" } else { "without" };
    tell(&format!(
        "wrote {}: {} devices, {} of them looked into, {serials} serial numbers and uuids",
        path.display(),
        done.devices,
        done.looked_into
    ));
    for missing in &opened.stack.missing {
        tell(&format!("not in it: {missing}"));
    }
    Ok(())
}
