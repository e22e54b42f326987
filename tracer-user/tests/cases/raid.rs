//! Chunks and stripes: what lies where, which class a write is of, and what a
//! cold write of it costs the members.

use iotrace::{
    raid::{
        ArraySector, Extent, ParityLevel, ParityShape, Raid10, Raid456, Redundancy, RmwLevel,
        RowCounts, RowModel, Slot, Synced, WriteCost,
    },
    source::event_list::parse_line,
    sysfs::{device::MdArray, start::Against},
    units::{Bytes, Sectors},
};
use tracer_ebpf::{
    cells::{READ_BYTES, TAIL_FULL_BYTES, TAIL_PARTIAL_BYTES, WRITE, WRITE_TAIL},
    classify::{Chunk, Stripe},
    op::Op,
};

use super::{Case, fixture};

const KIB: u64 = 1 << 10;

/// Requests of one class.
fn of_class(case: &Case, name: &str, wanted: impl Fn(usize) -> bool) -> u64 {
    let writes = &case.row(name).cells[WRITE..READ_BYTES];
    let cells = writes.iter().enumerate();
    cells
        .filter(|(cell, _)| wanted(*cell))
        .map(|(_, count)| count)
        .sum()
}

/// Writes: full, mixed, partial; bytes in whole stripes and in others, in KiB.
fn stripes(case: &Case, name: &str) -> ([u64; 3], [u64; 2]) {
    let count = |stripe: Stripe| of_class(case, name, |cell| cell % 4 == stripe.index());
    let cells = &case.row(name).cells;
    (
        [Stripe::Full, Stripe::Mixed, Stripe::Partial].map(count),
        [TAIL_FULL_BYTES, TAIL_PARTIAL_BYTES].map(|tail| cells[WRITE_TAIL + tail] / KIB),
    )
}

/// Writes: aligned to chunks, inside one, crossing into another.
fn chunks(case: &Case, name: &str) -> [u64; 3] {
    let count = |chunk: Chunk| of_class(case, name, |cell| cell / 4 % 4 == chunk.index());
    [Chunk::Aligned, Chunk::Inside, Chunk::Crossing].map(count)
}

fn md<'a>(case: &'a Case, name: &str) -> &'a MdArray {
    case.device(name).md.as_ref().unwrap()
}

/// Chunk, data disks and stripe.
fn geometry(case: &Case, name: &str) -> (u64, u32, u64) {
    let geometry = case.device(name).geometry;
    (
        geometry.chunk.unwrap().0,
        geometry.data_disks.unwrap(),
        geometry.stripe.unwrap().0,
    )
}

fn chunk_sectors(md: &MdArray) -> Sectors {
    Sectors(md.chunk.unwrap().0 / 512)
}

/// What each write in the list costs, every row cold.
fn costs(case: &Case, name: &str, list: &str) -> Vec<WriteCost> {
    let md = md(case, name);
    let level = ParityLevel::from_md(&md.level).unwrap();
    let shape = ParityShape::new(level, md.raid_disks.unwrap(), chunk_sectors(md)).unwrap();
    let rmw = RmwLevel::from_md(md.rmw_level.unwrap()).unwrap();
    let model = RowModel::new(shape, rmw, Synced::Whole);
    let events = std::fs::read_to_string(fixture(list, "events")).unwrap();
    let writes = events
        .lines()
        .filter_map(|line| parse_line(line).unwrap())
        .filter(|event| event.op == Op::Write);
    writes
        .map(|event| {
            let device = case.device(event.device);
            let base = device.partition.map_or(Sectors(0), |part| part.start).0;
            let start = ArraySector(base + event.start.0 / 512);
            model.write(&Extent::new(start, Sectors(event.len.0 / 512)).unwrap())
        })
        .collect()
}

/// Read by rmw, rcw and for partly written blocks; data and parity written.
fn pages(cost: &WriteCost) -> [u64; 5] {
    let preread = cost.preread;
    [
        preread.rmw,
        preread.rcw,
        preread.partial_block,
        cost.data_write,
        cost.parity_write,
    ]
    .map(|bytes| bytes.0 / 4096)
}

#[test]
fn s1_partitions_of_an_array() {
    let case = Case::play("s1");
    assert_eq!(geometry(&case, "md0"), (65_536, 3, 196_608));
    assert_eq!(case.start("md0p1", Against::Stripe), (65_536, 2304, 6144));
    assert_eq!(case.start("md0p2", Against::Stripe), (0, 3072, 6144));
    assert_eq!(case.start("md0p1", Against::Chunk).0, 0);
    assert_eq!(case.device("md0p1").geometry.phase, Some(Bytes(131_072)));
    assert_eq!(
        case.notes("md0p1"),
        "starts 65536 bytes past a stripe boundary (192 KiB): a write of one stripe's length \
         covers no whole one; next aligned start: sector 2304, better 6144 (3 MiB)"
    );
    assert_eq!(case.notes("md0p2"), "");
    assert_eq!(stripes(&case, "md0p1"), ([0, 0, 1], [0, 192]));
    assert_eq!(stripes(&case, "md0p2"), ([1, 0, 0], [192, 0]));
    // 192 KiB read and 320 KiB written, or nothing and 256 KiB.
    let costs = costs(&case, "md0", "s1");
    assert_eq!(pages(&costs[0]), [0, 48, 0, 48, 32]);
    assert_eq!(pages(&costs[1]), [0, 0, 0, 48, 16]);
}

#[test]
fn s2_a_stripe_without_parity() {
    let case = Case::play("s2");
    // In sectors, as XFS was told: sunit 512 is right, swidth is 2048.
    assert_eq!(
        geometry(&case, "md0"),
        (512 * 512, 4, 2048 * 512),
        "RAID0 has all disks for data"
    );
    assert_eq!(stripes(&case, "md0"), ([2, 1, 1], [4096, 1536]));
    assert_eq!(chunks(&case, "md0"), [4, 0, 0]);
}

#[test]
fn s3_near_far_and_offset() {
    let case = Case::play("s3");
    let near = geometry(&case, "md1");
    assert_eq!(near, (65_536, 3, 196_608));
    for name in ["md2", "md3"] {
        assert_eq!(geometry(&case, name), (65_536, 6, 393_216), "{name}");
    }
    assert_eq!(stripes(&case, "md1"), ([2, 1, 1], [768, 256]));
    for name in ["md2", "md3"] {
        assert_eq!(stripes(&case, name), ([1, 0, 3], [384, 640]), "{name}");
    }
    for name in ["md1", "md2", "md3"] {
        assert_eq!(chunks(&case, name), [3, 0, 1], "{name}");
        let md = md(&case, name);
        let (layout, disks) = (md.layout.unwrap(), md.raid_disks.unwrap());
        let least = Redundancy::from_md(&md.level, disks, md.layout).unwrap();
        assert_eq!(least.write_amplification_minimum(), 2.0);
        let component = Sectors(md.components[0].data_size.unwrap().0 / 512);
        let array = Raid10::new(layout, disks, chunk_sectors(md), component).unwrap();
        let copies: Vec<Slot> = array
            .copies(ArraySector(128))
            .unwrap()
            .map(|place| place.slot)
            .collect();
        // The second chunk: beside its copy, or one member on.
        let expected = if name == "md1" { [2, 3] } else { [1, 2] };
        assert_eq!(copies, expected.map(Slot), "{name}");
    }
}

#[test]
fn s4_parity_on_one_disk() {
    let case = Case::play("s4");
    assert_eq!(geometry(&case, "md0"), (65_536, 3, 196_608));
    assert_eq!(
        case.notes("md0"),
        "keeps all its parity on sdd: every write to the array writes there too, and that sets the \
         pace"
    );
    let md = md(&case, "md0");
    let array = Raid456::new(ParityLevel::Raid4, 0, 4, chunk_sectors(md)).unwrap();
    let costs = costs(&case, "md0", "s4");
    for (stripe, cost) in (0..8).zip(&costs) {
        let located = array.locate(ArraySector(stripe * 384));
        assert_eq!((located.p, located.q), (Slot(3), None));
        // rmw would read as much, the old block and parity: so rcw.
        assert_eq!(pages(cost), [0, 2, 0, 1, 1]);
    }
    assert_eq!(pages(&costs[8]), [0, 0, 0, 48, 16]);
    assert_eq!(stripes(&case, "md0"), ([1, 0, 8], [192, 32]));
}

#[test]
fn s5_a_stripe_and_less_than_a_block() {
    let case = Case::play("s5");
    assert_eq!(geometry(&case, "md0"), (65_536, 2, 131_072));
    let costs = costs(&case, "md0", "s5");
    assert_eq!(pages(&costs[0]), [0, 0, 0, 32, 32]);
    // The block's own rest, and the row's other block.
    assert_eq!(pages(&costs[1]), [0, 1, 1, 1, 2]);
    let one = RowCounts {
        rcw: 1,
        ..RowCounts::default()
    };
    assert_eq!(costs[1].rows, one);
    assert_eq!(stripes(&case, "md0"), ([1, 0, 1], [128, 1]));
}

#[test]
fn s6_as_many_reads_either_way() {
    let case = Case::play("s6");
    assert_eq!(geometry(&case, "md0"), (65_536, 4, 262_144));
    assert_eq!(pages(&costs(&case, "md0", "s6")[0]), [0, 3, 0, 1, 2]);
}

#[test]
fn s7_single_sectors() {
    let case = Case::play("s7");
    assert_eq!(geometry(&case, "md0"), (65_536, 6, 393_216));
    for cost in costs(&case, "md0", "s7") {
        // Each on its own and cold: both parities and the block itself.
        assert_eq!(pages(&cost), [2, 0, 1, 1, 2]);
        assert_eq!(cost.rows.rmw, 1);
    }
    let writes = case.writes("md0");
    assert_eq!((writes.sub_block, writes.partial_blocks), (3, 3));
    assert_eq!(stripes(&case, "md0"), ([0, 0, 3], [0, 1]));
    assert!(md(&case, "md0").bitmap.is_some());
}

#[test]
fn s8_a_cache_that_begins_inside_a_chunk() {
    let case = Case::play("s8");
    assert_eq!(geometry(&case, "md0"), (524_288, 3, 1_572_864));
    // From above a stripe, at the array none, and each crosses chunks.
    assert_eq!(stripes(&case, "md0"), ([0, 0, 3], [0, 3584]));
    assert_eq!(chunks(&case, "md0"), [0, 0, 3]);
    assert_eq!(case.device("bcache0").geometry.chunk, None);
    // Aligned to the drive's blocks all the same.
    assert_eq!(case.writes("md0").partial_blocks, 0);
    let costs: Vec<[u64; 5]> = costs(&case, "md0", "s8").iter().map(pages).collect();
    let at_array = &costs[2..4];
    for cost in at_array {
        assert!(cost[0] + cost[1] > 0, "{cost:?}");
    }

    // What the owner of the cache knows, said to iotrace.
    let told = Case::play_with("s8", &["bcache0=chunk:512k,data:3"]);
    assert_eq!(stripes(&told, "bcache0"), ([2, 0, 1], [3072, 512]));
}

#[test]
fn s9_partial_is_not_misaligned() {
    let case = Case::play("s9");
    assert_eq!(stripes(&case, "md0"), ([0, 0, 5], [0, 64]));
    let writes = case.writes("md0");
    assert_eq!((writes.aligned, writes.partial_blocks), (5, 0));
    assert_eq!((writes.off_grid, writes.sub_block), (0, 0));
    assert_eq!(chunks(&case, "md0"), [0, 5, 0]);
    assert_eq!(case.notes("md0"), "");
}
