//! Samples about the agent itself.
//!
//! Must not know devices.

use std::time::Duration;

use super::{families::Families, reader::Scrape, table};

const NS_PER_SECOND: f64 = 1e9;

/// `scrape` is `None` where the counters could not be read.
pub(super) fn add(families: &mut Families, scrape: Option<&Scrape>, took: Duration) {
    families.info(&table::BUILD_INFO, &[env!("CARGO_PKG_VERSION")]);
    families.count(&table::SCRAPE_SUCCESS, &[], scrape.is_some().into());
    families.add(&table::SCRAPE_SECONDS, &[], took.as_secs_f64());
    let Some(scrape) = scrape else { return };
    for program in &scrape.inside.programs {
        let name = program.name.as_str();
        let labels = [name, program.event, program.kind.name()];
        families.info(&table::PROGRAM_INFO, &labels);
        if let Some(runs) = program.facts.run_count {
            families.count(&table::PROGRAM_RUNS, &[name], runs);
        }
        if let Some(ns) = program.facts.run_time_ns {
            families.add(&table::PROGRAM_SECONDS, &[name], ns as f64 / NS_PER_SECOND);
        }
    }
    let lost = scrape.sums.lost;
    for (mechanism, events) in [("maps", lost.by_maps), ("recursion", lost.by_recursion)] {
        if let Some(events) = events {
            families.count(&table::LOST, &[mechanism], events);
        }
    }
    for map in &scrape.inside.maps {
        families.count(&table::MAP_USED, &[map.name], map.used);
        families.count(&table::MAP_CAPACITY, &[map.name], map.capacity);
    }
}

pub(super) fn add_histograms(families: &mut Families, devices: usize) {
    families.count(&table::DETAILED, &[], devices as u64);
}

pub(super) fn add_web_config(families: &mut Families, usable: bool) {
    families.count(&table::WEB_CONFIG, &[], usable.into());
}
