//! A stripe cache that is full, in words.

use tracer_ebpf::{
    op::Op,
    origin::{
        Cause, Origin,
        abi::{CAUSES, CELLS, origin_cell},
    },
};

use super::*;
use crate::{
    delta::Meter,
    report::testing::{Bench, by_name, find, raid_topology},
    snapshot::{OriginKey, Origins, RowKey},
    sysfs::stripe_cache::StripeCache,
    units::DevId,
};

const MD127: DevId = DevId {
    major: 9,
    minor: 127,
};

/// 4 KiB written to md127, for which 12 KiB were read first.
fn bench() -> Bench {
    let mut bench = Bench::new(raid_topology());
    if let Some(md) = bench.topology.devices.get_mut(&MD127) {
        md.md.as_mut().unwrap().raid_disks = Some(9);
    }
    bench.io("md127", Op::Write, (65536, 4096, 4096), 1, 1000);
    let key = |name| {
        let device = by_name(&bench.topology, name);
        RowKey {
            device: device.id,
            name: device.name.clone(),
        }
    };
    let component = OriginKey {
        array: key("md127"),
        component: key("sda1"),
    };
    let mut cells = Box::new([0; CELLS]);
    cells[origin_cell(Origin::RmwData)] = 3;
    cells[origin_cell(Origin::RmwData) + 1] = 12288;
    cells[CAUSES + Cause::Smaller as usize] = 12288;
    bench.snapshot.origins = Some(Origins {
        components: [(component, cells)].into(),
        rows: true,
    });
    bench
}

/// The last of these readings of the cache, and the summary.
fn said(active: &[u32]) -> [String; 2] {
    let mut bench = bench();
    let mut meter = Meter::new(
        Bench::new(bench.topology.clone()).snapshot,
        Vec::new(),
        false,
    );
    meter.devices(&bench.topology);
    for &active_rows in active {
        let cache = StripeCache {
            active_rows,
            size_rows: 256,
        };
        bench.snapshot.stripe_caches = [(MD127, cache)].into();
        meter.interval(bench.snapshot.clone());
    }
    let text = |interval: crate::delta::Interval| {
        let device = find(&interval.devices, "md127");
        prereads(device).unwrap().text
    };
    let now = crate::delta::between(
        &Bench::new(bench.topology.clone()).snapshot,
        &bench.snapshot,
        &crate::delta::Scope {
            known: &(&bench.topology).into(),
            asked: &[],
            by_process: false,
            summary: false,
        },
    );
    [text(now), text(meter.summary())]
}

#[test]
fn a_full_stripe_cache_is_told_with_what_more_would_take() {
    let full = ". The stripe cache is full (256 of 256 rows); a larger one may merge more \
                writes: `echo 8192 > /sys/block/md127/md/stripe_cache_size` (288 MiB of memory)";
    let [now, summary] = said(&[12, 256]);
    assert!(now.ends_with(full), "{now}");
    assert_eq!(now, summary);
    assert!(now.starts_with("12 KiB read because"), "{now}");
    // The summary has the fullest reading, an interval its own.
    let [now, summary] = said(&[256, 12]);
    assert!(!now.contains("stripe cache"), "{now}");
    assert!(summary.ends_with(full), "{summary}");
}
