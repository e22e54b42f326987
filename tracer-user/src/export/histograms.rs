//! Histograms of one device or partition, in the bounds that they are told by.
//!
//! Must not decide which devices have any.

use std::ops::RangeInclusive;

use super::{
    families::{Bins, Families},
    table,
};
use crate::{
    delta::{DeviceFigures, Histograms, Octaves, Op, PowerBin, octave_le_seconds},
    sysfs::device::{Geometry, Kind},
    units::SECTOR_BYTES,
};

/// Powers of two that lengths are told by: 512 bytes to 16 MiB.
const SIZE_EXPONENTS: RangeInclusive<u32> = 9..=24;
/// Powers of two that alignments are told by: 512 bytes to 1 MiB.
const GRAIN_EXPONENTS: RangeInclusive<u32> = 9..=20;

/// Samples of all that `figures` has.
pub(super) fn add(families: &mut Families, figures: &DeviceFigures) {
    let one = One {
        figures,
        partition: figures.kind == Some(Kind::Partition),
    };
    one.all(families);
}

struct One<'a> {
    figures: &'a DeviceFigures,
    partition: bool,
}

impl One<'_> {
    fn all(&self, to: &mut Families) {
        let figures = self.figures;
        if let Some(histograms) = &figures.histograms {
            self.histogram(
                to,
                &table::SIZE,
                &["read"],
                sizes(histograms, &figures.read, false),
            );
            self.histogram(
                to,
                &table::SIZE,
                &["write"],
                sizes(histograms, &figures.write, true),
            );
            for (operation, write) in [("read", false), ("write", true)] {
                self.histogram(to, &table::GRAIN, &[operation], grains(histograms, write));
                if let Some(bins) = remainders(histograms, &figures.geometry, write) {
                    self.histogram(to, &table::REMAINDER, &[operation], bins);
                }
            }
        }
        if let Some(timings) = figures.timings {
            self.timings(to, &table::AWAIT, &timings.awaited);
            if let Some(device) = &timings.device {
                self.timings(to, &table::SERVICE, device);
            }
        }
    }

    fn timings(&self, to: &mut Families, pair: &table::Pair, four: &[Octaves; 4]) {
        let [read, read_off, write, write_off] = four;
        for (labels, octaves) in [
            (["read", "aligned"], read),
            (["read", "misaligned"], read_off),
            (["write", "aligned"], write),
            (["write", "misaligned"], write_off),
        ] {
            self.histogram(to, pair, &labels, seconds(octaves));
        }
    }

    fn histogram(&self, to: &mut Families, pair: &table::Pair, labels: &[&str], bins: Bins) {
        let mut all = vec![self.figures.name.as_str()];
        all.extend(labels);
        to.histogram(pair.of(self.partition), &all, bins);
    }
}

/// Bins of powers of two, between the exponents told; what lies below the first
/// is in it.
fn powers(bins: &[PowerBin], told: RangeInclusive<u32>, write: bool, sum: f64) -> Bins {
    let first = *told.start();
    let mut counts: Vec<(f64, u64)> = told
        .map(|exponent| ((1u64 << exponent) as f64, 0))
        .collect();
    let mut above = 0;
    for bin in bins {
        let count = if write { bin.writes } else { bin.reads };
        let exponent = bin.le.map(u64::trailing_zeros);
        let index = exponent.map(|exponent| exponent.saturating_sub(first) as usize);
        match index.and_then(|index| counts.get_mut(index)) {
            Some((_, sum)) => *sum += count,
            None => above += count,
        }
    }
    Bins {
        bins: counts,
        above,
        sum,
    }
}

/// The sum is known to the byte.
fn sizes(histograms: &Histograms, op: &Op, write: bool) -> Bins {
    powers(
        &histograms.size_bytes,
        SIZE_EXPONENTS,
        write,
        op.bytes as f64,
    )
}

/// The sum is exact: a bin holds its bound and nothing else.
fn grains(histograms: &Histograms, write: bool) -> Bins {
    let bins = &histograms.grain_bytes;
    let each = bins.iter().map(|bin| {
        let count = if write { bin.writes } else { bin.reads };
        count as f64 * bin.le.unwrap_or(0) as f64
    });
    powers(bins, GRAIN_EXPONENTS, write, each.sum())
}

/// A bin holds remainders from its own on; the highest of them, in steps of a
/// logical block, is its bound.
fn remainders(histograms: &Histograms, geometry: &Geometry, write: bool) -> Option<Bins> {
    let bins = histograms.remainder_bytes.as_ref()?;
    let logical = geometry.logical_block.map_or(SECTOR_BYTES, |block| block.0);
    let width = match bins.as_slice() {
        [first, second, ..] => second.bytes - first.bytes,
        _ => logical,
    };
    let mut sum = 0.0;
    let counts = bins.iter().map(|bin| {
        let count = if write { bin.writes } else { bin.reads };
        let le = bin.bytes + width.saturating_sub(logical);
        sum += count as f64 * le as f64;
        (le as f64, count)
    });
    Some(Bins {
        bins: counts.collect(),
        above: 0,
        sum,
    })
}

fn seconds(octaves: &Octaves) -> Bins {
    let mut above = 0;
    let mut bins = Vec::new();
    for (bin, &count) in octaves.bins.iter().enumerate() {
        match octave_le_seconds(bin) {
            Some(le) => bins.push((le, count)),
            None => above += count,
        }
    }
    Bins {
        bins,
        above,
        sum: octaves.sum_seconds,
    }
}
