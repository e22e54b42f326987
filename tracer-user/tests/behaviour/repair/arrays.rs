//! What can be put right on an array itself.

use std::fs::File;

use super::{
    MIB,
    checkup::{Checkup, repair},
    data, disks,
};
use crate::harness::{
    lab::{Lab, Needs},
    md::Array,
};

const BITMAP: &str = "bitmap-chunk-too-fine";
const PARITY: &str = "parity-on-one-member";

#[test]
#[ignore = "needs md: run in a guest"]
fn a_fine_bitmap_gets_a_coarser_one_in_use() {
    let needs = [Needs::Program("mdadm")];
    let Some(lab) = Lab::open("a_fine_bitmap_gets_a_coarser_one_in_use", &needs) else {
        return;
    };
    let (_loops, members) = disks(&lab, 4, 24);
    let more = ["--bitmap=internal", "--bitmap-chunk=64K"];
    let array = Array::create_with("md7", "5", "64", &members, &more);
    let md = array.device();
    data::write(&md.node(), 8 * MIB);
    let sum = data::checksum(&md.node(), 8 * MIB);

    let before = Checkup::of(&md);
    let finding = before.finding(BITMAP, &md);
    assert_eq!(finding["numbers"]["bitmap_chunk_bytes"], 64 << 10);
    let user = File::open(md.node()).expect("the array");
    repair(finding);
    drop(user);
    assert_eq!(md.number("md/bitmap/chunksize"), 64 * MIB);
    before.cured_of(BITMAP);
    assert_eq!(data::checksum(&md.node(), 8 * MIB), sum);
    array.assemble_again();
    before.cured_of(BITMAP);
    assert_eq!(data::checksum(&md.node(), 8 * MIB), sum);
}

/// As a RAID0 is left that was grown with parity.
#[test]
#[ignore = "needs md: run in a guest"]
fn the_parity_of_a_raid4_is_spread() {
    let needs = [Needs::Program("mdadm")];
    let Some(lab) = Lab::open("the_parity_of_a_raid4_is_spread", &needs) else {
        return;
    };
    let (_loops, members) = disks(&lab, 4, 24);
    let array = Array::create("md7", "4", "64", &members);
    let md = array.device();
    data::write(&md.node(), 8 * MIB);
    let sum = data::checksum(&md.node(), 8 * MIB);

    let before = Checkup::of(&md);
    repair(before.finding(PARITY, &md));
    array.wait_until_idle();
    assert_eq!(md.read("md/level").as_deref(), Some("raid5"));
    // Left-symmetric.
    assert_eq!(md.number("md/layout"), 2);
    before.cured_of(PARITY);
    assert_eq!(data::checksum(&md.node(), 8 * MIB), sum);
}
