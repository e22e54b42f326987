//! Every rule has a machine that it finds and one that it does not; every
//! remedy keeps its promises, whatever it is for.

use std::collections::BTreeSet;

use iotrace::doctor::{Diagnosis, rules};

use super::{
    build::{Array, Machine, RAID1, RAID5, RAID6, disk, mapping, partition},
    filesystems::{ext4, on_xfs, xfs},
    layers::{bcache, luks1, pv},
    measured,
};

fn bridge() -> String {
    disk("sda", 0) + "sda/queue/optimal_io_size = 33553920\n"
}

fn hinted(io_min: u64, io_opt: u64) -> String {
    disk("sda", 0)
        + &format!(
            "sda/queue/minimum_io_size = {io_min}
             sda/queue/optimal_io_size = {io_opt}
            "
        )
}

/// The rule's id, a machine that has it, and how it would be right.
fn both() -> Vec<(&'static str, Machine, Machine)> {
    let sound = || Machine::new(&RAID5.tree());
    let on = |content| Machine::new(&RAID5.tree()).holds("md0", content);
    let raid5 = |more: &str| Machine::new(&(RAID5.tree() + more));
    let plain = |text: &str| Machine::new(text);
    let started = |start| plain(&(disk("sda", 0) + &partition("sda", 1, "8:1", start, 1 << 20)));
    let volume = |start: &str| {
        let tree = RAID6.tree() + &mapping("dm-0", 0, "vg-lv", "LVM-x", "md0");
        Machine::mapped(&tree, &[("253:0", "linear", start)])
    };
    let looped = |offset: u64| {
        plain(
            &(disk("sda", 0)
                + &format!(
                    "loop0/dev = 7:0\nloop0/size = 8192\nloop0/loop/backing_file = /dev/sda
                     loop0/loop/offset = {offset}"
                )),
        )
    };
    let crypt = |options: &str| {
        let tree = disk("sda", 0) + &mapping("dm-0", 0, "s", "CRYPT", "sda");
        let table = format!("aes-xts-plain64 :64:logon:x 0 8:0 32768{options}");
        Machine::mapped(&tree, &[("253:0", "crypt", &table)])
    };
    let mirror = |more: &str| plain(&(RAID1.tree() + more));
    let old = |start| {
        plain(
            &(disk("sda", 0)
                + "sda/size = 7814037168
                   sda/queue/physical_block_size = 512
                   sda/queue/minimum_io_size = 512
                   sda/queue/rotational = 1
                   "
                + &partition("sda", 1, "8:1", start, 1 << 20)),
        )
    };
    let mut small = xfs(None);
    small.block_size = iotrace::units::Bytes(1024);
    let small = iotrace::superblock::Content::Xfs(Box::new(small));
    vec![
        ("misaligned-partition", started(63), started(2048)),
        (
            "misaligned-pv",
            on(pv(1 << 20, 4 << 20, 10)),
            on(pv(3 << 20, 4 << 20, 10)),
        ),
        ("misaligned-volume", volume("9:0 2048"), volume("9:0 2688")),
        ("misaligned-luks", on(luks1(4040)), on(luks1(4224))),
        ("misaligned-bcache", on(bcache(16)), on(bcache(384))),
        ("misaligned-loop", looped(512), looped(4096)),
        (
            "misaligned-member-data",
            raid5("md0/md/dev-sda/offset = 2049\n"),
            sound(),
        ),
        (
            "io-opt-implausible",
            plain(&bridge()),
            plain(&disk("sda", 0)),
        ),
        (
            "io-opt-transfer-limit",
            plain(&(hinted(4096, 1 << 20) + "sda/queue/max_hw_sectors_kb = 1024\n")),
            plain(&hinted(4096, 1 << 20)),
        ),
        (
            "io-opt-is-block",
            plain(&hinted(4096, 4096)),
            plain(&hinted(4096, 0)),
        ),
        (
            "io-min-is-io-opt",
            plain(&hinted(196_608, 196_608)),
            plain(&hinted(65_536, 196_608)),
        ),
        (
            "io-opt-no-stripe",
            raid5("md0/queue/optimal_io_size = 3145728\n"),
            sound(),
        ),
        (
            "read-ahead-from-hint",
            plain(&(bridge() + "sda/queue/read_ahead_kb = 65520\n")),
            plain(&bridge()),
        ),
        (
            "alignment-inconsistent",
            raid5("md0/alignment_offset = -1\n"),
            sound(),
        ),
        ("drive-may-hide-4096", old(63), old(2048)),
        (
            "physical-block-is-hint",
            plain(&(disk("sda", 0) + "sda/queue/physical_block_size = 262144\n")),
            started(2048),
        ),
        (
            "members-disagree",
            raid5("sda/queue/physical_block_size = 512\n"),
            sound(),
        ),
        (
            "logical-block-would-change",
            raid5("sda/queue/logical_block_size = 4096\n"),
            sound(),
        ),
        (
            "metadata-exposes-partitions",
            mirror(&format!(
                "md0/md/metadata_version = 1.0\n{}",
                partition("sda", 1, "8:1", 2048, 4096)
            )),
            mirror("md0/md/metadata_version = 1.0\n"),
        ),
        (
            "parity-on-one-member",
            raid5("md0/md/level = raid4\n"),
            sound(),
        ),
        (
            "sync-running",
            raid5("md0/md/sync_action = resync\n"),
            sound(),
        ),
        (
            "bitmap-chunk-too-fine",
            raid5("md0/md/bitmap/chunksize = 65536\n"),
            sound(),
        ),
        (
            "bitmap-writes-too-many",
            measured::books(48),
            measured::books(10),
        ),
        (
            "bitmap-in-io-opt-units",
            raid5("sda/queue/optimal_io_size = 262144\n"),
            sound(),
        ),
        (
            "books-shorter-than-block",
            Machine::of("m3").counted("m3"),
            Machine::of("m1").counted("m1"),
        ),
        (
            "stripe-cache-too-small",
            measured::cache(256),
            measured::cache(3),
        ),
        ("chunk-too-large", measured::large_chunk(), sound()),
        (
            "chunk-too-small",
            measured::short_chunk(4096),
            measured::short_chunk(1 << 19),
        ),
        ("prereads", measured::large_chunk(), measured::books(10)),
        (
            "xfs-stripe-wrong",
            on(on_xfs(Some((65_536, 131_072)))),
            on(on_xfs(Some((65_536, 196_608)))),
        ),
        (
            "xfs-stripe-missing",
            on(on_xfs(None)),
            on(on_xfs(Some((65_536, 196_608)))),
        ),
        (
            "xfs-stripe-needless",
            mirror("").holds("md0", on_xfs(Some((65_536, 196_608)))),
            mirror("").holds("md0", on_xfs(None)),
        ),
        ("ext-stripe-wrong", on(ext4(16, 32)), on(ext4(16, 48))),
        ("ext-stripe-missing", on(ext4(0, 0)), on(ext4(16, 48))),
        (
            "ext-stripe-needless",
            mirror("").holds("md0", ext4(16, 48)),
            mirror("").holds("md0", ext4(0, 0)),
        ),
        (
            "fs-block-below-physical",
            plain(&disk("sda", 0)).holds("sda", small),
            plain(&disk("sda", 0)).holds("sda", on_xfs(None)),
        ),
        ("crypt-sector-512", crypt(""), crypt(" 1 sector_size:4096")),
        (
            "odd-length",
            plain(&(disk("sda", 0) + "sda/size = 4194303\n")),
            plain(&disk("sda", 0)),
        ),
        (
            "misaligned-writes",
            started(2048).does("sda1 write 512 8192\n"),
            started(2048).does("sda1 write 4096 8192\n"),
        ),
        (
            "sub-block-writes",
            started(2048).does("sda1 write 512 512\n"),
            started(2048).does("sda1 write 4096 8192\n"),
        ),
        ("write-fills", measured::filled(7), measured::filled(0)),
    ]
}

fn has(diagnosis: &Diagnosis, id: &str) -> bool {
    diagnosis.findings.iter().any(|finding| finding.id == id)
}

#[test]
fn every_rule_finds_and_does_not_find() {
    let both = both();
    let tried: BTreeSet<&str> = both.iter().map(|(id, ..)| *id).collect();
    let all: BTreeSet<&str> = rules::ALL.iter().map(|rule| rule.id).collect();
    assert_eq!(tried, all);
    for (id, wrong, right) in &both {
        let found = wrong.examined();
        assert!(has(&found, id), "{id}: {:#?}", found.findings);
        let guard = right.examined();
        assert!(!has(&guard, id), "{id}: {:#?}", guard.findings);
        // A measured rule needs something counted.
        let rule = rules::by_id(id).unwrap();
        assert!(!rule.measured || wrong.interval.is_some(), "{id}");
    }
}

/// Whatever is found: a repair keeps data, what destroys them says so and comes
/// with a warning, and every link leads somewhere.
#[test]
fn remedies_keep_their_promises() {
    let docs = std::fs::read_to_string(
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/findings.md"),
    )
    .unwrap();
    for (_, machine, _) in both() {
        for finding in machine.examined().findings {
            let id = finding.id;
            if let Some(repair) = &finding.repair {
                assert!(!repair.destroys_data, "{id}");
            }
            if let Some(anew) = &finding.build_anew {
                assert!(anew.destroys_data, "{id}");
                let warned = anew.steps.iter().any(|step| step.warning.is_some());
                assert!(
                    warned || anew.steps.is_empty() || id == "odd-length",
                    "{id}: {anew:?}"
                );
            }
            let (page, anchor) = finding.docs.split_once('#').unwrap();
            assert_eq!((page, anchor), ("docs/findings.md", id));
            assert!(docs.contains(&format!("\n## {id}\n")), "no section {id}");
            assert!(!finding.evidence.is_empty() && !finding.evidence[0].is_empty());
        }
    }
}

/// Doctor names what it was not allowed to look at, and does the rest.
#[test]
fn what_could_not_be_looked_at_is_told() {
    let mut machine = Machine::of("p1");
    let id = machine.id("sda");
    machine
        .stack
        .contents
        .insert(id, Err(iotrace::stack::Unread::NoPermission));
    let diagnosis = machine.examined();
    assert!(
        diagnosis
            .not_looked
            .contains(&"sda: no permission to read it".to_owned())
    );
    assert!(has(&diagnosis, "misaligned-partition"));
}

/// Only what was asked for, and what goes with it.
#[test]
fn asked_for_one_device() {
    let tree = disk("sda", 0)
        + &partition("sda", 1, "8:1", 63, 4096)
        + &disk("sdb", 16)
        + &partition("sdb", 1, "8:17", 63, 4096);
    let machine = Machine::new(&tree);
    assert_eq!(machine.ids().len(), 2);
    let asked = [machine.id("sdb")];
    let one = iotrace::doctor::examine(&machine.stack, &asked, None);
    assert_eq!((one.findings.len(), one.devices), (1, 2));
    assert_eq!(one.findings[0].device, "sdb1");
}

#[test]
fn levels_without_layout_or_chunk_are_no_trouble() {
    for level in ["", "linear", "raid5", "raid10", "container", "faulty"] {
        let array = Array {
            level: "raid5",
            ..RAID5
        };
        let tree = array.tree()
            + &format!("md0/md/level = {level}\nmd0/md/chunk_size = 0\nmd0/md/raid_disks = 0\n");
        let _found = Machine::new(&tree).examined();
    }
}
