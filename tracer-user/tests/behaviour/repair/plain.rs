//! File systems and partitions on disks without stripes.

use std::fs;

use super::{
    MIB,
    checkup::{Checkup, repair},
    data::{self, Mounted},
    disks,
    xfs::mkfs,
};
use crate::harness::{
    device::Device,
    lab::{Lab, Needs},
    process::{run, run_from},
};

/// A file system on a disk, in use, told of stripes that are not there.
fn needless(disk: &Device, lab: &Lab, id: &str) {
    let mounted = Mounted::new(disk, lab);
    data::write(&mounted.file(), MIB);
    let sum = data::checksum(&mounted.file(), MIB);
    let before = Checkup::of(disk);
    repair(before.finding(id, disk));
    before.cured_of(id);
    assert_eq!(data::checksum(&mounted.file(), MIB), sum);
    let options = mounted.options();
    let striped = |option: &String| option.contains("sunit") || option.contains("stripe");
    assert!(!options.iter().any(striped), "{options:?}");
}

#[test]
#[ignore = "mounts XFS and ext4: run in a guest"]
fn file_systems_forget_stripes_that_are_not_there() {
    let needs = ["mkfs.xfs", "mkfs.ext4", "tune2fs", "mount"].map(Needs::Program);
    let Some(lab) = Lab::open("file_systems_forget_stripes_that_are_not_there", &needs) else {
        return;
    };
    let (_loops, disks) = disks(&lab, 2, 128);
    let [for_ext4, for_xfs] = &disks[..] else {
        panic!("{disks:?}");
    };
    let stripe = ["-q", "-F", "-b", "4096", "-E", "stride=16,stripe_width=48"];
    run(
        "mkfs.ext4",
        &[&stripe[..], &[&for_ext4.node_text()]].concat(),
    );
    needless(for_ext4, &lab, "ext-stripe-needless");
    mkfs(for_xfs, &["-d", "sunit=128,swidth=384"]);
    needless(for_xfs, &lab, "xfs-stripe-needless");
}

#[test]
#[ignore = "needs a kernel that reads partition tables: run in a guest"]
fn an_odd_length_becomes_even() {
    let needs = ["sfdisk", "partx"].map(Needs::Program);
    let Some(lab) = Lab::open("an_odd_length_becomes_even", &needs) else {
        return;
    };
    let (_loops, disks) = disks(&lab, 1, 64);
    let disk = &disks[0];
    let table = lab.path("table");
    fs::write(&table, "label: gpt\nstart=2048,size=65537\n").expect("a table");
    run_from("sfdisk", &["-q", &disk.node_text()], &table);
    let partition = Device::partition(disk.name(), &format!("{}p1", disk.name()));
    data::write(&partition.node(), MIB);
    let sum = data::checksum(&partition.node(), MIB);
    let before = Checkup::of(disk);
    repair(before.finding("odd-length", &partition));
    assert_eq!(
        (partition.number("start"), partition.sectors()),
        (2048, 65_544)
    );
    before.cured_of("odd-length");
    assert_eq!(data::checksum(&partition.node(), MIB), sum);
}
