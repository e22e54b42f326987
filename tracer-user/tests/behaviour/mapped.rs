//! Device-mapper and other devices that know bios only.

use std::fs;

use crate::{
    case::{Books, Geometry, Watched, exact},
    harness::{
        device::Device,
        dm::Mapped,
        fio::Fio,
        lab::{Lab, Needs, load},
        loopdev::Loop,
        process::run,
        scsi_debug::ScsiDebug,
        wait,
    },
};

const MIB: u64 = 1 << 20;

fn needs() -> [Needs; 3] {
    [
        Needs::Program("fio"),
        Needs::Program("blkparse"),
        Needs::Program("dmsetup"),
    ]
}

/// A linear target one sector off: aligned to itself, not to its disk.
#[test]
#[ignore = "needs dm and scsi_debug: run in a guest"]
fn dm_linear_at_an_odd_offset() {
    let Some(lab) = Lab::open("dm_linear_at_an_odd_offset", &needs()) else {
        return;
    };
    let module = ScsiDebug::load(&["dev_size_mb=64", "sector_size=512", "physblk_exp=3"]);
    let disk = module.disk();
    let sectors = disk.sectors() - 2049;
    let mapped = Mapped::create(
        "odd",
        &format!("0 {sectors} linear {} 2049\n", disk.node_text()),
    );
    let device = mapped.device();
    // Its blocks of 4 KiB begin 7 sectors in: 2049 + 7 is a multiple of 8.
    let geometry = Geometry::disk(512, 4096).aligned_at(3584);
    let watched = [
        Watched::new(&device, geometry, Books::Bytes),
        Watched::new(&disk, Geometry::disk(512, 4096), Books::All),
    ];
    let seen = exact(&lab, &watched, &[], || {
        Fio::mixed(&device, 211).run(&lab);
        Fio::mixed(&device, 101)
            .deep("libaio")
            .set("bssplit=4k/100")
            .set("blockalign=4096")
            .run(&lab);
    });
    let (upper, lower) = (&seen[0].expected, &seen[1].expected);
    assert!(upper.get("write.physical.off_grid") > 50);
    assert!(lower.get("write.physical.off_grid") > 0);
}

/// dm-crypt submits its writes from a thread of its own, in its own pieces.
#[test]
#[ignore = "needs dm-crypt and scsi_debug: run in a guest"]
fn dm_crypt() {
    let Some(lab) = Lab::open("dm_crypt", &needs()) else {
        return;
    };
    let module = ScsiDebug::load(&["dev_size_mb=64", "sector_size=512", "physblk_exp=3"]);
    let disk = module.disk();
    let sectors = disk.sectors() - 32768;
    let key = "0123456789abcdef".repeat(4);
    let mapped = Mapped::create(
        "secret",
        &format!(
            "0 {sectors} crypt aes-cbc-essiv:sha256 {key} 0 {} 32768\n",
            disk.node_text()
        ),
    );
    let device = mapped.device();
    let watched = [
        Watched::new(&device, Geometry::disk(512, 4096), Books::Bytes),
        Watched::new(&disk, Geometry::disk(512, 4096), Books::All),
    ];
    let seen = exact(&lab, &watched, &[], || {
        Fio::mixed(&device, 151).run(&lab);
        Fio::mixed(&device, 103)
            .deep("libaio")
            .set("fsync=9")
            .run(&lab);
    });
    assert!(seen[1].expected.get("write.requests") > 0);
}

/// Bio-mode null_blk keeps no books at all.
#[test]
#[ignore = "needs null_blk: run in a guest"]
fn a_device_without_books() {
    let name = "a_device_without_books";
    let Some(lab) = Lab::open(name, &[Needs::Program("fio"), Needs::Program("blkparse")]) else {
        return;
    };
    run(
        "modprobe",
        &[
            "null_blk",
            "nr_devices=1",
            "queue_mode=0",
            "gb=1",
            "bs=512",
            "irqmode=0",
        ],
    );
    let device = Device::disk("nullb0");
    // null_blk says nothing about its physical block: the kernel takes bs.
    let watched = [Watched::new(&device, Geometry::disk(512, 512), Books::None)];
    let seen = exact(&lab, &watched, &[], || {
        // Small ones: direct IO makes several bios of a large one.
        Fio::mixed(&device, 307)
            .set("bssplit=512/20:4k/40:60k/40")
            .set("size=256m")
            .run(&lab);
    });
    let all = seen[0].expected.get("write.requests") + seen[0].expected.get("read.requests");
    assert_eq!(all, 307);
    wait::until_true("null_blk to unload", || {
        std::process::Command::new("modprobe")
            .args(["-r", "null_blk"])
            .status()
            .is_ok_and(|status| status.success())
    });
}

/// zram: 4 KiB sectors, bios only, in this machine's kernel as well.
#[test]
fn zram() {
    let needs = [
        Needs::Program("fio"),
        Needs::Program("blkparse"),
        Needs::File("/sys/class/zram-control"),
    ];
    load("zram");
    let Some(lab) = Lab::open("zram", &needs) else {
        return;
    };
    let added = fs::read_to_string("/sys/class/zram-control/hot_add").expect("a new zram");
    let number = added.trim();
    let device = Device::disk(&format!("zram{number}"));
    device.write("disksize", &(32 * MIB).to_string());
    let watched = [Watched::new(
        &device,
        Geometry::disk(4096, 4096),
        Books::Bytes,
    )];
    let seen = exact(&lab, &watched, &[], || {
        Fio::mixed(&device, 211)
            .set("bssplit=4k/40:12k/30:64k/30")
            .set("blockalign=4096")
            .run(&lab);
    });
    fs::write("/sys/class/zram-control/hot_remove", number).expect("the zram to go");
    let all = seen[0].expected.get("write.requests") + seen[0].expected.get("read.requests");
    assert_eq!(all, 211);
}

/// A loop device over a mapped device, over a loop device.
#[test]
#[ignore = "needs dm: run in a guest"]
fn a_loop_device_on_a_mapped_one() {
    let Some(lab) = Lab::open("a_loop_device_on_a_mapped_one", &needs()) else {
        return;
    };
    let lower = Loop::new(&lab, 32 * MIB);
    let sectors = lower.device().sectors() - 64;
    let mapped = Mapped::create(
        "between",
        &format!("0 {sectors} linear {} 63\n", lower.device().node_text()),
    );
    let upper = Loop::over(&mapped.device());
    let plain = Geometry::disk(512, 512);
    let watched = [
        Watched::new(&upper.device(), plain, Books::All),
        Watched::new(&mapped.device(), plain, Books::Bytes),
        Watched::new(&lower.device(), plain, Books::All),
    ];
    let device = upper.device();
    let seen = exact(&lab, &watched, &[], || {
        Fio::mixed(&device, 101).set("fsync=10").run(&lab);
    });
    assert!(seen[2].expected.get("write.requests") > 0);
}
