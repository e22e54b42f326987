//! One reading of every counter: what a [`Source`](crate) hands out and
//! everything after it consumes.
//!
//! Counters run from the start and never fall. Must not compute rates.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use jiff::Timestamp;
use tracer_ebpf::{
    abi::{ProcessCells, ProcessKey},
    cells::{CELLS, detail},
    origin::abi as origin,
};

use crate::{sysfs::stripe_cache::StripeCache, units::DevId};

/// Every counter at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub time: Timestamp,
    /// Time since the source started, by a clock that is never set.
    pub elapsed: Duration,
    pub rows: BTreeMap<RowKey, Row>,
    pub processes: Vec<ProcessRow>,
    /// Why md's components were read and written; `None` where that cannot be
    /// told, or there is no array.
    pub origins: Option<Origins>,
    /// Of raid4/5/6 arrays: as full as they were at that moment, no counters.
    pub stripe_caches: BTreeMap<DevId, StripeCache>,
    /// What each mechanism lost; `None` where it cannot tell.
    pub lost: Lost,
    pub unknown: Unknown,
}

/// A row is a device under one name; the counters go on over re-plug and
/// re-assembly.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowKey {
    pub device: DevId,
    pub name: String,
}

/// The leaf cells of one device. A whole disk's row holds what did not go
/// through a partition; [`crate`]'s delta adds its partitions to it.
#[derive(Clone, Debug)]
pub struct Row {
    /// The whole disk, for a partition.
    pub disk: Option<DevId>,
    /// Indexed by [`tracer_ebpf::cells`].
    pub cells: Box<[u64; CELLS]>,
    /// Requests put back after they were issued (already taken out of
    /// `cells`); `None` where the tracepoint cannot tell.
    pub requeued: Option<u64>,
    /// Indexed by [`detail`]; `None` for a device without histograms.
    pub detail: Option<Box<[u64; detail::CELLS]>>,
}

/// Indexed by [`tracer_ebpf::origin::abi`].
pub type OriginCells = Box<[u64; origin::CELLS]>;

/// The reasons of every component's IO.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origins {
    pub components: BTreeMap<OriginKey, OriginCells>,
    /// Rows of raid4/5/6 were looked into; else their IO is unattributed.
    pub rows: bool,
}

/// A component in one array.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OriginKey {
    pub array: RowKey,
    pub component: RowKey,
}

/// One process's bios on one device.
#[derive(Clone, Debug)]
pub struct ProcessRow {
    pub device: DevId,
    pub key: ProcessKey,
    pub cells: ProcessCells,
    /// Of the control group in `key`, where it was found.
    pub cgroup_path: Option<Arc<str>>,
    /// Stands for all processes of that command that have ended and have no
    /// row of their own any more; of `key`, only the command is known.
    pub ended: bool,
}

/// The command of a row that stands for several commands, all ended.
pub const OTHER_COMMANDS: [u8; 16] = *b"(others)\0\0\0\0\0\0\0\0";

/// Events that no counter shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Full maps and kernel memory that could not be read.
    pub by_maps: Option<u64>,
    /// Program runs the kernel skipped because the program was already
    /// running on that CPU (`recursion_misses`).
    pub by_recursion: Option<u64>,
}

impl Lost {
    /// The sum; `None` where a mechanism cannot tell.
    #[must_use]
    pub fn total(&self) -> Option<u64> {
        Some(self.by_maps? + self.by_recursion?)
    }

    /// The same before anything was lost.
    #[must_use]
    pub fn none_yet(&self) -> Self {
        Self {
            by_maps: self.by_maps.map(|_| 0),
            by_recursion: self.by_recursion.map(|_| 0),
        }
    }
}

/// What the way of attaching cannot tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unknown {
    /// Write zeroes, zone append and passthrough are one (classic `N`).
    pub operations: bool,
    /// Whether a requeued request had been issued.
    pub requeues: bool,
    /// Empty, FUA and PREFLUSH bios.
    pub flush_bios: bool,
    /// When a request was made: no latencies at all.
    pub latency: bool,
    /// Out of which system call a bio came.
    pub callers: bool,
}
