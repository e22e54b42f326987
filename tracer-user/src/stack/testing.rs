//! For tests: a machine with something of everything.

use tempfile::TempDir;
use uuid::Uuid;

use super::{Stack, Unread};
use crate::{
    dm::{Segment, Target},
    superblock::{
        Bcache, BcacheRole, Content, Contents, Ext, ExtJournal, ExtKind, Luks, Luks2, LuksSegment,
        LvmGroup, LvmPv, Partition, PartitionKind, PartitionTable, TableKind, Xfs, XfsFeatures,
        XfsLog, XfsLogPlace,
    },
    sysfs::{SysRoot, Topology, mounts::Mounts, swaps::Swaps, tree},
    units::{Bytes, DevId, Sectors},
};

pub(crate) const UUID: Uuid = Uuid::from_u128(0x0f3c_2f8e_7d52_4c0e_9d05_5a1c_52c1_e9aa);
const LINUX_RAID: Uuid = Uuid::from_u128(0xa19d_880f_05fc_4d3b_a006_743f_0f84_911e);

/// The attributes.
pub(crate) const TREE: &str = include_str!("../../tests/fixtures/stack.tree");

pub(crate) struct Example {
    pub(crate) dir: TempDir,
    pub(crate) stack: Stack,
}

impl Example {
    pub(crate) fn sys(&self) -> SysRoot {
        SysRoot::new(self.dir.path())
    }

    pub(crate) fn new() -> Self {
        Self::of(TREE)
    }

    /// Of another tree, where the same lies on the devices that are there.
    pub(crate) fn of(text: &str) -> Self {
        let dir = tree::expand(text).unwrap();
        let table = |device: DevId| {
            let line = match (device.major, device.minor) {
                (253, 0) => ("linear", "9:127 2176"),
                (253, 1) => (
                    "crypt",
                    "aes-xts-plain64 00ff 0 253:0 32768 1 sector_size:4096",
                ),
                (253, 9) => ("linear", "8:0 7814036128"),
                _ => return None,
            };
            Some(vec![Segment {
                start: Sectors(0),
                len: Sectors(1024),
                target: Target::parse(line.0, line.1),
            }])
        };
        let topology = Topology::read_with(&SysRoot::new(dir.path()), table).unwrap();
        let id = |name: &str| Some(topology.by_name(name)?.id);
        let holds = |name: &str, content| {
            let contents = Contents {
                found: vec![content],
                ..Contents::default()
            };
            Some((id(name)?, Ok(contents)))
        };
        let contents = [
            holds("sda", gpt()),
            holds("md127", pv()),
            holds("dm-0", luks()),
            holds("dm-1", xfs()),
            holds("nvme0n1", ext()),
            holds("dm-9", bcache()),
            id("sdb").map(|sdb| (sdb, Err(Unread::NoPermission))),
        ];
        let mut stack = Stack {
            contents: contents.into_iter().flatten().collect(),
            topology,
            mounts: Mounts::parse(
                "1 0 253:1 / /home/my\\040data rw - xfs \
                 /dev/mapper/luks-11111111-2222-3333-4444-555555555555 rw,sunit=128,swidth=896\n\
                 1 0 259:0 / / rw - ext4 /dev/nvme0n1 rw,stripe=8191\n\
                 1 0 0:30 / /share rw - cifs //server/share rw,username=somebody\n",
            ),
            swaps: Swaps::parse("/dev/sdc1 partition 1024 0 -2\n/swapfile file 1024 0 -3\n"),
            missing: vec!["nothing but an example".to_owned()],
        };
        stack.lay_bcache();
        Self { dir, stack }
    }
}

fn gpt() -> Content {
    Content::Partitions(PartitionTable {
        kind: TableKind::Gpt {
            disk: UUID,
            block_size: Bytes(512),
            first_usable: Sectors(34),
            last_usable: Sectors(7_814_037_134),
        },
        partitions: vec![Partition {
            number: 1,
            start: Sectors(2048),
            length: Sectors(7_814_033_408),
            kind: PartitionKind::Gpt(LINUX_RAID),
            name: "a secret name".to_owned(),
        }],
    })
}

fn pv() -> Content {
    Content::LvmPv(LvmPv {
        uuid: "abcdefghijklmnopqrstuvwxyzABCDEF".to_owned(),
        label_sector: Sectors(1),
        device_size: Bytes(8 << 40),
        data_areas: Vec::new(),
        metadata_areas: Vec::new(),
        group: Some(LvmGroup {
            name: "vg".to_owned(),
            sequence: 3,
            extent_size: Sectors(8192),
            pe_start: Some(Sectors(2176)),
            pe_count: Some(1),
        }),
    })
}

fn luks() -> Content {
    Content::Luks(Luks::V2(Luks2 {
        uuid: Some(UUID),
        header_size: Bytes(16384),
        keyslots_size: None,
        segments: vec![LuksSegment {
            id: 0,
            encrypted: true,
            offset: Bytes(16 << 20),
            size: None,
            sector_size: Some(Bytes(4096)),
            has_integrity: false,
            is_backup: false,
        }],
    }))
}

fn bcache() -> Content {
    Content::Bcache(Bcache {
        version: 1,
        uuid: UUID,
        set_uuid: Uuid::nil(),
        block_size: Bytes(512),
        role: BcacheRole::Backing {
            data_offset: Sectors(16),
        },
    })
}

fn xfs() -> Content {
    Content::Xfs(Box::new(Xfs {
        version: 5,
        uuid: UUID,
        block_size: Bytes(4096),
        sector_size: Bytes(4096),
        inode_size: Bytes(512),
        data_blocks: 258_048,
        ag_blocks: 64_528,
        ag_count: 4,
        stripe_unit: Some(Bytes(65536)),
        stripe_width: Some(Bytes(458_752)),
        log: XfsLog {
            place: XfsLogPlace::Internal(Bytes(528_482_304)),
            blocks: 16_384,
            version: 2,
            sector_size: Bytes(4096),
            stripe_unit: Some(Bytes(65536)),
        },
        realtime: None,
        features: XfsFeatures {
            version: 0xb4a5,
            second: 0,
            compatible: 0,
            read_only_compatible: 0,
            incompatible: 0,
        },
    }))
}

fn ext() -> Content {
    Content::Ext(Box::new(Ext {
        kind: ExtKind::Ext4,
        uuid: UUID,
        block_size: Bytes(4096),
        cluster_size: None,
        inode_size: Bytes(256),
        blocks: 250_051_158,
        first_data_block: 0,
        blocks_per_group: 32768,
        inodes_per_group: 8192,
        flex_groups: Some(16),
        stride: None,
        stripe_width: Some(Bytes(33_550_336)),
        journal: ExtJournal::Inode(8),
        compatible: 0,
        incompatible: 0,
        read_only_compatible: 0,
    }))
}
