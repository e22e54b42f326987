//! LUKS whose payload begins inside a stripe: nothing moves it.

use std::{fs, path::Path, process::Command};

use super::{
    MIB,
    checkup::{Checkup, build_anew},
    data, disks,
};
use crate::harness::{
    lab::{Lab, Needs, load},
    md::Array,
    process::{finished, run},
};

const ID: &str = "misaligned-luks";
const NAME: &str = "iotrace-secret";
/// Its usual way with passwords takes minutes here.
const CHEAP: &str = " --pbkdf pbkdf2 --pbkdf-force-iterations 1000";

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
    let finding = before.finding(ID, &md);
    assert_eq!(finding["numbers"]["stripe_remainder_bytes"], 68 << 10);
    assert!(finding["repair"].is_null(), "{finding:#}");
    let saved = lab.path("saved");
    data::copy(opened.node(), &saved, 2 * MIB);
    let cheap = |command: &str| match command.contains("luksFormat") {
        true => CHEAP,
        false => "",
    };
    build_anew(finding, &lab, "0123456789\n", cheap);
    let opened = Opened::new(&node, &key);
    before.cured_of(ID);
    data::copy(&saved, opened.node(), 2 * MIB);
    assert_eq!(data::checksum(opened.node(), 2 * MIB), sum);
}
