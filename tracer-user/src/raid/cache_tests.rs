use super::*;
use crate::{
    raid::{ArraySector, ParityLevel, ParityShape, RmwLevel, RowCounts, Synced},
    units::Sectors,
};
use proptest::prelude::*;

/// md's own default.
const STRIPE_CACHE_SIZE: NonZeroUsize = NonZeroUsize::new(256).unwrap();

/// DESIGN.md 4: a raid6 of nine members, 64 KiB chunks: a stripe of 448 KiB.
fn cache() -> StripeCache {
    let shape = ParityShape::new(ParityLevel::Raid6, 9, Sectors(128)).unwrap();
    let model = RowModel::new(shape, RmwLevel::Fewer, Synced::Whole);
    StripeCache::new(model, STRIPE_CACHE_SIZE)
}

/// `count` writes of `len_kib` one behind the other from `start_kib` on.
fn sequence(start_kib: u64, len_kib: u64, count: u64) -> WriteCost {
    let mut cache = cache();
    (0..count)
        .map(|nth| {
            let start = ArraySector((start_kib + nth * len_kib) * 2);
            cache.write(&Extent::new(start, Sectors(len_kib * 2)).unwrap())
        })
        .sum()
}

/// Pre-reads by rmw and rcw, and data written, in KiB.
fn kib(cost: &WriteCost) -> (u64, u64, u64) {
    assert_eq!(cost.preread.partial_block.0, 0);
    let kib = |bytes: crate::units::Bytes| bytes.0 / 1024;
    (
        kib(cost.preread.rmw),
        kib(cost.preread.rcw),
        kib(cost.data_write),
    )
}

/// "one 4 KiB write, cold" and "the same again".
#[test]
fn the_same_block_again_is_not_read() {
    let mut cache = cache();
    let write = Extent::new(ArraySector(0), Sectors(8)).unwrap();
    let cold = cache.write(&write);
    assert_eq!(kib(&cold), (12, 0, 4));
    assert_eq!(cold, cache.model.write(&write));
    let again = cache.write(&write);
    assert_eq!(kib(&again), (0, 0, 4));
    assert_eq!(again.parity_write.0, 8192);
    let rows = RowCounts {
        cached: 1,
        ..RowCounts::default()
    };
    assert_eq!(again.rows, rows);
}

/// "10 × 448 KiB writes at stripe boundaries".
#[test]
fn whole_stripes() {
    let cost = sequence(0, 448, 10);
    assert_eq!(kib(&cost), (0, 0, 4480));
    assert_eq!(cost.parity_write.0, 1280 * 1024);
    assert_eq!(cost.rows.full, 160);
}

/// "448 KiB writes, all shifted by one chunk, 40 MiB": 92 of them. Each reads
/// for its last chunk only, by rmw (192 KiB); its other six find that chunk's
/// rows as the write before left them. The first found no such rows (64 KiB).
#[test]
fn writes_of_a_stripe_shifted_by_a_chunk() {
    assert_eq!(41216, 92 * 448);
    let cost = sequence(64, 448, 92);
    assert_eq!(kib(&cost), (92 * 192, 64, 41216));
    assert_eq!(cost.preread.total().0 / 1024, 17728);
}

/// "4480 KiB writes, all shifted by one chunk, 80 MiB": 19 of them.
#[test]
fn writes_of_ten_stripes_shifted_by_a_chunk() {
    assert_eq!(85120, 19 * 4480);
    let cost = sequence(64, 4480, 19);
    assert_eq!(kib(&cost), (19 * 192, 64, 85120));
    assert_eq!(cost.preread.total().0 / 1024, 3712);
}

/// "a linear dm target starting 1 MiB into the array", 200 MiB in direct writes
/// of 1, 2 and 4 MiB. The table has rmw and rcw for the first, the sum for the
/// others.
#[test]
fn a_volume_one_mebibyte_into_the_array() {
    assert_eq!(kib(&sequence(1024, 1024, 200)), (12736, 18560, 204_800));
    let total = |len_kib, count| sequence(1024, len_kib, count).preread.total().0 / 1024;
    assert_eq!(total(2048, 100), 15680);
    assert_eq!(total(4096, 50), 8000);
}

/// After rcw the whole row is held, after rmw only what was written.
#[test]
fn what_is_held_afterwards() {
    let chunk = |first: u64, count: u64| {
        Extent::new(ArraySector(first * 128), Sectors(count * 128)).unwrap()
    };
    let mut after_rcw = cache();
    assert_eq!(kib(&after_rcw.write(&chunk(0, 5))), (0, 128, 320));
    // The last chunk too, though it has never been written.
    assert_eq!(kib(&after_rcw.write(&chunk(5, 1))), (0, 0, 64));
    let mut after_rmw = cache();
    assert_eq!(kib(&after_rmw.write(&chunk(0, 1))), (192, 0, 64));
    // Only its old data: parity is held.
    assert_eq!(kib(&after_rmw.write(&chunk(3, 1))), (64, 0, 64));
}

#[test]
fn rows_used_least_recently_are_dropped() {
    let mut cache = cache();
    // 256 rows are 16 stripes.
    let stripe = |nth: u64| Extent::new(ArraySector(nth * 896), Sectors(128)).unwrap();
    for nth in (0..16).chain([0]) {
        cache.write(&stripe(nth));
    }
    assert_eq!(cache.held.len(), 256);
    // One more stripe takes the place of stripe 1, not of 0.
    cache.write(&stripe(16));
    assert_eq!((cache.held.len(), cache.by_use.len()), (256, 256));
    assert_eq!(cache.write(&stripe(0)).rows.cached, 16);
    assert_eq!(cache.write(&stripe(1)).rows.rmw, 16);
}

proptest! {
    /// A cold cache costs what the model says; a warm one writes the same and
    /// never reads more.
    #[test]
    fn a_cache_only_saves_reads(
        raid6: bool,
        disks in 4u32..9,
        rmw in 0u32..3,
        writes in proptest::collection::vec((0u64..3000, 1u64..600), 1..12),
    ) {
        let level = if raid6 { ParityLevel::Raid6 } else { ParityLevel::Raid5 };
        let shape = ParityShape::new(level, disks, Sectors(32)).unwrap();
        let model = RowModel::new(shape, RmwLevel::from_md(rmw).unwrap(), Synced::Whole);
        let mut cache = StripeCache::new(model, STRIPE_CACHE_SIZE);
        for (nth, (start, len)) in writes.into_iter().enumerate() {
            let write = Extent::new(ArraySector(start), Sectors(len)).unwrap();
            let (cold, warm) = (model.write(&write), cache.write(&write));
            if nth == 0 {
                prop_assert_eq!(cold, warm);
            }
            prop_assert_eq!(warm.data_write, cold.data_write);
            prop_assert_eq!(warm.parity_write, cold.parity_write);
            prop_assert_eq!(warm.rows.total(), cold.rows.total());
            prop_assert_eq!(warm.rows.full, cold.rows.full);
            prop_assert!(warm.preread.total() <= cold.preread.total());
        }
    }
}
