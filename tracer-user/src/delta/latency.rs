//! Percentiles of the latency histograms the kernel side keeps.
//!
//! Must not know devices; bins in, seconds out.

use hdrhistogram::Histogram;
use schemars::JsonSchema;
use serde::Serialize;
use tracer_ebpf::bins::{LATENCY_BINS, latency_bin, latency_bin_le_ns};

/// Bins are an eighth of an octave wide: two significant digits tell them
/// apart, and keep a histogram at some 30 KiB.
const SIGNIFICANT_DIGITS: u8 = 2;
const NS_PER_SECOND: f64 = 1e9;

/// Latencies by alignment to the physical block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Latency {
    pub aligned: Quantiles,
    pub misaligned: Quantiles,
}

/// Percentiles in seconds: each is the inclusive upper bound of the bin that
/// holds it, at most 12.5 % above the value itself. null: there were no
/// requests, or it lies in the open last bin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Quantiles {
    /// Requests that were timed.
    pub count: u64,
    pub p50: Option<f64>,
    pub p90: Option<f64>,
    pub p99: Option<f64>,
    pub p999: Option<f64>,
    /// No request took longer.
    pub max_le: Option<f64>,
}

impl Latency {
    /// From the cells of the aligned, then those of the misaligned.
    pub(super) fn from_bins(aligned: &[u64], misaligned: &[u64]) -> Self {
        Self {
            aligned: Quantiles::from_bins(aligned),
            misaligned: Quantiles::from_bins(misaligned),
        }
    }

    pub(super) fn count(&self) -> u64 {
        self.aligned.count + self.misaligned.count
    }
}

/// Bins of [`Octaves`]; the last is open.
pub const LATENCY_OCTAVES: usize = 22;
/// The first bin ends there: 2^14 ns, some 16 µs.
const FIRST_OCTAVE_NS: u64 = 1 << 14;

/// Timed requests by powers of two: bin i holds those that took at most
/// [`octave_le_seconds`] of i, and more than of i − 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Octaves {
    pub bins: [u64; LATENCY_OCTAVES],
    /// At most 12.5 % too high: each request counts with its fine bin's upper
    /// bound.
    pub sum_seconds: f64,
}

/// Inclusive upper bound of a bin; `None` for the open one.
#[must_use]
pub fn octave_le_seconds(bin: usize) -> Option<f64> {
    (bin + 1 < LATENCY_OCTAVES).then(|| (FIRST_OCTAVE_NS << bin) as f64 / NS_PER_SECOND)
}

impl Octaves {
    /// `bins[i]` requests were in bin i of [`tracer_ebpf::bins::latency_bin`].
    pub(super) fn from_bins(bins: &[u64]) -> Self {
        let mut octaves = [0; LATENCY_OCTAVES];
        let mut sum_seconds = 0.0;
        for (bin, &count) in bins.iter().enumerate().filter(|&(_, &count)| count != 0) {
            let le_ns = latency_bin_le_ns(bin);
            sum_seconds += count as f64 * (le_ns as f64 / NS_PER_SECOND);
            // Powers of two are bounds of the fine bins, too.
            let above = le_ns.div_ceil(FIRST_OCTAVE_NS).max(1);
            let octave = above.next_power_of_two().trailing_zeros() as usize;
            if let Some(cell) = octaves.get_mut(octave.min(LATENCY_OCTAVES - 1)) {
                *cell += count;
            }
        }
        Self {
            bins: octaves,
            sum_seconds,
        }
    }
}

impl Quantiles {
    /// `bins[i]` requests were in bin i of [`tracer_ebpf::bins::latency_bin`].
    pub(super) fn from_bins(bins: &[u64]) -> Self {
        let count: u64 = bins.iter().sum();
        if count == 0 {
            return Self::default();
        }
        let Some(histogram) = histogram(bins) else {
            return Self {
                count,
                ..Self::default()
            };
        };
        let at = |quantile| seconds(histogram.value_at_quantile(quantile), &histogram);
        Self {
            count,
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p999: at(0.999),
            max_le: at(1.0),
        }
    }
}

fn histogram(bins: &[u64]) -> Option<Histogram<u64>> {
    let highest_ns = latency_bin_le_ns(LATENCY_BINS - 1);
    let mut histogram = Histogram::new_with_bounds(1, highest_ns, SIGNIFICANT_DIGITS).ok()?;
    for (bin, &count) in bins.iter().enumerate().filter(|&(_, &count)| count != 0) {
        histogram.record_n(latency_bin_le_ns(bin), count).ok()?;
    }
    Some(histogram)
}

/// Back to the bound of the kernel's bin, which the histogram has rounded.
fn seconds(value_ns: u64, histogram: &Histogram<u64>) -> Option<f64> {
    let bin = latency_bin(histogram.lowest_equivalent(value_ns));
    (bin + 1 < LATENCY_BINS).then(|| latency_bin_le_ns(bin) as f64 / NS_PER_SECOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bin_comes_back_as_its_own_bound() {
        for bin in 0..LATENCY_BINS - 1 {
            let mut bins = [0; LATENCY_BINS];
            bins[bin] = 17;
            let q = Quantiles::from_bins(&bins);
            let le = Some(latency_bin_le_ns(bin) as f64 / 1e9);
            assert_eq!((q.count, q.p50, q.p999, q.max_le), (17, le, le, le));
        }
    }

    #[test]
    fn octaves_hold_whole_bins() {
        for bin in 0..LATENCY_BINS {
            let mut bins = [0; LATENCY_BINS];
            bins[bin] = 3;
            let octaves = Octaves::from_bins(&bins);
            let octave = octaves.bins.iter().position(|&count| count == 3).unwrap();
            let le = latency_bin_le_ns(bin) as f64 / 1e9;
            assert!(octave_le_seconds(octave).is_none_or(|bound| le <= bound));
            assert!(octave == 0 || le > octave_le_seconds(octave - 1).unwrap());
            assert!((octaves.sum_seconds - 3.0 * le).abs() < 1e-9);
        }
        assert_eq!(octave_le_seconds(0), Some(0.000016384));
    }

    #[test]
    fn percentiles_by_rank() {
        let mut bins = [0; LATENCY_BINS];
        bins[latency_bin(100_000)] = 90;
        bins[latency_bin(5_000_000)] = 9;
        bins[latency_bin(900_000_000)] = 1;
        let q = Quantiles::from_bins(&bins);
        let le = |ns| Some(latency_bin_le_ns(latency_bin(ns)) as f64 / 1e9);
        assert_eq!(q.p50, le(100_000));
        assert_eq!(q.p90, le(100_000));
        assert_eq!(q.p99, le(5_000_000));
        assert_eq!(q.p999, le(900_000_000));
    }

    #[test]
    fn nothing_and_the_open_bin_have_no_percentile() {
        assert_eq!(
            Quantiles::from_bins(&[0; LATENCY_BINS]),
            Quantiles::default()
        );
        let mut bins = [0; LATENCY_BINS];
        bins[LATENCY_BINS - 1] = 3;
        let q = Quantiles::from_bins(&bins);
        assert_eq!((q.count, q.p50, q.max_le), (3, None, None));
    }
}
