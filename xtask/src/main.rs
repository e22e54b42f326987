//! Everything a developer or CI types: `cargo xtask COMMAND`.

#![expect(unreachable_pub, reason = "a program: nothing is exported")]

mod bench;
mod build;
mod cargo;
mod debian;
mod demo;
mod dist;
mod process;
mod run;
mod test;
mod toolchain;
mod vm;
mod workspace;

use std::process::ExitCode;

use clap::Parser as _;

/// Builds, runs and tests iotrace, and fetches what that takes.
#[derive(clap::Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Command {
    Run(run::Args),
    Build(build::Args),
    Test(test::Args),
    Vm(vm::Args),
    Bench(bench::Args),
    Demo(demo::Args),
    Dist(dist::Args),
}

fn main() -> ExitCode {
    let done = match Command::parse() {
        Command::Run(args) => run::run(&args).map(|()| ExitCode::SUCCESS),
        Command::Build(args) => build::run(&args).map(|()| ExitCode::SUCCESS),
        Command::Test(args) => test::run(&args).map(|()| ExitCode::SUCCESS),
        Command::Vm(args) => vm::run(args),
        Command::Bench(args) => bench::run(&args).map(|()| ExitCode::SUCCESS),
        Command::Demo(args) => demo::run(&args).map(|()| ExitCode::SUCCESS),
        Command::Dist(args) => dist::run(&args).map(|()| ExitCode::SUCCESS),
    };
    done.unwrap_or_else(|error| {
        eprintln!("xtask: error: {error:#}");
        ExitCode::FAILURE
    })
}
