//! What a write costs the members of a raid4/5/6 array. Sums only.
//!
//! Must not decide anything, or compute ratios.

use std::ops::AddAssign;

use super::shape::ROW_BYTES;
use crate::units::Bytes;

/// Bytes read because a write did not fill its rows, by the reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Preread {
    /// Old data and old parity, for read-modify-write.
    pub rmw: Bytes,
    /// The row's other data, for reconstruct-write.
    pub rcw: Bytes,
    /// Blocks of which only a part was written.
    pub partial_block: Bytes,
}

impl Preread {
    #[must_use]
    pub const fn total(&self) -> Bytes {
        let two = self.rmw.0.saturating_add(self.rcw.0);
        Bytes(two.saturating_add(self.partial_block.0))
    }
}

/// Rows that were written, each in one class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowCounts {
    /// Filled: nothing had to be read.
    pub full: u64,
    pub rmw: u64,
    pub rcw: u64,
    /// Touched in every block, some only in part: only those were read.
    pub partial_block: u64,
    /// Not filled, but md held all it needed.
    pub cached: u64,
}

impl RowCounts {
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.full + self.rmw + self.rcw + self.partial_block + self.cached
    }
}

/// What one write, or several, cost the members.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteCost {
    pub preread: Preread,
    /// A block only partly written is written whole.
    pub data_write: Bytes,
    pub parity_write: Bytes,
    pub rows: RowCounts,
}

/// So many blocks of a row.
pub(super) const fn blocks(count: u64) -> Bytes {
    Bytes(count.saturating_mul(ROW_BYTES))
}

impl AddAssign for WriteCost {
    fn add_assign(&mut self, other: Self) {
        let add = |sum: &mut Bytes, more: Bytes| sum.0 = sum.0.saturating_add(more.0);
        add(&mut self.preread.rmw, other.preread.rmw);
        add(&mut self.preread.rcw, other.preread.rcw);
        add(&mut self.preread.partial_block, other.preread.partial_block);
        add(&mut self.data_write, other.data_write);
        add(&mut self.parity_write, other.parity_write);
        self.rows.full += other.rows.full;
        self.rows.rmw += other.rows.rmw;
        self.rows.rcw += other.rows.rcw;
        self.rows.partial_block += other.rows.partial_block;
        self.rows.cached += other.rows.cached;
    }
}

impl std::iter::Sum for WriteCost {
    fn sum<I: Iterator<Item = Self>>(costs: I) -> Self {
        costs.fold(Self::default(), |mut sum, cost| {
            sum += cost;
            sum
        })
    }
}
