//! Other numbers of the cases' kinds, and facts that must not be told twice.

use iotrace::{
    doctor::{Cost, Severity, Sure},
    sysfs::mounts::Mounts,
};

use proptest::prelude::*;

use super::{
    build::{Array, Machine, RAID1, RAID5, commands, disk, mapping, numbers, partition},
    filesystems::{ext4, on_xfs},
    layers::{bcache, luks1, luks2, pv},
};

#[test]
fn a_start_off_a_hint_that_may_be_a_stripe() {
    let hinted = |io_min: u64, io_opt: u64, start: u64| {
        let tree = disk("sda", 0)
            + &format!(
                "sda/queue/minimum_io_size = {io_min}
                 sda/queue/optimal_io_size = {io_opt}
                "
            )
            + &partition("sda", 1, "8:1", start, 80000);
        Machine::new(&tree)
    };
    let names = [
        "io_opt_bytes",
        "io_opt_remainder_bytes",
        "next_aligned_sector",
        "next_mib_aligned_sector",
    ];
    // As CASES S1 has it, where the array itself is hidden.
    let machine = hinted(196_608, 196_608, 2048);
    let finding = machine.finding("sda1", "misaligned-partition");
    assert_eq!(numbers(&finding, names), [196_608, 65536, 2304, 6144]);
    assert_eq!(
        (finding.severity, finding.sure),
        (Severity::Info, Sure::Possible)
    );
    assert!(finding.repair.unwrap().steps.is_empty());
    // A chunk and a stripe of whole chunks: a hardware RAID's.
    let machine = hinted(65536, 196_608, 2048);
    let finding = machine.finding("sda1", "misaligned-partition");
    assert_eq!(finding.severity, Severity::Warning);
    hinted(65536, 196_608, 3072).is_sound();
    // P3: off the block, and off the cluster too.
    let finding = hinted(65536, 65536, 1).finding("sda1", "misaligned-partition");
    assert_eq!(
        numbers(
            &finding,
            ["physical_remainder_bytes", "io_opt_remainder_bytes"]
        ),
        [512, 512]
    );
    assert!(finding.evidence[1].ends_with("the next start on one: sector 128"));
}

#[test]
fn a_bridge_that_hides_the_drives_block() {
    let tree = disk("sda", 0)
        + "sda/queue/physical_block_size = 512
           sda/queue/optimal_io_size = 33553920
          "
        + &partition("sda", 1, "8:1", 65535, 1_000_000);
    let finding = Machine::new(&tree).finding("sda", "io-opt-implausible");
    assert_eq!(numbers(&finding, ["assumed_remainder_bytes"]), [3584]);
    assert_eq!(finding.severity, Severity::Warning);
}

#[test]
fn alignment_that_no_layer_below_explains() {
    let tree = |start| {
        disk("sda", 0)
            + "sda/alignment_offset = -1
              "
            + &partition("sda", 1, "8:1", start, 8000)
    };
    let finding = Machine::new(&tree(63)).finding("sda", "alignment-inconsistent");
    assert_eq!(numbers(&finding, ["assumed_remainder_bytes"]), [3584]);
    assert_eq!(finding.severity, Severity::Warning);
    let finding = Machine::new(&tree(2048)).finding("sda", "alignment-inconsistent");
    assert_eq!(finding.severity, Severity::Info);
}

/// Mending both would put the upper one wrong again.
#[test]
fn a_partition_is_not_told_for_the_array_below_it() {
    let offsets: String = ["sda", "sdb", "sdc", "sdd"]
        .map(|name| format!("md0/md/dev-{name}/offset = 2049\n"))
        .concat();
    let tree = |start| RAID5.tree() + &offsets + &partition("md0", 1, "259:0", start, 8000);
    let machine = Machine::new(&tree(6144));
    let finding = machine.finding("md0", "misaligned-member-data");
    assert_eq!(
        finding.evidence[1..],
        ["the same on sdb", "the same on sdc", "the same on sdd"]
    );
    // What it adds itself is told of it.
    machine
        .ids()
        .iter()
        .for_each(|(device, _)| assert_eq!(device, "md0"));
    Machine::new(&tree(6145)).finding("md0p1", "misaligned-partition");
}

/// `sfdisk --move-data` on a member would move the array's own data.
#[test]
fn partitions_found_on_a_member_are_the_arrays() {
    let tree = RAID1.tree()
        + "md0/md/metadata_version = 1.0
           md0/md/dev-sda/offset = 0
           md0/md/dev-sdb/offset = 0
          "
        + &partition("sda", 1, "8:1", 63, 8001)
        + &partition("sdb", 1, "8:17", 63, 8001)
        + &partition("md0", 1, "259:0", 63, 8000);
    let machine = Machine::new(&tree);
    let told = [
        ("md0", "metadata-exposes-partitions"),
        ("md0p1", "misaligned-partition"),
    ];
    for (device, id) in told {
        machine.finding(device, id);
    }
    assert_eq!(machine.ids().len(), told.len(), "{:?}", machine.ids());
}

/// The cost of a whole array is not that of one without a member.
#[test]
fn a_degraded_array_is_not_modelled() {
    let tree = RAID5.tree() + &partition("md0", 1, "259:0", 2048, 8000);
    let cost = |tree: &str| {
        Machine::new(tree)
            .finding("md0p1", "misaligned-partition")
            .cost
    };
    assert!(matches!(cost(&tree), Cost::Expected(_)));
    assert_eq!(cost(&(tree + "md0/md/degraded = 1\n")), Cost::Unknown);
}

#[test]
fn memory_is_no_disk() {
    let tree = disk("zram0", 0) + "zram0/queue/optimal_io_size = 4096\n";
    Machine::new(&tree.replace("8:0", "252:0")).is_sound();
}

#[test]
fn a_raid4_of_which_little_is_told() {
    let tree = disk("sda", 0)
        + "md0/dev = 9:0
           md0/md/level = raid4
           md0/slaves/sda -> ../../sda
          ";
    Machine::new(&tree).finding("md0", "parity-on-one-member");
}

#[test]
fn members_of_an_array_without_redundancy_stay() {
    let array = Array {
        level: "raid0",
        disks: 2,
        data: 2,
        chunk: 65536,
        layout: 0,
    };
    let tree = array.tree() + "sdb/queue/logical_block_size = 4096\n";
    let finding = Machine::new(&tree).finding("md0", "logical-block-would-change");
    assert_eq!((finding.severity, finding.repair), (Severity::Error, None));
}

#[test]
fn numbers_that_no_machine_has() {
    let most = u64::MAX;
    for start in [0, 63, 1 << 55, most] {
        for size in [0, 7, most] {
            for physical in [0, 3, 4096, most] {
                let tree = disk("sda", 0)
                    + &format!(
                        "sda/size = {size}
                         sda/queue/physical_block_size = {physical}
                         sda/queue/logical_block_size = {physical}
                         sda/queue/optimal_io_size = {most}
                         sda/queue/read_ahead_kb = {most}
                        "
                    )
                    + &mapping("dm-0", 0, "x", "LVM-x", "sda")
                    + &partition("sda", 1, "8:1", start, size);
                let start = format!("8:0 {start}");
                Machine::mapped(&tree, &[("253:0", "linear", &start)]).examined();
            }
        }
    }
}

fn volume_on_a_partition(pe_start: u64) -> Machine {
    let tree = RAID5.tree()
        + &partition("md0", 1, "259:0", 2048, 8_000_000)
        + "dm-0/dev = 253:0
           dm-0/size = 8192
           dm-0/dm/name = vg-lv
           dm-0/dm/uuid = LVM-x
           dm-0/slaves/md0p1 -> ../../md0/md0p1
           md0/md0p1/holders/dm-0 -> ../../../dm-0
          ";
    let table = format!("8192: 259:0 {}", pe_start / 512);
    Machine::mapped(&tree, &[("253:0", "linear", &table)])
        .holds("md0p1", pv(pe_start, 4 << 20, 100))
}

/// 64 KiB past a stripe, and 128 KiB more: to move the partition alone would put
/// the volume wrong.
#[test]
fn a_partition_whose_volumes_lie_right_is_right() {
    volume_on_a_partition(2 << 20).is_sound();
}

#[test]
fn of_two_layers_the_lower_is_to_be_mended_first() {
    let machine = volume_on_a_partition(1 << 20);
    let finding = machine.finding("md0p1", "misaligned-pv");
    assert_eq!(numbers(&finding, ["stripe_remainder_bytes"]), [131_072]);
    let last = finding.evidence.last().unwrap();
    assert!(
        last.starts_with("md0p1 below begins wrong too: mend that first"),
        "{last}"
    );
    let finding = machine.finding("md0p1", "misaligned-partition");
    assert_eq!(finding.evidence.len(), 1);
}

#[test]
fn a_leg_of_a_striped_volume() {
    let tree = disk("sda", 0)
        + &disk("sdb", 16)
        + &mapping("dm-0", 0, "vg-lv", "LVM-x", "sda")
        + "dm-0/slaves/sdb -> ../../sdb
           sdb/holders/dm-0 -> ../../dm-0
          ";
    let on = |legs| Machine::mapped(&tree, &[("253:0", "striped", legs)]);
    on("2 128 8:0 2048 8:16 4096").is_sound();
    let finding = on("2 128 8:0 2048 8:16 2049").finding("dm-0", "misaligned-volume");
    assert_eq!(numbers(&finding, ["physical_remainder_bytes"]), [512]);
    assert!(finding.evidence[0].starts_with("its stripe begins 1049088 bytes into sdb"));
}

#[test]
fn p3_inside_a_thin_volume() {
    let tree = disk("sda", 0)
        + &mapping("dm-0", 0, "vg-tpool", "LVM-x-tpool", "sda")
        + &mapping("dm-1", 1, "vg-thin", "LVM-y", "dm-0")
        + "dm-1/queue/minimum_io_size = 65536
           dm-1/queue/optimal_io_size = 65536
          "
        + &partition("dm-1", 1, "259:5", 1, 800);
    let tables = [
        ("253:0", "thin-pool", "8:0 8:0 128 0 0"),
        ("253:1", "thin", "253:0 1"),
    ];
    for tables in [&tables[..], &[]] {
        let finding = Machine::mapped(&tree, tables).finding("dm-1p1", "misaligned-partition");
        let names = [
            "physical_remainder_bytes",
            "io_opt_remainder_bytes",
            "next_aligned_sector",
        ];
        assert_eq!(numbers(&finding, names), [512, 512, 8]);
    }
}

/// Its header cannot be read without permission.
#[test]
fn luks_is_never_opened_as_plain() {
    let tree = RAID5.tree() + &mapping("dm-0", 0, "secret", "CRYPT-LUKS2-x-secret", "md0");
    let crypt = "aes-xts-plain64 :64:logon:x 0 9:0 33024";
    let machine = Machine::mapped(&tree, &[("253:0", "crypt", crypt)]);
    let finding = machine.finding("dm-0", "crypt-sector-512");
    assert_eq!(
        commands(finding.build_anew.as_ref()),
        [
            "cryptsetup close secret",
            "cryptsetup luksFormat --type luks2 --sector-size 4096 --offset 33024 /dev/md0"
        ]
    );
}

#[test]
fn chunks_that_are_no_whole_blocks_cannot_be_told() {
    let array = Array {
        level: "raid0",
        disks: 3,
        data: 3,
        chunk: 6144,
        layout: 0,
    };
    Machine::new(&array.tree())
        .mounted("md0", "ext4", "rw,stripe=4")
        .is_sound();
}

#[test]
fn what_the_system_runs_from_needs_a_rescue_system() {
    let tree = disk("sda", 0) + &partition("sda", 1, "8:1", 63, 8000);
    let mut machine = Machine::new(&tree);
    for (point, needs) in [("/", true), ("/srv", false)] {
        let line = format!("1 0 8:1 / {point} rw - ext4 /dev/sda1 rw");
        machine.stack.mounts = Mounts::parse(&line);
        let repair = machine
            .finding("sda1", "misaligned-partition")
            .repair
            .unwrap();
        assert_eq!(repair.steps[0].command, "umount /dev/sda1");
        let warned = repair.steps[0].warning.as_ref();
        assert_eq!(
            warned.is_some_and(|warning| warning.contains("rescue system")),
            needs
        );
    }
}

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(0),
        Just(1),
        Just(512),
        Just(65536),
        Just(1 << 20),
        Just(1 << 53),
        Just(u64::MAX),
        Just(u64::MAX - 4095),
        any::<u64>(),
    ]
}

/// A machine whose superblocks and tables say these: all that is asked is an end.
fn examine_contents(n: [u64; 8]) {
    let tree = RAID5.tree() + &mapping("dm-0", 0, "vg-lv", "LVM-x", "md0");
    let table = format!("{}: 9:0 {}", n[0] >> 11, n[1] >> 11);
    let machine = Machine::mapped(&tree, &[("253:0", "linear", &table)])
        .holds("md0", pv(n[2], n[3], n[4]))
        .holds("md0", luks1(n[5]))
        .holds("sda", luks2(n[6], n[7]))
        .holds("sdb", bcache(n[2]))
        .holds("dm-0", on_xfs(Some((n[3], n[4]))))
        .holds("dm-0", ext4(n[5] >> 12, n[6] >> 12));
    machine.examined();
}

#[test]
fn a_volume_of_no_length_is_not_moved() {
    examine_contents([0, 65536, 0, 512, 1, 0, 0, 0]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    /// A superblock, or a capture, may say anything.
    #[test]
    fn contents_that_no_machine_has(n in proptest::array::uniform8(number())) {
        examine_contents(n);
    }
}
