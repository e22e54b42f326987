//! Reads a source for a scrape: one reading, and the sums up to it.
//!
//! Must not encode anything: whoever owns the source is not kept for that.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use crate::{
    delta::{Growing, Interval, Meter, Sums, Totals, nothing_yet},
    source::{Inside, Source},
    sysfs::device::Asked,
    units::DevId,
};

/// A source, and the sums of all that it has counted.
pub struct Reader {
    source: Box<dyn Source>,
    totals: Totals,
    asked: Vec<Asked>,
    /// Of those who look now and then, from the first time on.
    meter: Option<Meter>,
    /// Runs and nanoseconds of each program, over all copies of it.
    runs: BTreeMap<String, (Growing, Growing)>,
}

/// What happened between two readings.
#[derive(Clone, Debug)]
pub struct Live {
    pub interval: Interval,
    /// How it was counted, as [`Source::describe`] says.
    pub attach: String,
}

/// One reading.
#[derive(Clone, Debug)]
pub struct Scrape {
    pub sums: Sums,
    pub inside: Inside,
    /// How it was counted, as [`Source::describe`] says.
    pub attach: String,
    /// How long the reading took.
    pub took: Duration,
}

impl Reader {
    /// Of the devices `asked` for, with all below and on top of them, or of
    /// every device if there are none.
    #[must_use]
    pub fn new(source: Box<dyn Source>, asked: &[DevId]) -> Self {
        let asked = source.topology().remember(asked);
        Self {
            source,
            totals: Totals::new(asked.clone()),
            asked,
            meter: None,
            runs: BTreeMap::new(),
        }
    }

    /// What is read.
    #[must_use]
    pub fn source(&self) -> &dyn Source {
        self.source.as_ref()
    }

    /// Follows devices that came, went or changed.
    ///
    /// # Errors
    /// As [`Source::refresh`].
    pub fn refresh(&mut self) -> anyhow::Result<()> {
        self.source.refresh().map(|_changed| ())
    }

    /// Reads every counter once.
    ///
    /// # Errors
    /// As [`Source::refresh`] and [`Source::snapshot`].
    pub fn read(&mut self) -> anyhow::Result<Scrape> {
        let begin = Instant::now();
        self.source.refresh()?;
        let snapshot = self.source.snapshot()?;
        let sums = self.totals.take(snapshot, self.source.topology());
        let inside = self.inside();
        Ok(Scrape {
            sums,
            inside,
            attach: self.source.describe(),
            took: begin.elapsed(),
        })
    }

    /// What happened since the last call, the first time since counting
    /// began. The sums are not touched.
    ///
    /// # Errors
    /// As [`Source::refresh`] and [`Source::snapshot`].
    pub fn interval(&mut self) -> anyhow::Result<Live> {
        self.source.refresh()?;
        let snapshot = self.source.snapshot()?;
        let topology = self.source.topology();
        let first = || Meter::new(nothing_yet(&snapshot), Vec::new(), false);
        let meter = self.meter.get_or_insert_with(first);
        meter.devices(topology);
        meter.ask_for(topology.recall(&self.asked));
        Ok(Live {
            interval: meter.interval(snapshot),
            attach: self.source.describe(),
        })
    }

    /// A program that was loaded anew began at 0.
    fn inside(&mut self) -> Inside {
        let mut inside = self.source.inside();
        for program in &mut inside.programs {
            let (count, time) = self.runs.entry(program.name.clone()).or_default();
            // A kernel that keeps none says 0.
            let kept = |value: Option<u64>| value.filter(|&value| value != 0);
            let facts = &mut program.facts;
            facts.run_count = count.take(kept(facts.run_count));
            facts.run_time_ns = time.take(kept(facts.run_time_ns));
        }
        inside
    }
}
