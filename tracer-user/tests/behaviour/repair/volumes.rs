//! Logical volumes off the stripes of a RAID6: three data disks of 64 KiB
//! chunks, of which extents of 4 MiB are no multiple.

use std::fs::File;

use super::{
    MIB,
    checkup::{Checkup, build_anew, repair},
    data, disks,
};
use crate::harness::{
    device::Device,
    lab::{Lab, Needs, load},
    loopdev::Loop,
    lvm::Group,
    md::Array,
    process::run,
};

const PV: &str = "misaligned-pv";
const VOLUME: &str = "misaligned-volume";
const STRIPE: u64 = (3 * 64) << 10;

/// Dropped in this order.
struct Raid6 {
    array: Array,
    _disks: Vec<Loop>,
}

fn raid6(test: &str) -> Option<(Raid6, Lab)> {
    let needs = ["lvm", "pvmove", "mdadm"].map(Needs::Program);
    let lab = Lab::open(test, &needs)?;
    load("dm-mod");
    let (loops, members) = disks(&lab, 5, 32);
    let array = Array::create("md7", "6", "64", &members);
    let raid6 = Raid6 {
        array,
        _disks: loops,
    };
    Some((raid6, lab))
}

/// How far into a stripe of the array a volume of one piece begins.
fn phase(volume: &Device) -> u64 {
    let table = run(
        "dmsetup",
        &["table", &volume.read("dm/name").expect("a name")],
    );
    let words: Vec<&str> = table.split_whitespace().collect();
    let ["0", _, "linear", _, start] = words[..] else {
        panic!("{table}");
    };
    start.parse::<u64>().expect("a sector") * 512 % STRIPE
}

#[test]
#[ignore = "needs md and dm: run in a guest"]
fn a_volume_of_a_shifted_group_moves_onto_the_stripe() {
    let Some((raid6, _lab)) = raid6("a_volume_of_a_shifted_group_moves_onto_the_stripe") else {
        return;
    };
    let md = raid6.array.device();
    // As LVM lays it out on what tells it no stripe.
    let group = Group::create_with("iotrace", &md, &["--dataalignment", "1m"]);
    let volume = group.volume("data", 8);
    assert_eq!(phase(&volume), 64 << 10);
    data::write(&volume.node(), 8 * MIB);
    let sum = data::checksum(&volume.node(), 8 * MIB);

    let before = Checkup::of(&md);
    let finding = before.finding(PV, &md);
    assert_eq!(finding["numbers"]["stripe_bytes"], STRIPE);
    assert_eq!(finding["numbers"]["stripe_remainder_bytes"], 64 << 10);
    // It stays in use meanwhile.
    let user = File::open(volume.node()).expect("the volume");
    repair(finding);
    drop(user);
    assert_eq!(phase(&volume), 0);
    before.cured_of(PV);
    Checkup::of(&md).has_no(VOLUME);
    assert_eq!(data::checksum(&volume.node(), 8 * MIB), sum);
}

#[test]
#[ignore = "needs md and dm: run in a guest"]
fn a_volume_between_stripes_moves_onto_one() {
    let Some((raid6, _lab)) = raid6("a_volume_between_stripes_moves_onto_one") else {
        return;
    };
    let md = raid6.array.device();
    // LVM takes the stripe from the array; the extents do not.
    let group = Group::create("iotrace", &md);
    let (first, volume) = (group.volume("first", 4), group.volume("data", 8));
    assert_eq!((phase(&first), phase(&volume)), (0, 64 << 10));
    data::write(&volume.node(), 8 * MIB);
    let sum = data::checksum(&volume.node(), 8 * MIB);

    let before = Checkup::of(&md);
    before.has_no(PV);
    repair(before.finding(VOLUME, &volume));
    assert_eq!((phase(&first), phase(&volume)), (0, 0));
    before.cured_of(VOLUME);
    assert_eq!(data::checksum(&volume.node(), 8 * MIB), sum);
}

#[test]
#[ignore = "needs md and dm: run in a guest"]
fn a_group_whose_extents_all_lie_wrong_is_made_anew() {
    let Some((raid6, lab)) = raid6("a_group_whose_extents_all_lie_wrong_is_made_anew") else {
        return;
    };
    let md = raid6.array.device();
    let odd = ["--dataalignment", "1m", "--dataalignmentoffset", "4k"];
    let group = Group::create_with("iotrace", &md, &odd);
    let volume = group.volume("data", 8);
    data::write(&volume.node(), 8 * MIB);
    let sum = data::checksum(&volume.node(), 8 * MIB);
    let before = Checkup::of(&md);
    let finding = before.finding(PV, &md);
    assert_eq!(finding["numbers"]["stripe_remainder_bytes"], 68 << 10);
    assert!(finding["repair"].is_null(), "{finding:#}");

    let saved = lab.path("saved");
    data::copy(&volume.node(), &saved, 8 * MIB);
    build_anew(finding, &lab, "y\ny\ny\n", |_| "");
    let (_first, volume) = (group.volume("first", 4), group.volume("data", 8));
    assert_eq!(phase(&volume), 0);
    before.cured_of(PV);
    Checkup::of(&md).has_no(VOLUME);
    data::copy(&saved, &volume.node(), 8 * MIB);
    assert_eq!(data::checksum(&volume.node(), 8 * MIB), sum);
}
