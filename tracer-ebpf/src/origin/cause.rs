//! Why a write did not fill the row that had to be read for it.
//!
//! Must not look at more than one write: whether all of them are shifted by
//! the same distance is for whoever sees them all.

use super::Origin;
use crate::classify::modulo;

/// What in a write made md read first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Cause {
    /// The write could not be found: nothing is said.
    NotTold = 0,
    /// It covers a 4 KiB block only partly.
    SubBlock = 1,
    /// Another way would have read less, but the row is not synchronized yet,
    /// and md then reconstructs always.
    NotSynced = 2,
    /// The same because of `rmw_level` 0.
    RmwLevel = 3,
    /// It is shorter than a stripe, and as long as it can be before md splits.
    AtLimitSmaller = 4,
    /// It is shorter than a stripe.
    Smaller = 5,
    /// It is long enough, as long as it can be before md splits, and starts
    /// inside a stripe.
    AtLimitStartsInside = 6,
    /// The same, and starts at a stripe and ends inside one.
    AtLimitEndsInside = 7,
    /// It is long enough, and starts inside a stripe.
    StartsInside = 8,
    /// It is long enough, starts at a stripe and ends inside one.
    EndsInside = 9,
}

impl Cause {
    /// How many there are.
    pub const COUNT: usize = 10;

    /// All, in the order of their cells.
    pub const ALL: [Self; Self::COUNT] = [
        Self::NotTold,
        Self::SubBlock,
        Self::NotSynced,
        Self::RmwLevel,
        Self::AtLimitSmaller,
        Self::Smaller,
        Self::AtLimitStartsInside,
        Self::AtLimitEndsInside,
        Self::StartsInside,
        Self::EndsInside,
    ];
}

/// A write, the row it made md read, and the array's state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// On the array; what md got after it split.
    pub start_bytes: u64,
    /// 0: not found.
    pub len_bytes: u64,
    pub stripe_bytes: u64,
    /// Where md splits; 0 for not known.
    pub max_bytes: u64,
    pub data_disks: u64,
    pub parity_disks: u64,
    /// Data blocks of the row that are being written.
    pub written_blocks: u64,
    /// The row is not synchronized yet.
    pub not_synced: bool,
    /// `rmw_level` is 0.
    pub never_rmw: bool,
    /// It is a part of a longer write that was cut at the boundary of a stripe
    /// (md since 7.0).
    pub cut_at_stripe: bool,
}

/// The cause of a pre-read of this kind.
#[inline(always)]
#[must_use]
pub fn cause(origin: Origin, shape: &Shape) -> Cause {
    if shape.len_bytes == 0 || shape.stripe_bytes == 0 {
        return Cause::NotTold;
    }
    if matches!(origin, Origin::PartialBlock) {
        return Cause::SubBlock;
    }
    if matches!(origin, Origin::Rcw) && rmw_reads_less(shape) {
        if shape.not_synced {
            return Cause::NotSynced;
        }
        if shape.never_rmw {
            return Cause::RmwLevel;
        }
    }
    let at_limit = shape.len_bytes == shape.max_bytes;
    let starts_inside = modulo(shape.start_bytes, shape.stripe_bytes) != 0;
    if shape.cut_at_stripe {
        return if starts_inside {
            Cause::StartsInside
        } else {
            Cause::EndsInside
        };
    }
    if shape.len_bytes < shape.stripe_bytes {
        return if at_limit {
            Cause::AtLimitSmaller
        } else {
            Cause::Smaller
        };
    }
    match (starts_inside, at_limit) {
        (true, true) => Cause::AtLimitStartsInside,
        (true, false) => Cause::StartsInside,
        (false, true) => Cause::AtLimitEndsInside,
        (false, false) => Cause::EndsInside,
    }
}

/// On a row of which nothing is cached (KERNEL: handle_stripe_dirtying).
#[inline(always)]
const fn rmw_reads_less(shape: &Shape) -> bool {
    shape.written_blocks * 2 + shape.parity_disks < shape.data_disks
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 7 data disks of 64 KiB.
    const ARRAY: Shape = Shape {
        start_bytes: 0,
        len_bytes: 458_752,
        stripe_bytes: 458_752,
        max_bytes: 1 << 20,
        data_disks: 7,
        parity_disks: 2,
        written_blocks: 6,
        not_synced: false,
        never_rmw: false,
        cut_at_stripe: false,
    };

    fn of(shape: Shape) -> Cause {
        cause(Origin::Rcw, &shape)
    }

    #[test]
    fn shapes() {
        let shifted = Shape {
            start_bytes: 65536,
            ..ARRAY
        };
        assert_eq!(of(shifted), Cause::StartsInside);
        let long = Shape {
            len_bytes: 500_000 / 4096 * 4096,
            ..ARRAY
        };
        assert_eq!(of(long), Cause::EndsInside);
        let small = Shape {
            len_bytes: 4096,
            ..ARRAY
        };
        assert_eq!(of(small), Cause::Smaller);
        let cut = Shape {
            len_bytes: 1 << 20,
            ..ARRAY
        };
        assert_eq!(of(cut), Cause::AtLimitEndsInside);
        let cut_small = Shape {
            stripe_bytes: 4 << 20,
            ..cut
        };
        assert_eq!(of(cut_small), Cause::AtLimitSmaller);
        let head = Shape {
            start_bytes: 65536,
            len_bytes: 458_752 - 65536,
            cut_at_stripe: true,
            ..ARRAY
        };
        assert_eq!(of(head), Cause::StartsInside);
        let tail = Shape {
            start_bytes: 458_752,
            len_bytes: 65536,
            ..head
        };
        assert_eq!(of(tail), Cause::EndsInside);
        assert_eq!(of(Shape::default()), Cause::NotTold);
        assert_eq!(cause(Origin::PartialBlock, &small), Cause::SubBlock);
    }

    #[test]
    fn a_forced_reconstruction_is_a_cause_only_where_it_reads_more() {
        let one = Shape {
            len_bytes: 4096,
            written_blocks: 1,
            not_synced: true,
            never_rmw: true,
            ..ARRAY
        };
        assert_eq!(of(one), Cause::NotSynced);
        let synced = Shape {
            not_synced: false,
            ..one
        };
        assert_eq!(of(synced), Cause::RmwLevel);
        let three = Shape {
            written_blocks: 3,
            ..one
        };
        assert_eq!(of(three), Cause::Smaller);
        assert_eq!(cause(Origin::RmwData, &one), Cause::Smaller);
    }

    #[test]
    fn every_cause_is_listed_at_its_index() {
        for (index, cause) in Cause::ALL.into_iter().enumerate() {
            assert_eq!(cause as usize, index);
        }
    }
}
