//! Metadata 1.0, 1.1 and 1.2: `struct mdp_superblock_1`,
//! include/uapi/linux/raid/md_p.h. Little-endian.
//!
//! Must not read.

use uuid::Uuid;
use zerocopy::{
    FromBytes, Immutable, KnownLayout, Unaligned,
    byteorder::{I32, LE, U16, U32, U64},
};

use super::{
    FORMAT, MAGIC, MdBitmap, MdMember, MdReshape, MdRole, MdVersion, chunk, level, resync,
};
use crate::{
    superblock::fault::{Fault, Remark},
    units::{Bytes, Sectors},
};

/// `MD_FEATURE_*`.
const BITMAP_OFFSET: u32 = 1;
const RESHAPE_ACTIVE: u32 = 4;
/// What is left for roles in 4 KiB, two bytes each.
const MOST_ROLES: u32 = 1920;

#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Disk {
    magic: U32<LE>,
    major_version: U32<LE>,
    feature_map: U32<LE>,
    _pad: U32<LE>,
    set_uuid: [u8; 16],
    _set_name: [u8; 32],
    _ctime: U64<LE>,
    level: I32<LE>,
    layout: U32<LE>,
    size: U64<LE>,
    chunksize: U32<LE>,
    raid_disks: U32<LE>,
    bitmap_offset: I32<LE>,
    new_level: I32<LE>,
    reshape_position: U64<LE>,
    delta_disks: I32<LE>,
    new_layout: U32<LE>,
    new_chunk: U32<LE>,
    _new_offset: U32<LE>,
    data_offset: U64<LE>,
    data_size: U64<LE>,
    super_offset: U64<LE>,
    _recovery_offset: U64<LE>,
    dev_number: U32<LE>,
    _corrected: U32<LE>,
    _device_uuid: [u8; 16],
    _flags_and_bad_blocks: [u8; 8],
    _utime: U64<LE>,
    events: U64<LE>,
    resync_offset: U64<LE>,
    sb_csum: U32<LE>,
    max_dev: U32<LE>,
    _pad3: [u8; 32],
}

const CSUM_AT: usize = 216;
const ROLES_AT: usize = 256;
const _: () = assert!(size_of::<Disk>() == ROLES_AT);
const _: () = assert!(std::mem::offset_of!(Disk, sb_csum) == CSUM_AT);

/// `bytes` lie where `version` would, `place` from the beginning. `None`: no
/// such superblock.
pub(in crate::superblock) fn parse(
    bytes: &[u8],
    version: MdVersion,
    place: Sectors,
    remarks: &mut Vec<Remark>,
) -> Option<Result<MdMember, Fault>> {
    let head = bytes.get(..8)?;
    let is_one = head[..4] == MAGIC.to_le_bytes() && head[4..] == 1_u32.to_le_bytes();
    // A disk ends where its last partition may end: that one's member, then.
    let is_another =
        version == MdVersion::V1_0 && told_place(bytes).is_some_and(|told| told != place);
    (is_one && !is_another).then(|| member(bytes, version, place, remarks))
}

fn told_place(bytes: &[u8]) -> Option<Sectors> {
    let (disk, _) = Disk::ref_from_prefix(bytes).ok()?;
    Some(Sectors(disk.super_offset.get()))
}

fn member(
    bytes: &[u8],
    version: MdVersion,
    place: Sectors,
    remarks: &mut Vec<Remark>,
) -> Result<MdMember, Fault> {
    let disk: &Disk = FORMAT.layout(bytes)?;
    FORMAT.within(
        "its own place in sectors",
        disk.super_offset.get(),
        place.0..=place.0,
    )?;
    let roles = FORMAT.within("number of roles", disk.max_dev.get(), 0..=MOST_ROLES)?;
    let roles = usize::try_from(roles).unwrap_or_default();
    let whole = bytes.get(..ROLES_AT + 2 * roles).unwrap_or(bytes);
    if sum(whole) != disk.sb_csum.get() {
        remarks.push(Remark::Checksum { format: FORMAT });
    }
    let level_number = level(disk.level.get())?;
    let chunk_size = chunk("chunk size", level_number, sectors(disk.chunksize))?;
    let raid_disks = FORMAT.within("number of disks", disk.raid_disks.get(), 1..=MOST_ROLES)?;
    let features = disk.feature_map.get();
    Ok(MdMember {
        version,
        array_uuid: Uuid::from_bytes(disk.set_uuid),
        level: level_number,
        layout: disk.layout.get(),
        chunk: chunk_size,
        raid_disks,
        used: Sectors(disk.size.get()),
        data_offset: Sectors(disk.data_offset.get()),
        data_size: Sectors(disk.data_size.get()),
        super_offset: place,
        bitmap: (features & BITMAP_OFFSET != 0).then(|| MdBitmap {
            offset_sectors: disk.bitmap_offset.get().into(),
            chunk: None,
        }),
        reshape: reshape(disk)?,
        role: role(bytes, roles, disk.dev_number.get()),
        resync_offset: resync(disk.resync_offset.get()),
        events: disk.events.get(),
        features,
    })
}

fn sectors(count: U32<LE>) -> Bytes {
    Sectors(count.get().into()).bytes()
}

fn reshape(disk: &Disk) -> Result<Option<MdReshape>, Fault> {
    if disk.feature_map.get() & RESHAPE_ACTIVE == 0 {
        return Ok(None);
    }
    let new_level = level(disk.new_level.get())?;
    Ok(Some(MdReshape {
        position: Sectors(disk.reshape_position.get()),
        delta_disks: disk.delta_disks.get(),
        new_level,
        new_layout: disk.new_layout.get(),
        new_chunk: chunk("new chunk size", new_level, sectors(disk.new_chunk))?,
    }))
}

/// `MD_DISK_ROLE_*`; a device beyond the list is a spare (`super_1_validate`,
/// drivers/md/md.c).
fn role(bytes: &[u8], roles: usize, device: u32) -> MdRole {
    let device = usize::try_from(device)
        .ok()
        .filter(|device| *device < roles);
    let told = device.and_then(|device| {
        let at = ROLES_AT + 2 * device;
        U16::<LE>::ref_from_prefix(bytes.get(at..)?).ok()
    });
    match told.map(|(role, _)| role.get()) {
        None | Some(0xffff) => MdRole::Spare,
        Some(0xfffd) => MdRole::Journal,
        Some(place) if place < 0xff00 => MdRole::Active(place),
        Some(_) => MdRole::Faulty,
    }
}

/// `calc_sb_1_csum`, drivers/md/md.c.
fn sum(whole: &[u8]) -> u32 {
    let words = whole.chunks(4).enumerate();
    let words = words.filter(|(index, _)| index * 4 != CSUM_AT);
    let word = |bytes: &[u8]| {
        let mut word = [0; 4];
        word[..bytes.len()].copy_from_slice(bytes);
        u64::from(u32::from_le_bytes(word))
    };
    super::fold(words.map(|(_, bytes)| word(bytes)).sum())
}
