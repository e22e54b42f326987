use tracer_ebpf::{
    cells::{READ_BYTES, WRITE, WRITE_TAIL},
    classify::{Chunk, Physical, Stripe},
};

use super::*;
use crate::sysfs::{SysRoot, tree::expand};
use tracer_ebpf::bins::{POWER_BINS, REMAINDER_BINS};

const SYS: &str = "block/sda/dev = 8:0
    block/sda/size = 1000
    block/sda/queue/physical_block_size = 4096
    block/sda/sda1/partition = 1
    block/sda/sda1/dev = 8:1
    block/sda/sda1/start = 34
    block/sda/sda1/size = 900
    block/md0/dev = 9:0
    block/md0/size = 10000
    block/md0/queue/physical_block_size = 512
    block/md0/md/level = raid5
    block/md0/md/raid_disks = 4
    block/md0/md/chunk_size = 65536";

fn play(events: &str) -> Result<Snapshot, SyntheticError> {
    let dir = expand(SYS).unwrap();
    let topology = Topology::read(&SysRoot::new(dir.path())).unwrap();
    let mut source = SyntheticSource::play(topology, events.as_bytes(), Path::new("events"))?;
    assert!(source.finished());
    Ok(source.snapshot().unwrap())
}

fn row<'a>(snapshot: &'a Snapshot, name: &str) -> &'a Row {
    let found = snapshot.rows.iter().find(|(key, _)| key.name == name);
    found.unwrap().1
}

#[test]
fn a_partitions_event_is_classified_where_it_lies_on_the_disk() {
    let snapshot = play("sda1 write 3k 4k\nsda1 write 0 4k\nsda1 read 3k 1k\n").unwrap();
    let part = row(&snapshot, "sda1");
    let write = |physical| cells::joint_cell(WRITE, physical, Chunk::None, Stripe::None);
    assert_eq!(part.cells[write(Physical::Aligned)], 1);
    assert_eq!(part.cells[write(Physical::OffGrid)], 1);
    assert_eq!(part.cells[WRITE_TAIL + cells::TAIL_PARTIAL_BLOCKS], 2);
    assert_eq!(part.cells[READ_BYTES], 1024);
    assert_eq!(part.disk, Some("8:0".parse().unwrap()));
    // What went through a partition is not in the disk's row.
    assert_eq!(row(&snapshot, "sda").cells.iter().sum::<u64>(), 0);
}

#[test]
fn histograms_and_seeks() {
    let snapshot =
        play("sda write 20k 4k\nsda discard 0 4k\nsda1 write 0 4k\nsda1 read 4k 512\n").unwrap();
    let part = row(&snapshot, "sda1").detail.clone().unwrap();
    let side = |first, bins, side, bin| first + side * bins + bin;
    assert_eq!(part[side(detail::REMAINDER, REMAINDER_BINS, 1, 2)], 1);
    assert_eq!(part[side(detail::SIZE, POWER_BINS, 1, 12)], 1);
    assert_eq!(part[side(detail::GRAIN, POWER_BINS, 1, 10)], 1);
    assert_eq!(part[side(detail::SIZE, POWER_BINS, 0, 9)], 1);
    // The disk's head moved 24576 → 17408; then nothing was skipped. No head
    // follows a discard.
    assert_eq!(part[detail::SEEK + 13], 1);
    assert_eq!(part[detail::SEEK], 1);
}

#[test]
fn stripes_and_requests_of_no_bytes() {
    let snapshot =
        play("md0 write 0 192k\nmd0 write 1m 0\nmd0 flush\nmd0 discard 0 100k\n").unwrap();
    let array = row(&snapshot, "md0");
    assert_eq!(array.cells[WRITE_TAIL + cells::TAIL_FULL_BYTES], 192 << 10);
    assert_eq!(array.cells[cells::ZERO_LENGTH], 1);
    assert_eq!(array.cells[cells::FLUSH], 1);
    let discard = cells::joint_cell(
        cells::DISCARD,
        Physical::Aligned,
        Chunk::Crossing,
        Stripe::Partial,
    );
    assert_eq!(array.cells[discard], 1);
}

#[test]
fn a_bad_line_is_named() {
    for (events, message) in [
        (
            "sda read 0 1k\n\nsdb read 0 1k\n",
            "events:3: no device \"sdb\" in this sysfs",
        ),
        (
            "sda read 499k 2k",
            "events:1: [510976, +2048) ends past sda, which has 512000 bytes",
        ),
        (
            "sda1 read 449k 2k",
            "events:1: [459776, +2048) ends past sda1, which has 460800 bytes",
        ),
        (
            "sda",
            "events:1: expected DEVICE OP START LENGTH, or DEVICE flush",
        ),
    ] {
        let error = play(events).unwrap_err();
        let cause = std::error::Error::source(&error).unwrap();
        assert_eq!(format!("{error}: {cause}"), message);
    }
}
