//! LUKS: a payload inside a stripe, which nothing moves, and sectors that are too
//! short, which can be changed in place.

use std::{fs, path::Path, process::Command};

use super::{
    MIB,
    checkup::{Checkup, build_anew, repair_with},
    data::{self, Mounted},
    disks,
};
use crate::harness::{
    device::Device,
    lab::{Lab, Needs, load},
    md::Array,
    process::{finished, run},
    scsi_debug::ScsiDebug,
};

const PAYLOAD: &str = "misaligned-luks";
const SECTOR: &str = "crypt-sector-512";
const NAME: &str = "iotrace-secret";
/// Its usual way with passwords takes minutes here.
const CHEAP: &str = " --pbkdf pbkdf2 --pbkdf-force-iterations 1000";

fn cheap(command: &str) -> &'static str {
    let derives = ["luksFormat", "reencrypt"];
    if derives.iter().any(|word| command.contains(word)) {
        CHEAP
    } else {
        ""
    }
}

/// Closed when dropped.
struct Opened;

impl Opened {
    fn new(node: &str, key: &str) -> Self {
        run("cryptsetup", &["open", "--key-file", key, node, NAME]);
        Self
    }

    fn node(&self) -> &Path {
        Path::new("/dev/mapper/iotrace-secret")
    }

    fn device(&self) -> Device {
        let args = ["info", "--columns", "--noheadings", "-o", "minor", NAME];
        Device::disk(&format!("dm-{}", run("dmsetup", &args).trim()))
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        // Doctor's commands may have done it already.
        finished(Command::new("cryptsetup").args(["close", NAME]));
    }
}

#[test]
#[ignore = "needs md and dm: run in a guest"]
fn a_payload_inside_a_stripe_is_made_anew() {
    let needs = ["cryptsetup", "mdadm"].map(Needs::Program);
    let Some(lab) = Lab::open("a_payload_inside_a_stripe_is_made_anew", &needs) else {
        return;
    };
    load("dm-mod");
    let (_loops, members) = disks(&lab, 4, 24);
    let array = Array::create("md7", "5", "64", &members);
    let md = array.device();
    let (node, file) = (md.node_text(), lab.path("key"));
    fs::write(&file, "0123456789").expect("a key file");
    let key = file.display().to_string();
    // 16 MiB and 4 KiB: 68 KiB into a stripe of three chunks.
    let format =
        format!("cryptsetup luksFormat -q --type luks2 --offset 32776 {node} {key}{CHEAP}");
    run("sh", &["-c", &format]);
    let opened = Opened::new(&node, &key);
    data::write(opened.node(), 2 * MIB);
    let sum = data::checksum(opened.node(), 2 * MIB);

    let before = Checkup::of(&md);
    let finding = before.finding(PAYLOAD, &md);
    assert_eq!(finding["numbers"]["stripe_remainder_bytes"], 68 << 10);
    assert!(finding["repair"].is_null(), "{finding:#}");
    let saved = lab.path("saved");
    data::copy(opened.node(), &saved, 2 * MIB);
    build_anew(finding, &lab, "0123456789\n", cheap);
    let opened = Opened::new(&node, &key);
    before.cured_of(PAYLOAD);
    data::copy(&saved, opened.node(), 2 * MIB);
    assert_eq!(data::checksum(opened.node(), 2 * MIB), sum);
}

#[test]
#[ignore = "needs dm and scsi_debug: run in a guest"]
fn short_sectors_are_encrypted_again_in_place() {
    let needs = ["cryptsetup", "mkfs.ext4", "mount"].map(Needs::Program);
    let Some(lab) = Lab::open("short_sectors_are_encrypted_again_in_place", &needs) else {
        return;
    };
    load("dm-mod");
    let module = ScsiDebug::load(&["dev_size_mb=24", "sector_size=512", "physblk_exp=3"]);
    let disk = module.disk();
    let (node, file) = (disk.node_text(), lab.path("key"));
    fs::write(&file, "0123456789").expect("a key file");
    let key = file.display().to_string();
    // Of LUKS1, it becomes LUKS2 on the way: every command there is.
    let format = format!("cryptsetup luksFormat -q --type luks1 {node} {key}{CHEAP}");
    run("sh", &["-c", &format]);
    let opened = Opened::new(&node, &key);
    let inner = opened.device();
    run("mkfs.ext4", &["-q", "-F", "-b", "4096", &inner.node_text()]);
    let mounted = Mounted::new(&inner, &lab);
    data::write(&mounted.file(), MIB);
    let sum = data::checksum(&mounted.file(), MIB);

    let before = Checkup::of(&disk);
    let finding = before.finding(SECTOR, &inner);
    repair_with(finding, &lab, "0123456789\n", cheap);
    before.cured_of(SECTOR);
    let inner = opened.device();
    assert_eq!(inner.number("queue/logical_block_size"), 4096);
    let mounted = Mounted::new(&inner, &lab);
    assert_eq!(data::checksum(&mounted.file(), MIB), sum);
}
