//! `cargo xtask bench`: what iotrace costs, measured on this machine.
//!
//! Must not judge figures of different runs against each other: machines and
//! their load differ, so verdicts are ratios within one run.

mod disk;
mod fio;
mod interrupt;
mod machine;
mod md;
mod md_part;
mod memory;
mod observer;
mod overhead;
mod programs;
mod run_time;
mod stats_switch;
mod table;
mod throughput;

use anyhow::Result;

/// Measures what iotrace costs.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    subject: Subject,
}

#[derive(Debug, clap::Subcommand)]
enum Subject {
    Overhead(overhead::Args),
    Md(md::Args),
    #[command(hide = true)]
    MdPart(md_part::Args),
}

pub fn run(args: &Args) -> Result<()> {
    match &args.subject {
        Subject::Overhead(args) => overhead::run(args),
        Subject::Md(args) => md::run(args),
        Subject::MdPart(args) => md_part::run(args),
    }
}
