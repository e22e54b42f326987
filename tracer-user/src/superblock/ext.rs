//! ext2, ext3, ext4 and a journal device of theirs: `struct ext4_super_block`,
//! fs/ext4/ext4.h, 1024 bytes into the device. Little-endian.
//!
//! Must not read; block counts of a stripe become bytes here.

use serde::{Deserialize, Serialize};
use uuid::Uuid;
use zerocopy::{
    FromBytes, Immutable, KnownLayout, Unaligned,
    byteorder::{LE, U16, U32},
};

use super::{
    check::crc32c,
    fault::{Fault, Format, Remark, Why},
};
use crate::units::Bytes;

/// What an ext superblock says of its geometry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ext {
    pub kind: ExtKind,
    pub uuid: Uuid,
    /// A power of two, 1 KiB to 64 KiB.
    pub block_size: Bytes,
    /// What is allocated at once, where that is more than a block (bigalloc).
    pub cluster_size: Option<Bytes>,
    pub inode_size: Bytes,
    /// Of the whole, in blocks.
    pub blocks: u64,
    /// 1 where a block is 1 KiB, 0 else: groups are counted from here.
    pub first_data_block: u32,
    pub blocks_per_group: u32,
    pub inodes_per_group: u32,
    /// Groups whose tables lie together (flex_bg). `None`: each has its own.
    pub flex_groups: Option<u32>,
    /// `s_raid_stride`, which is kept in blocks: the chunk. `None`: not told.
    pub stride: Option<Bytes>,
    /// `s_raid_stripe_width`, which is kept in blocks: the stripe. `None`: not
    /// told.
    pub stripe_width: Option<Bytes>,
    pub journal: ExtJournal,
    /// `s_feature_compat` as on disk.
    pub compatible: u32,
    /// `s_feature_incompat` as on disk.
    pub incompatible: u32,
    /// `s_feature_ro_compat` as on disk.
    pub read_only_compatible: u32,
}

/// Which of the family it is, by its features (as blkid tells them apart).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExtKind {
    Ext2,
    Ext3,
    Ext4,
    /// A device that holds another file system's journal.
    JournalDevice,
}

/// Where the journal lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExtJournal {
    None,
    /// In the file system, in the file of this inode.
    Inode(u32),
    /// On a device of its own, whose superblock has this uuid.
    Device(Uuid),
}

const FORMAT: Format = Format::Ext;
/// Where the superblock lies, and how long it is.
pub(super) const EXT_AT: usize = 1024;
pub(super) const EXT_BYTES: usize = 1024;
const MAGIC: u16 = 0xef53;
const MAGIC_AT: usize = 56;
const CHECKSUM_AT: usize = 1020;

/// `EXT4_FEATURE_COMPAT_HAS_JOURNAL`.
const COMPAT_JOURNAL: u32 = 0x4;
/// `EXT4_FEATURE_INCOMPAT_*`.
const INCOMPAT_FILETYPE: u32 = 0x2;
const INCOMPAT_RECOVER: u32 = 0x4;
const INCOMPAT_JOURNAL_DEV: u32 = 0x8;
const INCOMPAT_META_BG: u32 = 0x10;
const INCOMPAT_64BIT: u32 = 0x80;
const INCOMPAT_FLEX_BG: u32 = 0x200;
/// `EXT4_FEATURE_RO_COMPAT_*`; the first three are ext2's.
const RO_COMPAT_EXT2: u32 = 0x7;
const RO_COMPAT_BIGALLOC: u32 = 0x200;
const RO_COMPAT_METADATA_CSUM: u32 = 0x400;

#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Disk {
    _inodes_count: U32<LE>,
    blocks_count_lo: U32<LE>,
    _counts: [u8; 12],
    first_data_block: U32<LE>,
    log_block_size: U32<LE>,
    log_cluster_size: U32<LE>,
    blocks_per_group: U32<LE>,
    _clusters_per_group: U32<LE>,
    inodes_per_group: U32<LE>,
    _times_and_mounts: [u8; 12],
    _magic: U16<LE>,
    _state_and_checks: [u8; 18],
    rev_level: U32<LE>,
    _owners_and_first_inode: [u8; 8],
    inode_size: U16<LE>,
    _block_group_nr: U16<LE>,
    feature_compat: U32<LE>,
    feature_incompat: U32<LE>,
    feature_ro_compat: U32<LE>,
    uuid: [u8; 16],
    _names: [u8; 88],
    journal_uuid: [u8; 16],
    journal_inum: U32<LE>,
    _journal_dev_to_jnl_blocks: [u8; 108],
    blocks_count_hi: U32<LE>,
    _high_counts_and_flags: [u8; 16],
    raid_stride: U16<LE>,
    _mmp: [u8; 10],
    raid_stripe_width: U32<LE>,
    log_groups_per_flex: u8,
    _rest: [u8; 647],
    checksum: U32<LE>,
}

const _: () = assert!(size_of::<Disk>() == EXT_BYTES);

impl Ext {
    /// Whether what lies at [`EXT_AT`] has the magic.
    pub(super) fn is_at(bytes: &[u8]) -> bool {
        bytes.get(MAGIC_AT..MAGIC_AT + 2) == Some(MAGIC.to_le_bytes().as_slice())
    }

    /// `bytes` begin at [`EXT_AT`]. `None`: no magic.
    pub(super) fn parse(bytes: &[u8], remarks: &mut Vec<Remark>) -> Option<Result<Self, Fault>> {
        Self::is_at(bytes).then(|| parse(bytes, remarks))
    }
}

fn parse(bytes: &[u8], remarks: &mut Vec<Remark>) -> Result<Ext, Fault> {
    let disk: &Disk = FORMAT.layout(bytes)?;
    let dynamic = FORMAT.within("revision", disk.rev_level.get(), 0..=1)? == 1;
    let feature = |word: U32<LE>| if dynamic { word.get() } else { 0 };
    let compatible = feature(disk.feature_compat);
    let incompatible = feature(disk.feature_incompat);
    let read_only_compatible = feature(disk.feature_ro_compat);
    // Without the last inversion (`ext4_superblock_csum`, fs/ext4/super.c).
    if read_only_compatible & RO_COMPAT_METADATA_CSUM != 0
        && !crc32c(&[&bytes[..CHECKSUM_AT]]) != disk.checksum.get()
    {
        remarks.push(Remark::Checksum { format: FORMAT });
    }
    let shift = FORMAT.within(
        "logarithm of the block size",
        disk.log_block_size.get(),
        0..=6,
    )?;
    let block = 1024_u32 << shift;
    let cluster = cluster(disk, read_only_compatible)?;
    let kind = kind(compatible, incompatible, read_only_compatible);
    if kind != ExtKind::JournalDevice {
        groups(disk, block, cluster)?;
    }
    let inode_size = match dynamic {
        true => FORMAT.power_of_two("inode size", disk.inode_size.get().into(), 128..=block)?,
        false => 128,
    };
    let high = match incompatible & INCOMPAT_64BIT {
        0 => 0,
        _ => u64::from(disk.blocks_count_hi.get()),
    };
    let stripe = |blocks: u32| (blocks > 0).then(|| Bytes(u64::from(blocks) * u64::from(block)));
    Ok(Ext {
        kind,
        uuid: Uuid::from_bytes(disk.uuid),
        block_size: Bytes(block.into()),
        cluster_size: cluster.map(|size| Bytes(size.into())),
        inode_size: Bytes(inode_size.into()),
        blocks: high << 32 | u64::from(disk.blocks_count_lo.get()),
        first_data_block: disk.first_data_block.get(),
        blocks_per_group: disk.blocks_per_group.get(),
        inodes_per_group: disk.inodes_per_group.get(),
        flex_groups: flex_groups(disk, incompatible)?,
        stride: stripe(disk.raid_stride.get().into()),
        stripe_width: stripe(disk.raid_stripe_width.get()),
        journal: journal(disk, compatible),
        compatible,
        incompatible,
        read_only_compatible,
    })
}

/// As libblkid tells them apart (libblkid/src/superblocks/ext.c).
fn kind(compatible: u32, incompatible: u32, read_only_compatible: u32) -> ExtKind {
    let old = INCOMPAT_FILETYPE | INCOMPAT_META_BG;
    if incompatible & INCOMPAT_JOURNAL_DEV != 0 {
        ExtKind::JournalDevice
    } else if read_only_compatible & !RO_COMPAT_EXT2 != 0
        || incompatible & !(old | INCOMPAT_RECOVER) != 0
    {
        ExtKind::Ext4
    } else if compatible & COMPAT_JOURNAL != 0 {
        ExtKind::Ext3
    } else {
        ExtKind::Ext2
    }
}

/// `ext4_handle_clustersize`, fs/ext4/super.c.
fn cluster(disk: &Disk, read_only_compatible: u32) -> Result<Option<u32>, Fault> {
    if read_only_compatible & RO_COMPAT_BIGALLOC == 0 {
        return Ok(None);
    }
    let least = disk.log_block_size.get();
    // `EXT4_MAX_CLUSTER_LOG_SIZE` is 30.
    let shift = FORMAT.within(
        "logarithm of the cluster size",
        disk.log_cluster_size.get(),
        least..=20,
    )?;
    Ok(Some(1024 << shift))
}

/// One block holds the bitmap of a group.
fn groups(disk: &Disk, block: u32, cluster: Option<u32>) -> Result<(), Fault> {
    let most = u64::from(block) * 8 * u64::from(cluster.map_or(1, |size| size / block));
    let each = u64::from(disk.blocks_per_group.get());
    FORMAT.within("blocks in a group", each, 8..=most)?;
    FORMAT.multiple("blocks in a group", each, 8)?;
    FORMAT.within("first data block", disk.first_data_block.get(), 0..=1)?;
    if disk.blocks_count_lo.get() == 0 && disk.blocks_count_hi.get() == 0 {
        let most = u64::MAX;
        return Err(FORMAT.fault("blocks", Some(0), Why::Outside { least: 1, most }));
    }
    Ok(())
}

fn flex_groups(disk: &Disk, incompatible: u32) -> Result<Option<u32>, Fault> {
    let shift = disk.log_groups_per_flex;
    if incompatible & INCOMPAT_FLEX_BG == 0 || shift == 0 {
        return Ok(None);
    }
    let shift = FORMAT.within("logarithm of the groups in a flex group", shift, 1..=31)?;
    Ok(Some(1 << shift))
}

fn journal(disk: &Disk, compatible: u32) -> ExtJournal {
    let device = Uuid::from_bytes(disk.journal_uuid);
    match disk.journal_inum.get() {
        _ if compatible & COMPAT_JOURNAL == 0 => ExtJournal::None,
        0 if !device.is_nil() => ExtJournal::Device(device),
        0 => ExtJournal::None,
        inode => ExtJournal::Inode(inode),
    }
}
