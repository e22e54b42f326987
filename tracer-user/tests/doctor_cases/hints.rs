//! Cases H.

use iotrace::doctor::{Severity, Sure};

use super::build::{Array, Machine, RAID6, commands, disk, mapping, numbers, partition};

/// A USB bridge's disk.
fn bridge(physical: u64, more: &str) -> String {
    disk("sda", 0)
        + &format!(
            "sda/queue/physical_block_size = {physical}
             sda/queue/optimal_io_size = 33553920
             {more}"
        )
}

#[test]
fn h1_a_bridges_hint() {
    let machine = Machine::new(&bridge(512, ""));
    let finding = machine.finding("sda", "io-opt-implausible");
    assert_eq!(numbers(&finding, ["io_opt_bytes"]), [33_553_920]);
    assert_eq!(finding.severity, Severity::Info);
    assert!(finding.evidence[0].ends_with("not a stripe, to be ignored"));
    assert!(finding.repair.unwrap().steps.is_empty());
    assert_eq!(machine.ids().len(), 1);
    // A partition that was put there by it.
    let tree = bridge(4096, "") + &partition("sda", 1, "8:1", 65535, 1_000_000);
    let finding = Machine::new(&tree).finding("sda1", "misaligned-partition");
    assert_eq!(numbers(&finding, ["physical_remainder_bytes"]), [3584]);
}

#[test]
fn counters_and_limits_of_other_widths() {
    let with = |logical: u64, io_opt: u64, max_kib: u64| {
        let tree = disk("sda", 0)
            + &format!(
                "sda/queue/logical_block_size = {logical}
                 sda/queue/optimal_io_size = {io_opt}
                 sda/queue/max_hw_sectors_kb = {max_kib}
                "
            );
        Machine::new(&tree)
            .ids()
            .into_iter()
            .map(|(_, id)| id)
            .collect::<Vec<_>>()
    };
    assert_eq!(with(512, 32767 * 512, 4096), ["io-opt-implausible"]);
    assert_eq!(with(4096, 65535 * 4096, 4096), ["io-opt-implausible"]);
    assert_eq!(with(512, 1 << 20, 1024), ["io-opt-transfer-limit"]);
    // What a hardware RAID may well have.
    assert_eq!(with(512, 1 << 20, 4096), Vec::<&str>::new());
    assert_eq!(with(512, 7 * 65536, 4096), Vec::<&str>::new());
}

#[test]
fn h2_a_volume_put_there_by_the_hint() {
    let tree = disk("sda", 0) + &mapping("dm-0", 0, "vg-lv", "LVM-x", "sda");
    let machine = Machine::mapped(&tree, &[("253:0", "linear", "8:0 65535")]);
    let finding = machine.finding("dm-0", "misaligned-volume");
    assert_eq!(
        numbers(
            &finding,
            [
                "start_bytes",
                "physical_remainder_bytes",
                "next_aligned_bytes"
            ]
        ),
        [33_553_920, 3584, 33_554_432]
    );
    assert_eq!(finding.severity, Severity::Error);
    assert_eq!(finding.repair, None);
}

#[test]
fn h3_read_ahead_from_the_hint() {
    let tree = bridge(512, "sda/queue/read_ahead_kb = 65520\n");
    let machine = Machine::new(&tree);
    let finding = machine.finding("sda", "read-ahead-from-hint");
    assert_eq!(
        numbers(&finding, ["read_ahead_bytes", "io_opt_bytes"]),
        [65520 << 10, 33_553_920]
    );
    assert_eq!(
        commands(finding.repair.as_ref())[0],
        "blockdev --setra 256 /dev/sda"
    );
    // The same bridge reports 0 of its 512/4096 disk.
    Machine::new(&disk("sda", 0)).is_sound();
    // Somebody's own choice, without such a hint.
    Machine::new(&(disk("sda", 0) + "sda/queue/read_ahead_kb = 65520\n")).is_sound();
}

#[test]
fn h4_ext4_on_the_hint() {
    for bridge in [bridge(512, ""), disk("sda", 0)] {
        let machine = Machine::new(&bridge).mounted("sda", "ext4", "rw,stripe=8191");
        let finding = machine.finding("sda", "ext-stripe-needless");
        assert_eq!(numbers(&finding, ["stripe_blocks"]), [8191]);
        assert_eq!(finding.severity, Severity::Warning);
        assert!(finding.evidence[1].contains("33553920 / 4096 rounded down"));
        assert_eq!(
            commands(finding.repair.as_ref()),
            [
                "tune2fs -E stride=0,stripe_width=0 /dev/sda",
                "mount -o remount,stripe=0 /srv/sda"
            ]
        );
    }
}

#[test]
fn h5_a_right_stripe_and_the_same_where_there_is_none() {
    let array = Array {
        level: "raid5",
        disks: 6,
        data: 5,
        chunk: 512 << 10,
        layout: 2,
    };
    let mounted = |tree: &str, name| Machine::new(tree).mounted(name, "ext4", "rw,stripe=640");
    mounted(&array.tree(), "md0").is_sound();
    let mirror = super::build::RAID1.tree();
    let finding = mounted(&mirror, "md0").finding("md0", "ext-stripe-needless");
    assert_eq!(numbers(&finding, ["stripe_blocks"]), [640]);
    mounted(&disk("sda", 0), "sda").finding("sda", "ext-stripe-needless");
}

#[test]
fn h6_the_physical_block_is_no_stripe() {
    let tree = disk("sda", 0) + "sda/queue/optimal_io_size = 4096\n";
    let machine = Machine::new(&tree);
    let finding = machine.finding("sda", "io-opt-is-block");
    assert_eq!(finding.severity, Severity::Info);
    assert!(finding.evidence[0].ends_with("not a stripe"));
    assert_eq!(machine.ids().len(), 1);
}

#[test]
fn h7_inconsistent_is_no_byte_count() {
    let tree = disk("sda", 0)
        + &partition("sda", 1, "8:1", 63, 2_000_000)
        + "md0/dev = 9:0
           md0/size = 1999872
           md0/alignment_offset = -1
           md0/queue/logical_block_size = 512
           md0/queue/physical_block_size = 4096
           md0/md/level = raid1
           md0/md/raid_disks = 1
           md0/md/chunk_size = 0
           md0/md/metadata_version = 1.2
           md0/md/dev-sda1/slot = 0
           md0/md/dev-sda1/offset = 2048
           md0/slaves/sda1 -> ../../sda1
           sda/sda1/holders/md0 -> ../../../md0
           ";
    let machine = Machine::new(&tree);
    let finding = machine.finding("md0", "alignment-inconsistent");
    // 63 sectors and 1 MiB: sector 1 is the first on a block.
    assert_eq!(numbers(&finding, ["alignment_offset_bytes"]), [512]);
    assert_eq!(finding.sure, Sure::Certain);
    machine.finding("sda1", "misaligned-partition");
    // Only the partition's start is to blame.
    assert_eq!(machine.ids().len(), 2);
}

#[test]
fn h8_a_mismatch_of_64_kib_only() {
    let tree = disk("sda", 0)
        + &mapping("dm-0", 0, "vg-lv", "LVM-x", "sda")
        + "dm-0/alignment_offset = 61440\n";
    Machine::mapped(&tree, &[("253:0", "linear", "8:0 2048")]).is_sound();
}

#[test]
fn h9_a_least_common_multiple() {
    let members: String = (0..9u8)
        .map(|slot| {
            format!(
                "sd{}/queue/optimal_io_size = 524288\n",
                char::from(b'a' + slot)
            )
        })
        .collect();
    let tree = RAID6.tree()
        + &members
        + "md0/queue/optimal_io_size = 3670016
           md0/md/bitmap/location = none
          ";
    let machine = Machine::new(&tree);
    let finding = machine.finding("md0", "io-opt-no-stripe");
    assert_eq!(
        numbers(&finding, ["io_opt_bytes", "stripe_bytes"]),
        [3_670_016, 458_752]
    );
    assert!(finding.evidence[0].contains("least common multiple"));
    assert!(
        finding
            .repair
            .unwrap()
            .text
            .contains("mkfs.xfs -d su=64k,sw=7")
    );
    assert_eq!(machine.ids().len(), 1);

    let misled = machine.mounted("md0", "xfs", "rw,sunit=128,swidth=7168");
    let finding = misled.finding("md0", "xfs-stripe-wrong");
    assert_eq!(
        numbers(
            &finding,
            [
                "swidth_sectors",
                "right_swidth_sectors",
                "right_sunit_sectors"
            ]
        ),
        [7168, 896, 128]
    );
    assert!(finding.evidence[1].contains("it is the optimal_io_size of md0, 3670016"));
    assert_eq!(
        commands(finding.repair.as_ref()),
        [
            "umount /srv/md0",
            "mount -o sunit=128,swidth=896 /dev/md0 /srv/md0"
        ]
    );
}

/// S3: what md itself reports of each layout is its stripe.
#[test]
fn raid10_reports_what_it_has() {
    for (layout, io_opt) in [(258, 196_608), (513, 393_216), (66_049, 393_216)] {
        let array = Array {
            level: "raid10",
            disks: 6,
            data: u32::try_from(io_opt / 65536).unwrap(),
            chunk: 65536,
            layout,
        };
        let machine = Machine::new(&array.tree());
        machine.is_sound();
        let geometry = machine.stack.topology.by_name("md0").unwrap().geometry;
        assert_eq!(geometry.stripe.unwrap().0, io_opt);
    }
}
