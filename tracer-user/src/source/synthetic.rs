//! A source that plays a list of IO (see [`super::event_list`]) against a
//! topology, by the same classifier and into the same cells as the kernel
//! programs.
//!
//! Must not invent what a list cannot hold: no latency, no processes, and
//! nothing of the layers below or above a device.

use std::{
    collections::{BTreeMap, HashMap},
    fs::File,
    io::{self, BufRead, BufReader},
    os::fd::BorrowedFd,
    path::{Path, PathBuf},
    time::Duration,
};

use jiff::Timestamp;
use tracer_ebpf::{
    bins::power_bin,
    cells::{self, CELLS, detail},
    classify::{self, classify},
    op::Op,
};

use super::{
    Inside, Source,
    event_list::{Event, EventError, parse_line},
};
use crate::{
    snapshot::{Lost, Row, RowKey, Snapshot, Unknown},
    sysfs::Topology,
    units::{Bytes, DevId},
};

/// Events out of a file; all of them are counted before the first snapshot.
#[derive(Debug)]
pub struct SyntheticSource {
    topology: Topology,
    counters: BTreeMap<DevId, Counters>,
    events: u64,
}

/// A list that cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum SyntheticError {
    #[error("cannot read {}", path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{}:{line}", path.display())]
    Line {
        path: PathBuf,
        /// From 1.
        line: u64,
        #[source]
        source: PlayError,
    },
}

/// An event that cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum PlayError {
    #[error(transparent)]
    Event(#[from] EventError),
    #[error("no device {0:?} in this sysfs")]
    UnknownDevice(String),
    #[error("[{}, +{}) ends past {device}, which has {} bytes", start.0, len.0, size.0)]
    PastEnd {
        device: String,
        start: Bytes,
        len: Bytes,
        size: Bytes,
    },
}

/// The counters of one device, and what it takes to fill them.
#[derive(Debug)]
struct Counters {
    name: String,
    size: Option<Bytes>,
    /// The whole disk; the device itself if it is one.
    disk: DevId,
    is_partition: bool,
    /// Where the device begins on its disk.
    base: Bytes,
    geometry: classify::Geometry,
    cells: Box<[u64; CELLS]>,
    detail: Box<[u64; detail::CELLS]>,
}

impl SyntheticSource {
    /// Plays the events of the file at `path` on the devices of `topology`.
    ///
    /// # Errors
    /// When the file cannot be read, or at the first line that is no event on
    /// one of these devices.
    pub fn open(topology: Topology, path: &Path) -> Result<Self, SyntheticError> {
        let io_error = |source| SyntheticError::Io {
            path: path.to_owned(),
            source,
        };
        let file = File::open(path).map_err(io_error)?;
        Self::play(topology, BufReader::new(file), path)
    }

    /// As [`Self::open`], from any reader; `path` is named in errors.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn play(
        topology: Topology,
        mut events: impl BufRead,
        path: &Path,
    ) -> Result<Self, SyntheticError> {
        let mut player = Player::new(&topology);
        let mut text = String::new();
        let mut line = 0;
        loop {
            text.clear();
            let read = events.read_line(&mut text);
            if read.map_err(|source| SyntheticError::Io {
                path: path.to_owned(),
                source,
            })? == 0
            {
                break;
            }
            line += 1;
            player.line(&text).map_err(|source| SyntheticError::Line {
                path: path.to_owned(),
                line,
                source,
            })?;
        }
        Ok(Self {
            counters: player.counters,
            events: player.events,
            topology,
        })
    }
}

/// Counts events while they are read.
struct Player {
    counters: BTreeMap<DevId, Counters>,
    by_name: HashMap<String, DevId>,
    /// Where the last read or write on each disk ended; the first one's
    /// distance is from the disk's start, as in the kernel programs.
    last_end: HashMap<DevId, u64>,
    events: u64,
}

impl Player {
    fn new(topology: &Topology) -> Self {
        let by_name = topology
            .devices
            .values()
            .map(|device| (device.name.clone(), device.id));
        let counters = topology
            .devices
            .keys()
            .filter_map(|&id| Some((id, Counters::new(topology, id)?)));
        Self {
            counters: counters.collect(),
            by_name: by_name.collect(),
            last_end: HashMap::new(),
            events: 0,
        }
    }

    fn line(&mut self, text: &str) -> Result<(), PlayError> {
        let Some(event) = parse_line(text)? else {
            return Ok(());
        };
        let counters = self
            .by_name
            .get(event.device)
            .and_then(|id| self.counters.get_mut(id))
            .ok_or_else(|| PlayError::UnknownDevice(event.device.to_owned()))?;
        let start = counters.absolute(&event)?;
        counters.count(event.op, start, event.len.0);
        if side(event.op).is_some() && event.len.0 > 0 {
            let end = self.last_end.entry(counters.disk).or_default();
            counters.count_seek(start.abs_diff(*end));
            *end = start.saturating_add(event.len.0);
        }
        self.events += 1;
        Ok(())
    }
}

impl Counters {
    fn new(topology: &Topology, id: DevId) -> Option<Self> {
        let device = topology.devices.get(&id)?;
        Some(Self {
            name: device.name.clone(),
            size: device.size.map(crate::units::Sectors::bytes),
            disk: topology.whole(id),
            is_partition: device.partition.is_some(),
            base: device.partition.map_or(Bytes(0), |p| p.start.bytes()),
            geometry: topology.classifier(id)?,
            cells: Box::new([0; CELLS]),
            detail: Box::new([0; detail::CELLS]),
        })
    }

    /// The event's position on the whole disk.
    fn absolute(&self, event: &Event<'_>) -> Result<u64, PlayError> {
        // A device of unknown size ends where 64 bits do.
        let size = self.size.unwrap_or(Bytes(u64::MAX));
        let fits = |end: u64| end <= size.0;
        event
            .start
            .0
            .checked_add(event.len.0)
            .filter(|end| fits(*end))
            .and_then(|_| self.base.0.checked_add(event.start.0))
            .ok_or_else(|| PlayError::PastEnd {
                device: self.name.clone(),
                start: event.start,
                len: event.len,
                size,
            })
    }

    fn count(&mut self, op: Op, start: u64, len: u64) {
        if cells::has_place(op) && len == 0 {
            bump(&mut *self.cells, cells::ZERO_LENGTH, 1);
            return;
        }
        let class = classify(start, len, &self.geometry);
        let cells = &mut *self.cells;
        cells::each_cell(op, len, &class, |cell, amount| bump(cells, cell, amount));
        if let Some(side) = side(op) {
            self.count_detail(side, start, len);
        }
    }

    /// Histograms; `side` is 0 for reads and 1 for writes.
    fn count_detail(&mut self, side: usize, start: u64, len: u64) {
        let cells = &mut *self.detail;
        detail::each_bin(side, start, len, &self.geometry, |cell| {
            bump(cells, cell, 1);
        });
    }

    fn count_seek(&mut self, distance: u64) {
        bump(&mut *self.detail, detail::SEEK + power_bin(distance), 1);
    }

    fn row(&self) -> Row {
        Row {
            disk: self.is_partition.then_some(self.disk),
            cells: self.cells.clone(),
            requeued: Some(0),
            detail: Some(self.detail.clone()),
        }
    }
}

/// Which half of a histogram: 0 for reads, 1 for writes; no other has any.
const fn side(op: Op) -> Option<usize> {
    match op {
        Op::Read => Some(0),
        Op::Write => Some(1),
        _ => None,
    }
}

fn bump(cells: &mut [u64], cell: usize, amount: u64) {
    if let Some(cell) = cells.get_mut(cell) {
        *cell = cell.saturating_add(amount);
    }
}

impl Source for SyntheticSource {
    fn snapshot(&mut self) -> anyhow::Result<Snapshot> {
        let rows = self.counters.iter().map(|(&device, counters)| {
            let key = RowKey {
                device,
                name: counters.name.clone(),
            };
            (key, counters.row())
        });
        Ok(Snapshot {
            time: Timestamp::now(),
            // A list has no clock.
            elapsed: Duration::ZERO,
            rows: rows.collect(),
            processes: Vec::new(),
            origins: None,
            stripe_caches: BTreeMap::new(),
            lost: Lost {
                by_maps: Some(0),
                by_recursion: Some(0),
            },
            unknown: Unknown {
                flush_bios: false,
                operations: false,
                requeues: false,
                latency: true,
                callers: true,
            },
        })
    }

    fn refresh(&mut self) -> anyhow::Result<bool> {
        Ok(false)
    }

    fn topology(&self) -> &Topology {
        &self.topology
    }

    fn wake(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn finished(&self) -> bool {
        true
    }

    fn describe(&self) -> String {
        format!("synthetic, {} events", self.events)
    }

    fn inside(&self) -> Inside {
        Inside::default()
    }
}

#[cfg(test)]
#[path = "synthetic_tests.rs"]
mod tests;
