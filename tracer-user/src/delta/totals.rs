//! Sums since the process began, for those who measure rates themselves: they
//! never fall, over re-plug, re-assembly and another device number under the
//! same name.
//!
//! Must not take a reading itself, and must not know the clock.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use jiff::Timestamp;

use super::{
    Causes, DeviceFigures, Interval, Known, Scope,
    counts::disk_name,
    device,
    meter::{self, nothing_yet},
    restarting::{LostTotals, Restarting},
};
use crate::{
    snapshot::{Lost, OriginCells, OriginKey, Origins, Row, RowKey, Snapshot},
    sysfs::device::{Asked, Device, Topology},
    units::DevId,
};

/// How long a device that is gone is still told, so that its last counts are
/// read by whoever reads now and then.
const TELL_GONE: Duration = Duration::from_secs(600);

/// Makes sums of one reading after another.
#[derive(Debug, Default)]
pub struct Totals {
    known: Known,
    asked: Vec<Asked>,
    /// Their numbers now.
    asked_now: Vec<DevId>,
    /// The highest reading of each counter.
    rows: BTreeMap<RowKey, Row>,
    origins: BTreeMap<OriginKey, Restarting>,
    lost: LostTotals,
    /// The number that a name has now, or had last.
    numbers: BTreeMap<String, DevId>,
    /// Gone since that much of the source's time.
    gone: BTreeMap<String, Duration>,
    arrays: BTreeMap<String, ArrayTotals>,
    /// The sums of the reading before, without histograms.
    before: Option<Snapshot>,
}

/// All that was counted, device by device.
#[derive(Clone, Debug)]
pub struct Sums {
    /// In the order of the device tree; a name comes once.
    pub devices: Vec<DeviceTotals>,
    pub lost: Lost,
    /// Of the reading.
    pub time: Timestamp,
    /// Since the source started.
    pub elapsed: Duration,
}

impl Sums {
    /// The same as the live view's summary.
    #[must_use]
    pub fn into_summary(self) -> Interval {
        Interval {
            time: self.time,
            length: self.elapsed,
            summary: true,
            lost: self.lost,
            devices: self.devices.into_iter().map(|one| one.figures).collect(),
            processes: None,
        }
    }
}

/// One device since the process began. Of its figures, rates and shares are
/// those of the whole time.
#[derive(Clone, Debug)]
pub struct DeviceTotals {
    pub figures: DeviceFigures,
    /// `None` for a device that was gone before anything was known of it.
    pub device: Option<Device>,
    /// Of an array, added up over the readings: what cannot be told from the
    /// counters of the whole time.
    pub array: Option<ArrayTotals>,
}

/// What was found in each interval between two readings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArrayTotals {
    /// Of an array whose components are watched.
    pub causes: Option<Causes>,
    /// Of an array whose components cannot be looked into.
    pub estimated_preread_bytes: Option<u64>,
}

impl Totals {
    /// Of the devices `asked` for, with all below and on top of them, or of
    /// every device if there are none.
    #[must_use]
    pub fn new(asked: Vec<Asked>) -> Self {
        Self {
            asked,
            ..Self::default()
        }
    }

    /// Takes a reading, made while `topology` was there.
    pub fn take(&mut self, reading: Snapshot, topology: &Topology) -> Sums {
        self.known.update_but_arrays(topology);
        for device in topology.devices.values() {
            self.numbers.insert(device.name.clone(), device.id);
        }
        self.asked_now = topology.recall(&self.asked);
        let lost = self.lost.take(reading.lost);
        let mut now = self.raise(reading);
        let figures = device::devices(&nothing_yet(&now), &now, &self.scope(), now.elapsed);
        let (time, elapsed) = (now.time, now.elapsed);
        let devices = self.still_told(figures, topology, elapsed);
        let rows = std::mem::take(&mut now.rows);
        self.add_intervals(now, &rows);
        if self.rows.is_empty() {
            self.rows = rows;
        }
        let devices = self.with_arrays(devices);
        Sums {
            devices,
            lost,
            time,
            elapsed,
        }
    }

    fn scope(&self) -> Scope<'_> {
        Scope {
            known: &self.known,
            asked: &self.asked_now,
            by_process: false,
            summary: true,
        }
    }

    /// The reading with each counter as high as it ever was.
    fn raise(&mut self, reading: Snapshot) -> Snapshot {
        for (key, mut row) in reading.rows {
            if let Some(old) = self.rows.get(&key) {
                meter::raise_row(&mut row, old);
            }
            self.rows.insert(key, row);
        }
        // Lent to the reading where no name has had two numbers: rows may be
        // many megabytes.
        let rows = match merged(&self.rows, &self.numbers) {
            Some(merged) => merged,
            None => std::mem::take(&mut self.rows),
        };
        let origins = self.raise_origins(reading.origins);
        Snapshot {
            rows,
            origins,
            ..reading
        }
    }

    fn raise_origins(&mut self, reading: Option<Origins>) -> Option<Origins> {
        let Some(reading) = reading else {
            // The programs are gone, and will begin at 0.
            self.origins.values_mut().for_each(Restarting::restart);
            return None;
        };
        for (key, cells) in reading.components {
            self.origins.entry(key).or_default().take(cells);
        }
        let mut components: BTreeMap<OriginKey, OriginCells> = BTreeMap::new();
        for (key, cells) in &self.origins {
            let key = OriginKey {
                array: renumbered(&key.array, &self.numbers),
                component: renumbered(&key.component, &self.numbers),
            };
            let sums = components
                .entry(key)
                .or_insert_with(|| Box::new([0; tracer_ebpf::origin::abi::CELLS]));
            for (sum, cell) in sums.iter_mut().zip(cells.sum()) {
                *sum += cell;
            }
        }
        Some(Origins {
            components,
            rows: reading.rows,
        })
    }

    /// Adds what only the figures of an interval tell: the one up to `now`,
    /// whose rows are `rows`.
    fn add_intervals(&mut self, mut now: Snapshot, rows: &BTreeMap<RowKey, Row>) {
        let arrays = self.known.topology().devices.values();
        if !arrays.into_iter().any(|device| device.md.is_some()) {
            return;
        }
        now.rows = without_histograms(rows);
        let before = self.before.take();
        let before = before.unwrap_or_else(|| nothing_yet(&now));
        let length = now.elapsed.saturating_sub(before.elapsed);
        for row in device::devices(&before, &now, &self.scope(), length) {
            let causes = row.raid.as_ref().and_then(|raid| raid.causes);
            let estimated = row.raid_estimate.as_ref().map(|raid| raid.preread_bytes);
            if causes.is_some() || estimated.is_some() {
                let array = self.arrays.entry(row.name).or_default();
                array.add(causes, estimated);
            }
        }
        self.before = Some(now);
    }

    fn with_arrays(&self, mut devices: Vec<DeviceTotals>) -> Vec<DeviceTotals> {
        for one in &mut devices {
            one.array = self.arrays.get(&one.figures.name).copied();
        }
        devices
    }

    /// The devices that are there, and those that have not been gone for long.
    fn still_told(
        &mut self,
        figures: Vec<DeviceFigures>,
        topology: &Topology,
        elapsed: Duration,
    ) -> Vec<DeviceTotals> {
        let there: BTreeSet<&str> = topology
            .devices
            .values()
            .map(|device| device.name.as_str())
            .chain(topology.hidden.iter().map(|hidden| hidden.name.as_str()))
            .collect();
        self.gone.retain(|name, _| !there.contains(name.as_str()));
        let mut told = Vec::with_capacity(figures.len());
        for figures in figures {
            if !there.contains(figures.name.as_str()) {
                let since = *self.gone.entry(figures.name.clone()).or_insert(elapsed);
                if elapsed.saturating_sub(since) > TELL_GONE {
                    continue;
                }
            }
            let known = self.known.topology().devices.get(&figures.id);
            told.push(DeviceTotals {
                device: known.filter(|device| device.name == figures.name).cloned(),
                array: None,
                figures,
            });
        }
        told
    }
}

impl ArrayTotals {
    fn add(&mut self, causes: Option<Causes>, estimated: Option<u64>) {
        if let Some(more) = causes {
            self.causes = Some(self.causes.unwrap_or_default().plus(more));
        }
        if let Some(more) = estimated {
            let sum = self.estimated_preread_bytes.unwrap_or(0);
            self.estimated_preread_bytes = Some(sum.saturating_add(more));
        }
    }
}

/// The key of that name now.
fn renumbered(key: &RowKey, numbers: &BTreeMap<String, DevId>) -> RowKey {
    RowKey {
        device: numbers.get(&key.name).copied().unwrap_or(key.device),
        name: key.name.clone(),
    }
}

/// One row a name, where a device came back under another number; `None`
/// where none did.
fn merged(
    rows: &BTreeMap<RowKey, Row>,
    numbers: &BTreeMap<String, DevId>,
) -> Option<BTreeMap<RowKey, Row>> {
    let current = |key: &RowKey| {
        let number = numbers.get(&key.name);
        number.is_none_or(|number| *number == key.device)
    };
    if rows.keys().all(current) {
        return None;
    }
    let mut sums: BTreeMap<RowKey, Row> = BTreeMap::new();
    for (key, row) in rows {
        let mut row = row.clone();
        if let Some(disk) = &mut row.disk {
            *disk = *numbers.get(disk_name(&key.name)).unwrap_or(disk);
        }
        let key = renumbered(key, numbers);
        match sums.remove(&key) {
            Some(other) => sums.insert(key, add(row, &other)),
            None => sums.insert(key, row),
        };
    }
    Some(sums)
}

fn add(mut row: Row, other: &Row) -> Row {
    for (sum, cell) in row.cells.iter_mut().zip(other.cells.iter()) {
        *sum = sum.saturating_add(*cell);
    }
    row.requeued = row.requeued.zip(other.requeued).map(|(a, b)| a + b);
    match (&mut row.detail, &other.detail) {
        (Some(sums), Some(cells)) => {
            for (sum, cell) in sums.iter_mut().zip(cells.iter()) {
                *sum = sum.saturating_add(*cell);
            }
        }
        (detail @ None, Some(other)) => *detail = Some(other.clone()),
        (_, None) => {}
    }
    row
}

fn without_histograms(rows: &BTreeMap<RowKey, Row>) -> BTreeMap<RowKey, Row> {
    let bare = |row: &Row| Row {
        disk: row.disk,
        cells: row.cells.clone(),
        requeued: row.requeued,
        detail: None,
    };
    let rows = rows.iter().map(|(key, row)| (key.clone(), bare(row)));
    rows.collect()
}

#[cfg(test)]
#[path = "totals_tests.rs"]
mod tests;
