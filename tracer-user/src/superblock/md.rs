//! md's members: what both generations of superblocks say of an array and of
//! this member's place in it.
//!
//! Must not know a layout on disk.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::units::{Bytes, Sectors};

/// What a member's superblock says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MdMember {
    pub version: MdVersion,
    /// Of the array; its digits are those that mdadm shows.
    pub array_uuid: Uuid,
    /// 0, 1, 4, 5, 6, 10; −1 linear, −4 multipath, −5 faulty.
    pub level: i32,
    /// As the level understands it: raid5's algorithm, raid10's copies.
    pub layout: u32,
    /// `None` where the level has none (it holds 0).
    pub chunk: Option<Bytes>,
    pub raid_disks: u32,
    /// What the array uses of each member.
    pub used: Sectors,
    /// Where the array's data begin on this member.
    pub data_offset: Sectors,
    /// What may be used from there.
    pub data_size: Sectors,
    /// Where this superblock lies.
    pub super_offset: Sectors,
    pub bitmap: Option<MdBitmap>,
    pub reshape: Option<MdReshape>,
    pub role: MdRole,
    /// How far a resync came; `None`: all is in sync.
    pub resync_offset: Option<Sectors>,
    pub events: u64,
    /// `MD_FEATURE_*` bits as on disk; 0 in version 0.90.
    pub features: u32,
}

/// Where a superblock lies, and which it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum MdVersion {
    /// At the last whole 64 KiB but one.
    #[serde(rename = "0.90")]
    V0_90,
    /// 8 to 12 KiB before the end.
    #[serde(rename = "1.0")]
    V1_0,
    /// At the beginning.
    #[serde(rename = "1.1")]
    V1_1,
    /// 4 KiB into the member.
    #[serde(rename = "1.2")]
    V1_2,
}

impl MdVersion {
    /// At the end: what the array holds lies at the member's beginning, where
    /// anybody finds it.
    #[must_use]
    pub const fn is_at_end(self) -> bool {
        matches!(self, Self::V0_90 | Self::V1_0)
    }
}

/// A write-intent bitmap beside the superblock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MdBitmap {
    /// From the superblock; negative: before it.
    pub offset_sectors: i64,
    /// What one bit stands for. `None`: the bitmap's own head could not be read.
    pub chunk: Option<Bytes>,
}

/// An array on its way to another shape; the fields above are the new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MdReshape {
    /// How far it came, in sectors of the array.
    pub position: Sectors,
    /// Disks that are added (or, negative, taken away).
    pub delta_disks: i32,
    pub new_level: i32,
    pub new_layout: u32,
    pub new_chunk: Option<Bytes>,
}

/// What a member is to its array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MdRole {
    /// In this place.
    Active(u16),
    Spare,
    Faulty,
    /// Holds the journal of a raid4/5/6.
    Journal,
}
