//! md's members: what both generations of superblocks say of an array and of
//! this member's place in it.
//!
//! Must not know a layout on disk.

pub(super) mod v0;
pub(super) mod v1;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::fault::{Fault, Format, Why};
use crate::units::{Bytes, SECTOR_BYTES, Sectors};

const FORMAT: Format = Format::Md;
/// `MD_SB_MAGIC`.
const MAGIC: u32 = 0xa92b_4efc;
/// `BITMAP_MAGIC`, drivers/md/md-bitmap.h.
const BITMAP_MAGIC: u32 = 0x6d74_6962;
/// `bitmap_super_t`: as much of it as is read, and where its chunk stands.
pub(super) const BITMAP_BYTES: usize = 256;
const BITMAP_CHUNK_AT: usize = 52;

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

impl MdVersion {
    /// Every place a superblock can lie at on a member of `size`.
    pub(super) fn places(size: Bytes) -> Vec<(Self, Sectors)> {
        let sectors = size.0 / SECTOR_BYTES;
        // `MD_NEW_SIZE_SECTORS`, and `super_1_load`, drivers/md/md.c.
        let old = (sectors & !127).checked_sub(128);
        let end = sectors.checked_sub(16).map(|end| end & !7);
        let places = [
            (Self::V1_1, Some(0)),
            (Self::V1_2, Some(8)),
            (Self::V1_0, end),
            (Self::V0_90, old),
        ];
        let known = places.into_iter();
        known
            .filter_map(|(version, at)| Some((version, Sectors(at?))))
            .collect()
    }
}

impl MdMember {
    /// Where the bitmap's own head lies.
    pub(super) fn bitmap_at(&self) -> Option<u64> {
        let offset = self.bitmap?.offset_sectors;
        let sector = self.super_offset.0.checked_add_signed(offset)?;
        sector.checked_mul(SECTOR_BYTES)
    }

    /// Takes the chunk from the bitmap's own head; says whether it is one.
    pub(super) fn set_bitmap_chunk(&mut self, head: &[u8]) -> bool {
        let told = bitmap_chunk(head);
        if let Some(bitmap) = &mut self.bitmap {
            bitmap.chunk = told;
        }
        told.is_some()
    }
}

fn bitmap_chunk(head: &[u8]) -> Option<Bytes> {
    let word = |at: usize| {
        let bytes = head.get(at..at + 4)?.try_into().ok()?;
        Some(u32::from_le_bytes(bytes))
    };
    let chunk = word(BITMAP_CHUNK_AT)?;
    let is_one = word(0)? == BITMAP_MAGIC && chunk.is_power_of_two() && chunk >= 512;
    is_one.then_some(Bytes(chunk.into()))
}

/// `LEVEL_*`, include/uapi/linux/raid/md_u.h.
fn level(told: i32) -> Result<i32, Fault> {
    match told {
        -5 | -4 | -1 | 0 | 1 | 4 | 5 | 6 | 10 => Ok(told),
        _ => Err(FORMAT.fault("level", u64::try_from(told).ok(), Why::Unknown)),
    }
}

/// The chunk of a level that has one: at least a page, and a power of two but
/// for raid0 (`raid5_run`, `setup_conf`, `raid0_run`).
fn chunk(field: &'static str, level: i32, told: Bytes) -> Result<Option<Bytes>, Fault> {
    match level {
        4..=6 | 10 => FORMAT.power_of_two(field, told.0, 4096..=1 << 41)?,
        0 => FORMAT.within(field, FORMAT.multiple(field, told.0, 512)?, 512..=1 << 41)?,
        _ => told.0,
    };
    Ok((told.0 > 0).then_some(told))
}

/// All ones (`MaxSector`, or its 32 bits): everything is in sync.
fn resync(told: u64) -> Option<Sectors> {
    (told != u64::MAX && told != u64::from(u32::MAX)).then_some(Sectors(told))
}

/// The carry of a sum is added to it once.
fn fold(sum: u64) -> u32 {
    let low = |word: u64| u32::try_from(word & 0xffff_ffff).unwrap_or_default();
    low(sum).wrapping_add(low(sum >> 32))
}
