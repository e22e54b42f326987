//! Cases P.

use iotrace::{
    doctor::{Cost, Severity, Sure},
    superblock::{Content, Partition, PartitionKind, PartitionTable, TableKind},
    units::Sectors,
};

use super::build::{Machine, commands, disk, numbers, partition};

const START: [&str; 4] = [
    "physical_remainder_bytes",
    "start_sector",
    "next_aligned_sector",
    "next_mib_aligned_sector",
];

#[test]
fn p1_behind_the_table() {
    let machine = Machine::of("p1").counted("p1");
    let finding = machine.finding("sda1", "misaligned-partition");
    assert_eq!(numbers(&finding, START), [1024, 34, 40, 2048]);
    assert_eq!(finding.severity, Severity::Error);
    assert_eq!(finding.sure, Sure::Certain);
    assert_eq!(
        finding.cost,
        Cost::Measured(
            "3 of 3 writes were off the physical block, and 6 blocks written in part".to_owned()
        )
    );
    // Its disk ends soon behind it: room to 40, not to 2048.
    assert_eq!(
        commands(finding.repair.as_ref())[0],
        "echo '40,' | sfdisk --move-data --no-reread --no-tell-kernel -N 1 /dev/sda"
    );
    assert_eq!(finding.docs, "docs/findings.md#misaligned-partition");
    // io_min = io_opt = 4096 is the block again; nothing else is told, and the
    // partition's writes are not told a second time.
    assert_eq!(
        machine.ids(),
        [
            ("sda1".to_owned(), "misaligned-partition"),
            ("sda".to_owned(), "io-opt-is-block")
        ]
    );
}

/// At 63, as tools made it once: moved to 1 MiB with its data where there is
/// room, and never by a command that destroys them.
#[test]
fn at_63_with_room_behind() {
    let tree = disk("sda", 0) + &partition("sda", 1, "8:1", 63, 2_000_000);
    let finding = Machine::new(&tree).finding("sda1", "misaligned-partition");
    assert_eq!(numbers(&finding, START), [3584, 63, 64, 2048]);
    let repair = finding.repair.unwrap();
    assert!(!repair.destroys_data);
    assert_eq!(
        commands(Some(&repair)),
        [
            "echo '2048,' | sfdisk --move-data --no-reread --no-tell-kernel -N 1 /dev/sda",
            "partx --update --nr 1 /dev/sda"
        ]
    );
    assert!(
        repair.steps[0]
            .warning
            .as_ref()
            .unwrap()
            .contains("save them first")
    );
    let anew = finding.build_anew.unwrap();
    assert!(anew.destroys_data);
    assert_eq!(
        commands(Some(&anew))[0],
        "echo 'start=2048, size=2000000' | sfdisk --no-reread --no-tell-kernel \
         --wipe-partitions always -N 1 /dev/sda"
    );
}

#[test]
fn what_uses_it_lets_go_first() {
    let tree = disk("sda", 0) + &partition("sda", 1, "8:1", 63, 2_000_000);
    let machine = Machine::new(&tree).mounted("sda1", "ext4", "rw");
    let finding = machine.finding("sda1", "misaligned-partition");
    assert_eq!(commands(finding.repair.as_ref())[0], "umount /dev/sda1");
}

/// From the top down, by each layer's own tool.
#[test]
fn layers_above_are_stopped_in_order() {
    let tree = disk("sda", 0)
        + &partition("sda", 1, "8:1", 63, 2_000_000)
        + "sda/sda1/holders/dm-0 -> ../../../dm-0
           dm-0/dev = 253:0
           dm-0/size = 1000000
           dm-0/dm/name = secret
           dm-0/dm/uuid = CRYPT-LUKS2-x
           dm-0/slaves/sda1 -> ../../sda/sda1
           dm-0/holders/dm-1 -> ../../dm-1
           dm-1/dev = 253:1
           dm-1/size = 1000000
           dm-1/dm/name = vg-lv
           dm-1/dm/uuid = LVM-x
           dm-1/slaves/dm-0 -> ../../dm-0
           ";
    let machine = Machine::new(&tree).mounted("dm-1", "ext4", "rw");
    let finding = machine.finding("sda1", "misaligned-partition");
    assert_eq!(
        commands(finding.repair.as_ref())[..3],
        [
            "umount /dev/mapper/vg-lv",
            "lvchange -an /dev/mapper/vg-lv",
            "cryptsetup close secret"
        ]
    );
}

#[test]
fn the_table_says_where_room_ends() {
    let tree = disk("sda", 0) + &partition("sda", 1, "8:1", 4_194_250 - 100, 50);
    let gpt = |last| {
        Content::Partitions(PartitionTable {
            kind: TableKind::Gpt {
                disk: uuid::Uuid::nil(),
                block_size: iotrace::units::Bytes(512),
                first_usable: Sectors(34),
                last_usable: Sectors(last),
            },
            partitions: vec![Partition {
                number: 1,
                start: Sectors(4_194_150),
                length: Sectors(50),
                kind: PartitionKind::Gpt(uuid::Uuid::nil()),
                name: String::new(),
            }],
        })
    };
    // 4194152 is the next multiple of 8, 50 sectors from there end at 4194202.
    for (last, moved) in [(4_194_201, true), (4_194_200, false)] {
        let machine = Machine::new(&tree).holds("sda", gpt(last));
        let finding = machine.finding("sda1", "misaligned-partition");
        assert_eq!(finding.repair.is_some(), moved, "{last}");
        assert!(finding.build_anew.is_some());
    }
}

#[test]
fn p2_behind_an_odd_length() {
    let machine = Machine::of("p2").counted("p2");
    let finding = machine.finding("sda2", "misaligned-partition");
    assert_eq!(
        numbers(&finding, START),
        [512, 1_917_390_097, 1_917_390_104, 1_917_390_848]
    );
    // It ends with the disk.
    assert_eq!(finding.repair, None);
    assert!(commands(finding.build_anew.as_ref())[0].starts_with("echo 'start=1917390848,"));
    let odd = machine.finding("sda1", "odd-length");
    assert_eq!(
        numbers(&odd, ["size_sectors", "page_cache_block_bytes"]),
        [1_917_388_049, 512]
    );
    assert!(
        !machine
            .ids()
            .contains(&("sda1".to_owned(), "misaligned-partition"))
    );
}

#[test]
fn p3_at_sector_1_on_clusters() {
    let machine = Machine::told("p3", &["vda=boundary:64k"]);
    let finding = machine.finding("vda1", "misaligned-partition");
    // Both at once: 8 is right for the block, 128 for the cluster too.
    assert_eq!(numbers(&finding, START), [512, 1, 128, 2048]);
    assert_eq!(
        numbers(&finding, ["boundary_bytes", "boundary_remainder_bytes"]),
        [65536, 512]
    );
    let block = Machine::of("p3").finding("vda1", "misaligned-partition");
    assert_eq!(numbers(&block, START), [512, 1, 8, 2048]);
}

#[test]
fn p4_old_reports_of_large_drives() {
    let machine = Machine::of("p4");
    for disk in ["sda", "sdb", "sdc", "sdd"] {
        let finding = machine.finding(disk, "drive-may-hide-4096");
        assert_eq!(numbers(&finding, ["assumed_remainder_bytes"]), [3584]);
        assert_eq!(finding.sure, Sure::Possible);
        assert!(finding.evidence[0].starts_with("reported 512 may be untrue"));
    }
    assert_eq!(
        machine.ids().len(),
        4,
        "as reported it is aligned: {:?}",
        machine.ids()
    );
    let inside = Machine::told("p4", &["sda=physical:4k"]);
    let finding = inside.finding("sda1", "misaligned-partition");
    assert_eq!(numbers(&finding, START), [3584, 63, 64, 2048]);
    assert_eq!(
        commands(finding.repair.as_ref())[0],
        "mdadm --stop /dev/md0"
    );
}

#[test]
fn p5_unlike_drives() {
    let machine = Machine::of("p5");
    let finding = machine.finding("md0", "members-disagree");
    assert_eq!(numbers(&finding, ["physical_block_bytes"]), [4096]);
    assert_eq!(machine.ids().len(), 1);
}

#[test]
fn p6_a_physical_block_that_is_none() {
    let machine = Machine::of("p6");
    let finding = machine.finding("nvme0n1", "physical-block-is-hint");
    assert_eq!(numbers(&finding, ["physical_block_bytes"]), [262_144]);
    assert_eq!(finding.severity, Severity::Info);
    assert!(finding.evidence[0].contains("a 4 KiB write covers 1/64 of it"));
    // Nobody is to pay for a hint.
    assert!(
        machine
            .examined()
            .findings
            .iter()
            .all(|one| one.severity == Severity::Info)
    );
}

#[test]
fn p7_a_shifted_drive() {
    let machine = Machine::of("p7");
    let finding = machine.finding("sda4", "misaligned-partition");
    assert_eq!(numbers(&finding, START), [512, 61440, 61447, 61447]);
    // 7, 20487 and 40967 are right, though no multiples of 8.
    assert_eq!(machine.ids().len(), 1);
}

#[test]
fn p8_small_writes_however_well_placed() {
    let machine = Machine::of("p8").counted("p8");
    let finding = machine.finding("sda1", "sub-block-writes");
    assert_eq!(
        numbers(&finding, ["sub_block_writes", "physical_block_bytes"]),
        [5, 4096]
    );
    assert_eq!(machine.ids().len(), 1);
    Machine::of("p8").is_sound();
}
