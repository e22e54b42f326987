//! Where a partition's start lies against a boundary of its disk, and where
//! the next good start is. Pure; modulo any number.
//!
//! Must not choose words: `notes` does.

use super::device::Geometry;
use crate::units::{Bytes, SECTOR_BYTES, Sectors};

/// Partition tables are made in steps of this much.
const MIB_BYTES: u64 = 1 << 20;

/// Physical block that a drive of old report may have inside.
pub(crate) const ASSUMED_PHYSICAL: Bytes = Bytes(4096);

/// Which boundary a start is checked against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Against {
    PhysicalBlock,
    /// 4096 bytes, where the drive reports 512 and may not mean it.
    AssumedPhysicalBlock,
    Chunk,
    Stripe,
    /// Given by the user.
    Boundary,
}

/// A partition's start against one boundary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartCheck {
    pub against: Against,
    pub boundary_bytes: Bytes,
    pub start_sector: Sectors,
    /// Bytes that the start lies past a boundary: 0 is aligned.
    pub remainder_bytes: Bytes,
    /// The first aligned sector at or after the start; `None` where no sector
    /// is.
    pub next_aligned_sector: Option<Sectors>,
    /// The first aligned sector at or after the start that is whole MiB away
    /// from the first aligned position of the disk.
    pub next_mib_aligned_sector: Option<Sectors>,
}

impl StartCheck {
    #[must_use]
    pub const fn is_aligned(&self) -> bool {
        self.remainder_bytes.0 == 0
    }
}

/// Checks `start` against every `boundary` bytes, counted from `first` on the
/// disk. `None` where `boundary` is 0.
#[must_use]
pub fn check(
    against: Against,
    boundary: Bytes,
    first: Bytes,
    start: Sectors,
) -> Option<StartCheck> {
    let past = i128::from(start.bytes().0) - i128::from(first.0);
    let remainder = past.checked_rem_euclid(i128::from(boundary.0))?;
    Some(StartCheck {
        against,
        boundary_bytes: boundary,
        start_sector: start,
        remainder_bytes: Bytes(u64::try_from(remainder).ok()?),
        next_aligned_sector: next_sector(start, first, boundary.0),
        next_mib_aligned_sector: lcm(boundary.0, MIB_BYTES)
            .and_then(|width| next_sector(start, first, width)),
    })
}

/// Checks a partition at `start` against all boundaries of its disk.
/// `assume_4096`: see [`Against::AssumedPhysicalBlock`].
#[must_use]
pub fn check_all(disk: &Geometry, start: Sectors, assume_4096: bool) -> Vec<StartCheck> {
    let a = disk.alignment_offset;
    let assumed = assume_4096.then_some(ASSUMED_PHYSICAL);
    let origin = disk.origin;
    [
        (Against::PhysicalBlock, disk.physical_block.zip(a)),
        (
            Against::AssumedPhysicalBlock,
            assumed.map(|p| (p, Bytes(0))),
        ),
        (Against::Chunk, disk.chunk.map(|w| (w, origin))),
        (Against::Stripe, disk.stripe.map(|w| (w, origin))),
        (Against::Boundary, disk.boundary.map(|w| (w, origin))),
    ]
    .into_iter()
    .filter_map(|(against, grid)| {
        let (boundary, first) = grid?;
        check(against, boundary, first, start)
    })
    .collect()
}

/// The first sector at or after `start` whose byte position is congruent to
/// `first` modulo `width` bytes.
fn next_sector(start: Sectors, first: Bytes, width: u64) -> Option<Sectors> {
    let (width, sector) = (i128::from(width), i128::from(SECTOR_BYTES));
    let from = i128::from(start.bytes().0);
    let ahead = (i128::from(first.0) - from).checked_rem_euclid(width)?;
    // A width that is no number of sectors meets one after 512 turns at most.
    let position = (0..sector)
        .map(|turn| from + ahead + turn * width)
        .find(|position| position % sector == 0)?;
    u64::try_from(position / sector).ok().map(Sectors)
}

fn lcm(a: u64, b: u64) -> Option<u64> {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    (a / x).checked_mul(b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn physical(first: u64, start: u64) -> (u64, Option<u64>, Option<u64>) {
        let c = check(
            Against::PhysicalBlock,
            Bytes(4096),
            Bytes(first),
            Sectors(start),
        )
        .unwrap();
        (
            c.remainder_bytes.0,
            c.next_aligned_sector.map(|s| s.0),
            c.next_mib_aligned_sector.map(|s| s.0),
        )
    }

    #[test]
    fn known_starts() {
        assert_eq!(physical(0, 34), (1024, Some(40), Some(2048)));
        assert_eq!(physical(0, 63), (3584, Some(64), Some(2048)));
        assert_eq!(physical(0, 2048), (0, Some(2048), Some(2048)));
        assert_eq!(
            physical(0, 1_917_390_097),
            (512, Some(1_917_390_104), Some(1_917_390_848))
        );
        assert_eq!(physical(0, 65535).0, 3584);
        // A shifted device: sector 7 is aligned, sector 0 is not.
        assert_eq!(physical(3584, 0), (512, Some(7), Some(7)));
        assert_eq!(physical(3584, 8), (512, Some(15), Some(2055)));
        for good in [7, 2055, 20487, 40967] {
            assert_eq!(physical(3584, good), (0, Some(good), Some(good)));
        }
        // A stripe of 3 × 64 KiB: 1 MiB steps meet it every 3 MiB.
        let c = check(Against::Stripe, Bytes(196_608), Bytes(0), Sectors(2048)).unwrap();
        assert_eq!(c.remainder_bytes, Bytes(65536));
        assert_eq!(c.next_aligned_sector, Some(Sectors(2304)));
        assert_eq!(c.next_mib_aligned_sector, Some(Sectors(6144)));
        assert!(check(Against::Chunk, Bytes(0), Bytes(0), Sectors(1)).is_none());
    }

    proptest! {
        #[test]
        fn the_next_start_is_the_first_good_one(
            width in 1u64..300, first in 0u64..300, start in 0u64..1 << 45
        ) {
            let (width, first) = (width * 512, first * 512);
            let c = check(Against::Boundary, Bytes(width), Bytes(first), Sectors(start)).unwrap();
            let next = c.next_aligned_sector.unwrap().0;
            prop_assert!(next >= start && (next - start) * 512 < width);
            prop_assert_eq!((next * 512 + width * 300 - first) % width, 0);
            prop_assert_eq!(next == start, c.is_aligned());
            let mib = c.next_mib_aligned_sector.unwrap().0;
            prop_assert!(mib >= next);
            prop_assert_eq!((mib * 512 + (1 << 30) - first) % MIB_BYTES, 0);
        }
    }
}
