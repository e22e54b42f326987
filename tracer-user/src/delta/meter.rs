//! Keeps the readings that intervals lie between.
//!
//! Must not take a reading itself and must not know the clock.

use std::{collections::BTreeMap, time::Duration};

use super::{Interval, Known, Scope, between};
use crate::{
    snapshot::{Row, Snapshot},
    sysfs::device::Topology,
    units::DevId,
};

/// Makes intervals, and the summary of all of them, from one reading after
/// another.
#[derive(Debug)]
pub struct Meter {
    first: Snapshot,
    /// The highest reading of each counter so far. A requeued request is
    /// taken back when it was counted an interval ago, and counted again when
    /// it is issued again: measured from the highest reading, that is once.
    highest: Snapshot,
    last: Snapshot,
    known: Known,
    asked: Vec<DevId>,
    by_process: bool,
}

impl Meter {
    /// Counts from `first` on: the devices `asked` for, with all below and on
    /// top of them, or every device if there are none.
    #[must_use]
    pub fn new(first: Snapshot, asked: Vec<DevId>, by_process: bool) -> Self {
        Self {
            highest: first.clone(),
            last: first.clone(),
            first,
            known: Known::default(),
            asked,
            by_process,
        }
    }

    /// Follows the devices.
    pub fn devices(&mut self, topology: &Topology) {
        self.known.update(topology);
    }

    /// Shows these from now on, which may have got other numbers.
    pub fn ask_for(&mut self, devices: Vec<DevId>) {
        self.asked = devices;
    }

    /// What happened since the last reading.
    pub fn interval(&mut self, mut reading: Snapshot) -> Interval {
        let interval = between(&self.highest, &reading, &self.scope(false));
        raise(&mut self.highest, &reading);
        keep_fullest(&mut reading, &self.last);
        self.last = reading;
        interval
    }

    /// What happened from the first reading to the last.
    #[must_use]
    pub fn summary(&self) -> Interval {
        between(&self.first, &self.last, &self.scope(true))
    }

    fn scope(&self, summary: bool) -> Scope<'_> {
        Scope {
            known: &self.known,
            asked: &self.asked,
            by_process: self.by_process,
            summary,
        }
    }
}

/// Lifts each counter of `highest` to the new reading, where that is higher.
fn raise(highest: &mut Snapshot, reading: &Snapshot) {
    let old = std::mem::replace(highest, reading.clone());
    for (key, row) in &mut highest.rows {
        let Some(old) = old.rows.get(key) else {
            continue;
        };
        raise_row(row, old);
    }
}

/// Lifts each counter of `row` to an older reading, where that is higher.
pub(super) fn raise_row(row: &mut Row, old: &Row) {
    raise_cells(&mut *row.cells, &*old.cells);
    if let (Some(detail), Some(old)) = (&mut row.detail, &old.detail) {
        raise_cells(&mut **detail, &**old);
    }
}

/// A reading from before the first event.
pub(crate) fn nothing_yet(reading: &Snapshot) -> Snapshot {
    Snapshot {
        time: reading.time,
        elapsed: Duration::ZERO,
        rows: BTreeMap::new(),
        processes: Vec::new(),
        origins: None,
        stripe_caches: reading.stripe_caches.clone(),
        lost: reading.lost.none_yet(),
        unknown: reading.unknown,
    }
}

/// The summary's stripe caches are as full as they were at any reading.
fn keep_fullest(reading: &mut Snapshot, before: &Snapshot) {
    for (array, cache) in &mut reading.stripe_caches {
        let most = before.stripe_caches.get(array);
        let most = most.map_or(0, |before| before.active_rows);
        cache.active_rows = cache.active_rows.max(most);
    }
}

fn raise_cells(cells: &mut [u64], old: &[u64]) {
    for (cell, old) in cells.iter_mut().zip(old) {
        *cell = (*cell).max(*old);
    }
}
