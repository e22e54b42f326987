//! `cargo xtask run`: builds iotrace and becomes it.

use std::{ffi::OsString, os::unix::process::CommandExt as _};

use anyhow::{Context as _, Result};

use crate::{
    build::host::{self, Profile},
    process,
};

/// Builds iotrace, with whatever that takes, and runs it as root: live, on
/// all devices, where no arguments are given.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Arguments of iotrace.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// Returns only when iotrace could not be started.
pub fn run(args: &Args) -> Result<()> {
    let program = host::build(Profile::Release)?;
    let mut command = process::as_root(&program)?;
    command.args(&args.arguments);
    process::announce(&command);
    // Replaces this process: signals, the terminal and the exit status are
    // then iotrace's own business.
    let error = command.exec();
    Err(error).with_context(|| format!("starting {}", program.display()))
}
