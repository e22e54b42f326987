//! LUKS 1 and 2: cryptsetup's on-disk formats (docs/on-disk-format.pdf and
//! docs/on-disk-format-luks2.pdf there; `struct luks_phdr`,
//! `struct luks2_hdr_disk`). Big-endian; version 2 keeps JSON behind its head.
//!
//! Must not read, and must not keep a key slot, a digest or a salt: the structs
//! that JSON is read into have no place for them.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::units::{Bytes, Sectors};

/// What a LUKS header says of where data lie.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "version")]
pub enum Luks {
    #[serde(rename = "1")]
    V1(Luks1),
    #[serde(rename = "2")]
    V2(Luks2),
}

/// LUKS 1: blocks are always of 512 bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Luks1 {
    pub uuid: Option<Uuid>,
    /// Where data begin. 0: the header is detached, data begin with their device.
    pub payload_offset: Sectors,
}

/// LUKS 2.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Luks2 {
    pub uuid: Option<Uuid>,
    /// Of one of the two copies, JSON with it: a power of two, 16 KiB to 4 MiB.
    pub header_size: Bytes,
    /// What is kept for key slots behind the headers.
    pub keyslots_size: Option<Bytes>,
    /// Where data lie, in the order of their numbers.
    pub segments: Vec<LuksSegment>,
}

/// A segment of data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LuksSegment {
    pub id: u32,
    /// Encrypted (`crypt`); else mapped as it is (`linear`), as while
    /// reencryption runs.
    pub encrypted: bool,
    pub offset: Bytes,
    /// `None`: to the end of the device ("dynamic").
    pub size: Option<Bytes>,
    /// 512 to 4096; `None` where nothing is encrypted.
    pub sector_size: Option<Bytes>,
    /// With tags beside each sector (dm-integrity below).
    pub has_integrity: bool,
    /// A state of reencryption that is not the segment's use now.
    pub is_backup: bool,
}
