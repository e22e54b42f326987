//! Requests that the disk refuses, cuts short or can't do: still counted once,
//! and the books still agree.

use std::fs;

use crate::{
    case::{Books, Geometry, Watched, exact, exact_by},
    harness::{
        device::Device,
        fio::Fio,
        ioctl,
        lab::{Lab, Needs},
        scsi_debug::ScsiDebug,
        tracer::Attach,
    },
};

// drivers/scsi/scsi_debug.c, SDEBUG_OPT_*: what happens to every nth command.
const SHORT_TRANSFER: &str = "0x100";
const HOST_BUSY: &str = "0x8000";

const DISK: [&str; 3] = ["dev_size_mb=64", "sector_size=512", "physblk_exp=3"];

fn needs() -> [Needs; 2] {
    [Needs::Program("fio"), Needs::Program("blkparse")]
}

/// Every third command is refused by a busy host: the request goes back to the
/// queue, after it was issued, and is issued again.
#[test]
#[ignore = "needs scsi_debug: run in a guest"]
fn a_busy_host() {
    let Some(lab) = Lab::open("a_busy_host", &needs()) else {
        return;
    };
    let module = ScsiDebug::load(&DISK);
    let device = module.disk();
    let watched = [Watched::new(&device, Geometry::disk(512, 4096), Books::All)];
    let seen = exact_by(&Attach::TELLING, &lab, &watched, &[], || {
        module.set("every_nth", "3");
        module.set("opts", HOST_BUSY);
        Fio::mixed(&device, 251).run(&lab);
        Fio::mixed(&device, 307)
            .deep("libaio")
            .set("fsync=11")
            .run(&lab);
        module.set("opts", "0");
        module.set("every_nth", "0");
    });
    let requeued = seen[0].expected.get("requeued");
    assert!(requeued >= 100, "only {requeued} requeues");
}

/// Every second read is answered with half of its bytes: the request completes
/// in part, and what is left is issued again.
#[test]
#[ignore = "needs scsi_debug: run in a guest"]
fn short_transfers() {
    let Some(lab) = Lab::open("short_transfers", &needs()) else {
        return;
    };
    let module = ScsiDebug::load(&DISK);
    let device = module.disk();
    let watched = [Watched::new(&device, Geometry::disk(512, 4096), Books::All)];
    let seen = exact_by(&Attach::TELLING, &lab, &watched, &[], || {
        module.set("every_nth", "2");
        module.set("opts", SHORT_TRANSFER);
        // Halves of halves stay whole sectors.
        Fio::mixed(&device, 401)
            .set("rwmixwrite=30")
            .set("bssplit=4k/30:16k/30:60k/40")
            .run(&lab);
        module.set("opts", "0");
        module.set("every_nth", "0");
    });
    let in_part = seen[0].expected.get("in_part");
    assert!(in_part >= 100, "only {in_part} partial completions");
}

#[test]
#[ignore = "needs scsi_debug: run in a guest"]
fn an_fsync_storm() {
    let Some(lab) = Lab::open("an_fsync_storm", &needs()) else {
        return;
    };
    let module = ScsiDebug::load(&DISK);
    let device = module.disk();
    let watched = [Watched::new(&device, Geometry::disk(512, 4096), Books::All)];
    let seen = exact(&lab, &watched, &[], || {
        Fio::mixed(&device, 211)
            .set("rw=randwrite")
            .set("bssplit=512/50:4k/50")
            .set("fsync=1")
            .run(&lab);
    });
    assert!(seen[0].expected.get("flush.requests") >= 200);
}

/// Discards, and zeroes that the disk says it can write by a command and then
/// can't: a request that fails counts.
#[test]
#[ignore = "needs scsi_debug: run in a guest"]
fn discards_and_zeroes_that_fail() {
    let Some(lab) = Lab::open("discards_and_zeroes_that_fail", &needs()) else {
        return;
    };
    let mut parameters = DISK.to_vec();
    // UNMAP is there, WRITE SAME with its UNMAP bit is not.
    parameters.extend(["lbpu=1", "lbpws=0", "lbpws10=0"]);
    let module = ScsiDebug::load(&parameters);
    let device = module.disk();
    let zeroes: u32 = (48 << 20) / 512;
    let watched = [Watched::new(&device, Geometry::disk(512, 4096), Books::All)
        .zeroes(zeroes.into(), device.sectors())];
    let seen = exact(&lab, &watched, &[], || {
        Fio::mixed(&device, 101)
            .set("rw=randtrim")
            .set("size=32m")
            .run(&lab);
        Fio::mixed(&device, 89).set("size=32m").run(&lab);
        let node = ioctl::open_direct(&device.node());
        for i in 0..17 {
            ioctl::discard(&node, (i + 1) * 65536 + 512, 65536).expect("a discard");
        }
        // The disk's first failure ends its discards, so they went before.
        for i in 0..23 {
            // The mode goes with it: it is asked for again each time.
            set_zeroing(&device, "writesame_16_unmap");
            let start = 512 * (i64::from(zeroes) + 300 * i);
            ioctl::zero_out(&node, start, 4096 + 512 * i).expect_err("zeroes");
        }
    });
    assert!(seen[0].expected.get("discard.requests") >= 101 + 17);
    assert!(seen[0].expected.get("write_zeroes.requests") >= 23);
}

/// How the disk's driver writes zeroes.
fn set_zeroing(disk: &Device, mode: &str) {
    let units = disk.sysfs().join("device/scsi_disk");
    let unit = fs::read_dir(units)
        .expect("scsi_disk")
        .next()
        .expect("a unit")
        .expect("its name");
    fs::write(unit.path().join("zeroing_mode"), mode).expect("zeroing_mode");
}
