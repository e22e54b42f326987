//! Everything a developer or CI types: `cargo xtask COMMAND`.

#![expect(unreachable_pub, reason = "a program: nothing is exported")]

mod debian;
mod process;
mod vm;

use std::process::ExitCode;

use clap::Parser;

#[derive(Parser)]
#[command(about)]
enum Command {
    Vm(vm::Args),
}

fn main() -> anyhow::Result<ExitCode> {
    match Command::parse() {
        Command::Vm(args) => vm::run(args),
    }
}
