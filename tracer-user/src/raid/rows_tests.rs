use super::*;
use crate::{
    raid::{ArraySector, ParityLevel},
    units::{Bytes, Sectors},
};
use proptest::prelude::*;

const KIB: u64 = 1024;

/// Synced, `rmw_level` 1, 64 KiB chunks.
fn model(level: ParityLevel, disks: u32) -> RowModel {
    model_with(level, disks, RmwLevel::Fewer, Synced::Whole)
}

fn model_with(level: ParityLevel, disks: u32, rmw: RmwLevel, synced: Synced) -> RowModel {
    let shape = ParityShape::new(level, disks, Sectors(128)).unwrap();
    RowModel::new(shape, rmw, synced)
}

fn extent(start_bytes: u64, len_bytes: u64) -> Extent {
    assert_eq!((start_bytes % 512, len_bytes % 512), (0, 0));
    Extent::new(ArraySector(start_bytes / 512), Sectors(len_bytes / 512)).unwrap()
}

fn preread(rmw: u64, rcw: u64, partial_block: u64) -> Preread {
    Preread {
        rmw: Bytes(rmw * KIB),
        rcw: Bytes(rcw * KIB),
        partial_block: Bytes(partial_block * KIB),
    }
}

/// In KiB: data and parity.
fn written(cost: &WriteCost) -> (u64, u64) {
    (cost.data_write.0 / KIB, cost.parity_write.0 / KIB)
}

/// CASES.md S1: 192 KiB at the start of a partition at 2048 and at 3072.
#[test]
fn s1_raid5_of_four() {
    let model = model(ParityLevel::Raid5, 4);
    let shifted = model.write(&extent(2048 * 512, 192 * KIB));
    assert_eq!(shifted.preread, preread(0, 192, 0));
    assert_eq!(written(&shifted), (192, 128));
    assert_eq!(
        shifted.rows,
        RowCounts {
            rcw: 32,
            ..RowCounts::default()
        }
    );
    let aligned = model.write(&extent(3072 * 512, 192 * KIB));
    assert_eq!(aligned.preread, preread(0, 0, 0));
    assert_eq!(written(&aligned), (192, 64));
    assert_eq!(
        aligned.rows,
        RowCounts {
            full: 16,
            ..RowCounts::default()
        }
    );
}

#[test]
fn s5_raid6_of_four() {
    let model = model(ParityLevel::Raid6, 4);
    let full = model.write(&extent(128 * KIB, 128 * KIB));
    assert_eq!(full.preread.total(), Bytes(0));
    assert_eq!(full.rows.full, 16);
    let small = model.write(&extent(0, KIB));
    assert_eq!(small.preread, preread(0, 4, 4));
    assert_eq!(written(&small), (4, 8));
    assert_eq!(
        small.rows,
        RowCounts {
            rcw: 1,
            ..RowCounts::default()
        }
    );
}

#[test]
fn s6_raid6_of_six() {
    let cost = model(ParityLevel::Raid6, 6).write(&extent(20 * KIB, 4 * KIB));
    assert_eq!(cost.preread, preread(0, 12, 0));
    assert_eq!(written(&cost), (4, 8));
    // A tie goes to rmw at level 2 only.
    let prefer = model_with(ParityLevel::Raid6, 6, RmwLevel::NoMore, Synced::Whole);
    assert_eq!(
        prefer.write(&extent(20 * KIB, 4 * KIB)).preread,
        preread(12, 0, 0)
    );
}

#[test]
fn s7_raid6_of_eight() {
    let cost = model(ParityLevel::Raid6, 8).write(&extent(512, 512));
    assert_eq!(cost.preread, preread(8, 0, 4));
    assert_eq!(cost.preread.total(), Bytes(12 * KIB));
    assert_eq!(written(&cost), (4, 8));
    assert_eq!(
        cost.rows,
        RowCounts {
            rmw: 1,
            ..RowCounts::default()
        }
    );
}

/// DESIGN.md 4, what a single cold write costs; see `cache_tests.rs` for the
/// rest of that table.
#[test]
fn raid6_of_nine_cold() {
    let model = model(ParityLevel::Raid6, 9);
    let small = model.write(&extent(0, 4 * KIB));
    assert_eq!(small.preread, preread(12, 0, 0));
    assert_eq!(written(&small), (4, 8));
    let shifted = model.write(&extent(64 * KIB, 448 * KIB));
    // Six chunks of one stripe, rcw; one of the next, rmw.
    assert_eq!(shifted.preread, preread(192, 64, 0));
    assert_eq!(written(&shifted), (448, 256));
}

/// KERNEL.md 3.1, seen on a raid5 of five members: 64 KiB blocks k of 4.
#[test]
fn raid5_of_five_by_number_of_chunks() {
    let model = model(ParityLevel::Raid5, 5);
    let costs: Vec<_> = (1..=4)
        .map(|chunks| model.write(&extent(0, chunks * 64 * KIB)).preread)
        .collect();
    assert_eq!(
        costs,
        [
            preread(128, 0, 0),
            preread(0, 128, 0),
            preread(0, 64, 0),
            preread(0, 0, 0)
        ]
    );
}

/// KERNEL.md 3.1: 512 bytes on a raid6 of three data disks: three reads.
#[test]
fn raid6_of_five_part_of_a_block() {
    let cost = model(ParityLevel::Raid6, 5).write(&extent(0, 512));
    // rmw would have to read P and Q, rcw the two other data blocks.
    assert_eq!(cost.preread, preread(0, 8, 4));
}

#[test]
fn a_row_touched_in_every_block_reads_only_what_is_partial() {
    // The last 512 bytes of block 0 and all of block 1 of a two-member raid5
    // with one data disk: two rows.
    let cost = model(ParityLevel::Raid5, 2).write(&extent(3584, 4608));
    assert_eq!(cost.preread, preread(0, 0, 4));
    assert_eq!(
        cost.rows,
        RowCounts {
            full: 1,
            partial_block: 1,
            ..RowCounts::default()
        }
    );
    // Also where md never does rmw.
    let never = model_with(ParityLevel::Raid5, 2, RmwLevel::Never, Synced::Whole);
    assert_eq!(never.write(&extent(3584, 4608)), cost);
}

#[test]
fn without_trusted_parity_there_is_no_rmw() {
    let at = extent(448 * KIB, 4 * KIB);
    let cost = |rmw, synced| {
        model_with(ParityLevel::Raid6, 9, rmw, synced)
            .write(&at)
            .preread
    };
    let rcw = preread(0, 24, 0);
    assert_eq!(cost(RmwLevel::Never, Synced::Whole), rcw);
    // The row is at sector 128 of each member.
    assert_eq!(cost(RmwLevel::NoMore, Synced::UpTo(MemberSector(0))), rcw);
    assert_eq!(cost(RmwLevel::NoMore, Synced::UpTo(MemberSector(128))), rcw);
    let rmw = preread(12, 0, 0);
    assert_eq!(cost(RmwLevel::Fewer, Synced::UpTo(MemberSector(129))), rmw);
}

#[test]
fn levels_as_md_numbers_them() {
    let levels: Vec<_> = (0..4).map(RmwLevel::from_md).collect();
    let known = [RmwLevel::Never, RmwLevel::Fewer, RmwLevel::NoMore].map(Some);
    assert_eq!(levels[..3], known);
    assert_eq!(levels[3], None);
}

/// A row as md handles it, pass by pass and flag by flag, until nothing more is
/// read: no counting by kind beforehand. Returns blocks read as (rmw, rcw,
/// partial); `order` decides which reads complete between passes.
fn handled(
    data: &[Block],
    parity: usize,
    rmw_level: RmwLevel,
    synced: bool,
    order: &mut impl Iterator<Item = bool>,
) -> (u32, u32, u32) {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        Unknown,
        Locked,
        UpToDate,
    }
    let mut read = (0, 0, 0);
    let mut state = vec![State::Unknown; data.len() + parity];
    loop {
        // handle_stripe_fill
        for (state, block) in state.iter_mut().zip(data) {
            if *state == State::Unknown && *block == Block::Partial {
                *state = State::Locked;
                read.2 += 1;
            }
        }
        // handle_stripe_dirtying
        let is_data = |i: &usize| *i < data.len();
        let unknown = |state: &[State], i: &usize| state[*i] == State::Unknown;
        let of_rmw = |state: &[State]| -> Vec<usize> {
            (0..state.len())
                .filter(|i| !is_data(i) || data[*i] != Block::Untouched)
                .filter(|i| unknown(state, i))
                .collect()
        };
        let of_rcw = |state: &[State]| -> Vec<usize> {
            (0..data.len())
                .filter(|i| data[*i] != Block::Overwritten)
                .filter(|i| unknown(state, i))
                .collect()
        };
        let force = rmw_level == RmwLevel::Never || !synced;
        let rmw = if force { 2 } else { of_rmw(&state).len() };
        let mut rcw = if force { 1 } else { of_rcw(&state).len() };
        let prefer = rmw_level == RmwLevel::NoMore;
        if (rmw < rcw || rmw == rcw && prefer) && rmw > 0 {
            for i in of_rmw(&state) {
                state[i] = State::Locked;
                read.0 += 1;
            }
        }
        if (rcw < rmw || rcw == rmw && !prefer) && rcw > 0 {
            let to_read = of_rcw(&state);
            rcw = to_read.len();
            for i in to_read {
                state[i] = State::Locked;
                read.1 += 1;
            }
        }
        let locked = state.iter().filter(|s| **s == State::Locked).count();
        if locked == 0 && (rcw == 0 || rmw == 0) {
            return read;
        }
        // Some reads complete before the next pass.
        for state in &mut state {
            if *state == State::Locked && order.next().unwrap_or(true) {
                *state = State::UpToDate;
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Block {
    Untouched,
    Partial,
    Overwritten,
}

/// Each row's blocks, from the sectors that a write covers.
fn rows_of(shape: &ParityShape, start: u64, len: u64) -> Vec<(u64, Vec<Block>)> {
    let (chunk, data) = (shape.chunk().sectors().0, u64::from(shape.data_disks()));
    let mut rows = std::collections::BTreeMap::new();
    for sector in start..start + len {
        let member_sector = sector / (chunk * data) * chunk + sector % chunk;
        let sectors = rows
            .entry(member_sector / 8 * 8)
            .or_insert_with(|| vec![0; data as usize]);
        sectors[(sector / chunk % data) as usize] += 1;
    }
    let block = |sectors| match sectors {
        0 => Block::Untouched,
        8 => Block::Overwritten,
        _ => Block::Partial,
    };
    rows.into_iter()
        .map(|(row, sectors)| (row, sectors.into_iter().map(block).collect()))
        .collect()
}

fn any_model() -> impl Strategy<Value = RowModel> {
    let level = prop_oneof![
        Just(ParityLevel::Raid4),
        Just(ParityLevel::Raid5),
        Just(ParityLevel::Raid6)
    ];
    let synced = prop_oneof![
        2 => Just(Synced::Whole),
        1 => (0u64..400).prop_map(|sector| Synced::UpTo(MemberSector(sector))),
    ];
    (level, 0u32..10, 3u32..7, 0u32..3, synced).prop_map(|(level, more, exponent, rmw, synced)| {
        let fewest = if level == ParityLevel::Raid6 { 4 } else { 2 };
        let shape = ParityShape::new(level, fewest + more, Sectors(1 << exponent)).unwrap();
        RowModel::new(shape, RmwLevel::from_md(rmw).unwrap(), synced)
    })
}

proptest! {
    /// The same reads as the passes of `handle_stripe`, whichever reads
    /// complete first.
    #[test]
    fn agrees_with_handling_pass_by_pass(
        model in any_model(),
        start in 0u64..1000,
        len in 1u64..1000,
        completions in proptest::collection::vec(any::<bool>(), 0..200),
    ) {
        let shape = model.shape();
        let mut order = completions.into_iter();
        let mut read = (0, 0, 0);
        for (sector, data) in rows_of(shape, start, len) {
            let synced = match model.synced {
                Synced::Whole => true,
                Synced::UpTo(end) => sector < end.0,
            };
            let parity = shape.level().parity_disks() as usize;
            let row = handled(&data, parity, model.rmw, synced, &mut order);
            read = (read.0 + row.0, read.1 + row.1, read.2 + row.2);
        }
        let cost = model.write(&Extent::new(ArraySector(start), Sectors(len)).unwrap());
        let (rmw, rcw, partial) = read;
        prop_assert_eq!(
            cost.preread,
            preread(u64::from(rmw) * 4, u64::from(rcw) * 4, u64::from(partial) * 4)
        );
    }

    #[test]
    fn parts_add_up(model in any_model(), start in 0u64..1_000_000, len in 1u64..20_000) {
        let shape = model.shape();
        let cost = model.write(&Extent::new(ArraySector(start), Sectors(len)).unwrap());
        // Data: every block touched, whole.
        let touched = (start + len).div_ceil(8) - start / 8;
        prop_assert_eq!(cost.data_write, Bytes(touched * 4096));
        // Parity: once a row.
        let parity_disks = u64::from(shape.level().parity_disks());
        prop_assert_eq!(cost.parity_write, Bytes(cost.rows.total() * parity_disks * 4096));
        // Each row has 1 to all of its data blocks written.
        let data_disks = u64::from(shape.data_disks());
        prop_assert!(cost.rows.total() <= touched);
        prop_assert!(cost.rows.total() * data_disks >= touched);
        prop_assert_eq!(cost.rows.cached, 0);
        prop_assert!(cost.preread.partial_block.0 <= 2 * 4096);
        // Not more is read than the rows' members hold.
        let not_full = cost.rows.total() - cost.rows.full;
        prop_assert!(cost.preread.total().0 <= not_full * (data_disks + parity_disks) * 4096);
        prop_assert_eq!(cost.rows.rmw == 0, cost.preread.rmw.0 == 0);
        prop_assert_eq!(cost.rows.rcw == 0, cost.preread.rcw.0 == 0);
    }

    /// Whole stripes cost nothing to read, and the least there is to write.
    #[test]
    fn whole_stripes_are_free(model in any_model(), first in 0u64..1 << 30, stripes in 1u64..1 << 20) {
        let shape = model.shape();
        let stripe_sectors = shape.stripe().0 / 512;
        let at = Extent::new(ArraySector(first * stripe_sectors), Sectors(stripes * stripe_sectors));
        let cost = model.write(&at.unwrap());
        prop_assert_eq!(cost.preread.total(), Bytes(0));
        prop_assert_eq!(cost.rows.total(), cost.rows.full);
        prop_assert_eq!(cost.rows.full, stripes * shape.rows_per_chunk());
        prop_assert_eq!(cost.data_write, Bytes(stripes * shape.stripe().0));
        let data_disks = u64::from(shape.data_disks());
        let parity_disks = u64::from(shape.level().parity_disks());
        prop_assert_eq!(cost.parity_write.0 * data_disks, cost.data_write.0 * parity_disks);
    }
}
