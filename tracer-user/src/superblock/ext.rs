//! ext2, ext3, ext4 and a journal device of theirs: `struct ext4_super_block`,
//! fs/ext4/ext4.h, 1024 bytes into the device. Little-endian.
//!
//! Must not read; block counts of a stripe become bytes here.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

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
