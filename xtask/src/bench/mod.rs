//! `cargo xtask bench`: what iotrace costs on this machine, and what it measures
//! of others.
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
mod raid10_layouts;
mod raid10_plot;
mod run_time;
mod stats_switch;
mod table;
mod throughput;

use anyhow::Result;

/// Measures what iotrace costs, and with it what raid10's layouts do.
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
    Raid10Layouts(raid10_layouts::Args),
}

pub fn run(args: &Args) -> Result<()> {
    match &args.subject {
        Subject::Overhead(args) => overhead::run(args),
        Subject::Md(args) => md::run(args),
        Subject::MdPart(args) => md_part::run(args),
        Subject::Raid10Layouts(args) => raid10_layouts::run(args),
    }
}
