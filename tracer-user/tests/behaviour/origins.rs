//! Why md read and wrote its members: the figures written down for each kind of
//! work (they were the same on every kernel when they were found), and the sum
//! of all reasons against the members' own books.

mod books;
mod buffered;
mod estimate;
mod every_write;
mod levels;
mod lvm;
mod messages;
mod model;
mod rig;
mod versions;
mod what_if;

use serde_json::Value;

use self::rig::Rig;
use crate::harness::{
    direct::Direct,
    dm::Mapped,
    lab::{Lab, Needs},
    tracer::Attach,
};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
/// 7 data disks of 64 KiB.
const STRIPE: u64 = 448 * KIB;

fn needs() -> [Needs; 1] {
    [Needs::Program("mdadm")]
}

/// What one kind of work must have made md do, in KiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Expected {
    rmw: u64,
    rcw: u64,
    partial: u64,
    data: u64,
    parity: u64,
}

impl Expected {
    fn of(raid: &Value) -> Self {
        let kib = |value: &Value| {
            let bytes = value.as_u64().expect("bytes");
            assert_eq!(bytes % KIB, 0, "{raid}");
            bytes / KIB
        };
        Self {
            rmw: kib(&raid["preread_bytes"]["rmw"]),
            rcw: kib(&raid["preread_bytes"]["rcw"]),
            partial: kib(&raid["preread_bytes"]["partial_block"]),
            data: kib(&raid["data_write_bytes"]),
            parity: kib(&raid["parity_write_bytes"]),
        }
    }
}

/// Sequential direct writes, and what they must have cost.
fn writes(rig: &Rig, attach: Attach, (start, len, count): (u64, u64, u64), expected: Expected) {
    rig.empty_stripe_cache();
    write_warm(rig, attach, (start, len, count), expected);
}

fn write_warm(rig: &Rig, attach: Attach, (start, len, count): (u64, u64, u64), expected: Expected) {
    let device = rig.device();
    let len = usize::try_from(len).expect("a length");
    let Some(raid) = rig.measured(attach, || Direct::open(&device).write(start, len, count)) else {
        return;
    };
    assert_eq!(
        Expected::of(&raid),
        expected,
        "{attach:?}: {count} writes of {len} from {start}: {raid}"
    );
    assert_eq!(raid["stripe_cache"]["size_rows"], 256, "{raid}");
    if start.is_multiple_of(STRIPE) && (len as u64).is_multiple_of(STRIPE) {
        assert_eq!(raid["arrived_stripe_shares"]["full"], 1.0, "{raid}");
        assert_eq!(raid["rmw_row_share"], 0.0, "{raid}");
    }
    let ratio = |key: &str| raid[key].as_f64().expect("a ratio");
    let preread = (expected.rmw + expected.rcw + expected.partial) as f64 * KIB as f64;
    let written = (count * len as u64) as f64;
    assert!((ratio("preread_ratio") - preread / written).abs() < 1e-9);
    let causes = raid["cause"]["bytes"].as_object().expect("causes");
    let of_causes: u64 = causes
        .values()
        .map(|value| value.as_u64().expect("bytes"))
        .sum();
    assert_eq!(of_causes as f64, preread, "{raid}");
}

/// A 9-disk RAID6 with a bitmap, as in the oldest report of "10% reads while I
/// only write".
#[test]
#[ignore = "needs md and scsi_debug: run in a guest"]
fn writes_to_a_raid6() {
    let Some(lab) = Lab::open("writes_to_a_raid6", &needs()) else {
        return;
    };
    let rig = Rig::new(&lab, "6", "64", 9, &["--bitmap=internal"]);
    for attach in Attach::tried(&Attach::TELLING) {
        let one = (1000 * 4 * KIB, 4 * KIB, 1);
        let cold = Expected {
            rmw: 12,
            data: 4,
            parity: 8,
            ..Expected::default()
        };
        writes(&rig, attach, one, cold);
        // The stripe cache still has the row.
        write_warm(&rig, attach, one, Expected { rmw: 0, ..cold });
        // The rest is long under emulation, and the same however it is seen.
        if attach != Attach::Btf {
            continue;
        }
        let full = Expected {
            data: 4480,
            parity: 1280,
            ..Expected::default()
        };
        writes(&rig, attach, (20 * STRIPE, STRIPE, 10), full);
        let shifted = Expected {
            rmw: 17_728 - SHIFTED_RCW,
            rcw: SHIFTED_RCW,
            data: 41_216,
            parity: SHIFTED_PARITY,
            ..Expected::default()
        };
        writes(&rig, attach, (64 * KIB, STRIPE, 92), shifted);
        let long = Expected {
            rmw: 3712 - LONG_RCW,
            rcw: LONG_RCW,
            data: 85_120,
            parity: LONG_PARITY,
            ..Expected::default()
        };
        writes(&rig, attach, (64 * KIB, 10 * STRIPE, 19), long);
    }
    estimate::of_one_block(&rig, 300 * MIB, 12);
}

// 64 KiB of the first row; every later write finds what the one before it left
// in the stripe cache.
const SHIFTED_RCW: u64 = 64;
const SHIFTED_PARITY: u64 = 2 * 64 * (92 + 92);
const LONG_RCW: u64 = 64;
const LONG_PARITY: u64 = 2 * 64 * (190 + 19);

/// What LVM does by default: a volume from 1 MiB on, which is 128 KiB inside a
/// stripe, written in whole MiB.
#[test]
#[ignore = "needs md, dm and scsi_debug: run in a guest"]
fn writes_through_a_volume_that_starts_inside_a_stripe() {
    let name = "writes_through_a_volume_that_starts_inside_a_stripe";
    let Some(lab) = Lab::open(name, &needs()) else {
        return;
    };
    let rig = Rig::new(&lab, "6", "64", 9, &["--bitmap=internal"]);
    let array = rig.device();
    let sectors = array.sectors() - 8192;
    let table = format!("0 {sectors} linear {} 2048", array.node_text());
    let volume = Mapped::create("iotrace-lv", &table);
    let device = volume.device();
    rig.empty_stripe_cache();
    let (rmw, rcw) = (12_736, 18_560);
    let Some(raid) = rig.measured(Attach::Btf, || Direct::open(&device).write(0, 1 << 20, 200))
    else {
        return;
    };
    let found = Expected::of(&raid);
    assert_eq!((found.rmw, found.rcw), (rmw, rcw), "{raid}");
    assert_eq!(found.data, 204_800);
    let on_write = raid["reads_on_write"].as_f64().expect("a ratio");
    assert!((0.10..0.12).contains(&on_write), "{raid}");
    // Which of the two depends on where md cuts them.
    let causes = &raid["cause"]["bytes"];
    let inside = ["starts_inside_stripe", "ends_inside_stripe"].map(|cause| {
        let bytes = causes[cause].as_u64();
        bytes.expect("bytes")
    });
    assert_eq!(inside[0] + inside[1], (rmw + rcw) * KIB, "{raid}");
    // The layer that brings them, by its table.
    let layers = &raid["cause"]["layers"];
    let found = [&layers[0]["device"], &layers[0]["below"], &layers[0]["by"]];
    assert_eq!(found, [device.name(), array.name(), "linear"], "{raid}");
    let places = ["start_bytes", "offset_bytes", "phase_bytes"];
    assert_eq!(
        places.map(|key| layers[0][key].as_u64()),
        [MIB, 128 * KIB, 320 * KIB].map(Some),
        "{raid}"
    );
    assert_eq!(layers[1], Value::Null);
}

/// Reads go past the stripe cache, and through it where a member is gone; a
/// check reads all of every member, once.
#[test]
#[ignore = "needs md and scsi_debug: run in a guest"]
fn reads_a_check_and_a_failed_member() {
    let Some(lab) = Lab::open("reads_a_check_and_a_failed_member", &needs()) else {
        return;
    };
    let rig = Rig::new(&lab, "6", "64", 9, &["--bitmap=none"]);
    let device = rig.device();
    let read = || Direct::open(&device).read(100 * MIB, 1 << 20, 8);
    let Some(raid) = rig.measured(Attach::Raw, read) else {
        return;
    };
    assert_eq!(raid["user_read_bytes"], 8 * MIB);
    assert_eq!(Expected::of(&raid), Expected::default(), "{raid}");
    assert_eq!(raid["degraded_read_bytes"], 0);

    let Some(raid) = rig.measured(Attach::Btf, || rig.check()) else {
        return;
    };
    let member = rig.component_bytes();
    assert_eq!(raid["sync_read_bytes"], 9 * member, "{raid}");
    assert_eq!(Expected::of(&raid), Expected::default(), "{raid}");

    rig.fail_first();
    rig.empty_stripe_cache();
    let Some(raid) = rig.measured(Attach::Btf, read) else {
        return;
    };
    assert_eq!(raid["degraded"], 1, "{raid}");
    assert_eq!(Expected::of(&raid), Expected::default(), "{raid}");
    let degraded = raid["degraded_read_bytes"].as_u64().expect("bytes");
    assert!(degraded > 0, "{raid}");
    let write = || Direct::open(&device).write(50 * MIB, 4096, 7);
    let Some(raid) = rig.measured(Attach::Raw, write) else {
        return;
    };
    assert_eq!(Expected::of(&raid).rmw, 0, "{raid}");
}
