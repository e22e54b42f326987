//! Partitions have rows and books of their own, and their disk's row has all
//! of it.

use crate::{
    case::{Books, Geometry, Watched, exact},
    harness::{
        device::Device,
        fio::Fio,
        lab::{Lab, Needs},
        loopdev::Loop,
        partition::Partition,
        scsi_debug::ScsiDebug,
    },
};

const FIO: Needs = Needs::Program("fio");
const BLKPARSE: Needs = Needs::Program("blkparse");

/// IO to a partition that begins at sector 63, as partitions did for twenty
/// years, and to the disk around it.
fn at_sector_63(lab: &Lab, disk: &Device, geometry: Geometry, args: &[&str]) {
    let partition = Partition::create(disk, 63, 65_537);
    assert_eq!(partition.number("start"), 63);
    let watched = [
        Watched::new(disk, geometry, Books::All),
        Watched::new(&partition, geometry, Books::All),
    ];
    let seen = exact(lab, &watched, args, || {
        Fio::mixed(&partition, 211).run(lab);
        Fio::mixed(&partition, 199)
            .deep("libaio")
            .set("randseed=3")
            .run(lab);
        // 4 KiB on the partition's own grid: not one of them on the disk's.
        Fio::mixed(&partition, 97)
            .set("rw=randwrite")
            .set("bssplit=4k/100")
            .set("blockalign=4096")
            .set("size=16m")
            .run(lab);
        // Beyond the partition's end: the disk's alone.
        Fio::mixed(disk, 83)
            .set("offset=40m")
            .set("size=16m")
            .run(lab);
    });
    let (disk, partition) = (&seen[0].expected, &seen[1].expected);
    assert!(partition.get("write.physical.off_grid") >= 97);
    assert!(disk.get("write.requests") > partition.get("write.requests"));
}

#[test]
fn at_sector_63_of_a_loop_device() {
    let name = "at_sector_63_of_a_loop_device";
    let Some(lab) = Lab::open(name, &[FIO, BLKPARSE]) else {
        return;
    };
    let disk = Loop::new(&lab, 64 << 20);
    let spec = format!("{}=physical:4k", disk.device().name());
    at_sector_63(
        &lab,
        &disk.device(),
        Geometry::disk(512, 4096),
        &["--geometry", &spec],
    );
}

#[test]
#[ignore = "needs scsi_debug: run in a guest"]
fn at_sector_63_of_a_512e_disk() {
    let name = "at_sector_63_of_a_512e_disk";
    let Some(lab) = Lab::open(name, &[FIO, BLKPARSE]) else {
        return;
    };
    let module = ScsiDebug::load(&["dev_size_mb=64", "sector_size=512", "physblk_exp=3"]);
    at_sector_63(&lab, &module.disk(), Geometry::disk(512, 4096), &[]);
}
