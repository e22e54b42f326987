//! Writes the manual pages and the completions of bash, zsh and fish into a
//! folder: `cargo run --example manual -- FOLDER`. Packages have them; the
//! program itself needs none.

use anyhow::Context as _;
use clap::CommandFactory as _;
use clap_complete::Shell;
use iotrace::cli::Cli;

fn main() -> anyhow::Result<()> {
    let folder = std::env::args_os().nth(1).context("usage: manual FOLDER")?;
    clap_mangen::generate_to(Cli::command(), &folder)?;
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        clap_complete::generate_to(shell, &mut Cli::command(), "iotrace", &folder)?;
    }
    Ok(())
}
