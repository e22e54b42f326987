//! Chooses the output of the live view, and hands figures to it.
//!
//! Must not read a source, and must not compute.

use std::{
    env,
    future::pending,
    io::{self, IsTerminal as _, Write},
};

use anyhow::ensure;

use super::{By, Format, LiveOptions};
use crate::{
    delta::Interval,
    report::{
        Report,
        json::JsonReport,
        plain::PlainReport,
        tui::{
            Tui,
            app::{Action, Mode},
        },
    },
    source::Source,
};

/// Width of a line where nobody says how wide it may be.
const PLAIN_WIDTH: usize = 80;

/// Where figures go.
pub(super) struct View<'a> {
    /// Takes the intervals, where there is a screen; the summary is printed
    /// below, when the screen is gone.
    screen: Option<Tui>,
    report: Box<dyn Report + 'a>,
}

impl<'a> View<'a> {
    /// On standard output, as asked for.
    pub(super) fn on_stdout(source: &dyn Source, options: &LiveOptions) -> anyhow::Result<Self> {
        let stdout = io::stdout();
        let terminal = stdout.is_terminal();
        ensure!(
            terminal || options.format != Format::Tui,
            "--format tui needs a terminal on standard output; plain or json can be piped"
        );
        let attach = source.describe();
        // A source that has ended has nothing to watch.
        let screen = match options.format {
            Format::Tui => true,
            Format::Auto => terminal && !source.finished(),
            Format::Plain | Format::Json => false,
        };
        let screen = if screen {
            Some(Tui::open(attach.clone(), mode(options.by), colors())?)
        } else {
            None
        };
        Ok(Self {
            screen,
            report: report(options.format, stdout, attach, plain_width(terminal)),
        })
    }

    /// Into `out`, without a screen.
    #[cfg(test)]
    pub(super) fn into_writer(out: impl Write + 'a, format: Format, attach: String) -> Self {
        Self {
            screen: None,
            report: report(format, out, attach, PLAIN_WIDTH),
        }
    }

    pub(super) fn interval(&mut self, interval: &Interval) -> io::Result<()> {
        match &mut self.screen {
            Some(screen) => screen.interval(interval),
            None => self.report.interval(interval),
        }
    }

    pub(super) fn summary(mut self, summary: &Interval) -> io::Result<()> {
        drop(self.screen.take());
        self.report.summary(summary)
    }

    /// Waits for a key and does what it says; for ever where there are none.
    pub(super) async fn key(&mut self) -> io::Result<Action> {
        match &mut self.screen {
            Some(screen) => screen.next().await,
            None => pending().await,
        }
    }
}

fn report<'a>(
    format: Format,
    out: impl Write + 'a,
    attach: String,
    width: usize,
) -> Box<dyn Report + 'a> {
    match format {
        Format::Json => Box::new(JsonReport::new(out, attach)),
        Format::Auto | Format::Tui | Format::Plain => {
            Box::new(PlainReport::new(out, attach, width))
        }
    }
}

const fn mode(by: By) -> Mode {
    match by {
        By::Device => Mode::Devices,
        By::Process => Mode::Processes,
    }
}

/// <https://no-color.org>: set and not empty means none.
fn colors() -> bool {
    env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

fn plain_width(terminal: bool) -> usize {
    let told = env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    let measured = || {
        let (columns, _) = crossterm::terminal::size().ok()?;
        Some(usize::from(columns))
    };
    let width = told.or_else(|| measured().filter(|_| terminal));
    width.unwrap_or(PLAIN_WIDTH).max(PLAIN_WIDTH)
}
