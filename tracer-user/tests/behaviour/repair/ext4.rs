//! ext4 on an array that got one more disk.

use super::{
    MIB,
    checkup::{Checkup, repair},
    data::{self, Mounted},
    disks,
};
use crate::harness::{
    lab::{Lab, Needs},
    md::Array,
    process::run,
};

const ID: &str = "ext-stripe-wrong";

#[test]
#[ignore = "needs md: run in a guest"]
fn ext4_is_told_of_the_disk_that_was_added() {
    let needs = ["mkfs.ext4", "tune2fs", "dumpe2fs", "mount", "mdadm"].map(Needs::Program);
    let Some(lab) = Lab::open("ext4_is_told_of_the_disk_that_was_added", &needs) else {
        return;
    };
    let (_loops, members) = disks(&lab, 5, 24);
    let array = Array::create("md7", "5", "64", &members[..4]);
    let md = array.device();
    let node = md.node_text();
    // It takes the stripe of three data disks from the array.
    run("mkfs.ext4", &["-q", "-F", "-b", "4096", &node]);
    let mounted = Mounted::new(&md, &lab);
    data::write(&mounted.file(), 3 * MIB);
    let sum = data::checksum(&mounted.file(), 3 * MIB);
    Checkup::of(&md).has_no(ID);

    array.grow(&members[4], 5, &lab);
    let before = Checkup::of(&md);
    let finding = before.finding(ID, &md);
    assert_eq!(finding["numbers"]["stripe_blocks"], 48);
    assert_eq!(finding["numbers"]["right_stripe_blocks"], 64);
    repair(finding);
    let options = mounted.options();
    assert!(options.contains(&"stripe=64".to_owned()), "{options:?}");
    before.cured_of(ID);
    assert_eq!(data::checksum(&mounted.file(), 3 * MIB), sum);

    drop(mounted);
    before.cured_of(ID);
    let said = run("dumpe2fs", &["-h", &node]);
    let width = said
        .lines()
        .find(|line| line.starts_with("RAID stripe width:"));
    assert!(width.is_some_and(|line| line.ends_with(" 64")), "{said}");
    let mounted = Mounted::new(&md, &lab);
    assert_eq!(data::checksum(&mounted.file(), 3 * MIB), sum);
}
