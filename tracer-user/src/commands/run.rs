//! From a command line to an exit status.
//!
//! Must not do what a command does.

use std::{
    io::{self, IsTerminal as _},
    process::ExitCode,
};

use anyhow::{Context as _, bail};

use super::{
    TO_STDOUT, bpf_log, doctor, is_closed_pipe,
    live::{self, By, Format, LiveOptions},
    open::{self, Extras},
    probe::{self, ProbeOptions},
    schema, serve, stack, tell,
};
use crate::{
    cli::{Cli, Command, DoctorArgs, LiveArgs, ProbeArgs},
    facts::KernelRoot,
    plan::Request,
    privileges::{self, Need},
};

/// Runs what was typed. A failure is told on standard error, the reason and
/// the remedy in one line.
#[must_use]
pub fn run(cli: Cli) -> ExitCode {
    let done = match cli.command {
        Some(Command::Doctor(args)) => return look(&args),
        None => watch(&cli.live),
        Some(Command::Serve(args)) => serve::run(args),
        Some(Command::Probe(args)) => probe(&args),
        Some(Command::Stack(args)) => stack::run(&args, &mut io::stdout().lock()),
        Some(Command::Schema(args)) => {
            schema::run(args.of, &mut io::stdout().lock()).context(TO_STDOUT)
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&error),
    }
}

/// What doctor found may be a status of its own.
fn look(args: &DoctorArgs) -> ExitCode {
    /// Something at or above `--fail-on`.
    const FOUND: u8 = 3;
    match doctor::run(args, &mut io::stdout().lock()) {
        Ok(diagnosis) => match (args.fail_on, diagnosis.worst()) {
            (Some(least), Some(worst)) if worst >= least => ExitCode::from(FOUND),
            _ => ExitCode::SUCCESS,
        },
        Err(error) => failed(&error),
    }
}

fn failed(error: &anyhow::Error) -> ExitCode {
    if is_closed_pipe(error) {
        return ExitCode::SUCCESS;
    }
    tell(&format!("{error:#}"));
    ExitCode::FAILURE
}

fn watch(args: &LiveArgs) -> anyhow::Result<()> {
    if let Err(error) = privileges::keep_needed() {
        tell(&error.to_string());
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the event loop")?;
    // Within the runtime: a source may have descriptors to watch.
    let _guard = runtime.enter();
    let extras = Extras {
        by_process: args.by == By::Process,
        bpf_log: args.bpf_log,
    };
    let opened = open::open(&args.source, extras)?;
    let format = format(args)?;
    let on_screen = format == Format::Tui || format == Format::Auto && io::stdout().is_terminal();
    let announce = args.source.events.is_none() && !on_screen;
    let options = LiveOptions {
        interval: args.interval,
        announce,
        count: args.count,
        duration: args.duration,
        format,
        by: args.by,
        devices: opened.devices,
    };
    let view = live::run(opened.source, options);
    match opened.log {
        Some(log) => runtime.block_on(bpf_log::beside(log, view)),
        None => runtime.block_on(view),
    }
}

/// A log on the terminal would run across a screen.
fn format(args: &LiveArgs) -> anyhow::Result<Format> {
    if !args.bpf_log || !io::stderr().is_terminal() {
        return Ok(args.format);
    }
    match args.format {
        Format::Tui => bail!("--bpf-log would run across the screen: add `2>FILE`"),
        Format::Auto => Ok(Format::Plain),
        format => Ok(format),
    }
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
    // A capability given by the file may be permitted only.
    let _raised = privileges::raise(Need::KernelFiles);
    probe::run(&options, &mut io::stdout().lock()).context(TO_STDOUT)
}
