//! What a block device is: the data model that the sysfs readers fill and
//! everything else reads.
//!
//! Must not touch files.

use std::collections::BTreeMap;

use super::{
    carried::Carried, chain::Chain, geometry_override::Override, notes::Note, start::StartCheck,
};
use crate::{
    dm::{Place, Segment},
    units::{Bytes, DevId, SECTOR_BYTES, Sectors},
};

/// A page of the page cache.
pub(super) const PAGE_BYTES: u64 = 4096;

/// All block devices of one moment, partitions among them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Topology {
    pub devices: BTreeMap<DevId, Device>,
    /// Disks that the kernel hides: they have no device number in sysfs.
    pub hidden: Vec<HiddenDisk>,
    /// Devices and files that could not be read at all: path and reason.
    pub unreadable: Vec<String>,
}

/// A disk without a device number in sysfs: a path `nvme0c1n1` below the
/// native multipath head `nvme0n1`. Its requests carry only its name.
#[derive(Clone, Debug, PartialEq)]
pub struct HiddenDisk {
    /// `gendisk.disk_name`.
    pub name: String,
    /// The multipath head above it.
    pub head: Option<DevId>,
    pub size: Option<Sectors>,
    pub diskseq: Option<u64>,
    pub request_based: bool,
    pub limits: Limits,
    pub geometry: Geometry,
}

/// One block device.
#[derive(Clone, Debug, PartialEq)]
pub struct Device {
    pub id: DevId,
    /// The kernel's name, as in `md127`, `nvme0n1p1` or `cciss/c0d0`; sysfs
    /// writes the slash as `!`.
    pub name: String,
    pub kind: Kind,
    /// The whole disk of a partition, and where it starts on it.
    pub partition: Option<Partition>,
    /// `None` where `size` cannot be read; 0 for a device without a medium.
    pub size: Option<Sectors>,
    /// Never reused (since 5.15); of a partition: its disk's.
    pub diskseq: Option<u64>,
    /// Counted from requests (has `mq/`), else from bios.
    pub request_based: bool,
    pub limits: Limits,
    pub md: Option<MdArray>,
    /// dm: `dm/name`, `dm/uuid`.
    pub dm_name: Option<String>,
    pub dm_uuid: Option<String>,
    /// dm: its table; `None` where it was not, or cannot be, read.
    pub dm_table: Option<Vec<Segment>>,
    /// dm: a read or a write waits until it is resumed (`dm/suspended`).
    pub dm_suspended: Option<bool>,
    /// loop: what it shows, as in `/root/image` or `/dev/sda1`.
    pub loop_file: Option<String>,
    /// loop: the place on a block device that holds it; `None` over a file.
    pub loop_on: Option<Place>,
    /// bcache: the place of its data on the backing device, which only that
    /// one's superblock tells; see [`Topology::lay_bcache`].
    pub bcache_on: Option<Place>,
    /// `device/model`, trimmed.
    pub model: Option<String>,
    /// The world-wide name: `wwid` of an NVMe namespace, `device/wwid` of a
    /// SCSI disk.
    pub wwn: Option<String>,
    /// Devices below (`slaves/`, sorted by name; of a loop device the one that
    /// is its file).
    pub members: Vec<DevId>,
    /// Devices above (`holders/`, sorted by name, then loop devices).
    pub holders: Vec<DevId>,
    /// What the user said about it (`--geometry`).
    pub overridden: Option<Override>,
    /// What IO on it is classified by.
    pub geometry: Geometry,
    /// Where it lies on the stripes of an array below it.
    pub chain: Option<Chain>,
    /// The chunks of arrays above that lie on it.
    pub carries: Vec<Carried>,
    /// Where a partition's start lies against each boundary that is known.
    pub start_checks: Vec<StartCheck>,
    /// What a person should know about this geometry.
    pub notes: Vec<Note>,
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
    /// Optical drives, floppies, and what has no driver we know.
    Other,
}

impl Kind {
    /// As JSON and metrics have it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Disk => "disk",
            Self::Partition => "partition",
            Self::Md => "md",
            Self::Dm => "dm",
            Self::Loop => "loop",
            Self::Nvme => "nvme",
            Self::Virtio => "virtio",
            Self::Zram => "zram",
            Self::Ram => "ram",
            Self::Nbd => "nbd",
            Self::Pmem => "pmem",
            Self::NullBlk => "null_blk",
            Self::Bcache => "bcache",
            Self::Other => "other",
        }
    }
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
    /// A longer IO is split (`queue/max_sectors_kb`).
    pub max_io: Option<Bytes>,
    /// What the device and its adapter take at most
    /// (`queue/max_hw_sectors_kb`).
    pub max_hw_io: Option<Bytes>,
    /// What is discarded at once (`queue/discard_granularity`); `None` where
    /// nothing can be discarded (it prints 0).
    pub discard_granularity: Option<Bytes>,
    /// What is read ahead at most (`queue/read_ahead_kb`).
    pub read_ahead: Option<Bytes>,
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
    /// physical block. `None` where the kernel calls it inconsistent and the
    /// real one cannot be computed: then nothing is in an alignment class.
    pub alignment_offset: Option<Bytes>,
    pub chunk: Option<Bytes>,
    pub data_disks: Option<u32>,
    pub stripe: Option<Bytes>,
    /// The first position that lies on a stripe's boundary of the array below,
    /// or on a chunk's where it has no stripes; of a partition else on its
    /// disk's physical block.
    pub phase: Option<Bytes>,
    /// From `--geometry DEV=boundary:...`.
    pub boundary: Option<Bytes>,
    /// Position on the whole disk that chunk, stripe and boundary count from:
    /// 0, but the partition's start where the user gave them for a partition.
    pub origin: Bytes,
}

/// `md/*` of an array, or what device-mapper's table tells of one. Where a reshape changes a value, the plain field holds
/// the new one and `*_before` the one it replaces.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MdArray {
    /// As md prints it: `raid6`, `raid10`, `linear`, ...; empty for an
    /// inactive array or a container.
    pub level: String,
    pub raid_disks: Option<u32>,
    pub raid_disks_before: Option<u32>,
    pub layout: Option<i64>,
    pub layout_before: Option<i64>,
    pub chunk: Option<Bytes>,
    pub chunk_before: Option<Bytes>,
    pub degraded: Option<u32>,
    pub metadata_version: Option<String>,
    /// As in its superblock; `None` before 5.19, which does not tell it in
    /// sysfs, and for an array without one.
    pub uuid: Option<String>,
    pub sync_action: Option<String>,
    pub array_state: Option<String>,
    /// The write-intent bitmap on the components.
    pub bitmap: Option<MdBitmap>,
    /// Of raid4/5/6: 0 never read-modify-write, 1 where it reads less, 2 where
    /// it reads no more (`enum` beside `rmw_level`, drivers/md/raid5.h).
    pub rmw_level: Option<u32>,
    /// md keeps the logical block in the superblocks, whatever members come or
    /// go (`logical_block_size`, Documentation/admin-guide/md.rst). `None`: it
    /// takes the members' largest with each assembly.
    pub logical_block_kept: Option<Bytes>,
    /// Of raid4/5/6: rows that are kept, 4 KiB of every member each
    /// (`stripe_cache_size`).
    pub stripe_cache_rows: Option<u32>,
    /// A reshape is running: chunk, layout or disks are changing.
    pub reshaping: bool,
    /// How far it came, on the array.
    pub reshape_position: Option<Sectors>,
    /// Of what `sync_action` names: how far it came, and of how much, in
    /// sectors of a component (of the array for raid10).
    pub sync_completed: Option<(Sectors, Sectors)>,
    /// `md/dev-*`, sorted by name; under device-mapper in the table's order.
    pub components: Vec<MdComponent>,
}

/// `md/bitmap/*` of an array whose bitmap lies on its components.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MdBitmap {
    /// From the superblock, in sectors; before it where negative.
    pub location_sectors: i64,
    /// Bytes of the array, or of a component for raid1/4/5/6, to a bit.
    pub chunk: Bytes,
}

/// `md/dev-*` of an array: one component.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MdComponent {
    /// The kernel's name of the disk or partition.
    pub name: String,
    /// `None` where no such device is listed.
    pub device: Option<DevId>,
    /// `None` for a spare or a journal.
    pub slot: Option<u32>,
    /// `in_sync`, `faulty`, `spare`, `journal`, ...
    pub state: Vec<String>,
    /// Where the array's data begins on the component.
    pub data_offset: Option<Sectors>,
    /// How much of the component holds the array's data.
    pub data_size: Option<Bytes>,
    /// It holds md's books and no data: device-mapper gives them a device of
    /// their own.
    pub books_only: bool,
    /// The partial parity log: where, and how long.
    pub ppl: Option<(Sectors, Sectors)>,
}

impl MdArray {
    /// It takes IO. While an array is assembled or stopped its level is empty
    /// or a bare number (drivers/md/md.c, `level_show`).
    #[must_use]
    pub fn is_running(&self) -> bool {
        let named = self
            .level
            .starts_with(|first: char| first.is_ascii_alphabetic());
        let state = self.array_state.as_deref();
        named && !matches!(state, Some("clear" | "inactive"))
    }
}

impl Device {
    /// The name as sysfs spells it.
    #[must_use]
    pub fn sysfs_name(&self) -> String {
        self.name.replace('/', "!")
    }

    /// The block in which the page cache reads and writes the device itself:
    /// the largest power of two up to a page that divides its length, at least
    /// a logical block (block/bdev.c, `set_init_blocksize`). A file system sets
    /// its own. `None` where the length is not known.
    #[must_use]
    pub fn page_cache_block(&self) -> Option<Bytes> {
        let bytes = self.size?.bytes().0;
        let logical = self.geometry.logical_block.map_or(SECTOR_BYTES, |b| b.0);
        let divides = 1u64
            .checked_shl(bytes.trailing_zeros())
            .unwrap_or(PAGE_BYTES);
        Some(Bytes(divides.min(PAGE_BYTES).max(logical)))
    }
}

/// A device as somebody asked for it: it may come back under another number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    id: DevId,
    name: Option<String>,
    /// device-mapper gives the kernel's names to whoever comes first.
    dm_name: Option<String>,
}

impl Topology {
    /// What to know these devices by later on.
    #[must_use]
    pub fn remember(&self, ids: &[DevId]) -> Vec<Asked> {
        let asked = ids.iter().map(|id| {
            let device = self.devices.get(id);
            Asked {
                id: *id,
                name: device.map(|device| device.name.clone()),
                dm_name: device.and_then(|device| device.dm_name.clone()),
            }
        });
        asked.collect()
    }

    /// The numbers that they have now, or had last.
    #[must_use]
    pub fn recall(&self, asked: &[Asked]) -> Vec<DevId> {
        let is = |device: &Device, asked: &Asked| match &asked.dm_name {
            Some(name) => device.dm_name.as_ref() == Some(name),
            None => asked.name.as_ref() == Some(&device.name),
        };
        let ids = asked.iter().map(|asked| {
            let same = self.devices.get(&asked.id).filter(|found| is(found, asked));
            let found = same.or_else(|| self.devices.values().find(|found| is(found, asked)));
            found.map_or(asked.id, |found| found.id)
        });
        ids.collect()
    }

    /// The device of this kernel name, as in `sda1`.
    #[must_use]
    pub fn by_name(&self, name: &str) -> Option<&Device> {
        self.devices.values().find(|device| device.name == name)
    }

    /// The partitions of a disk, by number.
    #[must_use]
    pub fn partitions_of(&self, disk: DevId) -> Vec<DevId> {
        let mut found: Vec<(u32, DevId)> = self
            .devices
            .values()
            .filter_map(|device| {
                let partition = device.partition?;
                (partition.disk == disk).then_some((partition.number, device.id))
            })
            .collect();
        found.sort_unstable();
        found.into_iter().map(|(_, id)| id).collect()
    }

    /// The whole disk of a partition; the device itself for anything else.
    #[must_use]
    pub fn whole(&self, id: DevId) -> DevId {
        self.devices
            .get(&id)
            .and_then(|device| device.partition)
            .map_or(id, |partition| partition.disk)
    }
}
