//! Rates and shares of one device. `None` where the denominator is 0.
//!
//! Must not format: shares are from 0 to 1, rates are per second.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Latency, Op};

/// Of one device over one interval. null: there is nothing to divide by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Rates {
    pub reads_per_second: Option<f64>,
    pub writes_per_second: Option<f64>,
    pub read_bytes_per_second: Option<f64>,
    pub write_bytes_per_second: Option<f64>,
    /// Misaligned reads and writes together.
    pub misaligned_per_second: Option<f64>,
    pub mean_read_bytes: Option<f64>,
    pub mean_write_bytes: Option<f64>,
    /// Of the reads whose place is known.
    pub misaligned_read_share: Option<f64>,
    /// Of the writes whose place is known.
    pub misaligned_write_share: Option<f64>,
    /// Reads and writes that cross a chunk boundary, of those whose place
    /// against the chunk is known.
    pub chunk_crossing_share: Option<f64>,
    /// Shares of the writes. null: there were none, or the device has no stripe.
    pub stripe: Option<StripeShares>,
    /// Await of reads and writes together. null: not measured.
    pub await_seconds: Option<Latency>,
}

/// Shares of the writes whose place against the stripe is known; they add up
/// to 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StripeShares {
    /// Only whole stripes.
    pub full: f64,
    /// Whole stripes and a ragged end.
    pub mixed: f64,
    /// No whole stripe.
    pub partial: f64,
}

impl Rates {
    pub(super) fn new(read: &Op, write: &Op, both: Option<Latency>, length: Duration) -> Self {
        Self {
            reads_per_second: per_second(read.requests, length),
            writes_per_second: per_second(write.requests, length),
            read_bytes_per_second: per_second(read.bytes, length),
            write_bytes_per_second: per_second(write.bytes, length),
            misaligned_per_second: per_second(
                read.physical.misaligned + write.physical.misaligned,
                length,
            ),
            mean_read_bytes: ratio(read.bytes, read.requests),
            mean_write_bytes: ratio(write.bytes, write.requests),
            misaligned_read_share: misaligned_share(read),
            misaligned_write_share: misaligned_share(write),
            chunk_crossing_share: chunk_crossing_share(read, write),
            stripe: StripeShares::new(write),
            await_seconds: both,
        }
    }

    /// Reads and writes; `None` for an interval of no length.
    #[must_use]
    pub fn requests_per_second(&self) -> Option<f64> {
        Some(self.reads_per_second? + self.writes_per_second?)
    }

    /// Read and written; `None` for an interval of no length.
    #[must_use]
    pub fn bytes_per_second(&self) -> Option<f64> {
        Some(self.read_bytes_per_second? + self.write_bytes_per_second?)
    }
}

impl StripeShares {
    fn new(write: &Op) -> Option<Self> {
        let stripe = write.stripe?;
        let classified = stripe.full + stripe.mixed + stripe.partial;
        Some(Self {
            full: ratio(stripe.full, classified)?,
            mixed: ratio(stripe.mixed, classified)?,
            partial: ratio(stripe.partial, classified)?,
        })
    }
}

fn misaligned_share(op: &Op) -> Option<f64> {
    let physical = &op.physical;
    ratio(physical.misaligned, physical.aligned + physical.misaligned)
}

fn chunk_crossing_share(read: &Op, write: &Op) -> Option<f64> {
    let (mut crossing, mut classified) = (0, 0);
    for chunk in [read.chunk, write.chunk].into_iter().flatten() {
        crossing += chunk.crossing;
        classified += chunk.aligned + chunk.inside + chunk.crossing;
    }
    ratio(crossing, classified)
}

pub(super) fn per_second(count: u64, length: Duration) -> Option<f64> {
    (!length.is_zero()).then(|| count as f64 / length.as_secs_f64())
}

pub(super) fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole != 0).then(|| part as f64 / whole as f64)
}
