//! What an array made of what was asked of it: pre-reads, parity, books, and
//! the ratios that follow.
//!
//! Must not format text.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Fills, Op,
    causes::{Causes, MainCause},
    origin::{OriginCounts, OriginFigures, Rows},
    rates::{StripeShares, ratio},
};
use crate::{
    raid::{ParityLevel, Redundancy},
    sysfs::{
        chain::Layer,
        device::{Device, MdArray},
        stripe_cache::StripeCache,
    },
};

/// Of each member in a row: `DEFAULT_STRIPE_SIZE`, drivers/md/raid5.h.
const ROW_BYTES: u64 = 4096;

/// Of one array over one interval.
#[derive(Clone, Debug, PartialEq)]
pub struct RaidFigures {
    pub level: String,
    pub raid_disks: Option<u32>,
    pub degraded: Option<u32>,
    /// As md names it: `idle`, `check`, `resync`, ...
    pub sync_action: Option<String>,
    pub user_read_bytes: u64,
    pub user_write_bytes: u64,
    /// User reads out of write calls and page faults.
    pub fills: Option<Fills>,
    /// How the writes arrived, before md merged any.
    pub arrived: Option<StripeShares>,
    pub preread: Preread,
    pub data_write_bytes: u64,
    pub parity_write_bytes: u64,
    pub metadata_write_bytes: u64,
    /// Bios that md queued to keep its books.
    pub metadata_writes: u64,
    pub sync_read_bytes: u64,
    pub sync_write_bytes: u64,
    pub degraded_read_bytes: u64,
    pub direct_read_bytes: u64,
    pub direct_write_bytes: u64,
    pub unattributed_read_bytes: u64,
    pub unattributed_write_bytes: u64,
    /// Why all its components were read and written, together.
    pub components: OriginFigures,
    /// Of raid4/5/6.
    pub rows: Option<Rows>,
    pub ratios: Ratios,
    /// Of raid4/5/6: what in the writes made md read first.
    pub causes: Option<Causes>,
    /// At the end of the interval; in a summary the fullest of all readings.
    pub stripe_cache: Option<StripeCache>,
    /// What to try where it was full.
    pub larger_cache: Option<LargerCache>,
    /// The layers above through which most is written to it, where these begin
    /// inside a stripe, from the lowest up.
    pub shifted_by: Vec<Layer>,
}

/// Bytes read because a write did not fill its row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Preread {
    pub rmw: u64,
    pub rcw: u64,
    pub partial_block: u64,
}

/// `None` where the denominator is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ratios {
    /// Pre-read to what was written to the array.
    pub preread: Option<f64>,
    /// Pre-read to what md wrote to the components, synchronization apart: the
    /// "10% reads" that a person sees in iostat.
    pub reads_on_write: Option<f64>,
    /// What md wrote, synchronization apart, to what was written to the array.
    pub write_amplification: Option<f64>,
    /// The least that the level allows.
    pub write_amplification_minimum: Option<f64>,
    /// Of all rows that were written.
    pub rows: Option<RowShares>,
    /// Of all that was pre-read.
    pub prereads: Option<PrereadShares>,
    /// Writes of md's books to each write to the array.
    pub metadata_writes: Option<f64>,
}

/// Shares of rows by how their parity was made; they add up to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowShares {
    /// Filled by writes.
    pub full: f64,
    pub rmw: f64,
    pub rcw: f64,
}

/// Shares of pre-read bytes; they add up to 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PrereadShares {
    pub rmw: f64,
    pub rcw: f64,
    pub partial_block: f64,
}

impl RowShares {
    fn new(rows: Rows) -> Option<Self> {
        let all = rows.full + rows.rmw + rows.rcw;
        Some(Self {
            full: ratio(rows.full, all)?,
            rmw: ratio(rows.rmw, all)?,
            rcw: ratio(rows.rcw, all)?,
        })
    }
}

impl Preread {
    /// All of them.
    #[must_use]
    pub const fn sum(&self) -> u64 {
        self.rmw + self.rcw + self.partial_block
    }

    /// Each kind with its name.
    #[must_use]
    pub const fn by_kind(&self) -> [(&'static str, u64); 3] {
        [
            ("rmw", self.rmw),
            ("rcw", self.rcw),
            ("partial_block", self.partial_block),
        ]
    }

    fn shares(&self) -> Option<PrereadShares> {
        let all = self.sum();
        Some(PrereadShares {
            rmw: ratio(self.rmw, all)?,
            rcw: ratio(self.rcw, all)?,
            partial_block: ratio(self.partial_block, all)?,
        })
    }
}

/// A stripe cache that holds more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LargerCache {
    pub rows: u32,
    /// Memory that it takes; `None` where the disks are not known.
    pub memory_bytes: Option<u64>,
}

impl LargerCache {
    /// What is usually tried first.
    const ROWS: u32 = 8192;
    /// `raid5_set_cache_size`, drivers/md/raid5.c.
    const MOST_ROWS: u32 = 32768;

    /// Where at least nine tenths of a cache are in use; `None` elsewhere, and
    /// where md allows none that is larger.
    fn than_full(cache: StripeCache, raid_disks: Option<u32>) -> Option<Self> {
        let full = u64::from(cache.active_rows) * 10 >= u64::from(cache.size_rows) * 9;
        let rows = Self::ROWS.max(cache.size_rows.saturating_mul(2));
        (full && cache.size_rows != 0 && rows <= Self::MOST_ROWS).then(|| Self {
            rows,
            memory_bytes: raid_disks.map(|disks| u64::from(rows) * ROW_BYTES * u64::from(disks)),
        })
    }
}

/// What was written to an array, write zeroes too.
#[derive(Clone, Copy, Debug)]
pub(super) struct Written {
    pub(super) requests: u64,
    pub(super) bytes: u64,
}

/// Is it an array of a level with parity?
pub(super) fn has_parity(device: &Device) -> bool {
    let md = device.md.as_ref();
    md.is_some_and(|md| ParityLevel::from_md(&md.level).is_some())
}

/// Written to the components to what is written to the array, at the least.
pub(super) fn write_amplification_minimum(md: &MdArray) -> Option<f64> {
    let redundancy = Redundancy::from_md(&md.level, md.raid_disks?, md.layout);
    redundancy.map(Redundancy::write_amplification_minimum)
}

impl RaidFigures {
    /// The layers to blame for the pre-reads: where most are of writes that
    /// start or end inside a stripe, and layers shift those.
    #[must_use]
    pub fn shifts(&self) -> &[Layer] {
        let main = self.causes.and_then(|causes| causes.main());
        match main {
            Some((MainCause::StartsInsideStripe | MainCause::EndsInsideStripe, _)) => {
                &self.shifted_by
            }
            _ => &[],
        }
    }

    /// Of the array `device`, whose own row read and wrote this.
    pub(super) fn new(
        device: &Device,
        counts: &OriginCounts,
        read: &Op,
        written: Written,
        splits: u64,
    ) -> Option<Self> {
        let md = device.md.as_ref()?;
        let origin = counts.figures();
        let (reads, writes) = (origin.read_bytes, origin.write_bytes);
        let preread = Preread {
            rmw: reads.rmw,
            rcw: reads.rcw,
            partial_block: reads.partial_block,
        };
        let parity = has_parity(device);
        let rows = parity.then(|| counts.rows());
        let members_written = writes.data + writes.parity + writes.metadata;
        Some(Self {
            level: md.level.clone(),
            raid_disks: md.raid_disks,
            degraded: md.degraded,
            sync_action: md.sync_action.clone(),
            user_read_bytes: read.bytes,
            user_write_bytes: written.bytes,
            fills: None,
            arrived: None,
            preread,
            data_write_bytes: writes.data,
            parity_write_bytes: writes.parity,
            metadata_write_bytes: writes.metadata,
            metadata_writes: origin.write_bios.metadata,
            sync_read_bytes: reads.sync,
            sync_write_bytes: writes.sync,
            degraded_read_bytes: reads.degraded,
            direct_read_bytes: reads.direct,
            direct_write_bytes: writes.direct,
            unattributed_read_bytes: reads.unattributed,
            unattributed_write_bytes: writes.unattributed,
            components: origin,
            rows,
            ratios: Ratios {
                preread: ratio(preread.sum(), written.bytes),
                reads_on_write: ratio(preread.sum(), members_written),
                write_amplification: ratio(members_written, written.bytes),
                write_amplification_minimum: write_amplification_minimum(md),
                rows: rows.and_then(RowShares::new),
                prereads: preread.shares(),
                metadata_writes: ratio(origin.write_bios.metadata, written.requests),
            },
            causes: parity.then(|| Causes::new(counts, splits != 0)),
            stripe_cache: None,
            larger_cache: None,
            shifted_by: Vec::new(),
        })
    }

    /// With what of the user's reads a write made necessary.
    pub(super) fn with_fills(self, fills: Option<Fills>) -> Self {
        Self { fills, ..self }
    }

    pub(super) fn with_arrived(self, arrived: Option<StripeShares>) -> Self {
        Self { arrived, ..self }
    }

    pub(super) fn with_stripe_cache(self, stripe_cache: Option<StripeCache>) -> Self {
        let larger_cache =
            stripe_cache.and_then(|cache| LargerCache::than_full(cache, self.raid_disks));
        Self {
            stripe_cache,
            larger_cache,
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_all_and_none_of_nothing() {
        let rows = Rows {
            full: 5,
            rmw: 2,
            rcw: 1,
        };
        let shares = RowShares::new(rows).unwrap();
        assert_eq!((shares.full, shares.rmw, shares.rcw), (0.625, 0.25, 0.125));
        assert_eq!(RowShares::new(Rows::default()), None);
        let preread = Preread {
            rmw: 12288,
            rcw: 0,
            partial_block: 4096,
        };
        let shares = preread.shares().unwrap();
        assert_eq!((shares.rmw, shares.partial_block), (0.75, 0.25));
        assert_eq!(Preread::default().shares(), None);
    }

    #[test]
    fn a_larger_cache_is_for_a_full_one() {
        let larger = |active_rows, size_rows| {
            let cache = StripeCache {
                active_rows,
                size_rows,
            };
            let larger = LargerCache::than_full(cache, Some(10))?;
            Some((larger.rows, larger.memory_bytes? >> 20))
        };
        assert_eq!(larger(230, 256), None);
        assert_eq!(larger(231, 256), Some((8192, 320)));
        // md had made room for more.
        assert_eq!(larger(700, 256), Some((8192, 320)));
        assert_eq!(larger(16384, 16384), Some((32768, 1280)));
        assert_eq!(larger(32768, 32768), None);
    }
}
