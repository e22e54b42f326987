//! What a block device is: the data model that the sysfs readers fill and
//! everything else reads.
//!
//! Must not touch files.

use std::collections::BTreeMap;

use crate::units::{Bytes, DevId, Sectors};

/// All block devices of one moment, partitions among them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Topology {
    pub devices: BTreeMap<DevId, Device>,
}

/// One block device.
#[derive(Clone, Debug, PartialEq)]
pub struct Device {
    pub id: DevId,
    /// The kernel's name, as in `md127` or `nvme0n1p1`.
    pub name: String,
    pub kind: Kind,
    /// The whole disk of a partition, and where it starts on it.
    pub partition: Option<Partition>,
    pub size: Sectors,
    /// Never reused (since 5.15); of a partition: its disk's.
    pub diskseq: Option<u64>,
    /// Counted from requests (has `mq/`), else from bios.
    pub request_based: bool,
    pub limits: Limits,
    pub md: Option<MdArray>,
    /// dm: `dm/name`, `dm/uuid`.
    pub dm_name: Option<String>,
    pub dm_uuid: Option<String>,
    /// Devices below (`slaves/`), sorted by name.
    pub members: Vec<DevId>,
    /// Devices above (`holders/`), sorted by name.
    pub holders: Vec<DevId>,
    /// What IO on it is classified by.
    pub geometry: Geometry,
    /// What a person should know about this geometry.
    pub notes: Vec<String>,
    /// Attributes that could not be read: path and reason.
    pub unreadable: Vec<String>,
}

/// What a device is, as far as its driver tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Disk,
    Partition,
    Md,
    Dm,
    Loop,
    Nvme,
    Virtio,
    Zram,
    Ram,
    Nbd,
    Pmem,
    NullBlk,
    Bcache,
    Other,
}

/// A partition's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partition {
    pub disk: DevId,
    pub number: u32,
    pub start: Sectors,
}

/// `queue/*` and `alignment_offset`; `None` where the file is missing or
/// cannot be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    pub logical_block: Option<Bytes>,
    pub physical_block: Option<Bytes>,
    pub alignment_offset: Option<AlignmentOffset>,
    pub io_min: Option<Bytes>,
    pub io_opt: Option<Bytes>,
    pub chunk_sectors: Option<Sectors>,
    pub rotational: Option<bool>,
}

/// `alignment_offset` as sysfs prints it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlignmentOffset {
    Bytes(Bytes),
    /// −1: the kernel found the layers below inconsistent. Not a byte count.
    Inconsistent,
}

/// The boundaries that IO on a device is classified by; `None` where there is
/// none or it is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Geometry {
    pub logical_block: Option<Bytes>,
    pub physical_block: Option<Bytes>,
    /// Position of the first aligned byte of the device, less than the
    /// physical block.
    pub alignment_offset: Option<Bytes>,
    pub chunk: Option<Bytes>,
    pub data_disks: Option<u32>,
    pub stripe: Option<Bytes>,
    /// For a partition: the first position in it that lies on a boundary of
    /// its disk (the stripe, else the chunk, else the physical block).
    pub phase: Option<Bytes>,
    /// From `--geometry DEV=boundary:...`.
    pub boundary: Option<Bytes>,
}

/// `md/*` of an array.
#[derive(Clone, Debug, PartialEq)]
pub struct MdArray {
    /// As md prints it: `raid6`, `raid10`, `linear`, ...
    pub level: String,
    pub raid_disks: u32,
    pub layout: Option<i64>,
    pub chunk: Option<Bytes>,
    pub degraded: Option<u32>,
    pub metadata_version: Option<String>,
    pub sync_action: Option<String>,
    pub array_state: Option<String>,
    /// A reshape is running: chunk, level or disks are changing, and no one
    /// geometry holds for the whole array.
    pub reshaping: bool,
}
