//! Prints what the kernel below a directory (`/` without one) tells of md's
//! insides, as a test fixture. Only of modules that are loaded:
//! `modprobe raid456 raid1 raid10; md_facts > tests/fixtures/kernels/NAME-md.json`.

use std::io::Write;

use iotrace::facts::{KernelRoot, MdFacts};

fn main() -> anyhow::Result<()> {
    let root = std::env::args_os().nth(1);
    let root = root.map_or_else(KernelRoot::default, KernelRoot::new);
    let mut out = std::io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, &MdFacts::read(&root))?;
    Ok(writeln!(out)?)
}
