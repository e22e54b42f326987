//! md arrays are counted from bios, their members from requests.

use crate::{
    case::{Books, Geometry, Watched, exact},
    harness::{
        fio::Fio,
        lab::{Lab, Needs},
        loopdev::Loop,
        md::Array,
        scsi_debug::ScsiDebug,
    },
};

const KIB: u64 = 1 << 10;

fn needs() -> [Needs; 3] {
    [
        Needs::Program("fio"),
        Needs::Program("blkparse"),
        Needs::Program("mdadm"),
    ]
}

/// Nine disks, 64 KiB: a stripe of 7 × 64 KiB, which no power of two divides.
#[test]
#[ignore = "needs md and scsi_debug: run in a guest"]
fn raid6_of_nine_disks() {
    let Some(lab) = Lab::open("raid6_of_nine_disks", &needs()) else {
        return;
    };
    let module = ScsiDebug::load(&["dev_size_mb=32", "sector_size=512", "physblk_exp=3"]);
    module.add(8);
    let members = module.disks();
    let array = Array::create("md77", "6", "64", &members);
    let device = array.device();
    let geometry = Geometry::disk(512, 4096).striped(64 * KIB, 7);
    let mut watched = vec![Watched::new(&device, geometry, Books::Array)];
    let member = Geometry::disk(512, 4096);
    watched.extend(
        members
            .iter()
            .map(|disk| Watched::new(disk, member, Books::All)),
    );
    let seen = exact(&lab, &watched, &[], || {
        Fio::mixed(&device, 127).run(&lab);
        Fio::mixed(&device, 61)
            .set("rw=write")
            .set("bssplit=448k/40:64k/30:960k/30")
            .set("size=96m")
            .run(&lab);
        array.wait_until_idle();
    });
    let expected = &seen[0].expected;
    for class in ["full", "mixed", "partial"] {
        let class = format!("write.stripe.{class}");
        assert!(expected.get(&class) > 0, "no {class} in the workload");
    }
}

/// A chunk of 96 KiB: no shift and no mask finds its boundaries.
#[test]
#[ignore = "needs md: run in a guest"]
fn raid0_with_a_chunk_that_is_no_power_of_two() {
    let name = "raid0_with_a_chunk_that_is_no_power_of_two";
    let Some(lab) = Lab::open(name, &needs()) else {
        return;
    };
    let disks: Vec<Loop> = (0..3).map(|_| Loop::new(&lab, 32 << 20)).collect();
    let members: Vec<_> = disks.iter().map(Loop::device).collect();
    let array = Array::create("md78", "0", "96", &members);
    let device = array.device();
    let geometry = Geometry::disk(512, 512).striped(96 * KIB, 3);
    let watched = [Watched::new(&device, geometry, Books::Array)];
    let seen = exact(&lab, &watched, &[], || {
        Fio::mixed(&device, 211).run(&lab);
        Fio::mixed(&device, 47)
            .deep("libaio")
            .set("bssplit=96k/40:288k/40:576k/20")
            .set("blockalign=96k")
            .run(&lab);
    });
    for class in [
        "write.chunk.aligned",
        "write.chunk.crossing",
        "write.stripe.full",
    ] {
        assert!(
            seen[0].expected.get(class) > 0,
            "no {class} in the workload"
        );
    }
}

/// A loop device takes requests again, whatever it lies on.
#[test]
#[ignore = "needs md: run in a guest"]
fn a_loop_device_on_an_array() {
    let Some(lab) = Lab::open("a_loop_device_on_an_array", &needs()) else {
        return;
    };
    let disks: Vec<Loop> = (0..4).map(|_| Loop::new(&lab, 16 << 20)).collect();
    let members: Vec<_> = disks.iter().map(Loop::device).collect();
    let array = Array::create("md79", "5", "64", &members);
    let upper = Loop::over(&array.device());
    let device = upper.device();
    let watched = [
        Watched::new(&device, Geometry::disk(512, 512), Books::All),
        Watched::new(
            &array.device(),
            Geometry::disk(512, 512).striped(64 * KIB, 3),
            Books::Array,
        ),
    ];
    let seen = exact(&lab, &watched, &[], || {
        Fio::mixed(&device, 101).set("fsync=10").run(&lab);
        array.wait_until_idle();
    });
    assert!(seen[1].expected.get("write.requests") > 0);
}
