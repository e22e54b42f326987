//! btrfs: `struct btrfs_super_block`, include/uapi/linux/btrfs_tree.h, 64 KiB
//! into the device. Little-endian.
//!
//! Must not read, nor follow any tree: of the profiles only the system chunks'
//! are in the superblock.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::units::Bytes;

/// What a btrfs superblock says of its geometry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Btrfs {
    /// Of the file system: the same on all of its devices.
    pub uuid: Uuid,
    /// What data is allocated in.
    pub sector_size: Bytes,
    /// Of a block of a tree: what metadata is written in.
    pub node_size: Bytes,
    /// `stripesize`: always the sector size; no stripe of any profile.
    pub stripe_size: Bytes,
    /// Of all devices together.
    pub total: Bytes,
    /// How many devices it has.
    pub devices: u64,
    /// This one.
    pub device: BtrfsDevice,
    /// `compat_ro_flags` as on disk.
    pub read_only_compatible: u64,
    /// `incompat_flags` as on disk.
    pub incompatible: u64,
    /// System chunks, which tell their profile and the length of a stripe.
    pub system_chunks: Vec<BtrfsChunk>,
}

/// One device of a btrfs: `struct btrfs_dev_item`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BtrfsDevice {
    pub id: u64,
    pub uuid: Uuid,
    pub total: Bytes,
    pub sector_size: Bytes,
}

/// One chunk: `struct btrfs_chunk`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BtrfsChunk {
    /// `BTRFS_BLOCK_GROUP_*` bits: what it is for, and its profile.
    pub flags: u64,
    /// Of file system addresses.
    pub length: Bytes,
    /// What goes to one device before the next: md's chunk. 64 KiB so far.
    pub stripe_length: Bytes,
    pub sub_stripes: u16,
    /// For each device in order: its number and where the chunk begins there.
    pub stripes: Vec<(u64, Bytes)>,
}
