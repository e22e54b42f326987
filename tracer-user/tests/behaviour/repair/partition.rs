//! A partition at sector 63 of a disk of 4096-byte blocks.

use std::fs;

use super::{
    MIB,
    checkup::{Checkup, build_anew, commands, repair},
    data::{self, Mounted},
};
use crate::harness::{
    device::Device,
    lab::{Lab, Needs},
    process::{run, run_from},
    scsi_debug::ScsiDebug,
};

const ID: &str = "misaligned-partition";

/// The disk's only partition, by a table that the kernel reads.
fn at_63(lab: &Lab, disk: &Device, sectors: u64) -> Device {
    let table = lab.path("table");
    let text = format!("label: dos\nstart=63,size={sectors}\n");
    fs::write(&table, text).expect("a table");
    run_from("sfdisk", &["-q", &disk.node_text()], &table);
    let device = Device::partition(disk.name(), &format!("{}1", disk.name()));
    assert_eq!((device.number("start"), device.sectors()), (63, sectors));
    device
}

#[test]
#[ignore = "needs scsi_debug: run in a guest"]
fn a_partition_at_63_moves_with_its_data() {
    let needs = ["sfdisk", "partx", "mkfs.ext4", "mount"].map(Needs::Program);
    let Some(lab) = Lab::open("a_partition_at_63_moves_with_its_data", &needs) else {
        return;
    };
    let module = ScsiDebug::load(&["dev_size_mb=64", "sector_size=512", "physblk_exp=3"]);
    let disk = module.disk();
    let partition = at_63(&lab, &disk, 65_536);
    let node = partition.node_text();
    run("mkfs.ext4", &["-q", "-F", "-b", "4096", &node]);
    let mounted = Mounted::new(&partition, &lab);
    data::write(&mounted.file(), 3 * MIB);
    let sum = data::checksum(&mounted.file(), 3 * MIB);

    let before = Checkup::of(&disk);
    let finding = before.finding(ID, &partition);
    assert_eq!(finding["severity"], "error");
    assert_eq!(finding["numbers"]["physical_remainder_bytes"], 3584);
    // In use it has to be let go of first.
    assert_eq!(commands(&finding["repair"])[0], format!("umount {node}"));
    repair(finding);
    assert_eq!(
        (partition.number("start"), partition.sectors()),
        (2048, 65_536)
    );
    before.cured_of(ID);
    let mounted = Mounted::new(&partition, &lab);
    assert_eq!(data::checksum(&mounted.file(), 3 * MIB), sum);
}

/// It cannot be moved: all that is there has to be saved.
#[test]
#[ignore = "needs scsi_debug: run in a guest"]
fn a_partition_without_room_behind_is_made_anew() {
    let needs = ["sfdisk", "partx"].map(Needs::Program);
    let Some(lab) = Lab::open("a_partition_without_room_behind_is_made_anew", &needs) else {
        return;
    };
    let module = ScsiDebug::load(&["dev_size_mb=64", "sector_size=512", "physblk_exp=3"]);
    let disk = module.disk();
    let partition = at_63(&lab, &disk, disk.sectors() - 63);
    data::write(&partition.node(), MIB);
    let sum = data::checksum(&partition.node(), MIB);
    let before = Checkup::of(&disk);
    let finding = before.finding(ID, &partition);
    assert!(finding["repair"].is_null(), "{finding:#}");
    let saved = lab.path("saved");
    data::copy(&partition.node(), &saved, MIB);
    build_anew(finding, &lab, "", |_| "");
    assert_eq!(partition.number("start"), 2048);
    assert_eq!(partition.sectors(), disk.sectors() - 2048);
    before.cured_of(ID);
    data::copy(&saved, &partition.node(), MIB);
    assert_eq!(data::checksum(&partition.node(), MIB), sum);
}
