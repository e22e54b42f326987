//! Layers above arrays: partitions, LVM, LUKS, bcache, loop devices.

use iotrace::{
    doctor::{Cost, Severity},
    superblock::{
        Bcache, BcacheRole, Content, Luks, Luks1, Luks2, LuksSegment, LvmArea, LvmGroup, LvmPv,
    },
    units::{Bytes, Sectors},
};
use uuid::Uuid;

use super::build::{Array, Machine, RAID5, RAID6, commands, disk, mapping, numbers, partition};

const STRIPE: [&str; 3] = [
    "stripe_bytes",
    "stripe_remainder_bytes",
    "next_aligned_bytes",
];

pub(crate) fn pv(pe_start: u64, extent: u64, count: u64) -> Content {
    Content::LvmPv(LvmPv {
        uuid: "x".to_owned(),
        label_sector: Sectors(1),
        device_size: Bytes(10 << 30),
        data_areas: vec![LvmArea {
            start: Bytes(pe_start),
            size: None,
        }],
        metadata_areas: Vec::new(),
        group: Some(LvmGroup {
            name: "vg".to_owned(),
            sequence: 1,
            extent_size: Sectors(extent / 512),
            pe_start: Some(Sectors(pe_start / 512)),
            pe_count: Some(count),
        }),
    })
}

pub(crate) fn luks1(payload: u64) -> Content {
    Content::Luks(Luks::V1(Luks1 {
        uuid: None,
        payload_offset: Sectors(payload),
    }))
}

pub(crate) fn luks2(payload: u64, sector: u64) -> Content {
    Content::Luks(Luks::V2(Luks2 {
        uuid: None,
        header_size: Bytes(16384),
        keyslots_size: None,
        segments: vec![LuksSegment {
            id: 0,
            encrypted: true,
            offset: Bytes(payload),
            size: None,
            sector_size: Some(Bytes(sector)),
            has_integrity: false,
            is_backup: false,
        }],
    }))
}

pub(crate) fn bcache(data_offset: u64) -> Content {
    Content::Bcache(Bcache {
        version: 1,
        uuid: Uuid::nil(),
        set_uuid: Uuid::nil(),
        block_size: Bytes(512),
        role: BcacheRole::Backing {
            data_offset: Sectors(data_offset),
        },
    })
}

#[test]
fn s1_partitions_of_an_array() {
    let machine = Machine::of("s1");
    let finding = machine.finding("md0p1", "misaligned-partition");
    assert_eq!(
        numbers(
            &finding,
            [
                "stripe_bytes",
                "stripe_remainder_bytes",
                "start_sector",
                "next_aligned_sector",
                "next_mib_aligned_sector"
            ]
        ),
        [196_608, 65_536, 2048, 2304, 6144]
    );
    assert_eq!(finding.severity, Severity::Warning);
    assert_eq!(
        finding.cost,
        Cost::Expected(
            "a cold write of one stripe (192 KiB) costs 192 KiB of reads and 320 KiB of writes, \
             aligned 0 bytes and 256 KiB"
                .to_owned()
        )
    );
    // 3072 is right.
    assert_eq!(machine.ids().len(), 1);
}

/// Without parity nobody pays for a stripe that is not filled.
#[test]
fn a_stripe_without_parity_need_not_be_met() {
    let raid0 = Array {
        level: "raid0",
        disks: 3,
        data: 3,
        chunk: 524_288,
        layout: 0,
    };
    let tree = raid0.tree() + &partition("md0", 1, "259:0", 2048, 1 << 20);
    Machine::new(&tree).is_sound();
    // A chunk does.
    let tree = raid0.tree() + &partition("md0", 1, "259:0", 8, 1 << 20);
    let finding = Machine::new(&tree).finding("md0p1", "misaligned-partition");
    assert_eq!(numbers(&finding, ["chunk_remainder_bytes"]), [4096]);
}

/// The volume of the raid6-reads demo: LVM's first extent at 1 MiB.
fn shifted_volume(extents: u64) -> Machine {
    let tree = RAID6.tree() + &mapping("dm-0", 0, "vg-lv", "LVM-x", "md0");
    let table = format!("{}: 9:0 2048", extents * 8192);
    Machine::mapped(&tree, &[("253:0", "linear", &table)]).holds("md0", pv(1 << 20, 4 << 20, 100))
}

#[test]
fn lvm_on_a_raid6_as_it_is_by_default() {
    let machine = shifted_volume(10);
    let finding = machine.finding("md0", "misaligned-pv");
    assert_eq!(numbers(&finding, STRIPE), [458_752, 131_072, 1_376_256]);
    assert_eq!(numbers(&finding, ["pe_start_bytes"]), [1 << 20]);
    assert!(finding.evidence[1].starts_with("so vg-lv (dm-0) begins 128 KiB past a stripe of md0"));
    // 4 MiB is 64 KiB past 9 stripes: 5, 12, 19 ... lie on one. 5 is taken.
    let repair = finding.repair.unwrap();
    assert_eq!(
        commands(Some(&repair)),
        ["pvmove --alloc anywhere /dev/md0:0-9 /dev/md0:12-21"]
    );
    assert!(!repair.destroys_data);
    assert_eq!(
        commands(finding.build_anew.as_ref()),
        [
            "vgremove vg",
            "pvremove /dev/md0",
            "pvcreate --dataalignment 1344k /dev/md0",
            "vgcreate --physicalextentsize 3584k vg /dev/md0"
        ]
    );
    // Told once, of the physical volume.
    assert_eq!(machine.ids().len(), 1);
}

#[test]
fn a_volume_that_was_moved_is_right() {
    let tree = RAID6.tree() + &mapping("dm-0", 0, "vg-lv", "LVM-x", "md0");
    // 1 MiB and 12 extents of 4 MiB.
    let start = 2048 + 12 * 8192;
    assert_eq!(start * 512 % 458_752, 0);
    let table = format!("81920: 9:0 {start}");
    Machine::mapped(&tree, &[("253:0", "linear", &table)])
        .holds("md0", pv(1 << 20, 4 << 20, 100))
        .is_sound();
}

#[test]
fn a_volume_there_is_no_room_to_move_in() {
    let finding = shifted_volume(95).finding("md0", "misaligned-pv");
    assert_eq!(finding.repair, None);
    assert!(finding.build_anew.unwrap().destroys_data);
}

/// The first extent lies right, others do not: the volume is told.
#[test]
fn extents_that_are_no_multiple_of_a_stripe() {
    let tree = RAID6.tree() + &mapping("dm-0", 0, "vg-lv", "LVM-x", "md0");
    let start = 2688 + 8192;
    let table = format!("8192: 9:0 {start}");
    let machine = Machine::mapped(&tree, &[("253:0", "linear", &table)])
        .holds("md0", pv(1_376_256, 4 << 20, 100));
    let finding = machine.finding("dm-0", "misaligned-volume");
    assert_eq!(numbers(&finding, ["stripe_remainder_bytes"]), [65_536]);
    assert_eq!(machine.ids().len(), 1);
    // Every seventh extent lies right.
    assert_eq!(
        commands(finding.repair.as_ref()),
        ["pvmove --alloc anywhere /dev/md0:1-1 /dev/md0:0-0"]
    );
}

/// Each has extents of its own to go to, whichever is moved first.
#[test]
fn volumes_that_are_moved_do_not_meet() {
    let tree = RAID6.tree()
        + &mapping("dm-0", 0, "vg-a", "LVM-a", "md0")
        + &mapping("dm-1", 1, "vg-b", "LVM-b", "md0")
        + &mapping("dm-2", 2, "vg-c", "LVM-c", "md0");
    let table = |extent: u64| format!("16384: 9:0 {}", 2688 + extent * 8192);
    let (a, b, c) = (table(1), table(3), table(5));
    let tables = [
        ("253:0", "linear", &*a),
        ("253:1", "linear", &*b),
        ("253:2", "linear", &*c),
    ];
    let machine = Machine::mapped(&tree, &tables).holds("md0", pv(1_376_256, 4 << 20, 17));
    let moved = ["dm-0", "dm-1", "dm-2"].map(|device| {
        let finding = machine.finding(device, "misaligned-volume");
        commands(finding.repair.as_ref())
    });
    let of = |text: &str| vec![format!("pvmove --alloc anywhere {text}")];
    assert_eq!(
        moved,
        [
            of("/dev/md0:1-2 /dev/md0:7-8"),
            of("/dev/md0:3-4 /dev/md0:14-15"),
            // 21 would be the next.
            vec![]
        ]
    );
}

/// Without permission to look into the array, its tables tell as much.
#[test]
fn a_volume_whose_group_could_not_be_read() {
    let tree = RAID6.tree() + &mapping("dm-0", 0, "vg-lv", "LVM-x", "md0");
    let machine = Machine::mapped(&tree, &[("253:0", "linear", "9:0 2048")]);
    let finding = machine.finding("dm-0", "misaligned-volume");
    assert_eq!(numbers(&finding, STRIPE), [458_752, 131_072, 1_376_256]);
    assert_eq!(
        commands(finding.build_anew.as_ref())[0],
        "pvcreate --dataalignment 1344k /dev/md0"
    );
}

#[test]
fn luks_with_an_odd_payload_on_raid5() {
    for (payload, content) in [(4040, luks1(4040)), (32776, luks2(32776 * 512, 512))] {
        let tree = RAID5.tree() + &mapping("dm-0", 0, "secret", "CRYPT-LUKS", "md0");
        let table = format!("aes-xts-plain64 :64:logon:x 0 9:0 {payload}");
        let machine = Machine::mapped(&tree, &[("253:0", "crypt", &table)]).holds("md0", content);
        let finding = machine.finding("md0", "misaligned-luks");
        let start = payload * 512;
        assert_eq!(
            numbers(&finding, ["start_bytes", "stripe_remainder_bytes"]),
            [start, start % 196_608]
        );
        // reencrypt does not move it.
        assert_eq!(finding.repair, None);
        let anew = finding.build_anew.unwrap();
        let (version, offset) = if payload == 4040 {
            (1, 4224)
        } else {
            (2, 33024)
        };
        assert_eq!(
            commands(Some(&anew)),
            [
                "cryptsetup close secret".to_owned(),
                format!("cryptsetup luksFormat --type luks{version} --offset {offset} /dev/md0")
            ]
        );
        assert_eq!(offset * 512 % 196_608, 0);
        // Once, not for the mapping too.
        let ids = machine.ids();
        assert_eq!(
            ids.iter()
                .filter(|(_, id)| *id == "misaligned-luks")
                .count(),
            1
        );
    }
}

/// 4040 sectors are off the physical block as well on a shifted drive only.
#[test]
fn luks_off_the_physical_block() {
    let tree = disk("sda", 0);
    let finding = Machine::new(&tree)
        .holds("sda", luks1(4095))
        .finding("sda", "misaligned-luks");
    assert_eq!(finding.severity, Severity::Error);
    assert_eq!(numbers(&finding, ["physical_remainder_bytes"]), [3584]);
    Machine::new(&tree).holds("sda", luks1(4096)).is_sound();
    // Its header is elsewhere.
    Machine::new(&tree).holds("sda", luks1(0)).is_sound();
}

#[test]
fn s8_a_cache_that_begins_inside_a_chunk() {
    let machine = Machine::of("s8").holds("md0", bcache(16));
    let finding = machine.finding("md0", "misaligned-bcache");
    assert_eq!(
        numbers(
            &finding,
            [
                "start_bytes",
                "chunk_remainder_bytes",
                "stripe_remainder_bytes"
            ]
        ),
        [8192, 8192, 8192]
    );
    assert_eq!(
        commands(finding.build_anew.as_ref()),
        ["make-bcache --wipe-bcache --data-offset 3072 -B /dev/md0"]
    );
    assert_eq!(machine.ids().len(), 1);
    Machine::of("s8").holds("md0", bcache(3072)).is_sound();
}

#[test]
fn a_loop_device_inside_a_stripe() {
    let at = |offset: u64| {
        let tree = RAID5.tree()
            + &format!(
                "loop0/dev = 7:0
                 loop0/size = 1048576
                 loop0/alignment_offset = 0
                 loop0/queue/logical_block_size = 512
                 loop0/queue/physical_block_size = 512
                 loop0/loop/backing_file = /dev/md0
                 loop0/loop/offset = {offset}"
            );
        Machine::new(&tree)
    };
    let finding = at(1 << 20).finding("loop0", "misaligned-loop");
    assert_eq!(numbers(&finding, STRIPE), [196_608, 65_536, 1_179_648]);
    at(3 << 20).is_sound();
}

/// What begins at a boundary is not to blame for what is below it.
#[test]
fn a_layer_is_told_for_what_it_adds() {
    let tree = RAID5.tree()
        + &partition("md0", 1, "259:0", 2048, 1 << 20)
        + "md0/md0p1/holders/dm-0 -> ../../../dm-0
           dm-0/dev = 253:0
           dm-0/size = 1000000
           dm-0/dm/name = plain
           dm-0/slaves/md0p1 -> ../../md0/md0p1
           ";
    let machine = Machine::mapped(&tree, &[("253:0", "linear", "259:0 384")]);
    assert_eq!(
        machine.ids(),
        [("md0p1".to_owned(), "misaligned-partition")]
    );
}

#[test]
fn an_arrays_data_off_its_members_blocks() {
    let tree = RAID5.tree() + "md0/md/dev-sda/offset = 2049\n";
    let machine = Machine::new(&tree);
    let finding = machine.finding("md0", "misaligned-member-data");
    assert_eq!(
        numbers(
            &finding,
            [
                "start_bytes",
                "physical_remainder_bytes",
                "next_aligned_bytes"
            ]
        ),
        [2049 * 512, 512, 2056 * 512]
    );
    assert_eq!(finding.severity, Severity::Error);
    assert!(
        finding
            .build_anew
            .unwrap()
            .text
            .contains("--data-offset=1028K")
    );
}
