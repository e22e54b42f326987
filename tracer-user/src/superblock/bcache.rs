//! bcache: `struct cache_sb_disk`, drivers/md/bcache/bcache_ondisk.h, 4 KiB into
//! the device. Little-endian.
//!
//! Must not read.

use crc::{CRC_64_WE, Crc};
use serde::{Deserialize, Serialize};
use uuid::Uuid;
use zerocopy::{
    FromBytes, Immutable, KnownLayout, Unaligned,
    byteorder::{LE, U16, U32, U64},
};

use super::fault::{Fault, Format, Remark, Why};
use crate::units::{Bytes, Sectors};

/// What a bcache superblock says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bcache {
    /// `BCACHE_SB_VERSION_*`: 0 to 6.
    pub version: u64,
    pub uuid: Uuid,
    /// Of the cache set; zeroes where the device is attached to none.
    pub set_uuid: Uuid,
    /// What bcache takes and gives at least: the logical block of its device.
    pub block_size: Bytes,
    pub role: BcacheRole,
}

/// Which side of bcache a device is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BcacheRole {
    Backing {
        /// Where data begin.
        data_offset: Sectors,
    },
    Cache {
        bucket_size: Bytes,
        buckets: u64,
        /// The bucket that data begin with.
        first_bucket: u16,
    },
}

const FORMAT: Format = Format::Bcache;
/// `SB_OFFSET` and `SB_SIZE`.
pub(super) const BCACHE_AT: usize = 4096;
pub(super) const BCACHE_BYTES: usize = 4096;
/// `bcache_magic`, drivers/md/bcache/super.c.
const MAGIC: [u8; 16] = [
    0xc6, 0x85, 0x73, 0xf6, 0x4e, 0x1a, 0x45, 0xca, 0x82, 0x65, 0xf5, 0x7f, 0x48, 0xba, 0x6d, 0x81,
];
const MAGIC_AT: usize = 24;
/// `BDEV_DATA_START_DEFAULT`.
const DATA_OFFSET: Sectors = Sectors(16);
/// `BCH_FEATURE_INCOMPAT_*`: how a bucket of 32 MiB and more is told.
const INCOMPAT_BUCKET_HIGH: u64 = 1;
const INCOMPAT_BUCKET_LOG2: u64 = 2;
/// `SB_JOURNAL_BUCKETS`, and where they begin.
const MOST_KEYS: u16 = 256;
const KEYS_AT: usize = 208;
/// `bch_crc64`, drivers/md/bcache/util.c and lib/crc64.c.
const CRC64: Crc<u64> = Crc::<u64>::new(&CRC_64_WE);

#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Disk {
    csum: U64<LE>,
    offset: U64<LE>,
    version: U64<LE>,
    _magic: [u8; 16],
    uuid: [u8; 16],
    set_uuid: [u8; 16],
    _label_flags_seq: [u8; 48],
    _feature_compat: U64<LE>,
    feature_incompat: U64<LE>,
    _feature_ro_compat: U64<LE>,
    _pad: [u8; 40],
    /// A backing device's `data_offset`.
    nbuckets: U64<LE>,
    block_size: U16<LE>,
    bucket_size: U16<LE>,
    _in_set: [u8; 4],
    _last_mount: U32<LE>,
    first_bucket: U16<LE>,
    keys: U16<LE>,
    _journal_buckets: [u8; 2048],
    bucket_size_hi: U16<LE>,
}

const _: () = assert!(std::mem::offset_of!(Disk, _journal_buckets) == KEYS_AT);

impl Bcache {
    /// `bytes` begin at [`BCACHE_AT`]. `None`: no bcache.
    pub(super) fn parse(bytes: &[u8], remarks: &mut Vec<Remark>) -> Option<Result<Self, Fault>> {
        let magic = bytes.get(MAGIC_AT..MAGIC_AT + MAGIC.len());
        (magic == Some(&MAGIC)).then(|| parse(bytes, remarks))
    }
}

/// As `read_super`, drivers/md/bcache/super.c.
fn parse(bytes: &[u8], remarks: &mut Vec<Remark>) -> Result<Bcache, Fault> {
    let disk: &Disk = FORMAT.layout(bytes)?;
    let version = disk.version.get();
    FORMAT.within("its own place in sectors", disk.offset.get(), 8..=8)?;
    let keys = FORMAT.within("journal buckets", disk.keys.get(), 0..=MOST_KEYS)?;
    let end = KEYS_AT + 8 * usize::from(keys);
    if CRC64.checksum(&bytes[8..end]) != disk.csum.get() {
        remarks.push(Remark::Checksum { format: FORMAT });
    }
    let role = match version {
        1 => BcacheRole::Backing {
            data_offset: DATA_OFFSET,
        },
        4 | 6 => BcacheRole::Backing {
            data_offset: Sectors(FORMAT.within(
                "data offset in sectors",
                disk.nbuckets.get(),
                DATA_OFFSET.0..=u64::MAX,
            )?),
        },
        0 | 3 | 5 => BcacheRole::Cache {
            bucket_size: bucket_size(disk, version)?,
            buckets: disk.nbuckets.get(),
            first_bucket: disk.first_bucket.get(),
        },
        _ => return Err(FORMAT.fault("version", Some(version), Why::Unknown)),
    };
    let block = FORMAT.power_of_two("block size in sectors", disk.block_size.get(), 1..=128)?;
    Ok(Bcache {
        version,
        uuid: Uuid::from_bytes(disk.uuid),
        set_uuid: Uuid::from_bytes(disk.set_uuid),
        block_size: Sectors(block.into()).bytes(),
        role,
    })
}

/// `get_bucket_size`, drivers/md/bcache/super.c.
fn bucket_size(disk: &Disk, version: u64) -> Result<Bytes, Fault> {
    let low = u32::from(disk.bucket_size.get());
    let features = if version == 5 {
        disk.feature_incompat.get()
    } else {
        0
    };
    let sectors = if features & INCOMPAT_BUCKET_LOG2 != 0 {
        1 << FORMAT.within("logarithm of the bucket size", low, 0..=30)?
    } else if features & INCOMPAT_BUCKET_HIGH != 0 {
        low | u32::from(disk.bucket_size_hi.get()) << 16
    } else {
        low
    };
    let sectors = FORMAT.power_of_two("bucket size in sectors", sectors, 8..=1 << 30)?;
    Ok(Sectors(sectors.into()).bytes())
}
