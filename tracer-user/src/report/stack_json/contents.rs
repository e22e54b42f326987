//! The keys of what lies on a device.
//!
//! Must not compute.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::Against;
use crate::{
    stack::{
        Stack,
        place::{self, Thing},
        tree::Tree,
    },
    superblock::{
        BcacheRole, Content, Ext, ExtJournal, ExtKind, Luks, MdMember, MdRole, MdVersion,
        TableKind, Xfs,
    },
    sysfs::Topology,
    units::{Bytes, DevId, Sectors},
};

/// What lies on one device, and where.
pub(super) type Inside<'a> = Vec<Thing<'a>>;

/// Of every device in `order` that was looked into.
pub(super) fn inside<'a>(
    stack: &'a Stack,
    tree: &Tree,
    order: &[DevId],
) -> BTreeMap<DevId, Inside<'a>> {
    let all = order.iter().filter_map(|id| {
        let contents = stack.contents_of(*id)?;
        let places = tree.places.get(id)?;
        Some((*id, Thing::all(contents, places)))
    });
    all.collect()
}

/// One thing that lies on the device.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct OnDevice<'a> {
    #[serde(flatten)]
    what: What<'a>,
    /// Where its data begin. null: a table of partitions, or none lie here.
    data_start_bytes: Option<u64>,
    /// Where its data begin against the boundaries of this device and of every
    /// layer below.
    against: Vec<Against<'a>>,
    /// XFS: how far one allocation group lies past the boundary that the one
    /// before it lies on; the entries are those of `against`.
    #[serde(skip_serializing_if = "Option::is_none")]
    group_step_bytes: Option<Vec<u64>>,
}

/// As its superblock says. null: not told, or none.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "format", rename_all = "snake_case")]
enum What<'a> {
    Partitions {
        #[schemars(extend("enum" = ["mbr", "gpt"]))]
        table: &'static str,
        /// A GPT's logical block.
        block_bytes: Option<u64>,
    },
    MdMember {
        #[schemars(extend("enum" = ["0.90", "1.0", "1.1", "1.2"]))]
        metadata_version: &'static str,
        /// md's number: 0, 1, 4, 5, 6, 10, −1 linear.
        level: i32,
        layout: u32,
        chunk_bytes: Option<u64>,
        raid_disks: u32,
        /// null: a spare, a journal, or faulty.
        slot: Option<u16>,
        super_offset_sectors: u64,
        data_offset_sectors: u64,
        bitmap_offset_sectors: Option<i64>,
        bitmap_chunk_bytes: Option<u64>,
        reshaping: bool,
    },
    LvmPv {
        group: Option<&'a str>,
        extent_bytes: Option<u64>,
        pe_start_bytes: Option<u64>,
    },
    Luks {
        luks_version: u8,
        payload_offset_bytes: Option<u64>,
        sector_bytes: Option<u64>,
    },
    Bcache {
        #[schemars(extend("enum" = ["backing", "cache"]))]
        role: &'static str,
        data_offset_sectors: Option<u64>,
        bucket_bytes: Option<u64>,
    },
    Xfs {
        block_bytes: u64,
        sector_bytes: u64,
        stripe_unit_bytes: Option<u64>,
        stripe_width_bytes: Option<u64>,
        group_count: u32,
        group_bytes: u64,
        log_internal: bool,
        log_start_bytes: Option<u64>,
        log_stripe_unit_bytes: Option<u64>,
        log_sector_bytes: u64,
        realtime_extent_bytes: Option<u64>,
    },
    Ext {
        #[schemars(extend("enum" = ["ext2", "ext3", "ext4", "journal_device"]))]
        kind: &'static str,
        block_bytes: u64,
        cluster_bytes: Option<u64>,
        stride_bytes: Option<u64>,
        stripe_width_bytes: Option<u64>,
        #[schemars(extend("enum" = ["none", "internal", "device"]))]
        journal: &'static str,
    },
    Btrfs {
        sector_bytes: u64,
        node_bytes: u64,
        devices: u64,
        /// What goes to one device before the next, of the system's chunks.
        chunk_stripe_bytes: Option<u64>,
    },
    Swap {
        page_bytes: u64,
    },
}

impl<'a> OnDevice<'a> {
    pub(super) fn all(topology: &'a Topology, inside: &'a Inside<'a>) -> Vec<Self> {
        let one = |thing: &'a Thing<'a>| Self {
            what: What::from(thing.content),
            data_start_bytes: thing.start.map(|start| start.0),
            against: thing
                .against
                .iter()
                .map(|against| Against::new(topology, against))
                .collect(),
            group_step_bytes: thing
                .group_steps
                .as_ref()
                .map(|steps| steps.iter().map(|step| step.0).collect()),
        };
        inside.iter().map(one).collect()
    }
}

impl<'a> From<&'a Content> for What<'a> {
    fn from(content: &'a Content) -> Self {
        match content {
            Content::Partitions(table) => Self::of_table(table.kind),
            Content::MdMember(member) => Self::from(&**member),
            Content::LvmPv(pv) => Self::LvmPv {
                group: pv.group.as_ref().map(|group| group.name.as_str()),
                extent_bytes: pv.group.as_ref().map(|group| group.extent_size.bytes().0),
                pe_start_bytes: pv.pe_start().map(|start| start.0),
            },
            Content::Luks(luks) => Self::of_luks(luks),
            Content::Bcache(bcache) => Self::of_bcache(bcache.role),
            Content::Xfs(xfs) => Self::of_xfs(xfs),
            Content::Ext(ext) => Self::of_ext(ext),
            Content::Btrfs(btrfs) => Self::Btrfs {
                sector_bytes: btrfs.sector_size.0,
                node_bytes: btrfs.node_size.0,
                devices: btrfs.devices,
                chunk_stripe_bytes: btrfs
                    .system_chunks
                    .first()
                    .map(|chunk| chunk.stripe_length.0),
            },
            Content::Swap(swap) => Self::Swap {
                page_bytes: swap.page_size.0,
            },
        }
    }
}

impl From<&MdMember> for What<'_> {
    fn from(member: &MdMember) -> Self {
        Self::MdMember {
            metadata_version: match member.version {
                MdVersion::V0_90 => "0.90",
                MdVersion::V1_0 => "1.0",
                MdVersion::V1_1 => "1.1",
                MdVersion::V1_2 => "1.2",
            },
            level: member.level,
            layout: member.layout,
            chunk_bytes: member.chunk.map(|chunk| chunk.0),
            raid_disks: member.raid_disks,
            slot: match member.role {
                MdRole::Active(slot) => Some(slot),
                MdRole::Spare | MdRole::Faulty | MdRole::Journal => None,
            },
            super_offset_sectors: member.super_offset.0,
            data_offset_sectors: member.data_offset.0,
            bitmap_offset_sectors: member.bitmap.map(|bitmap| bitmap.offset_sectors),
            bitmap_chunk_bytes: member.bitmap.and_then(|bitmap| Some(bitmap.chunk?.0)),
            reshaping: member.reshape.is_some(),
        }
    }
}

impl What<'_> {
    const fn of_table(kind: TableKind) -> Self {
        match kind {
            TableKind::Mbr { .. } => Self::Partitions {
                table: "mbr",
                block_bytes: None,
            },
            TableKind::Gpt { block_size, .. } => Self::Partitions {
                table: "gpt",
                block_bytes: Some(block_size.0),
            },
        }
    }

    fn of_luks(luks: &Luks) -> Self {
        Self::Luks {
            luks_version: match luks {
                Luks::V1(_) => 1,
                Luks::V2(_) => 2,
            },
            payload_offset_bytes: place::payload_start(luks).map(|start| start.0),
            sector_bytes: place::luks_sector_size(luks).map(|size| size.0),
        }
    }

    fn of_bcache(role: BcacheRole) -> Self {
        match role {
            BcacheRole::Backing {
                data_offset: Sectors(sectors),
            } => Self::Bcache {
                role: "backing",
                data_offset_sectors: Some(sectors),
                bucket_bytes: None,
            },
            BcacheRole::Cache {
                bucket_size: Bytes(bytes),
                ..
            } => Self::Bcache {
                role: "cache",
                data_offset_sectors: None,
                bucket_bytes: Some(bytes),
            },
        }
    }

    fn of_xfs(xfs: &Xfs) -> Self {
        let log_start = place::log_start(xfs);
        Self::Xfs {
            block_bytes: xfs.block_size.0,
            sector_bytes: xfs.sector_size.0,
            stripe_unit_bytes: xfs.stripe_unit.map(|unit| unit.0),
            stripe_width_bytes: xfs.stripe_width.map(|width| width.0),
            group_count: xfs.ag_count,
            group_bytes: place::group_bytes(xfs).0,
            log_internal: log_start.is_some(),
            log_start_bytes: log_start.map(|start| start.0),
            log_stripe_unit_bytes: xfs.log.stripe_unit.map(|unit| unit.0),
            log_sector_bytes: xfs.log.sector_size.0,
            realtime_extent_bytes: xfs.realtime.map(|realtime| realtime.extent_size.0),
        }
    }

    fn of_ext(ext: &Ext) -> Self {
        Self::Ext {
            kind: match ext.kind {
                ExtKind::Ext2 => "ext2",
                ExtKind::Ext3 => "ext3",
                ExtKind::Ext4 => "ext4",
                ExtKind::JournalDevice => "journal_device",
            },
            block_bytes: ext.block_size.0,
            cluster_bytes: ext.cluster_size.map(|size| size.0),
            stride_bytes: ext.stride.map(|stride| stride.0),
            stripe_width_bytes: ext.stripe_width.map(|width| width.0),
            journal: match ext.journal {
                ExtJournal::None => "none",
                ExtJournal::Inode(_) => "internal",
                ExtJournal::Device(_) => "device",
            },
        }
    }
}
