//! File systems against the arrays that they lie on.

use iotrace::{
    doctor::Severity,
    superblock::{Content, Ext, ExtJournal, ExtKind, Xfs, XfsFeatures, XfsLog, XfsLogPlace},
    units::Bytes,
};
use uuid::Uuid;

use super::build::{Array, Machine, RAID1, RAID5, RAID6, commands, disk, mapping, numbers};

/// `XFS_SB_VERSION_DALIGNBIT`.
const DALIGN: u16 = 0x0100;

/// As mkfs makes it, with this stripe; allocation groups of 22400 blocks.
pub(crate) fn xfs(stripe: Option<(u64, u64)>) -> Xfs {
    Xfs {
        version: 5,
        uuid: Uuid::nil(),
        block_size: Bytes(4096),
        sector_size: Bytes(4096),
        inode_size: Bytes(512),
        data_blocks: 358_400,
        ag_blocks: 22400,
        ag_count: 16,
        stripe_unit: stripe.map(|(unit, _)| Bytes(unit)),
        stripe_width: stripe.map(|(_, width)| Bytes(width)),
        log: XfsLog {
            place: XfsLogPlace::Internal(Bytes(0)),
            blocks: 16384,
            version: 2,
            sector_size: Bytes(4096),
            stripe_unit: None,
        },
        realtime: None,
        features: XfsFeatures {
            version: 0xb4a5 | if stripe.is_some() { DALIGN } else { 0 },
            second: 0,
            compatible: 0,
            read_only_compatible: 0,
            incompatible: 0,
        },
    }
}

pub(crate) fn on_xfs(stripe: Option<(u64, u64)>) -> Content {
    Content::Xfs(Box::new(xfs(stripe)))
}

/// As mke2fs makes it; in blocks of 4096.
pub(crate) fn ext4(stride: u64, width: u64) -> Content {
    let blocks = |count: u64| (count != 0).then_some(Bytes(count * 4096));
    Content::Ext(Box::new(Ext {
        kind: ExtKind::Ext4,
        uuid: Uuid::nil(),
        block_size: Bytes(4096),
        cluster_size: None,
        inode_size: Bytes(256),
        blocks: 1 << 20,
        first_data_block: 0,
        blocks_per_group: 32768,
        inodes_per_group: 8192,
        flex_groups: Some(16),
        stride: blocks(stride),
        stripe_width: blocks(width),
        journal: ExtJournal::Inode(8),
        compatible: 0,
        incompatible: 0,
        read_only_compatible: 0,
    }))
}

const SWIDTH: [&str; 4] = [
    "sunit_sectors",
    "swidth_sectors",
    "right_sunit_sectors",
    "right_swidth_sectors",
];

#[test]
fn s2_xfs_on_a_raid0() {
    for swidth in [4096, 3072] {
        let machine = Machine::of("s2").holds("md0", on_xfs(Some((512 * 512, swidth * 512))));
        let finding = machine.finding("md0", "xfs-stripe-wrong");
        assert_eq!(numbers(&finding, SWIDTH), [512, swidth, 512, 2048]);
        let disks = swidth / 512;
        assert!(
            finding.evidence[1]
                .starts_with(&format!("right for {disks} data disks: the array has 4"))
        );
        // 22400 blocks of 4 KiB are whole chunks of 256 KiB.
        assert_eq!(
            commands(finding.repair.as_ref()),
            ["mount -o sunit=512,swidth=2048 /dev/md0 /mnt"]
        );
        assert_eq!(machine.ids().len(), 1);
    }
    Machine::of("s2")
        .holds("md0", on_xfs(Some((512 * 512, 2048 * 512))))
        .is_sound();
}

/// What holds is how it is mounted.
#[test]
fn xfs_as_mounted() {
    let on_disk = on_xfs(Some((65536, 8 * 65536)));
    let wrong = Machine::new(&RAID6.tree())
        .holds("md0", on_disk.clone())
        .mounted("md0", "xfs", "rw,sunit=128,swidth=1024,noquota");
    assert_eq!(
        commands(wrong.finding("md0", "xfs-stripe-wrong").repair.as_ref()),
        [
            "umount /srv/md0",
            "mount -o sunit=128,swidth=896 /dev/md0 /srv/md0"
        ]
    );
    // The superblock kept its own, because the root inode would have to move.
    Machine::new(&RAID6.tree())
        .holds("md0", on_disk)
        .mounted("md0", "xfs", "rw,sunit=128,swidth=896,noquota")
        .is_sound();
}

/// XFS takes no unit that its groups are no multiple of, and none at all where
/// it was made without.
#[test]
fn xfs_that_cannot_be_told() {
    let large = Array {
        chunk: 512 << 10,
        ..RAID5
    };
    // 22400 blocks are 175 chunks of 512 KiB.
    let finding = Machine::new(&large.tree())
        .holds("md0", on_xfs(Some((65536, 3 * 65536))))
        .finding("md0", "xfs-stripe-wrong");
    assert!(finding.repair.is_some());
    let larger = Array {
        chunk: 1 << 20,
        ..RAID5
    };
    let finding = Machine::new(&larger.tree())
        .holds("md0", on_xfs(Some((65536, 3 * 65536))))
        .finding("md0", "xfs-stripe-wrong");
    assert_eq!(finding.repair, None);
    assert_eq!(
        commands(finding.build_anew.as_ref())[0],
        "mkfs.xfs -f -d su=1024k,sw=3 /dev/md0"
    );
    // mkfs.xfs takes no hint on less than a GiB.
    let mut made = xfs(None);
    made.data_blocks = (1 << 18) - 1;
    let small = Machine::new(&RAID5.tree()).holds("md0", Content::Xfs(Box::new(made)));
    let finding = small.finding("md0", "xfs-stripe-missing");
    assert_eq!(finding.severity, Severity::Info);
    let missing = Machine::new(&RAID5.tree()).holds("md0", on_xfs(None));
    let finding = missing.finding("md0", "xfs-stripe-missing");
    assert_eq!(
        (finding.repair, finding.severity),
        (None, Severity::Warning)
    );
    assert!(finding.build_anew.unwrap().destroys_data);
    // Somebody's choice.
    let chosen = Machine::new(&RAID5.tree())
        .holds("md0", on_xfs(None))
        .mounted("md0", "xfs", "rw,noalign");
    chosen.is_sound();
}

#[test]
fn xfs_with_a_stripe_where_there_is_none() {
    for (tree, name) in [(RAID1.tree(), "md0"), (disk("sda", 0), "sda")] {
        let machine = Machine::new(&tree).holds(name, on_xfs(Some((65536, 3 * 65536))));
        let finding = machine.finding(name, "xfs-stripe-needless");
        assert_eq!(finding.severity, Severity::Info);
        assert_eq!(
            commands(finding.repair.as_ref()),
            [format!("mount -o noalign /dev/{name} /mnt")]
        );
        machine.mounted(name, "xfs", "rw,noalign").is_sound();
    }
    // H6: the physical block taken for a stripe.
    let tree = disk("sda", 0) + "sda/queue/optimal_io_size = 4096\n";
    let finding = Machine::new(&tree)
        .holds("sda", on_xfs(Some((4096, 4096))))
        .finding("sda", "xfs-stripe-needless");
    assert!(finding.evidence[1].contains("the optimal_io_size of sda, 4096, which is no stripe"));
    // A hardware RAID may have one that nobody sees.
    let hidden = disk("sda", 0) + "sda/queue/optimal_io_size = 196608\n";
    Machine::new(&hidden)
        .holds("sda", on_xfs(Some((65536, 3 * 65536))))
        .is_sound();
}

#[test]
fn ext4_stale_after_a_disk_was_added() {
    // 5 data disks now, 4 when it was made.
    let grown = Array {
        disks: 6,
        data: 5,
        ..RAID5
    };
    let machine = Machine::new(&grown.tree())
        .holds("md0", ext4(16, 64))
        .mounted("md0", "ext4", "rw,stripe=64");
    let finding = machine.finding("md0", "ext-stripe-wrong");
    assert_eq!(
        numbers(
            &finding,
            [
                "stripe_blocks",
                "right_stride_blocks",
                "right_stripe_blocks"
            ]
        ),
        [64, 16, 80]
    );
    assert!(finding.evidence[1].starts_with("right for 4 data disks: the array has 5"));
    assert_eq!(
        commands(finding.repair.as_ref()),
        [
            "tune2fs -E stride=16,stripe_width=80 /dev/md0",
            "mount -o remount,stripe=80 /srv/md0"
        ]
    );
    assert_eq!(machine.ids().len(), 1);
    // As far as it was repaired.
    let half = Machine::new(&grown.tree())
        .holds("md0", ext4(16, 80))
        .mounted("md0", "ext4", "rw,stripe=64");
    assert_eq!(
        commands(half.finding("md0", "ext-stripe-wrong").repair.as_ref()),
        ["mount -o remount,stripe=80 /srv/md0"]
    );
    Machine::new(&grown.tree())
        .holds("md0", ext4(16, 80))
        .mounted("md0", "ext4", "rw,stripe=80")
        .is_sound();
}

#[test]
fn ext4_that_knows_no_stripe() {
    let machine = Machine::new(&RAID6.tree()).holds("md0", ext4(0, 0));
    let finding = machine.finding("md0", "ext-stripe-missing");
    assert_eq!(finding.severity, Severity::Warning);
    assert_eq!(
        commands(finding.repair.as_ref()),
        ["tune2fs -E stride=16,stripe_width=112 /dev/md0"]
    );
    Machine::new(&RAID6.tree())
        .holds("md0", ext4(16, 112))
        .is_sound();
    Machine::new(&RAID1.tree())
        .holds("md0", ext4(0, 0))
        .is_sound();
}

/// Through a volume and encryption the array is the same.
#[test]
fn through_layers_in_between() {
    let tree = RAID6.tree() + &mapping("dm-0", 0, "vg-lv", "LVM-x", "md0");
    let on =
        |content| Machine::mapped(&tree, &[("253:0", "linear", "9:0 2688")]).holds("dm-0", content);
    on(ext4(16, 112)).is_sound();
    let finding = on(ext4(16, 96)).finding("dm-0", "ext-stripe-wrong");
    assert_eq!(
        commands(finding.repair.as_ref()),
        ["tune2fs -E stride=16,stripe_width=112 /dev/mapper/vg-lv"]
    );
}

/// A reshape is under way: no stripe is right.
#[test]
fn not_while_a_reshape_runs() {
    let tree = RAID5.tree() + "md0/md/raid_disks = 4 (3)\nmd0/md/reshape_position = 4096\n";
    let machine = Machine::new(&tree).holds("md0", ext4(16, 32));
    assert_eq!(machine.ids(), [("md0".to_owned(), "sync-running")]);
}

#[test]
fn blocks_shorter_than_the_physical_one() {
    let mut small = xfs(None);
    small.block_size = Bytes(1024);
    small.sector_size = Bytes(512);
    small.log.sector_size = Bytes(512);
    let machine = Machine::new(&disk("sda", 0)).holds("sda", Content::Xfs(Box::new(small)));
    let finding = machine.finding("sda", "fs-block-below-physical");
    assert_eq!(
        numbers(&finding, ["fs_block_bytes", "physical_block_bytes"]),
        [512, 4096]
    );
    assert!(finding.evidence[0].contains("blocks of 1 KiB, sectors of 512 bytes"));
    assert_eq!(
        commands(finding.build_anew.as_ref())[0],
        "mkfs.xfs -f -b size=4096 -s size=4096 /dev/sda"
    );
    Machine::new(&disk("sda", 0))
        .holds("sda", on_xfs(None))
        .is_sound();
}

#[test]
fn encryption_in_sectors_of_512() {
    let tree = disk("sda", 0) + &mapping("dm-0", 0, "secret", "CRYPT-LUKS2", "sda");
    let with = |options: &str| {
        let table = format!("1048576: aes-xts-plain64 :64:logon:x 0 8:0 32768{options}");
        Machine::mapped(&tree, &[("253:0", "crypt", &table)])
    };
    let machine = with("").holds("sda", super::layers::luks2(16 << 20, 512));
    let finding = machine.finding("dm-0", "crypt-sector-512");
    assert_eq!(
        numbers(&finding, ["sector_bytes", "physical_block_bytes"]),
        [512, 4096]
    );
    // Nobody knows what lies on it: no repair is offered.
    assert_eq!(finding.repair, None);
    let finding = machine
        .holds("dm-0", ext4(0, 0))
        .finding("dm-0", "crypt-sector-512");
    assert_eq!(
        commands(finding.repair.as_ref()),
        // Open: else cryptsetup refuses to make sectors longer.
        ["cryptsetup reencrypt --sector-size 4096 /dev/sda"]
    );
    with(" 1 sector_size:4096").is_sound();
}
