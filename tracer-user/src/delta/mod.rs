//! From two readings of every counter to what happened between them: all
//! rates, shares and percentiles are made here, views only show them.
//!
//! Must not format text and must not read anything but its arguments.

mod about;
mod causes;
mod counts;
mod device;
mod estimate;
mod histogram;
mod known;
mod latency;
mod layers;
mod meter;
mod op;
mod origin;
mod process;
mod raid;
mod rates;
mod restarting;
mod select;
mod totals;

use std::time::Duration;

use jiff::Timestamp;

pub(crate) use self::meter::nothing_yet;
pub use self::{
    causes::{Causes, MainCause},
    device::{DeviceFigures, Flush, Other, Through, Timings, ZoneAppend},
    estimate::RaidEstimate,
    histogram::{Boundary, BoundarySplit, Fills, Histograms, PowerBin, RemainderBin, SeekBin},
    known::Known,
    latency::{LATENCY_OCTAVES, Latency, Octaves, Quantiles, octave_le_seconds},
    meter::Meter,
    op::{Chunk, Op, Physical, Stripe},
    origin::{
        MetadataParts, OriginFigures, ReadOrigins, RmwParts, Rows, SyncParts, UserReadParts,
        WriteOrigins,
    },
    process::{ProcessFigures, ProcessRead, ProcessWrite},
    raid::{LargerCache, Preread, PrereadShares, RaidFigures, Ratios, RowShares},
    rates::{Rates, StripeShares},
    restarting::Growing,
    totals::{ArrayTotals, DeviceTotals, Sums, Totals},
};
use crate::{
    snapshot::{Lost, Snapshot},
    units::DevId,
};

/// Everything that happened between two readings.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    /// When it ended.
    pub time: Timestamp,
    pub length: Duration,
    /// Covers the whole run.
    pub summary: bool,
    /// Events lost in the interval; `None` where the kernel cannot say.
    pub lost: Lost,
    /// In the order of the device tree: what sits on top first, its members
    /// indented below, partitions below their disk.
    pub devices: Vec<DeviceFigures>,
    /// Most written bytes first; `None` unless asked for.
    pub processes: Option<Vec<ProcessFigures>>,
}

/// What an interval is to show.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    pub known: &'a Known,
    /// The devices the user named; every device if there are none.
    pub asked: &'a [DevId],
    pub by_process: bool,
    pub summary: bool,
}

/// What happened from `before` to `after`. A counter that fell counts 0.
#[must_use]
pub fn between(before: &Snapshot, after: &Snapshot, scope: &Scope<'_>) -> Interval {
    let length = after.elapsed.saturating_sub(before.elapsed);
    let devices = device::devices(before, after, scope, length);
    let processes = scope
        .by_process
        .then(|| process::processes(before, after, &devices, length));
    Interval {
        time: after.time,
        length,
        summary: scope.summary,
        lost: Lost {
            by_maps: growth(before.lost.by_maps, after.lost.by_maps),
            by_recursion: growth(before.lost.by_recursion, after.lost.by_recursion),
        },
        devices,
        processes,
    }
}

/// The growth of a counter that may not be known; one that was not known
/// before began at 0.
fn growth(before: Option<u64>, after: Option<u64>) -> Option<u64> {
    after.map(|after| after.saturating_sub(before.unwrap_or(0)))
}

#[cfg(test)]
mod tests;
