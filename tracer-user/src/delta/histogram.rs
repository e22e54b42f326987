//! The histograms of one device, from its detail cells.
//!
//! Must not draw. Bins without requests are left out, save for remainders,
//! whose number of bins is fixed by the geometry.

use schemars::JsonSchema;
use serde::Serialize;
use tracer_ebpf::{
    bins::{LATENCY_BINS, POWER_BINS, REMAINDER_BINS, STRIPE_BINS, power_bin_le, remainder_shift},
    cells::detail,
};

use super::{Latency, Octaves, latency::Quantiles};
use crate::{sysfs::device::Geometry, units::SECTOR_BYTES};

/// Where reads and writes lay, and how long they were. Not cumulative.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Histograms {
    /// Start of a request in its physical block. null: that is not known.
    pub remainder_bytes: Option<Vec<RemainderBin>>,
    /// Largest power of two that divides start and length.
    pub grain_bytes: Vec<PowerBin>,
    /// Length.
    pub size_bytes: Vec<PowerBin>,
    /// Distance from the end of the request before on this disk.
    pub seek_bytes: Vec<SeekBin>,
    /// Writes by the chunk of their stripe that they start in, 0 the first; the
    /// last bin holds all that follow. null: no stripe.
    pub write_starts_by_chunk: Option<Vec<u64>>,
}

/// Requests that start at least `bytes` and less than the next bin's `bytes`
/// after a physical block's begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RemainderBin {
    pub bytes: u64,
    pub reads: u64,
    pub writes: u64,
}

/// Requests of at most `le` bytes, and more than the next lower power of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PowerBin {
    /// null: no upper bound.
    pub le: Option<u64>,
    pub reads: u64,
    pub writes: u64,
}

/// Requests whose distance was at most `le` bytes, and more than the next
/// lower power of two; reads and writes together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SeekBin {
    /// null: no upper bound.
    pub le: Option<u64>,
    pub requests: u64,
}

/// Requests against the boundary that the user gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Boundary {
    pub boundary_bytes: u64,
    pub read: BoundarySplit,
    pub write: BoundarySplit,
}

/// Whether requests both start and end on the boundary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BoundarySplit {
    pub on: u64,
    pub off: u64,
}

type Detail = [u64; detail::CELLS];

impl Histograms {
    pub(super) fn new(cells: &Detail, geometry: &Geometry) -> Self {
        Self {
            remainder_bytes: remainders(cells, geometry),
            grain_bytes: powers(cells, detail::GRAIN),
            size_bytes: powers(cells, detail::SIZE),
            seek_bytes: seeks(cells),
            write_starts_by_chunk: write_starts(cells, geometry),
        }
    }
}

/// Reads that a write or a page fault made necessary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Fills {
    /// Bios queued out of a write call: less than a page-cache block was
    /// written, and the rest had to be read.
    pub write_fill_requests: u64,
    pub write_fill_bytes: u64,
    /// Bios queued out of a page fault, to read or to write through a mapping.
    pub fault_requests: u64,
    pub fault_bytes: u64,
}

impl Fills {
    pub(super) fn new(cells: &Detail) -> Self {
        Self {
            write_fill_requests: cells[detail::WRITE_FILL],
            write_fill_bytes: cells[detail::WRITE_FILL + 1],
            fault_requests: cells[detail::FAULT],
            fault_bytes: cells[detail::FAULT + 1],
        }
    }
}

fn write_starts(cells: &Detail, geometry: &Geometry) -> Option<Vec<u64>> {
    let (stripe, chunk) = (geometry.stripe?.0, geometry.chunk?.0);
    let chunks = usize::try_from(stripe.checked_div(chunk)?).ok()?;
    let bins = chunks.clamp(1, STRIPE_BINS);
    Some(cells[detail::STRIPE_START..][..bins].to_vec())
}

impl Boundary {
    pub(super) fn new(cells: &Detail, geometry: &Geometry) -> Option<Self> {
        let at = |offset: usize| cells[detail::BOUNDARY + offset];
        Some(Self {
            boundary_bytes: geometry.boundary?.0,
            read: BoundarySplit {
                off: at(0),
                on: at(1),
            },
            write: BoundarySplit {
                off: at(2),
                on: at(3),
            },
        })
    }
}

fn remainders(cells: &Detail, geometry: &Geometry) -> Option<Vec<RemainderBin>> {
    let physical = geometry.physical_block?.0;
    let logical = geometry.logical_block.map_or(SECTOR_BYTES, |block| block.0);
    let unit = 1 << remainder_shift(physical, logical);
    let bins = usize::try_from(physical.div_ceil(unit))
        .map_or(REMAINDER_BINS, |bins| bins.clamp(1, REMAINDER_BINS));
    let (reads, writes) = cells[detail::REMAINDER..][..2 * REMAINDER_BINS].split_at(REMAINDER_BINS);
    Some(
        (0u64..)
            .zip(reads.iter().zip(writes))
            .take(bins)
            .map(|(bin, (&reads, &writes))| RemainderBin {
                bytes: bin * unit,
                reads,
                writes,
            })
            .collect(),
    )
}

fn powers(cells: &Detail, base: usize) -> Vec<PowerBin> {
    let (reads, writes) = cells[base..][..2 * POWER_BINS].split_at(POWER_BINS);
    reads
        .iter()
        .zip(writes)
        .enumerate()
        .filter(|(_, (reads, writes))| **reads != 0 || **writes != 0)
        .map(|(bin, (&reads, &writes))| PowerBin {
            le: power_bin_le(bin),
            reads,
            writes,
        })
        .collect()
}

fn seeks(cells: &Detail) -> Vec<SeekBin> {
    cells[detail::SEEK..][..POWER_BINS]
        .iter()
        .enumerate()
        .filter(|(_, requests)| **requests != 0)
        .map(|(bin, &requests)| SeekBin {
            le: power_bin_le(bin),
            requests,
        })
        .collect()
}

/// The four latency histograms that begin at `base`: reads aligned and
/// misaligned, writes aligned and misaligned.
pub(super) struct LatencyBins<'a>([&'a [u64]; 4]);

impl<'a> LatencyBins<'a> {
    pub(super) fn new(cells: &'a Detail, base: usize) -> Self {
        let bins = |class: usize| &cells[base + class * LATENCY_BINS..][..LATENCY_BINS];
        Self([bins(0), bins(1), bins(2), bins(3)])
    }

    pub(super) fn read(&self) -> Latency {
        Latency::from_bins(self.0[0], self.0[1])
    }

    pub(super) fn write(&self) -> Latency {
        Latency::from_bins(self.0[2], self.0[3])
    }

    /// By powers of two, in the same order.
    pub(super) fn octaves(&self) -> [Octaves; 4] {
        self.0.map(Octaves::from_bins)
    }

    /// Reads and writes together.
    pub(super) fn both(&self) -> Latency {
        let sum =
            |a: &[u64], b: &[u64]| -> Vec<u64> { a.iter().zip(b).map(|(a, b)| a + b).collect() };
        Latency {
            aligned: Quantiles::from_bins(&sum(self.0[0], self.0[2])),
            misaligned: Quantiles::from_bins(&sum(self.0[1], self.0[3])),
        }
    }
}
