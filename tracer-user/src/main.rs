//! The `iotrace` binary: hands over to the library and sets the exit code.

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    iotrace::commands::run::run(iotrace::cli::Cli::parse())
}
