//! A write as md raid4/5/6 sees it: the bytes of the array it covers, cut into
//! rows of 4 KiB a member, and which blocks of a row it fills.
//!
//! Must not decide what a row costs: that is [`super::rows`].

use std::ops::Range;

use super::{
    place::{ArraySector, MemberSector},
    shape::{ParityShape, ROW_BYTES, ROW_SECTORS},
};
use crate::units::{SECTOR_BYTES, Sectors};

/// The bytes [start, end) of an array; at least a sector, and no further than
/// the kernel can count (`loff_t`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    start_bytes: u64,
    end_bytes: u64,
}

impl Extent {
    /// `None` where there is nothing, or more than 2^63 bytes can hold.
    #[must_use]
    pub fn new(start: ArraySector, len: Sectors) -> Option<Self> {
        let bytes = |sectors: u64| sectors.checked_mul(SECTOR_BYTES);
        let end_bytes = bytes(start.0.checked_add(len.0)?)?;
        (len.0 > 0 && end_bytes <= i64::MAX as u64).then_some(Self {
            start_bytes: bytes(start.0)?,
            end_bytes,
        })
    }

    /// First and last block of the array that are touched.
    const fn blocks(&self) -> (u64, u64) {
        (
            self.start_bytes / ROW_BYTES,
            (self.end_bytes - 1) / ROW_BYTES,
        )
    }

    /// Stripes that are touched.
    #[must_use]
    pub const fn stripes(&self, shape: &ParityShape) -> Range<u64> {
        let stripe_bytes = shape.stripe().0;
        self.start_bytes / stripe_bytes..(self.end_bytes - 1) / stripe_bytes + 1
    }

    /// Stripes that are filled; possibly none.
    #[must_use]
    pub fn filled_stripes(&self, shape: &ParityShape) -> Range<u64> {
        let stripe_bytes = shape.stripe().0;
        let first = self.start_bytes.div_ceil(stripe_bytes);
        first..first.max(self.end_bytes / stripe_bytes)
    }
}

/// One row of an array: what md calls a `stripe_head`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Row {
    pub stripe: u64,
    /// Less than [`ParityShape::rows_per_chunk`].
    pub in_chunk: u64,
}

impl Row {
    /// Where the row lies on each member (`stripe_head.sector`).
    #[must_use]
    pub const fn sector(self, shape: &ParityShape) -> MemberSector {
        MemberSector(self.stripe * shape.chunk().sectors().0 + self.in_chunk * ROW_SECTORS)
    }
}

/// What a write does to a row. Its blocks are numbered in the order of the
/// array, so that those one write touches are neighbours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowWrite {
    /// Never empty.
    touched: Range<u32>,
    first_is_partial: bool,
    last_is_partial: bool,
}

impl RowWrite {
    /// `None` for a row that the extent does not touch.
    #[must_use]
    pub fn of(extent: &Extent, row: Row, shape: &ParityShape) -> Option<Self> {
        let rows = shape.rows_per_chunk();
        let data_disks = u64::from(shape.data_disks());
        let (first_block, last_block) = extent.blocks();
        // Blocks of a row lie a chunk apart in the array.
        let row_start = row.stripe * data_disks * rows + row.in_chunk;
        let end = (last_block + rows)
            .checked_sub(row_start)
            .map_or(0, |distance| (distance / rows).min(data_disks));
        let start = first_block.saturating_sub(row_start).div_ceil(rows);
        if start >= end {
            return None;
        }
        let block = |index| row_start + index * rows;
        let ragged = |bytes: u64| !bytes.is_multiple_of(ROW_BYTES);
        let is_partial = |block| {
            block == first_block && ragged(extent.start_bytes)
                || block == last_block && ragged(extent.end_bytes)
        };
        Some(Self {
            // At most the number of data disks.
            touched: start as u32..end as u32,
            first_is_partial: is_partial(block(start)),
            last_is_partial: is_partial(block(end - 1)),
        })
    }

    #[must_use]
    pub fn touched(&self) -> Range<u32> {
        self.touched.clone()
    }

    /// Whether a touched block is written only in part (`towrite` without
    /// `R5_OVERWRITE`).
    #[must_use]
    pub const fn is_partial(&self, block: u32) -> bool {
        (block == self.touched.start && self.first_is_partial)
            || (block + 1 == self.touched.end && self.last_is_partial)
    }

    /// Number of touched blocks.
    #[must_use]
    pub const fn written(&self) -> u32 {
        self.touched.end - self.touched.start
    }
}

#[cfg(test)]
#[path = "extent_tests.rs"]
mod tests;
