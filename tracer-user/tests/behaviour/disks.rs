//! Disks that take requests: every request counted once, in its class.

use crate::{
    case::{Books, Geometry, Watched, exact, exact_by},
    harness::{
        fio::Fio,
        ioctl,
        lab::{Lab, Needs},
        loopdev::Loop,
        scsi_debug::ScsiDebug,
        tracer::Attach,
    },
};

const MIB: u64 = 1 << 20;
const FIO: Needs = Needs::Program("fio");
const BLKPARSE: Needs = Needs::Program("blkparse");

/// One request after the other, then sixteen at a time with a flush after
/// every seventh write, then writes through the cache.
fn workload(lab: &Lab, device: &crate::harness::device::Device) {
    Fio::mixed(device, 307).run(lab);
    Fio::mixed(device, 401)
        .deep("libaio")
        .set("fsync=7")
        .set("randseed=5")
        .run(lab);
    Fio::mixed(device, 53)
        .set("rw=randwrite")
        .set("sync=dsync")
        .run(lab);
}

#[test]
fn a_loop_device() {
    let Some(lab) = Lab::open("a_loop_device", &[FIO, BLKPARSE]) else {
        return;
    };
    let disk = Loop::new(&lab, 64 * MIB);
    let device = disk.device();
    let watched = Watched::new(&device, Geometry::disk(512, 512), Books::All);
    let seen = exact(&lab, &[watched], &[], || workload(&lab, &device));
    assert_eq!(seen[0].expected.get("write.physical.misaligned"), 0);
    assert!(seen[0].stat.flushes() > 50, "{:?}", seen[0].stat);
}

/// The same disk, seen as what it may be inside: a hardware RAID6 of nine
/// drives with 4 KiB blocks. (Its chunk is small, as a loop device takes
/// requests of half a MiB at most.)
#[test]
fn a_loop_device_with_a_geometry_of_ones_own() {
    let name = "a_loop_device_with_a_geometry_of_ones_own";
    let Some(lab) = Lab::open(name, &[FIO, BLKPARSE]) else {
        return;
    };
    let disk = Loop::new(&lab, 64 * MIB);
    let device = disk.device();
    let geometry = Geometry::disk(512, 4096)
        .aligned_at(3584)
        .striped(8 << 10, 7);
    let spec = format!("{}=physical:4k,alignment:7s,chunk:8k,data:7", device.name());
    let watched = Watched::new(&device, geometry, Books::All);
    let seen = exact(&lab, &[watched], &["--geometry", &spec], || {
        workload(&lab, &device);
    });
    for class in [
        "write.physical.aligned",
        "write.physical.off_grid",
        "write.physical.sub_block",
        "write.chunk.inside",
        "write.chunk.crossing",
        "write.stripe.mixed",
        "write.stripe.partial",
        "read.physical.off_grid",
    ] {
        assert!(
            seen[0].expected.get(class) > 0,
            "no {class} in the workload"
        );
    }
}

/// Many readings while the IO goes on: each of them whole, and none of it twice.
#[test]
fn intervals_add_up_to_the_summary() {
    let name = "intervals_add_up_to_the_summary";
    let Some(lab) = Lab::open(name, &[FIO, BLKPARSE]) else {
        return;
    };
    let disk = Loop::new(&lab, 64 * MIB);
    let device = disk.device();
    let watched = Watched::new(&device, Geometry::disk(512, 512), Books::All);
    exact_by(&Attach::TELLING, &lab, &[watched], &[], || {
        workload(&lab, &device);
    });
}

#[test]
fn discards_and_write_zeroes_of_a_loop_device() {
    let name = "discards_and_write_zeroes_of_a_loop_device";
    let Some(lab) = Lab::open(name, &[FIO, BLKPARSE]) else {
        return;
    };
    let disk = Loop::new(&lab, 64 * MIB);
    let device = disk.device();
    let spec = format!("{}=physical:4k,chunk:64k,data:3", device.name());
    let geometry = Geometry::disk(512, 4096).striped(64 << 10, 3);
    let zeroes: u32 = (48 << 20) / 512;
    let watched =
        Watched::new(&device, geometry, Books::All).zeroes(zeroes.into(), device.sectors());
    let seen = exact(&lab, &[watched], &["--geometry", &spec], || {
        Fio::mixed(&device, 101)
            .set("rw=randtrim")
            .set("size=32m")
            .run(&lab);
        Fio::mixed(&device, 89).set("size=32m").run(&lab);
        let node = ioctl::open_direct(&device.node());
        for i in 0..41 {
            let start = 512 * (i64::from(zeroes) + 300 * i + i % 9);
            ioctl::zero_out(&node, start, 512 * (1 + 17 * (i % 8))).expect("zeroes");
        }
    });
    assert_eq!(seen[0].expected.get("write_zeroes.requests"), 41);
    assert!(seen[0].expected.get("discard.requests") >= 101);
}

/// A disk of 4 KiB blocks that takes 512-byte sectors, as most are.
#[test]
#[ignore = "needs scsi_debug: run in a guest"]
fn a_512e_disk() {
    let Some(lab) = Lab::open("a_512e_disk", &[FIO, BLKPARSE]) else {
        return;
    };
    let module = ScsiDebug::load(&["dev_size_mb=64", "sector_size=512", "physblk_exp=3"]);
    let device = module.disk();
    let watched = Watched::new(&device, Geometry::disk(512, 4096), Books::All);
    let seen = exact(&lab, &[watched], &[], || workload(&lab, &device));
    assert!(seen[0].expected.get("write.physical.off_grid") > 0);
}

/// CASES P7: a disk whose first whole block begins at sector 7.
#[test]
#[ignore = "needs scsi_debug: run in a guest"]
fn a_shifted_512e_disk() {
    let Some(lab) = Lab::open("a_shifted_512e_disk", &[FIO, BLKPARSE]) else {
        return;
    };
    let module = ScsiDebug::load(&[
        "dev_size_mb=64",
        "sector_size=512",
        "physblk_exp=3",
        "lowest_aligned=7",
    ]);
    let device = module.disk();
    let geometry = Geometry::disk(512, 4096).aligned_at(3584);
    let watched = Watched::new(&device, geometry, Books::All);
    let seen = exact(&lab, &[watched], &[], || {
        workload(&lab, &device);
        Fio::mixed(&device, 61)
            .set("bssplit=4k/50:12k/50")
            .set("blockalign=4096")
            .set("offset=3584")
            .run(&lab);
    });
    assert!(seen[0].expected.get("write.physical.aligned") > 0);
}

/// A disk of 4 KiB sectors: nothing on it can be misaligned.
#[test]
#[ignore = "needs scsi_debug: run in a guest"]
fn a_4kn_disk() {
    let Some(lab) = Lab::open("a_4kn_disk", &[FIO, BLKPARSE]) else {
        return;
    };
    let module = ScsiDebug::load(&["dev_size_mb=64", "sector_size=4096"]);
    let device = module.disk();
    let watched = Watched::new(&device, Geometry::disk(4096, 4096), Books::All);
    let seen = exact(&lab, &[watched], &[], || {
        Fio::mixed(&device, 211)
            .deep("io_uring")
            .set("bssplit=4k/50:12k/25:64k/25")
            .set("blockalign=4096")
            .run(&lab);
    });
    assert_eq!(seen[0].expected.get("write.physical.misaligned"), 0);
}
