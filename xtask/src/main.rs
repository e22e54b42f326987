//! Everything a developer or CI types: `cargo xtask COMMAND`.

#![expect(unreachable_pub, reason = "a program: nothing is exported")]

mod build;
mod cargo;
mod debian;
mod process;
mod run;
mod test;
mod toolchain;
mod workspace;

use std::process::ExitCode;

use clap::Parser as _;

/// Builds, runs and tests iotrace, and fetches what that takes.
#[derive(Debug, clap::Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Command {
    Run(run::Args),
    Build(build::Args),
    Test(test::Args),
}

fn main() -> ExitCode {
    let done = match Command::parse() {
        Command::Run(args) => run::run(&args),
        Command::Build(args) => build::run(&args),
        Command::Test(args) => test::run(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
