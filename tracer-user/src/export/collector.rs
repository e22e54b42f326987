//! The `prometheus` crate's collector: asks for a reading when it is scraped,
//! and turns it into samples.
//!
//! Must not know what is read, or over what it is asked.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use prometheus::{
    core::{Collector, Desc},
    proto::MetricFamily,
};

use super::{arrays, devices, families::Families, filter::DeviceFilter, myself, reader::Scrape};
use crate::{delta::DeviceTotals, sysfs::device::Kind};

/// Devices whose histograms are told where none was named: some 300 series
/// each.
const MOST_HISTOGRAMS: usize = 64;

/// Reads the counters now. An error is for a person, who has been told.
pub type ReadCounters = Box<dyn Fn() -> Result<Scrape, String> + Send + Sync>;

/// Collects all metrics of devices, arrays and programs.
pub struct Exporter {
    read: ReadCounters,
    filter: DeviceFilter,
    /// Devices were named: all of them have histograms.
    named: bool,
    web_config: Option<Arc<AtomicBool>>,
    desc: Vec<Desc>,
}

impl Exporter {
    #[must_use]
    pub fn new(read: ReadCounters, filter: DeviceFilter, named: bool) -> Self {
        let desc = super::table::ALL.iter().filter_map(|metric| {
            let labels = metric.labels.iter().map(|label| (*label).to_owned());
            Desc::new(
                metric.name.to_owned(),
                metric.help.to_owned(),
                labels.collect(),
                Default::default(),
            )
            .ok()
        });
        Self {
            read,
            filter,
            named,
            web_config: None,
            desc: desc.collect(),
        }
    }

    /// Tells as well whether the file of the web server's settings could be
    /// used when it last changed.
    #[must_use]
    pub fn with_web_config(self, usable: Arc<AtomicBool>) -> Self {
        Self {
            web_config: Some(usable),
            ..self
        }
    }

    fn families(&self) -> Families {
        let begin = Instant::now();
        let mut families = Families::default();
        match (self.read)() {
            Ok(scrape) => {
                self.add(&mut families, &scrape);
                myself::add(&mut families, Some(&scrape), scrape.took);
            }
            Err(_told) => myself::add(&mut families, None, begin.elapsed()),
        }
        if let Some(usable) = &self.web_config {
            myself::add_web_config(&mut families, usable.load(Ordering::Relaxed));
        }
        families
    }

    fn add(&self, families: &mut Families, scrape: &Scrape) {
        let told = |one: &&DeviceTotals| self.filter.tells(&one.figures.name, one.figures.kind);
        let mut with_histograms = 0;
        for totals in scrape.sums.devices.iter().filter(told) {
            let histograms = self.has_histograms(totals, with_histograms);
            with_histograms += usize::from(histograms);
            devices::add(families, totals, histograms);
            arrays::add(families, totals);
        }
        myself::add_histograms(families, with_histograms);
    }

    /// A disk's histograms hold those of its partitions.
    fn has_histograms(&self, totals: &DeviceTotals, so_far: usize) -> bool {
        let figures = &totals.figures;
        figures.histograms.is_some()
            && (self.named || figures.kind != Some(Kind::Partition) && so_far < MOST_HISTOGRAMS)
    }
}

impl Collector for Exporter {
    fn desc(&self) -> Vec<&Desc> {
        self.desc.iter().collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        self.families().into_proto()
    }
}
