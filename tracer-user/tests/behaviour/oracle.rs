//! The script that says what to expect, against figures worked out by hand.
//! The last test asks the kernel whether the script is right, iotrace apart.

use crate::harness::{
    blktrace::Blktrace,
    expect::{Expected, Terms},
    fio::Fio,
    lab::{Lab, Needs},
    loopdev::Loop,
    stat::settle,
};

/// A 512/4096 disk.
fn disk_terms() -> Terms {
    Terms::of_requests()
        .with("logical", 512)
        .with("physical", 4096)
}

fn assert_all(expected: &Expected, figures: &[(&str, u64)]) {
    for (name, figure) in figures {
        assert_eq!(expected.get(name), *figure, "{name} in {expected:?}");
    }
}

#[test]
fn physical_blocks() {
    // Block 1 whole; its last half and the first half of block 2; 1 KiB inside
    // block 3; 1 KiB over the seam of 4 and 5; 3 sectors short of two blocks.
    let records = "D W 8 4096\nD W 12 4096\nD W 26 1024\nD W 39 1024\nD WS 48 6656\nD R 0 8192\n";
    assert_all(
        &Expected::new(records, &disk_terms()),
        &[
            ("write.requests", 5),
            ("write.bytes", 4096 + 4096 + 1024 + 1024 + 6656),
            ("write.physical.aligned", 1),
            ("write.physical.misaligned", 4),
            ("write.physical.off_grid", 2),
            ("write.physical.sub_block", 2),
            ("write.physical.partial_blocks", 2 + 1 + 2 + 1),
            ("write.remainder.0", 2),
            ("write.remainder.4", 1),
            ("write.remainder.2", 1),
            ("write.remainder.7", 1),
            ("read.physical.aligned", 1),
            ("read.physical.partial_blocks", 0),
        ],
    );
}

#[test]
fn a_disk_whose_blocks_begin_at_sector_7() {
    let terms = disk_terms().with("alignment", 3584);
    // On the grid; off by seven sectors; the seven sectors before the first
    // whole block: the block they belong to begins before the disk.
    let expected = Expected::new("D W 7 4096\nD W 8 4096\nD R 0 3584\n", &terms);
    assert_all(
        &expected,
        &[
            ("write.physical.aligned", 1),
            ("write.physical.off_grid", 1),
            ("write.remainder.0", 1),
            ("write.remainder.1", 1),
            ("read.physical.sub_block", 1),
            ("read.physical.partial_blocks", 1),
            ("read.remainder.1", 1),
        ],
    );
}

#[test]
fn chunks_and_stripes() {
    // 7 data disks of 64 KiB: chunks of 128 sectors, stripes of 896.
    let terms = Terms::of_bios()
        .with("logical", 512)
        .with("physical", 512)
        .with("chunk", 65536)
        .with("stripe", 458_752);
    let records = "\
        Q W 896 458752\n\
        Q W 0 1048576\n\
        Q W 1 917504\n\
        Q WS 128 65536\n\
        Q WS 130 4096\n\
        Q W 254 2048\n\
        Q R 0 458752\n\
        D W 0 4096\n";
    assert_all(
        &Expected::new(records, &terms),
        &[
            ("write.requests", 6),
            ("write.chunk.aligned", 3),
            ("write.chunk.inside", 1),
            ("write.chunk.crossing", 2),
            ("write.stripe.full", 1),
            ("write.stripe.mixed", 2),
            ("write.stripe.partial", 3),
            ("write.stripe.full_bytes", 458_752 + 917_504 + 458_752),
            (
                "write.stripe.partial_bytes",
                131_072 + 458_752 + 65536 + 4096 + 2048,
            ),
            ("read.chunk.aligned", 1),
            ("read.stripe.full", 0),
        ],
    );
}

#[test]
fn a_request_counts_once() {
    let records = "\
        R W 64 4096\n\
        D W 64 4096\n\
        R W 64 4096\n\
        D W 64 4096\n\
        C W 64 1024\n\
        R W 66 3072\n\
        D W 66 3072\n\
        C W 66 3072\n\
        D W 64 4096\n\
        C W 64 4096\n";
    assert_all(
        &Expected::new(records, &disk_terms()),
        &[
            ("write.requests", 2),
            ("write.bytes", 8192),
            ("write.physical.aligned", 2),
            ("requeued", 2),
            ("in_part", 1),
            ("still_in_flight", 0),
        ],
    );
}

#[test]
fn flushes_have_no_place() {
    let records =
        "Q FWS 0 0\nD FN 0 0\nC FN 0 0\nQ FWFS 8 512\nD WFS 8 512\nC WFS 8 512\nQ WFS 9 512\n";
    assert_all(
        &Expected::new(records, &disk_terms()),
        &[
            ("flush.requests", 1),
            ("flush.empty_bios", 1),
            ("flush.preflush_bios", 1),
            ("flush.fua_bios", 2),
            ("write.requests", 1),
            ("write.physical.sub_block", 1),
            ("still_in_flight", 0),
        ],
    );
}

#[test]
fn sectors_have_64_bits() {
    // Sector 2^42 + 1, a device of 2 PiB.
    let expected = Expected::new("D W 4398046511105 4096\n", &disk_terms());
    assert_all(
        &expected,
        &[("write.physical.off_grid", 1), ("write.remainder.1", 1)],
    );
}

#[test]
fn only_what_was_asked_for() {
    let terms = disk_terms()
        .with("from", 63)
        .with("to", 127)
        .with("zeroes_from", 100)
        .with("zeroes_to", 127);
    let records = "D W 55 4096\nD W 63 4096\nD D 64 4096\nD W 100 512\nD W 127 512\n";
    assert_all(
        &Expected::new(records, &terms),
        &[
            ("write.requests", 1),
            ("write.physical.off_grid", 1),
            ("discard.requests", 1),
            ("discard.physical.aligned", 1),
            ("write_zeroes.requests", 1),
            ("still_in_flight", 3),
        ],
    );
}

#[test]
fn the_script_agrees_with_the_kernels_books() {
    let name = "the_script_agrees_with_the_kernels_books";
    let needs = [Needs::Program("fio"), Needs::Program("blkparse")];
    let Some(lab) = Lab::open(name, &needs) else {
        return;
    };
    let disk = Loop::new(&lab, 64 << 20);
    let device = disk.device();
    let before = settle(std::slice::from_ref(&device));
    let trace = Blktrace::start(std::slice::from_ref(&device));
    Fio::mixed(&device, 307).set("fsync=7").run(&lab);
    Fio::mixed(&device, 401).deep("libaio").run(&lab);
    Fio::mixed(&device, 61).set("rw=randtrim").run(&lab);
    let stat = settle(std::slice::from_ref(&device))[0] - before[0];
    let records = trace.stop(&lab);
    let expected = Expected::new(&records[device.name()], &disk_terms());
    assert_all(
        &expected,
        &[
            ("read.requests", stat.reads()),
            ("read.bytes", stat.read_bytes()),
            ("write.bytes", stat.written_bytes()),
            ("discard.requests", stat.discards()),
            ("discard.bytes", stat.discarded_bytes()),
            ("flush.requests", stat.flushes()),
            ("still_in_flight", 0),
        ],
    );
    let writes = expected.get("write.requests") + expected.get("flush.empty_bios");
    assert_eq!(writes, stat.writes(), "{expected:?} {stat:?}");
    assert!(stat.flushes() > 20, "{stat:?}");
}
