//! Prints the facts of the kernel below a directory (`/` without one) as a
//! test fixture: `kernel_facts [ROOT] > tests/fixtures/kernels/NAME.json`.

use std::io::Write;

use iotrace::facts::{KernelFacts, KernelRoot};

fn main() -> anyhow::Result<()> {
    let root = std::env::args_os().nth(1);
    let root = root.map_or_else(KernelRoot::default, KernelRoot::new);
    let facts = KernelFacts::read(&root);
    let mut out = std::io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, &facts)?;
    Ok(writeln!(out)?)
}
