//! From a command line to an exit status.
//!
//! Must not do what a command does.

use std::{
    io::{self, IsTerminal as _},
    process::ExitCode,
};

use anyhow::Context as _;

use super::{
    is_closed_pipe,
    live::{self, Format, LiveOptions},
    open,
    probe::{self, ProbeOptions},
    schema,
};
use crate::{
    cli::{Cli, Command, LiveArgs, ProbeArgs},
    facts::KernelRoot,
    plan::Request,
};

/// Runs what was typed. A failure is told on standard error, the reason and
/// the remedy in one line.
#[must_use]
pub fn run(cli: Cli) -> ExitCode {
    let done = match cli.command {
        None => watch(cli.live),
        Some(Command::Probe(args)) => probe(&args),
        Some(Command::Schema) => schema::run(&mut io::stdout().lock()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("iotrace: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn watch(args: LiveArgs) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the event loop")?;
    // Within the runtime: a source may have descriptors to watch.
    let _guard = runtime.enter();
    let opened = open::open(&args)?;
    let on_screen =
        args.format == Format::Tui || args.format == Format::Auto && io::stdout().is_terminal();
    if args.events.is_none() && !on_screen {
        // Whoever starts a workload next can wait for this line.
        eprintln!("iotrace: counting ({})", opened.source.describe());
    }
    let options = LiveOptions {
        interval: args.interval,
        count: args.count,
        duration: args.duration,
        format: args.format,
        by: args.by,
        devices: opened.devices,
    };
    runtime.block_on(live::run(opened.source, options))
}

fn probe(args: &ProbeArgs) -> anyhow::Result<()> {
    let request = Request {
        attach: args.attach.map(Into::into),
        ..Request::default()
    };
    let options = ProbeOptions {
        root: KernelRoot::default(),
        request,
        format: args.format,
    };
    probe::run(&options, &mut io::stdout().lock())
}
