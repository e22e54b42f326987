//! XFS made for another array.

use std::process::Command;

use super::{
    MIB,
    checkup::{Checkup, commands, repair},
    data::{self, Mounted},
    disks,
};
use crate::harness::{
    device::Device,
    lab::{Lab, Needs},
    md::Array,
    process::{finished, run, text},
};

const ID: &str = "xfs-stripe-wrong";
/// Three data disks with chunks of 64 KiB.
const RIGHT: [&str; 2] = ["sunit=128", "swidth=384"];

/// As XFS's own tests do, smaller than people may.
pub(super) fn mkfs(device: &Device, more: &[&str]) {
    let mut mkfs = Command::new("mkfs.xfs");
    for test in ["TEST_DIR", "TEST_DEV", "QA_CHECK_FS"] {
        mkfs.env(test, "1");
    }
    mkfs.args(["-q", "-f", "-l", "size=20m", "-d", "agcount=2"]);
    mkfs.args(more);
    let output = finished(mkfs.arg(device.node()));
    assert!(output.status.success(), "{}", text(&output.stderr));
}

fn is_right(mounted: &Mounted) {
    let options = mounted.options();
    for right in RIGHT {
        assert!(options.iter().any(|option| option == right), "{options:?}");
    }
}

#[test]
#[ignore = "needs md: run in a guest"]
fn xfs_is_told_the_array_it_lies_on() {
    let needs = ["mkfs.xfs", "mount", "mdadm"].map(Needs::Program);
    let Some(lab) = Lab::open("xfs_is_told_the_array_it_lies_on", &needs) else {
        return;
    };
    let (_loops, members) = disks(&lab, 4, 64);
    let array = Array::create("md7", "5", "64", &members);
    let md = array.device();

    // Made for chunks of 256 KiB: where its root lies, XFS keeps that.
    mkfs(&md, &["-d", "sunit=512,swidth=4096"]);
    let mounted = Mounted::new(&md, &lab);
    data::write(&mounted.file(), 3 * MIB);
    let sum = data::checksum(&mounted.file(), 3 * MIB);
    let before = Checkup::of(&md);
    let finding = before.finding(ID, &md);
    assert_eq!(finding["numbers"]["sunit_sectors"], 512);
    assert_eq!(finding["numbers"]["right_sunit_sectors"], 128);
    repair(finding);
    is_right(&mounted);
    before.cured_of(ID);
    assert_eq!(data::checksum(&mounted.file(), 3 * MIB), sum);
    drop(mounted);

    // Made for one data disk more: it takes the new width for good.
    mkfs(&md, &["-d", "sunit=128,swidth=512"]);
    let mounted = Mounted::new(&md, &lab);
    data::write(&mounted.file(), 3 * MIB);
    let sum = data::checksum(&mounted.file(), 3 * MIB);
    drop(mounted);
    let before = Checkup::of(&md);
    let finding = before.finding(ID, &md);
    assert_eq!(finding["numbers"]["swidth_sectors"], 512);
    assert_eq!(commands(&finding["repair"]).len(), 1, "{finding:#}");
    repair(finding);
    before.cured_of(ID);
    run("umount", &["/mnt"]);
    before.cured_of(ID);
    let mounted = Mounted::new(&md, &lab);
    is_right(&mounted);
    assert_eq!(data::checksum(&mounted.file(), 3 * MIB), sum);
}
