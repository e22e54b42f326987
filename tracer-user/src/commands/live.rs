//! The live view: reads the source once an interval and shows what happened,
//! until it is told to stop; then sums up.
//!
//! Must not know what a source reads, and must not draw.

mod view;

#[cfg(test)]
mod tests;

use std::{
    future::{Future, pending},
    io,
    os::fd::OwnedFd,
    pin::pin,
    time::Duration,
};

use anyhow::{Context as _, ensure};
use tokio::{
    io::unix::AsyncFd,
    signal::unix::{SignalKind, signal},
    time::{Instant, MissedTickBehavior, interval_at, sleep_until},
};

use self::view::View;
use super::{TO_STDOUT, is_closed_pipe, tell, until_readable};
use crate::{
    delta::{Meter, nothing_yet},
    report::tui::app::Action,
    source::Source,
    units::DevId,
};

/// How figures are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// A screen on a terminal, else plain text.
    #[default]
    Auto,
    Tui,
    Plain,
    Json,
}

/// What the rows are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum By {
    #[default]
    Device,
    /// The processes as well; the source must have been told to keep them.
    Process,
}

/// What the user asked for.
#[derive(Clone, Debug)]
pub struct LiveOptions {
    /// Tell on standard error that counting has begun.
    pub announce: bool,
    pub interval: Duration,
    /// End after so many intervals.
    pub count: Option<u64>,
    /// End after so much time.
    pub duration: Option<Duration>,
    pub format: Format,
    pub by: By,
    /// The devices named, shown with all below and on top of them; every
    /// device if there are none.
    pub devices: Vec<DevId>,
}

/// Shows what `source` counts, on standard output, until the count or the
/// duration is over, the source has ended, the user quits, or SIGINT or
/// SIGTERM comes. The terminal is given back in any case.
///
/// # Errors
/// When the source cannot be read any more, or the output cannot be written;
/// a closed pipe is no error.
pub async fn run(source: Box<dyn Source>, options: LiveOptions) -> anyhow::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot wait for SIGINT")?;
    let mut terminate = signal(SignalKind::terminate()).context("cannot wait for SIGTERM")?;
    let stop = async {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    };
    let view = View::on_stdout(source.as_ref(), &options)?;
    if options.announce {
        // Whoever starts a workload next can wait for this line: from here on
        // a signal ends the run with a summary.
        tell(&format!("counting ({})", source.describe()));
    }
    drive(source, &options, view, stop).await
}

/// [`run`], with the output and the signal injected.
async fn drive(
    source: Box<dyn Source>,
    options: &LiveOptions,
    view: View<'_>,
    stop: impl Future<Output = ()>,
) -> anyhow::Result<()> {
    ensure!(
        !options.interval.is_zero(),
        "the interval must be longer than 0"
    );
    let result = match Session::start(source, options, view) {
        Ok(session) if session.source.finished() => session.finish(true),
        Ok(session) => session.follow(options, stop).await,
        Err(error) => Err(error),
    };
    match result {
        Err(error) if is_closed_pipe(&error) => Ok(()),
        result => result,
    }
}

/// A run in progress.
struct Session<'a> {
    source: Box<dyn Source>,
    meter: Meter,
    view: View<'a>,
}

/// What woke the session up.
enum Wake {
    Tick,
    /// Devices came or went.
    Devices,
    Key(Action),
    Stop,
}

impl<'a> Session<'a> {
    fn start(
        mut source: Box<dyn Source>,
        options: &LiveOptions,
        view: View<'a>,
    ) -> anyhow::Result<Self> {
        source.refresh()?;
        // Counters run from when the programs were attached: what has happened
        // since then is part of the first interval.
        let first = nothing_yet(&source.snapshot()?);
        let by_process = options.by == By::Process;
        let mut meter = Meter::new(first, options.devices.clone(), by_process);
        meter.devices(source.topology());
        Ok(Self {
            source,
            meter,
            view,
        })
    }

    async fn follow(
        mut self,
        options: &LiveOptions,
        stop: impl Future<Output = ()>,
    ) -> anyhow::Result<()> {
        let start = Instant::now();
        let deadline = options.duration.map(|duration| start + duration);
        let mut ticks = interval_at(start + options.interval, options.interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let wake = wake_fd(self.source.as_ref())?;
        let mut stop = pin!(stop);
        let mut left = options.count;
        loop {
            // In this order: the tick that falls on the deadline comes first.
            let woken = tokio::select! {
                biased;
                () = &mut stop => Wake::Stop,
                action = self.view.key() => Wake::Key(action?),
                _ = ticks.tick() => Wake::Tick,
                () = until(deadline) => Wake::Stop,
                result = readable(wake.as_ref()) => { result?; Wake::Devices }
            };
            match woken {
                Wake::Tick => {
                    self.interval()?;
                    left = left.map(|left| left.saturating_sub(1));
                    let over = deadline.is_some_and(|deadline| Instant::now() >= deadline);
                    if over || left == Some(0) || self.source.finished() {
                        return self.finish(false);
                    }
                }
                Wake::Devices => self.refresh()?,
                Wake::Key(Action::Quit) | Wake::Stop => return self.finish(true),
                Wake::Key(Action::Nothing | Action::Redraw) => {}
            }
        }
    }

    fn refresh(&mut self) -> anyhow::Result<()> {
        if self.source.refresh()? {
            self.meter.devices(self.source.topology());
        }
        Ok(())
    }

    /// Shows what happened since the last reading.
    fn interval(&mut self) -> anyhow::Result<()> {
        self.refresh()?;
        let reading = self.source.snapshot()?;
        let interval = self.meter.interval(reading);
        self.view.interval(&interval).context(TO_STDOUT)?;
        Ok(())
    }

    /// Shows the summary, after the interval that was cut short, if one was:
    /// all intervals add up to the summary.
    fn finish(mut self, cut_short: bool) -> anyhow::Result<()> {
        if cut_short && self.source.finished() {
            let reading = self.source.snapshot()?;
            self.meter.interval(reading);
        } else if cut_short {
            self.interval()?;
        }
        self.view
            .summary(&self.meter.summary())
            .context(TO_STDOUT)?;
        Ok(())
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => pending().await,
    }
}

pub(super) fn wake_fd(source: &dyn Source) -> anyhow::Result<Option<AsyncFd<OwnedFd>>> {
    let Some(fd) = source.wake() else {
        return Ok(None);
    };
    until_readable(fd)
        .map(Some)
        .context("cannot wait for new devices")
}

pub(super) async fn readable(fd: Option<&AsyncFd<OwnedFd>>) -> io::Result<()> {
    match fd {
        Some(fd) => {
            fd.readable().await?.clear_ready();
            Ok(())
        }
        None => pending().await,
    }
}
