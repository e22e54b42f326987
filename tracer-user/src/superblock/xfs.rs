//! XFS: `struct xfs_dsb`, fs/xfs/libxfs/xfs_format.h. Big-endian.
//!
//! Must not read; block counts become bytes here.

use serde::{Deserialize, Serialize};
use uuid::Uuid;
use zerocopy::{
    FromBytes, Immutable, KnownLayout, Unaligned,
    byteorder::{BE, LE, U16, U32, U64},
};

use super::{
    check::crc32c,
    fault::{Fault, Format, Remark},
};
use crate::units::Bytes;

/// What an XFS superblock says of its geometry.
///
/// Other `sunit` and `swidth` given at a mount are in effect at once, but reach
/// the superblock only when its log is written out (a freeze, the unmount), and
/// only where the root inode may stay in its place (`xfs_check_new_dalign`,
/// fs/xfs/xfs_mount.c); else they hold for that mount. What is mounted is to be
/// asked of its options.
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

const MAGIC: &[u8] = b"XFSB";
const FORMAT: Format = Format::Xfs;
/// `XFS_SB_VERSION_NUMBITS`, `_DALIGNBIT`, `_LOGV2BIT` and `_SECTORBIT`.
const VERSION_MASK: u16 = 0xf;
const VERSION_STRIPE: u16 = 0x100;
const VERSION_LOG_V2: u16 = 0x400;
const VERSION_SECTOR: u16 = 0x800;
/// `XFS_MIN_AG_BLOCKS`.
const LEAST_AG_BLOCKS: u32 = 64;

#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Disk {
    _magic: [u8; 4],
    blocksize: U32<BE>,
    dblocks: U64<BE>,
    rblocks: U64<BE>,
    _rextents: U64<BE>,
    uuid: [u8; 16],
    logstart: U64<BE>,
    _root_inodes: [u8; 24],
    rextsize: U32<BE>,
    agblocks: U32<BE>,
    agcount: U32<BE>,
    _rbmblocks: U32<BE>,
    logblocks: U32<BE>,
    versionnum: U16<BE>,
    sectsize: U16<BE>,
    inodesize: U16<BE>,
    _inopblock: U16<BE>,
    _fname: [u8; 12],
    blocklog: u8,
    _logs: [u8; 3],
    agblklog: u8,
    _rextslog: u8,
    inprogress: u8,
    _counts_quotas_flags: [u8; 53],
    _inoalignmt: U32<BE>,
    unit: U32<BE>,
    width: U32<BE>,
    _dirblklog: u8,
    _logsectlog: u8,
    logsectsize: U16<BE>,
    logsunit: U32<BE>,
    features2: U32<BE>,
    _bad_features2: U32<BE>,
    features_compat: U32<BE>,
    features_ro_compat: U32<BE>,
    features_incompat: U32<BE>,
    _features_log_incompat: U32<BE>,
    crc: U32<LE>,
}

const CRC_AT: usize = 224;
const _: () = assert!(size_of::<Disk>() == CRC_AT + 4);

impl Xfs {
    /// A mount may give another stripe. Without the feature, which mkfs sets
    /// where it knows one, the mount is refused (`xfs_update_alignment`,
    /// fs/xfs/xfs_mount.c).
    #[must_use]
    pub const fn takes_stripe(&self) -> bool {
        self.features.version & VERSION_STRIPE != 0
    }

    /// `head` begins with the device. `None`: no XFS.
    pub(super) fn parse(head: &[u8], remarks: &mut Vec<Remark>) -> Option<Result<Self, Fault>> {
        head.starts_with(MAGIC).then(|| parse(head, remarks))
    }
}

fn parse(head: &[u8], remarks: &mut Vec<Remark>) -> Result<Xfs, Fault> {
    let disk: &Disk = FORMAT.layout(head)?;
    let word = disk.versionnum.get();
    let version = u8::try_from(word & VERSION_MASK).unwrap_or_default();
    FORMAT.within("version", version, 4..=5)?;
    FORMAT.within("mkfs in progress", disk.inprogress, 0..=0)?;
    let block = FORMAT.power_of_two("block size", disk.blocksize.get(), 512..=65536)?;
    let log2 = u8::try_from(block.trailing_zeros()).unwrap_or_default();
    FORMAT.within("logarithm of the block size", disk.blocklog, log2..=log2)?;
    let sector = FORMAT.power_of_two("sector size", disk.sectsize.get(), 512..=32768)?;
    let inode = FORMAT.power_of_two("inode size", disk.inodesize.get(), 256..=2048)?;
    if version == 5 && !crc_matches(head, usize::from(sector), disk.crc.get()) {
        remarks.push(Remark::Checksum { format: FORMAT });
    }
    groups(disk)?;
    let (unit, width) = stripe(disk)?;
    Ok(Xfs {
        version,
        uuid: Uuid::from_bytes(disk.uuid),
        block_size: Bytes(block.into()),
        sector_size: Bytes(sector.into()),
        inode_size: Bytes(inode.into()),
        data_blocks: disk.dblocks.get(),
        ag_blocks: disk.agblocks.get(),
        ag_count: disk.agcount.get(),
        stripe_unit: unit,
        stripe_width: width,
        log: log(disk, version)?,
        realtime: (disk.rblocks.get() > 0).then(|| XfsRealtime {
            extent_size: blocks(disk, disk.rextsize.get()),
            blocks: disk.rblocks.get(),
        }),
        features: features(disk, version),
    })
}

/// `xfs_validate_sb_common`, fs/xfs/libxfs/xfs_sb.c.
fn groups(disk: &Disk) -> Result<(), Fault> {
    let count = FORMAT.within("allocation groups", disk.agcount.get(), 1..=u32::MAX)?;
    let each = FORMAT.within(
        "allocation group blocks",
        disk.agblocks.get(),
        LEAST_AG_BLOCKS..=1 << 31,
    )?;
    let most = u64::from(count).saturating_mul(each.into());
    let least = u64::from(count - 1).saturating_mul(each.into());
    FORMAT.within("data blocks", disk.dblocks.get(), least + 1..=most)?;
    let log2 = u8::try_from(each.next_power_of_two().trailing_zeros()).unwrap_or_default();
    FORMAT.within(
        "logarithm of the allocation group blocks",
        disk.agblklog,
        log2..=log2,
    )?;
    Ok(())
}

/// `xfs_validate_stripe_geometry`, fs/xfs/libxfs/xfs_sb.c.
fn stripe(disk: &Disk) -> Result<(Option<Bytes>, Option<Bytes>), Fault> {
    let (unit, width) = (disk.unit.get(), disk.width.get());
    if unit == 0 {
        FORMAT.within("stripe width in blocks, without a unit,", width, 0..=0)?;
        return Ok((None, None));
    }
    FORMAT.within("stripe width in blocks", width, unit..=u32::MAX)?;
    FORMAT.multiple("stripe width in blocks", width.into(), unit.into())?;
    Ok((Some(blocks(disk, unit)), Some(blocks(disk, width))))
}

fn log(disk: &Disk, version: u8) -> Result<XfsLog, Fault> {
    let word = disk.versionnum.get();
    let is_v2 = version == 5 || word & VERSION_LOG_V2 != 0;
    let sector = match word & VERSION_SECTOR {
        0 => 512,
        _ => FORMAT.power_of_two("log sector size", disk.logsectsize.get(), 512..=32768)?,
    };
    let unit = if is_v2 { disk.logsunit.get() } else { 0 };
    Ok(XfsLog {
        place: log_place(disk)?,
        blocks: disk.logblocks.get(),
        version: if is_v2 { 2 } else { 1 },
        sector_size: Bytes(sector.into()),
        stripe_unit: (unit > 1).then_some(Bytes(unit.into())),
    })
}

/// A block's number holds its group's in the high bits (`XFS_FSB_TO_AGNO`).
fn log_place(disk: &Disk) -> Result<XfsLogPlace, Fault> {
    let start = disk.logstart.get();
    if start == 0 {
        return Ok(XfsLogPlace::External);
    }
    let group = start >> disk.agblklog;
    let inside = start & ((1 << disk.agblklog) - 1);
    let last = u64::from(disk.agcount.get() - 1);
    FORMAT.within("allocation group of the log", group, 0..=last)?;
    let end = u64::from(disk.agblocks.get() - 1);
    FORMAT.within("block of the log in its group", inside, 0..=end)?;
    let block = group * u64::from(disk.agblocks.get()) + inside;
    Ok(XfsLogPlace::Internal(Bytes(
        block.saturating_mul(disk.blocksize.get().into()),
    )))
}

fn features(disk: &Disk, version: u8) -> XfsFeatures {
    let v5 = |word: U32<BE>| if version == 5 { word.get() } else { 0 };
    XfsFeatures {
        version: disk.versionnum.get(),
        second: disk.features2.get(),
        compatible: v5(disk.features_compat),
        read_only_compatible: v5(disk.features_ro_compat),
        incompatible: v5(disk.features_incompat),
    }
}

fn blocks(disk: &Disk, count: u32) -> Bytes {
    Bytes(u64::from(count) * u64::from(disk.blocksize.get()))
}

/// Over the whole sector, the checksum itself taken for zeroes.
fn crc_matches(head: &[u8], sector: usize, told: u32) -> bool {
    let Some(sector) = head.get(..sector) else {
        return false;
    };
    crc32c(&[&sector[..CRC_AT], &[0; 4], &sector[CRC_AT + 4..]]) == told
}
