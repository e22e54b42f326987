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

const ID: &str = "bitmap-chunk-too-fine";

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
    let finding = before.finding(ID, &md);
    assert_eq!(finding["numbers"]["bitmap_chunk_bytes"], 64 << 10);
    let user = File::open(md.node()).expect("the array");
    repair(finding);
    drop(user);
    assert_eq!(md.number("md/bitmap/chunksize"), 64 * MIB);
    before.cured_of(ID);
    assert_eq!(data::checksum(&md.node(), 8 * MIB), sum);
    array.assemble_again();
    before.cured_of(ID);
    assert_eq!(data::checksum(&md.node(), 8 * MIB), sum);
}
