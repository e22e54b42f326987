//! btrfs: `struct btrfs_super_block`, include/uapi/linux/btrfs_tree.h, 64 KiB
//! into the device. Little-endian.
//!
//! Must not read, nor follow any tree: of the profiles only the system chunks'
//! are in the superblock.

use serde::{Deserialize, Serialize};
use uuid::Uuid;
use zerocopy::{
    FromBytes, Immutable, KnownLayout, Unaligned,
    byteorder::{LE, U16, U32, U64},
};

use super::{
    check::crc32c,
    fault::{Fault, Format, Remark, Why},
};
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

const FORMAT: Format = Format::Btrfs;
/// `BTRFS_SUPER_INFO_OFFSET` and `_SIZE`.
pub(super) const BTRFS_AT: usize = 64 << 10;
pub(super) const BTRFS_BYTES: usize = 4096;
const MAGIC: &[u8] = b"_BHRfS_M";
const MAGIC_AT: usize = 64;
const CSUM_BYTES: usize = 32;
/// `BTRFS_CSUM_TYPE_CRC32`; others are not checked.
const CSUM_CRC32C: u16 = 0;
const SYSTEM_CHUNKS_BYTES: usize = 2048;
/// `BTRFS_CHUNK_ITEM_KEY`.
const CHUNK_ITEM_KEY: u8 = 228;

#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Disk {
    csum: [u8; CSUM_BYTES],
    fsid: [u8; 16],
    bytenr: U64<LE>,
    _flags_and_magic: [u8; 16],
    _generation_and_roots: [u8; 40],
    total_bytes: U64<LE>,
    _bytes_used_and_root_dir: [u8; 16],
    num_devices: U64<LE>,
    sectorsize: U32<LE>,
    nodesize: U32<LE>,
    _leafsize: U32<LE>,
    stripesize: U32<LE>,
    sys_chunk_array_size: U32<LE>,
    _chunk_root_generation: U64<LE>,
    _compat_flags: U64<LE>,
    compat_ro_flags: U64<LE>,
    incompat_flags: U64<LE>,
    csum_type: U16<LE>,
    _levels: [u8; 3],
    device: DiskDevice,
    _label_to_reserved: [u8; 512],
    sys_chunk_array: [u8; SYSTEM_CHUNKS_BYTES],
    _super_roots_and_padding: [u8; 1237],
}

const _: () = assert!(size_of::<Disk>() == BTRFS_BYTES);

/// `struct btrfs_dev_item`.
#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct DiskDevice {
    devid: U64<LE>,
    total_bytes: U64<LE>,
    _bytes_used: U64<LE>,
    _io_align_and_width: [u8; 8],
    sector_size: U32<LE>,
    _type_to_bandwidth: [u8; 30],
    uuid: [u8; 16],
    _fsid: [u8; 16],
}

const _: () = assert!(size_of::<DiskDevice>() == 98);

/// `struct btrfs_disk_key` and the fixed part of `struct btrfs_chunk`.
#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct DiskChunk {
    _objectid: U64<LE>,
    key_type: u8,
    _offset: U64<LE>,
    length: U64<LE>,
    _owner: U64<LE>,
    stripe_len: U64<LE>,
    flags: U64<LE>,
    _io: [u8; 12],
    num_stripes: U16<LE>,
    sub_stripes: U16<LE>,
}

/// `struct btrfs_stripe`.
#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct DiskStripe {
    devid: U64<LE>,
    offset: U64<LE>,
    _dev_uuid: [u8; 16],
}

impl Btrfs {
    /// `bytes` begin at [`BTRFS_AT`]. `None`: no btrfs.
    pub(super) fn parse(bytes: &[u8], remarks: &mut Vec<Remark>) -> Option<Result<Self, Fault>> {
        let magic = bytes.get(MAGIC_AT..MAGIC_AT + MAGIC.len());
        (magic == Some(MAGIC)).then(|| parse(bytes, remarks))
    }
}

fn parse(bytes: &[u8], remarks: &mut Vec<Remark>) -> Result<Btrfs, Fault> {
    let disk: &Disk = FORMAT.layout(bytes)?;
    let here = BTRFS_AT as u64;
    FORMAT.within("its own place", disk.bytenr.get(), here..=here)?;
    if disk.csum_type.get() == CSUM_CRC32C
        && disk.csum[..4] != crc32c(&[&bytes[CSUM_BYTES..BTRFS_BYTES]]).to_le_bytes()
    {
        remarks.push(Remark::Checksum { format: FORMAT });
    }
    let sector = FORMAT.power_of_two("sector size", disk.sectorsize.get(), 512..=65536)?;
    let node = FORMAT.power_of_two("node size", disk.nodesize.get(), sector..=65536)?;
    let devices = FORMAT.within("devices", disk.num_devices.get(), 1..=u64::MAX)?;
    let device = &disk.device;
    FORMAT.power_of_two(
        "device's sector size",
        device.sector_size.get(),
        512..=65536,
    )?;
    Ok(Btrfs {
        uuid: Uuid::from_bytes(disk.fsid),
        sector_size: Bytes(sector.into()),
        node_size: Bytes(node.into()),
        stripe_size: Bytes(disk.stripesize.get().into()),
        total: Bytes(disk.total_bytes.get()),
        devices,
        device: BtrfsDevice {
            id: device.devid.get(),
            uuid: Uuid::from_bytes(device.uuid),
            total: Bytes(device.total_bytes.get()),
            sector_size: Bytes(device.sector_size.get().into()),
        },
        read_only_compatible: disk.compat_ro_flags.get(),
        incompatible: disk.incompat_flags.get(),
        system_chunks: system_chunks(disk)?,
    })
}

/// The array is no longer than its place, and every chunk takes some of it.
fn system_chunks(disk: &Disk) -> Result<Vec<BtrfsChunk>, Fault> {
    let most = SYSTEM_CHUNKS_BYTES;
    let told = disk.sys_chunk_array_size.get();
    let len = usize::try_from(told).ok().filter(|len| *len <= most);
    let outside = Why::Outside {
        least: 0,
        most: most as u64,
    };
    let field = "length of the system chunks";
    let len = len.ok_or_else(|| FORMAT.fault(field, Some(told.into()), outside))?;
    let mut rest = &disk.sys_chunk_array[..len];
    let mut chunks = Vec::new();
    while !rest.is_empty() {
        let (chunk, behind) =
            system_chunk(rest).ok_or_else(|| FORMAT.fault("system chunk", None, Why::Malformed))?;
        chunks.push(chunk);
        rest = behind;
    }
    Ok(chunks)
}

fn system_chunk(bytes: &[u8]) -> Option<(BtrfsChunk, &[u8])> {
    let (chunk, behind) = DiskChunk::ref_from_prefix(bytes).ok()?;
    let count = usize::from(chunk.num_stripes.get());
    let (stripes, behind) = <[DiskStripe]>::ref_from_prefix_with_elems(behind, count).ok()?;
    let of = |stripe: &DiskStripe| (stripe.devid.get(), Bytes(stripe.offset.get()));
    let chunk = (chunk.key_type == CHUNK_ITEM_KEY).then(|| BtrfsChunk {
        flags: chunk.flags.get(),
        length: Bytes(chunk.length.get()),
        stripe_length: Bytes(chunk.stripe_len.get()),
        sub_stripes: chunk.sub_stripes.get(),
        stripes: stripes.iter().map(of).collect(),
    })?;
    Some((chunk, behind))
}
