//! XFS: `struct xfs_dsb`, fs/xfs/libxfs/xfs_format.h. Big-endian.
//!
//! Must not read; block counts become bytes here.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::units::Bytes;

/// What an XFS superblock says of its geometry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Xfs {
    /// 4 or 5.
    pub version: u8,
    pub uuid: Uuid,
    /// Of a file system block: a power of two, 512 bytes to 64 KiB.
    pub block_size: Bytes,
    /// What metadata is written in at least: a power of two, 512 bytes to 32 KiB.
    pub sector_size: Bytes,
    pub inode_size: Bytes,
    /// Of the data section, in file system blocks.
    pub data_blocks: u64,
    /// Of each allocation group but the last, in file system blocks.
    pub ag_blocks: u32,
    pub ag_count: u32,
    /// `sb_unit`, which is kept in file system blocks. `None`: no stripe known.
    pub stripe_unit: Option<Bytes>,
    /// `sb_width`, which is kept in file system blocks: a multiple of the unit.
    pub stripe_width: Option<Bytes>,
    pub log: XfsLog,
    /// `None`: no realtime section.
    pub realtime: Option<XfsRealtime>,
    pub features: XfsFeatures,
}

/// XFS's log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct XfsLog {
    pub place: XfsLogPlace,
    /// In file system blocks.
    pub blocks: u32,
    /// 1 or 2; only 2 knows a stripe.
    pub version: u8,
    /// What the log is written in at least.
    pub sector_size: Bytes,
    /// `sb_logsunit`, which is kept in bytes: log writes are padded to it.
    /// `None`: not padded (it holds 0 or 1).
    pub stripe_unit: Option<Bytes>,
}

/// Where the log lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum XfsLogPlace {
    /// On the same device, from here.
    Internal(Bytes),
    /// On a device of its own.
    External,
}

/// XFS's realtime section, on a device of its own or (zoned) of this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct XfsRealtime {
    /// `sb_rextsize`, which is kept in file system blocks.
    pub extent_size: Bytes,
    /// In file system blocks.
    pub blocks: u64,
}

/// Feature words as they are on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct XfsFeatures {
    /// `sb_versionnum`, its low four bits being the version.
    pub version: u16,
    /// `sb_features2`.
    pub second: u32,
    /// 0 before version 5, as are the two below.
    pub compatible: u32,
    pub read_only_compatible: u32,
    pub incompatible: u32,
}
