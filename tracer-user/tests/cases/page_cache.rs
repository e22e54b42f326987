//! What the page cache makes of a device's length, and of small writes.

use iotrace::{
    delta::{DeviceFigures, Meter},
    report::explain::{Weight, sentence},
    snapshot::Snapshot,
    units::Bytes,
};
use tracer_ebpf::cells::detail;

use super::{Blocks, Case};

/// The figures of a device, with what a list of IO cannot hold.
pub(super) fn figures(case: &Case, name: &str, add: impl FnOnce(&mut Snapshot)) -> DeviceFigures {
    let mut reading = case.snapshot.clone();
    let mut before = reading.clone();
    before.rows.clear();
    add(&mut reading);
    let mut meter = Meter::new(before, Vec::new(), false);
    meter.devices(&case.topology);
    let devices = meter.interval(reading).devices;
    devices.into_iter().find(|one| one.name == name).unwrap()
}

/// Callers are told, and so many reads of a page came out of write calls and out
/// of page faults.
pub(super) fn pages_read(snapshot: &mut Snapshot, name: &str, written: u64, faults: u64) {
    snapshot.unknown.callers = false;
    let mut rows = snapshot.rows.iter_mut();
    let row = rows.find(|(key, _)| key.name == name).unwrap().1;
    let cells = row.detail.as_mut().unwrap();
    for (cell, reads) in [(detail::WRITE_FILL, written), (detail::FAULT, faults)] {
        cells[cell] = reads;
        cells[cell + 1] = reads * 4096;
    }
}

#[test]
fn s10_lengths_that_are_no_multiple_of_a_page() {
    let case = Case::play("s10");
    let block = |name| case.device(name).page_cache_block().unwrap();
    assert_eq!(
        ["sda", "sda1", "sda2", "sda3"].map(block),
        [512, 512, 4096, 2048].map(Bytes)
    );
    assert_eq!(
        case.notes("sda1"),
        "is 1917388049 sectors long, no multiple of 4096 bytes (512 left over): without a file \
         system on it, buffered and mapped IO goes in blocks of 512 bytes, not 4096"
    );
    assert!(case.notes("sda").starts_with("is 3907029169 sectors long"));
    assert_eq!(case.notes("sda2"), "");
    assert!(case.notes("sda3").contains("in blocks of 2048 bytes"));
    let in_pieces = Blocks {
        sub_block: 8,
        partial_blocks: 8,
        ..Blocks::default()
    };
    assert_eq!(case.writes("sda1"), in_pieces);
    let whole = Blocks {
        aligned: 1,
        ..Blocks::default()
    };
    assert_eq!(case.writes("sda2"), whole);
    let finding = sentence(&figures(&case, "sda1", |_| ()));
    assert_eq!(
        (finding.weight, finding.text.as_str()),
        (
            Weight::Cost,
            "8 of 8 writes (100%; normal: 0%) misaligned to the 4096-byte physical block: 8 partly \
             written blocks, each costs the drive a read-modify-write. All are shorter than a \
             block: the page cache keeps it in blocks of 512 bytes, because its length is no \
             multiple of 4096. Make it one, or put a file system on it"
        )
    );
}

#[test]
fn s11_small_writes_read_first() {
    let case = Case::play("s11");
    let small = figures(&case, "sda", |all| pages_read(all, "sda", 2, 0));
    let fills = small.fills.unwrap();
    assert_eq!(
        (fills.write_fill_requests, fills.write_fill_bytes),
        (2, 8192)
    );
    assert_eq!((small.read.requests, small.write.requests), (2, 2));
    assert_eq!(small.write.physical.misaligned, 0);
    let finding = sentence(&small);
    assert_eq!(finding.weight, Weight::Cost);
    assert!(
        finding
            .text
            .starts_with("2 reads (8 KiB; normal: 0) made by write calls")
    );
    assert!(finding.text.contains("Write whole blocks of 4 KiB"));

    let pages = figures(&case, "sdb", |all| pages_read(all, "sdb", 0, 0));
    assert_eq!(pages.fills.unwrap().write_fill_requests, 0);
    assert_eq!(sentence(&pages).weight, Weight::Fine);

    let mapped = figures(&case, "sda", |all| pages_read(all, "sda", 0, 2));
    let finding = sentence(&mapped);
    assert_eq!(finding.weight, Weight::Hint);
    assert!(
        finding
            .text
            .starts_with("2 reads (8 KiB) made by page faults")
    );
}
