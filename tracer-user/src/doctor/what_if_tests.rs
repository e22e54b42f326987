use tracer_ebpf::op::Op as Kernel;

use super::*;
use crate::{
    delta::Meter,
    report::testing::{Bench, device, find, topology},
    sysfs::device::Device,
};

const KIB: u64 = 1 << 10;

/// md0 alone, as its own attributes have it.
fn array(level: &str, disks: u32, chunk: u64) -> Device {
    let mut array = device("md0", 9, 0);
    array.md = Some(MdArray {
        level: level.to_owned(),
        raid_disks: Some(disks),
        layout: Some(2),
        chunk: Some(Bytes(chunk)),
        rmw_level: Some(1),
        ..MdArray::default()
    });
    let shape = shape(array.md.as_ref().unwrap(), Bytes(chunk)).unwrap();
    array.geometry.chunk = Some(Bytes(chunk));
    array.geometry.data_disks = Some(shape.data_disks());
    array.geometry.stripe = Some(shape.stripe());
    array
}

/// Writes at these starts, all of one length.
fn after(array: &Device, len: u64, starts: &[u64]) -> DeviceFigures {
    let mut bench = Bench::new(topology([array.clone()]));
    let mut meter = Meter::new(bench.snapshot.clone(), Vec::new(), false);
    meter.devices(&bench.topology);
    for start in starts {
        bench.io("md0", Kernel::Write, (*start, len, 1 << 30), 1, 1000);
    }
    find(&meter.interval(bench.snapshot).devices, "md0").clone()
}

/// What md itself would read for them, each on cold rows.
fn read(array: &Device, len: u64, starts: &[u64]) -> u64 {
    let md = array.md.as_ref().unwrap();
    let shape = shape(md, md.chunk.unwrap()).unwrap();
    let model = RowModel::new(shape, RmwLevel::Fewer, Synced::Whole);
    let extents = starts.iter().map(|start| {
        Extent::new(
            ArraySector(start / SECTOR_BYTES),
            Sectors(len / SECTOR_BYTES),
        )
    });
    extents
        .map(|extent| model.write(&extent.unwrap()).preread.total().0)
        .sum()
}

fn what_if(array: &Device, figures: &DeviceFigures) -> WhatIf {
    WhatIf::of(array.md.as_ref().unwrap(), figures).unwrap()
}

/// Of writes that start at chunks the histograms tell all: the model is exact.
#[test]
fn writes_at_chunks_are_modelled_exactly() {
    for (level, disks) in [("raid5", 4), ("raid6", 9), ("raid6", 6)] {
        let array = array(level, disks, 64 * KIB);
        let stripe = array.geometry.stripe.unwrap().0;
        for len in [64 * KIB, 128 * KIB, stripe, stripe + 64 * KIB, 2 * stripe] {
            // Every chunk of a stripe, the third twice.
            let chunks = stripe / (64 * KIB);
            let mut starts: Vec<u64> = (0..chunks).map(|chunk| chunk * 64 * KIB).collect();
            starts.push(stripe * 7 + 2 * 64 * KIB % stripe);
            let figures = after(&array, len, &starts);
            let modelled = what_if(&array, &figures).as_it_is.preread_bytes;
            assert_eq!(
                modelled,
                read(&array, len, &starts),
                "{level} {disks} {len}"
            );
        }
    }
}

/// Single blocks anywhere: where in a chunk does not matter.
#[test]
fn single_blocks_are_modelled_exactly() {
    let array = array("raid6", 6, 64 * KIB);
    let starts: Vec<u64> = (0..40).map(|turn| turn * 4096 * 97).collect();
    let figures = after(&array, 4096, &starts);
    let what_if = what_if(&array, &figures);
    // Three reads each, in whatever chunk.
    assert_eq!(what_if.as_it_is.preread_bytes, 40 * 3 * 4096);
    assert!(
        what_if
            .caveats
            .iter()
            .any(|said| said.contains("anywhere in it alike"))
    );
}

/// A smaller chunk whose stripe divides this one is exact as well: compared with
/// an array that has it.
#[test]
fn smaller_chunks_are_what_they_would_be() {
    let large = array("raid5", 4, 256 * KIB);
    let starts: Vec<u64> = (0..9).map(|turn| turn * 256 * KIB).collect();
    let figures = after(&large, 256 * KIB, &starts);
    let what_if = what_if(&large, &figures);
    for other in &what_if.chunks {
        if other.chunk_bytes > 256 * KIB {
            continue;
        }
        let small = array("raid5", 4, other.chunk_bytes);
        assert_eq!(
            other.cost.preread_bytes,
            read(&small, 256 * KIB, &starts),
            "{}",
            other.chunk_bytes
        );
        assert_eq!(other.stripe_bytes, 3 * other.chunk_bytes);
    }
    let chunks: Vec<u64> = what_if
        .chunks
        .iter()
        .map(|one| one.chunk_bytes / KIB)
        .collect();
    assert_eq!(chunks, [4, 8, 16, 32, 64, 128, 512, 1024, 2048]);
}

#[test]
fn what_moves_to_a_stripe() {
    let array = array("raid5", 4, 64 * KIB);
    let starts: Vec<u64> = (0..10).map(|turn| turn * 192 * KIB + 64 * KIB).collect();
    let figures = after(&array, 192 * KIB, &starts);
    let modelled = what_if(&array, &figures);
    let phase = modelled.phase.unwrap();
    assert_eq!(phase.move_by_bytes, 128 * KIB);
    assert_eq!(phase.cost.preread_bytes, 0);
    assert!(modelled.as_it_is.preread_bytes > 0);
    assert_eq!(modelled.measured_preread_bytes, None);
}

#[test]
fn a_mix_of_lengths_adds_up_to_what_was_written() {
    let array = array("raid6", 9, 64 * KIB);
    let mut bench = Bench::new(topology([array.clone()]));
    let mut meter = Meter::new(bench.snapshot.clone(), Vec::new(), false);
    meter.devices(&bench.topology);
    bench.io("md0", Kernel::Write, (0, 96 * KIB, 448 * KIB), 10, 1000);
    bench.io("md0", Kernel::Write, (65536, 4096, 448 * KIB), 30, 1000);
    let figures = find(&meter.interval(bench.snapshot).devices, "md0").clone();
    let sizes = &figures.histograms.as_ref().unwrap().size_bytes;
    let lengths = lengths(sizes, figures.write.bytes).unwrap();
    let sum: u64 = lengths.iter().map(|one| one.bytes * one.writes).sum();
    let written = figures.write.bytes;
    assert!(sum.abs_diff(written) * 10 < written, "{sum} of {written}");
    let what_if = what_if(&array, &figures);
    assert!(
        what_if
            .caveats
            .iter()
            .any(|said| said.contains("independent"))
    );
}

#[test]
fn nothing_is_said_where_there_is_nothing() {
    let parity = array("raid5", 4, 64 * KIB);
    let idle = after(&parity, 4096, &[]);
    assert!(WhatIf::of(parity.md.as_ref().unwrap(), &idle).is_none());
    let mut mirror = parity.clone();
    mirror.md.as_mut().unwrap().level = "raid10".to_owned();
    let figures = after(&parity, 4096, &[0]);
    assert!(WhatIf::of(mirror.md.as_ref().unwrap(), &figures).is_none());
    let mut none = figures;
    none.histograms = None;
    assert!(WhatIf::of(parity.md.as_ref().unwrap(), &none).is_none());
}
