use std::time::Duration;

use proptest::prelude::*;
use tracer_ebpf::{abi::ProcessKey, bins::latency_bin_le_ns, cells};

use super::*;
use crate::{
    report::testing::{Bench, busy_bench, find, raid_topology},
    snapshot::OTHER_COMMANDS,
    units::Bytes,
};

fn meter_of(bench: &Bench, by_process: bool) -> Meter {
    let first = Bench::new(bench.topology.clone()).snapshot;
    let mut meter = Meter::new(first, Vec::new(), by_process);
    meter.devices(&bench.topology);
    meter
}

fn busy() -> Interval {
    let bench = busy_bench();
    meter_of(&bench, true).interval(bench.snapshot)
}

#[test]
fn a_disk_holds_its_own_row_and_its_partitions() {
    let interval = busy();
    let sda = find(&interval.devices, "sda");
    assert_eq!(sda.read.requests, 128);
    assert_eq!(sda.read.bytes, 120 * 16384 + 8 * 512);
    assert_eq!(sda.read.physical.sub_block, 8);
    assert_eq!(sda.write.requests, 300);
    assert_eq!(sda.write.physical.off_grid, 300);
    assert_eq!(sda.write.physical.partial_blocks, 600);
    assert_eq!(find(&interval.devices, "sda1").write.requests, 300);
    assert_eq!(find(&interval.devices, "sda2").read.requests, 120);
    let remainders = sda
        .histograms
        .as_ref()
        .unwrap()
        .remainder_bytes
        .as_ref()
        .unwrap();
    assert_eq!((remainders[2].bytes, remainders[2].writes), (1024, 300));
}

#[test]
fn rates_shares_and_percentiles() {
    let interval = busy();
    let sda1 = find(&interval.devices, "sda1");
    assert_eq!(sda1.rates.writes_per_second, Some(300.0));
    assert_eq!(sda1.rates.write_bytes_per_second, Some(300.0 * 4096.0));
    assert_eq!(sda1.rates.misaligned_write_share, Some(1.0));
    assert_eq!(sda1.rates.misaligned_read_share, None);
    assert_eq!(sda1.rates.mean_write_bytes, Some(4096.0));
    assert_eq!(sda1.rates.chunk_crossing_share, None);
    assert_eq!(sda1.read.stripe, None);
    assert_eq!(sda1.write.chunk, None);
    let await_time = sda1.write.latency_seconds.unwrap();
    let bin = tracer_ebpf::bins::latency_bin(14_000_000);
    assert_eq!(
        await_time.misaligned.p50,
        Some(latency_bin_le_ns(bin) as f64 / 1e9)
    );
    assert_eq!(await_time.aligned, Quantiles::default());
    // No queue of the bench keeps the time of issue.
    assert_eq!(sda1.write.device_latency_seconds, None);

    let md = find(&interval.devices, "md127");
    let stripe = md.write.stripe.unwrap();
    assert_eq!((stripe.full, stripe.mixed, stripe.partial), (7, 0, 3));
    assert_eq!(stripe.full_bytes, 7 * 458_752);
    assert_eq!(stripe.partial_bytes, 3 * 458_752);
    let shares = md.rates.stripe.unwrap();
    assert_eq!((shares.full, shares.partial), (0.7, 0.3));
}

#[test]
fn what_cannot_be_told_is_not_zero() {
    let mut bench = busy_bench();
    bench.snapshot.unknown = crate::snapshot::Unknown {
        operations: true,
        requeues: true,
        flush_bios: true,
        latency: true,
        callers: true,
    };
    bench.snapshot.lost = Lost::default();
    for row in bench.snapshot.rows.values_mut() {
        row.requeued = None;
        row.cells[cells::NOT_TOLD] = 5;
    }
    let interval = meter_of(&bench, false).interval(bench.snapshot);
    let sdb1 = find(&interval.devices, "sdb1");
    assert_eq!(sdb1.write_zeroes, None);
    assert_eq!(sdb1.zone_append, None);
    assert_eq!(sdb1.requeued, None);
    assert_eq!(sdb1.put_back_unissued, None);
    assert_eq!(sdb1.flush.fua_bios, None);
    assert_eq!(sdb1.other.passthrough, None);
    assert_eq!((sdb1.other.not_told, sdb1.other.requests()), (5, 5));
    assert_eq!(sdb1.write.latency_seconds, None);
    assert_eq!(interval.lost.total(), None);
    assert_eq!(interval.processes, None);
}

/// Counted, taken back in the next interval, counted again: once in all.
#[test]
fn a_requeued_request_counts_once() {
    let mut bench = Bench::new(raid_topology());
    let mut meter = meter_of(&bench, false);
    let write = cells::WRITE + 16;
    let mut writes = Vec::new();
    for value in [1, 0, 1, 3] {
        bench.row("sdb").cells[write] = value;
        bench.pass(Duration::from_secs(1));
        let interval = meter.interval(bench.snapshot.clone());
        writes.push(find(&interval.devices, "sdb").write.requests);
    }
    assert_eq!(writes, [1, 0, 0, 2]);
    let summary = meter.summary();
    assert_eq!(find(&summary.devices, "sdb").write.requests, 3);
}

#[test]
fn a_device_that_goes_away_stays_in_the_summary() {
    let mut bench = busy_bench();
    let mut meter = meter_of(&bench, false);
    meter.interval(bench.snapshot.clone());
    let sda1 = crate::report::testing::by_name(&bench.topology, "sda1").id;
    bench.topology.devices.remove(&sda1);
    meter.devices(&bench.topology);
    let quiet = meter.interval(bench.snapshot.clone());
    assert!(quiet.devices.iter().all(|device| device.name != "sda1"));
    let summary = meter.summary();
    assert_eq!(find(&summary.devices, "sda1").write.requests, 300);
    assert_eq!(find(&summary.devices, "sda").write.requests, 300);
}

#[test]
fn an_interval_of_no_length_has_no_rates() {
    let mut bench = busy_bench();
    bench.snapshot.elapsed = Duration::ZERO;
    let interval = meter_of(&bench, true).interval(bench.snapshot);
    assert_eq!(
        find(&interval.devices, "sda1").rates.writes_per_second,
        None
    );
    assert_eq!(interval.processes.unwrap()[0].writes_per_second, None);
}

#[test]
fn who_wrote() {
    let processes = busy().processes.unwrap();
    let first = &processes[0];
    assert_eq!(
        (first.command.as_str(), first.pid, first.cgroup),
        ("postgres", Some(42), Some(4711))
    );
    assert_eq!(first.write.partial_stripe, None);
    let second = &processes[1];
    assert_eq!((second.device.as_str(), second.cgroup), ("sda1", None));
    assert_eq!(second.misaligned_write_share, Some(1.0));
}

/// A process's row goes, the row of the ended grows by it: nothing is counted
/// twice, and nothing falls.
#[test]
fn who_wrote_and_has_ended() {
    let mut bench = busy_bench();
    let mut meter = meter_of(&bench, true);
    let writes = |interval: &Interval| {
        let mut list: Vec<(String, Option<u32>, u64)> = Vec::new();
        for process in interval.processes.as_ref().unwrap() {
            list.push((process.command.clone(), process.pid, process.write.requests));
        }
        list
    };
    let first = writes(&meter.interval(bench.snapshot.clone()));
    let gone = bench.snapshot.processes.remove(0);
    let all: u64 = first.iter().map(|(_, _, writes)| writes).sum();
    let mut ended = gone.clone();
    ended.ended = true;
    ended.key = ProcessKey {
        comm: gone.key.comm,
        ..ProcessKey::default()
    };
    bench.snapshot.processes.push(ended);
    assert_eq!(writes(&meter.interval(bench.snapshot.clone())), []);

    let summary = writes(&meter.summary());
    assert_eq!(
        summary.iter().map(|(_, _, writes)| writes).sum::<u64>(),
        all
    );
    let writes_of_it = gone.cells.write_requests;
    assert!(summary.contains(&("postgres".to_owned(), None, writes_of_it)));

    // Summed up with other commands, as when there are too many of them.
    bench.snapshot.processes.last_mut().unwrap().key.comm = OTHER_COMMANDS;
    let summary = writes(&meter_of(&bench, true).interval(bench.snapshot.clone()));
    assert!(summary.contains(&("(others)".to_owned(), None, writes_of_it)));
}

fn parts_add_up(device: &DeviceFigures) {
    let mut ops = vec![
        &device.read,
        &device.write,
        &device.discard,
        &device.secure_erase,
    ];
    ops.extend(&device.write_zeroes);
    for op in ops {
        let p = op.physical;
        assert_eq!(p.misaligned, p.off_grid + p.sub_block);
        assert_eq!(op.requests, p.aligned + p.misaligned + p.unknown);
        if let Some(c) = op.chunk {
            assert_eq!(op.requests, c.aligned + c.inside + c.crossing + c.unknown);
        }
        if let Some(s) = op.stripe {
            assert_eq!(op.requests, s.full + s.mixed + s.partial + s.unknown);
            assert_eq!(op.bytes, s.full_bytes + s.partial_bytes + s.unknown_bytes);
        }
    }
    if let Some(stripe) = device.rates.stripe {
        assert!((stripe.full + stripe.mixed + stripe.partial - 1.0).abs() < 1e-9);
    }
}

/// The counts that must add up over intervals, of every device.
fn totals(interval: &Interval) -> Vec<(String, Vec<u64>)> {
    let counts = |device: &DeviceFigures| {
        let mut counts = vec![
            device.flush.requests,
            device.other.requests(),
            device.splits,
        ];
        for op in [&device.read, &device.write, &device.discard] {
            counts.extend([op.requests, op.bytes, op.physical.misaligned]);
            counts.push(op.physical.partial_blocks);
            counts.push(op.stripe.map_or(0, |stripe| stripe.partial_bytes));
        }
        counts
    };
    interval
        .devices
        .iter()
        .map(|device| (device.name.clone(), counts(device)))
        .collect()
}

const NAMES: [&str; 8] = [
    "sda", "sda1", "sda2", "sdb", "sdb1", "md127", "dm-0", "loop0",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    /// In every interval parts add up to their parents and a disk to its
    /// partitions; all intervals add up to the summary.
    #[test]
    fn everything_adds_up(
        steps in prop::collection::vec(
            prop::collection::vec((0usize..8, 0usize..cells::CELLS, 0u64..1 << 40), 0..40), 1..5),
    ) {
        let mut topology = raid_topology();
        for device in topology.devices.values_mut() {
            device.geometry.chunk = Some(Bytes(65536));
            device.geometry.stripe = Some(Bytes(458_752));
        }
        let mut bench = Bench::new(topology);
        let mut meter = meter_of(&bench, false);
        let mut sums: Vec<(String, Vec<u64>)> = Vec::new();
        for step in steps {
            for (name, cell, amount) in step {
                bench.row(NAMES[name]).cells[cell] += amount;
            }
            bench.pass(Duration::from_millis(700));
            let interval = meter.interval(bench.snapshot.clone());
            interval.devices.iter().for_each(parts_add_up);
            if sums.is_empty() {
                sums = totals(&interval);
            } else {
                for ((name, sum), (same, more)) in sums.iter_mut().zip(totals(&interval)) {
                    prop_assert_eq!(&*name, &same);
                    prop_assert_eq!(sum.len(), more.len());
                    sum.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
                }
            }
        }
        let summary = meter.summary();
        prop_assert!(summary.summary);
        summary.devices.iter().for_each(parts_add_up);
        prop_assert_eq!(sums, totals(&summary));
        for (disk, rows) in [("sda", &["sda", "sda1", "sda2"][..]), ("sdb", &["sdb", "sdb1"])] {
            let writes: u64 = rows
                .iter()
                .flat_map(|name| bench.row(name).cells[cells::WRITE..][..64].to_vec())
                .sum();
            prop_assert_eq!(find(&summary.devices, disk).write.requests, writes);
        }
    }
}
