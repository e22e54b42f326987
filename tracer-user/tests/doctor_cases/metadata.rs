//! Cases M and S4: what md keeps, and what it is made of.

use iotrace::doctor::Severity;

use super::build::{Machine, RAID1, RAID5, commands, disk, numbers};

#[test]
fn m1_a_fine_bitmap() {
    let machine = Machine::of("m1");
    let finding = machine.finding("md0", "bitmap-chunk-too-fine");
    assert_eq!(numbers(&finding, ["bitmap_chunk_bytes"]), [1 << 20]);
    assert_eq!(
        commands(finding.repair.as_ref()),
        [
            "mdadm --grow /dev/md0 --bitmap=none",
            "mdadm --grow /dev/md0 --bitmap=internal --bitmap-chunk=64M"
        ]
    );
    assert_eq!(machine.ids().len(), 1);
    Machine::new(&RAID5.tree()).is_sound();
    let none = RAID5.tree() + "md0/md/bitmap/location = none\n";
    Machine::new(&none).is_sound();
}

#[test]
fn m2_a_bitmap_in_units_of_io_opt() {
    let machine = Machine::of("m2");
    let finding = machine.finding("md0", "bitmap-in-io-opt-units");
    assert_eq!(
        numbers(&finding, ["io_opt_bytes", "times_a_page"]),
        [262_144, 64]
    );
    assert_eq!(machine.ids().len(), 1);
}

#[test]
fn m3_books_shorter_than_a_block() {
    let machine = Machine::of("m3").counted("m3");
    for member in ["sda", "sdb"] {
        let finding = machine.finding(member, "books-shorter-than-block");
        assert_eq!(numbers(&finding, ["metadata_sub_block_writes"]), [2]);
        assert_eq!(finding.severity, Severity::Info);
    }
    // Nobody's program is blamed for them.
    assert_eq!(machine.ids().len(), 2);
}

#[test]
fn m4_a_check_is_running() {
    let machine = Machine::of("m4").counted("m4");
    let finding = machine.finding("md0", "sync-running");
    assert!(finding.evidence[0].starts_with("a check is running"));
    assert!(finding.evidence[0].contains("its reads and writes are no pre-reads"));
    assert_eq!(machine.ids().len(), 1);
}

#[test]
fn s4_a_raid4_left_from_a_grow() {
    let machine = Machine::of("s4");
    let finding = machine.finding("md0", "parity-on-one-member");
    assert!(finding.evidence[0].starts_with("keeps all its parity on sdd"));
    let repair = finding.repair.unwrap();
    assert_eq!(
        commands(Some(&repair)),
        ["mdadm --grow /dev/md0 --level=5 --layout=left-symmetric \
          --backup-file=/root/md0-grow.backup"]
    );
    assert!(
        repair.steps[0]
            .warning
            .as_ref()
            .unwrap()
            .contains("another device")
    );
    assert_eq!(machine.ids().len(), 1);
    let last = RAID5.tree() + "md0/md/layout = 5\n";
    let finding = Machine::new(&last).finding("md0", "parity-on-one-member");
    assert!(
        commands(finding.repair.as_ref())[0].starts_with("mdadm --grow /dev/md0 --layout=left")
    );
}

#[test]
fn a_logical_block_that_would_change() {
    // A 4Kn spare was added to an array of 512.
    let tree = RAID5.tree()
        + &disk("sde", 64)
        + "sde/queue/logical_block_size = 4096
           sde/holders/md0 -> ../../md0
           md0/md/dev-sde/slot = none
           md0/md/dev-sde/state = spare
           ";
    let machine = Machine::new(&tree);
    let finding = machine.finding("md0", "logical-block-would-change");
    assert_eq!(
        numbers(
            &finding,
            ["logical_block_bytes", "members_logical_block_bytes"]
        ),
        [512, 4096]
    );
    assert_eq!(finding.severity, Severity::Error);
    assert_eq!(
        commands(finding.repair.as_ref()),
        [
            "mdadm /dev/md0 --fail /dev/sde",
            "mdadm /dev/md0 --remove /dev/sde"
        ]
    );
    // Unless its superblocks keep the size; 0 is not set.
    for (kept, told) in [(512, 0), (0, 1)] {
        let kept = format!("{tree}md0/md/logical_block_size = {kept}\n");
        let found = Machine::new(&kept).ids();
        let of_it = found
            .iter()
            .filter(|(_, id)| *id == "logical-block-would-change");
        assert_eq!(of_it.count(), told, "{found:?}");
    }
    // All are 512 again: the array would follow.
    let tree = RAID5.tree() + "md0/queue/logical_block_size = 4096\n";
    let finding = Machine::new(&tree).finding("md0", "logical-block-would-change");
    assert_eq!(
        (finding.severity, finding.repair),
        (Severity::Warning, None)
    );
}

#[test]
fn metadata_at_the_end_shows_partitions() {
    let exposing = |version: &str| {
        let tree = RAID1.tree()
            + &format!(
                "md0/md/metadata_version = {version}
                 sda/sda1/partition = 1
                 sda/sda1/dev = 8:1
                 sda/sda1/start = 2048
                 sda/sda1/size = 204800
                "
            );
        Machine::new(&tree)
    };
    for version in ["0.90", "1.0"] {
        let machine = exposing(version);
        let finding = machine.finding("md0", "metadata-exposes-partitions");
        assert_eq!(numbers(&finding, ["exposed_partitions"]), [1]);
        assert_eq!(
            commands(finding.repair.as_ref()),
            ["partx --delete /dev/sda"]
        );
        assert_eq!(
            commands(finding.build_anew.as_ref())[1],
            "mdadm --create /dev/md0 --metadata=1.2 --level=1 --raid-devices=2 /dev/sda /dev/sdb"
        );
        assert_eq!(machine.ids().len(), 1);
    }
    // Members that show none.
    let tree = RAID1.tree() + "md0/md/metadata_version = 1.0\n";
    Machine::new(&tree).is_sound();
}
