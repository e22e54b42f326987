use tracer_ebpf::{
    cells::SPLITS,
    op::Op,
    origin::{
        Cause, Origin,
        abi::{CAUSES, CELLS, origin_cell},
    },
};

use super::*;
use crate::{
    report::testing::{Bench, device, partition, raid_topology, topology},
    sysfs::device::{Geometry, MdArray, Topology},
};

fn disk(minor: u32) -> Topology {
    let disk = device("nvme0n1", 259, minor);
    let part = partition("nvme0n1p1", 259, minor + 1, disk.id, 2048);
    topology([disk, part])
}

fn written<'a>(sums: &'a Sums, name: &str) -> Option<&'a DeviceTotals> {
    let mut named = sums.devices.iter().filter(|one| one.figures.name == name);
    let found = named.next();
    assert!(named.next().is_none(), "{name} twice");
    found
}

fn writes(sums: &Sums, name: &str) -> Option<u64> {
    written(sums, name).map(|one| one.figures.write.requests)
}

#[test]
fn a_counter_never_falls() {
    let mut totals = Totals::new(Vec::new());
    let mut bench = Bench::new(disk(0));
    bench.io("nvme0n1", Op::Write, (0, 4096, 4096), 10, 1);
    let before = bench.snapshot.clone();
    bench.io("nvme0n1", Op::Write, (0, 4096, 4096), 2, 1);
    let first = totals.take(bench.snapshot.clone(), &bench.topology);
    assert_eq!(writes(&first, "nvme0n1"), Some(12));
    // Two were put back.
    let second = totals.take(before, &bench.topology);
    assert_eq!(writes(&second, "nvme0n1"), Some(12));
    let third = totals.take(bench.snapshot, &bench.topology);
    assert_eq!(writes(&third, "nvme0n1"), Some(12));
    assert_eq!(
        written(&third, "nvme0n1").unwrap().figures.write.bytes,
        12 * 4096
    );
}

/// NVMe disks and their partitions get the next free numbers.
#[test]
fn a_name_goes_on_under_another_number() {
    let there = disk(3);
    let asked = there.by_name("nvme0n1").unwrap().id;
    let mut totals = Totals::new(there.remember(&[asked]));
    let mut old = Bench::new(there);
    old.io("nvme0n1", Op::Write, (0, 4096, 4096), 10, 1);
    old.io("nvme0n1p1", Op::Write, (1 << 20, 4096, 4096), 5, 1);
    let first = totals.take(old.snapshot.clone(), &old.topology);
    assert_eq!(writes(&first, "nvme0n1"), Some(15));
    let mut new = Bench::new(disk(6));
    new.io("nvme0n1", Op::Write, (0, 4096, 4096), 100, 1);
    new.io("nvme0n1p1", Op::Write, (1 << 20, 4096, 4096), 50, 1);
    new.snapshot.rows.extend(old.snapshot.rows);
    let second = totals.take(new.snapshot, &new.topology);
    assert_eq!(writes(&second, "nvme0n1"), Some(165));
    assert_eq!(writes(&second, "nvme0n1p1"), Some(55));
    let size = &written(&second, "nvme0n1").unwrap().figures.histograms;
    let bins = &size.as_ref().unwrap().size_bytes;
    assert_eq!(bins.iter().map(|bin| bin.writes).sum::<u64>(), 165);
}

#[test]
fn a_device_that_is_gone_is_told_for_a_while_and_goes_on_when_it_is_back() {
    let mut totals = Totals::new(Vec::new());
    let mut bench = Bench::new(disk(0));
    let there = bench.topology.clone();
    bench.io("nvme0n1", Op::Write, (0, 4096, 4096), 10, 1);
    totals.take(bench.snapshot.clone(), &there);
    let nothing = Topology::default();
    let gone = totals.take(bench.snapshot.clone(), &nothing);
    assert_eq!(writes(&gone, "nvme0n1"), Some(10));
    bench.pass(Duration::from_secs(601));
    let gone = totals.take(bench.snapshot.clone(), &nothing);
    assert_eq!(writes(&gone, "nvme0n1"), None);
    bench.io("nvme0n1", Op::Write, (0, 4096, 4096), 1, 1);
    let back = totals.take(bench.snapshot.clone(), &there);
    assert_eq!(writes(&back, "nvme0n1"), Some(11));
}

/// Cells of the component `sda1` in `md127`.
fn origins(topology: &Topology, cells: &[(usize, u64)]) -> Origins {
    let key = |name: &str| RowKey {
        device: topology.by_name(name).unwrap().id,
        name: name.to_owned(),
    };
    let mut all: OriginCells = Box::new([0; CELLS]);
    for (cell, value) in cells {
        all[*cell] = *value;
    }
    let key = OriginKey {
        array: key("md127"),
        component: key("sda1"),
    };
    Origins {
        components: [(key, all)].into(),
        rows: true,
    }
}

fn rmw_bytes(sums: &Sums) -> Option<u64> {
    let raid = written(sums, "md127")?.figures.raid.as_ref()?;
    Some(raid.preread.rmw)
}

#[test]
fn origins_go_on_when_the_programs_are_loaded_anew() {
    let bytes = origin_cell(Origin::RmwData) + 1;
    let mut totals = Totals::new(Vec::new());
    let mut bench = Bench::new(raid_topology());
    let topology = bench.topology.clone();
    let mut take = |cells: Option<u64>| {
        bench.snapshot.origins = cells.map(|cells| origins(&topology, &[(bytes, cells)]));
        totals.take(bench.snapshot.clone(), &topology)
    };
    assert_eq!(rmw_bytes(&take(Some(8192))), Some(8192));
    assert_eq!(rmw_bytes(&take(Some(12_288))), Some(12_288));
    // Unloaded and loaded, unseen.
    assert_eq!(rmw_bytes(&take(Some(4096))), Some(16_384));
    // Not to be had for a while.
    assert_eq!(rmw_bytes(&take(None)), None);
    assert_eq!(rmw_bytes(&take(Some(8192))), Some(24_576));
}

/// Between the two, sysfs shows an array without a level.
#[test]
fn an_array_that_is_stopped_is_what_it_was() {
    let bytes = origin_cell(Origin::RmwData) + 1;
    let mut totals = Totals::new(Vec::new());
    let mut bench = Bench::new(raid_topology());
    let running = bench.topology.clone();
    bench.io("md127", Op::Write, (0, 4096, 4096), 3, 1);
    bench.snapshot.origins = Some(origins(&running, &[(bytes, 4096)]));
    totals.take(bench.snapshot.clone(), &running);
    let mut stopped = running.clone();
    let id = running.by_name("md127").unwrap().id;
    let array = stopped.devices.get_mut(&id).unwrap();
    array.md = Some(MdArray::default());
    array.geometry = Geometry::default();
    let mut gone = running.clone();
    gone.devices.remove(&id);
    let mut assembling = stopped.clone();
    let array = assembling.devices.get_mut(&id).unwrap();
    array.md.as_mut().unwrap().level = "6".to_owned();
    for topology in [&stopped, &gone, &assembling, &running] {
        let sums = totals.take(bench.snapshot.clone(), topology);
        let raid = written(&sums, "md127").unwrap().figures.raid.clone();
        let rows = raid.and_then(|raid| raid.rows);
        assert!(rows.is_some(), "a level with parity has rows");
        assert_eq!(rmw_bytes(&sums), Some(4096));
        let histograms = &written(&sums, "md127").unwrap().figures.histograms;
        assert!(histograms.as_ref().unwrap().remainder_bytes.is_some());
    }
}

/// What is at md's limit is split by md only where md splits: a counter of the
/// one kind must not turn into the other's.
#[test]
fn causes_do_not_change_their_minds() {
    let at_limit = CAUSES + Cause::AtLimitStartsInside as usize;
    let mut totals = Totals::new(Vec::new());
    let mut bench = Bench::new(raid_topology());
    let topology = bench.topology.clone();
    let causes = |sums: &Sums| {
        let array = written(sums, "md127").unwrap().array.unwrap();
        let causes = array.causes.unwrap();
        (causes.starts_inside_stripe, causes.split_by_md)
    };
    bench.snapshot.origins = Some(origins(&topology, &[(at_limit, 100)]));
    let first = totals.take(bench.snapshot.clone(), &topology);
    assert_eq!(causes(&first), (100, 0));
    bench.row("md127").cells[SPLITS] = 7;
    bench.snapshot.origins = Some(origins(&topology, &[(at_limit, 130)]));
    let second = totals.take(bench.snapshot.clone(), &topology);
    assert_eq!(causes(&second), (100, 30));
}

#[test]
fn lost_events_go_on_and_are_not_known_where_they_are_not() {
    let mut lost = LostTotals::default();
    let mut take = |by_maps, by_recursion| {
        let lost = lost.take(Lost {
            by_maps,
            by_recursion,
        });
        (lost.by_maps, lost.by_recursion)
    };
    assert_eq!(take(Some(5), Some(1)), (Some(5), Some(1)));
    assert_eq!(take(Some(2), None), (Some(7), None));
    assert_eq!(take(Some(3), Some(4)), (Some(8), Some(4)));
}
