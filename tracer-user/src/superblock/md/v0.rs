//! Metadata 0.90: `mdp_super_t`, include/uapi/linux/raid/md_p.h. In the byte
//! order of the machine that made it.
//!
//! Must not read.

use uuid::Uuid;

use super::{
    FORMAT, MAGIC, MdBitmap, MdMember, MdReshape, MdRole, MdVersion, chunk, level, resync,
};
use crate::{
    superblock::fault::{Fault, Remark, Why},
    units::{Bytes, Sectors},
};

/// `MD_SB_BYTES`.
const BYTES: usize = 4096;
/// `MD_SB_BITMAP_PRESENT`, and where the bitmap then lies (`super_90_validate`,
/// drivers/md/md.c).
const BITMAP_PRESENT: u32 = 1 << 8;
const BITMAP_SECTORS: i64 = 8;
/// `MD_SB_CLEAN`.
const CLEAN: u32 = 1;
/// `MD_DISK_FAULTY`, `_ACTIVE` and `_SYNC`.
const FAULTY: u32 = 1;
const ACTIVE_AND_SYNC: u32 = 6;
/// `MD_SB_DISKS`.
const MOST_DISKS: u32 = 27;

/// Numbers of 32-bit words (the comments in md_p.h count them from each
/// section's beginning: 0, 32, 64, and 992 for this disk).
mod word {
    pub(super) const MINOR_VERSION: usize = 2;
    pub(super) const SET_UUID: [usize; 4] = [5, 13, 14, 15];
    pub(super) const LEVEL: usize = 7;
    pub(super) const SIZE: usize = 8;
    pub(super) const RAID_DISKS: usize = 10;
    pub(super) const STATE: usize = 33;
    pub(super) const CSUM: usize = 38;
    pub(super) const EVENTS: usize = 39;
    pub(super) const RECOVERY_CP: usize = 43;
    pub(super) const RESHAPE_POSITION: usize = 44;
    pub(super) const NEW_LEVEL: usize = 46;
    pub(super) const DELTA_DISKS: usize = 47;
    pub(super) const NEW_LAYOUT: usize = 48;
    pub(super) const NEW_CHUNK: usize = 49;
    pub(super) const LAYOUT: usize = 64;
    pub(super) const CHUNK_SIZE: usize = 65;
    pub(super) const THIS_RAID_DISK: usize = 995;
    pub(super) const THIS_STATE: usize = 996;
}

/// The words of a superblock in its byte order.
struct Words<'a> {
    bytes: &'a [u8],
    is_big: bool,
}

impl Words<'_> {
    fn get(&self, index: usize) -> u32 {
        let at = index * 4;
        let word = self.bytes.get(at..at + 4);
        let word = word
            .and_then(|word| word.try_into().ok())
            .unwrap_or_default();
        match self.is_big {
            true => u32::from_be_bytes(word),
            false => u32::from_le_bytes(word),
        }
    }

    fn signed(&self, index: usize) -> i32 {
        self.get(index).cast_signed()
    }

    /// A number of 64 bits in two words, as the machine's order has it.
    fn double(&self, index: usize) -> u64 {
        let (first, second) = (self.get(index), self.get(index + 1));
        let (high, low) = if self.is_big {
            (first, second)
        } else {
            (second, first)
        };
        u64::from(high) << 32 | u64::from(low)
    }
}

/// `bytes` lie `place` from the member's beginning. `None`: no such superblock.
pub(in crate::superblock) fn parse(
    bytes: &[u8],
    place: Sectors,
    remarks: &mut Vec<Remark>,
) -> Option<Result<MdMember, Fault>> {
    let head = bytes.get(..8)?;
    let (is_big, major) = match &head[..4] {
        magic if magic == MAGIC.to_le_bytes() => (false, 0_u32.to_le_bytes()),
        magic if magic == MAGIC.to_be_bytes() => (true, 0_u32.to_be_bytes()),
        _ => return None,
    };
    let words = Words { bytes, is_big };
    (head[4..] == major).then(|| member(&words, place, remarks))
}

fn member(words: &Words<'_>, place: Sectors, remarks: &mut Vec<Remark>) -> Result<MdMember, Fault> {
    if words.bytes.len() < BYTES {
        return Err(FORMAT.fault("length", Some(words.bytes.len() as u64), Why::Truncated));
    }
    let minor = FORMAT.within("minor version", words.get(word::MINOR_VERSION), 90..=91)?;
    let numbers = (0..BYTES / 4).filter(|index| *index != word::CSUM);
    let sum = numbers.map(|index| u64::from(words.get(index))).sum();
    if super::fold(sum) != words.get(word::CSUM) {
        remarks.push(Remark::Checksum { format: FORMAT });
    }
    let level_number = level(words.signed(word::LEVEL))?;
    let chunk_size = Bytes(words.get(word::CHUNK_SIZE).into());
    let state = words.get(word::STATE);
    let disks = words.get(word::RAID_DISKS);
    Ok(MdMember {
        version: MdVersion::V0_90,
        array_uuid: uuid(words),
        level: level_number,
        layout: words.get(word::LAYOUT),
        chunk: chunk("chunk size", level_number, chunk_size)?,
        raid_disks: FORMAT.within("number of disks", disks, 1..=MOST_DISKS)?,
        used: Sectors(u64::from(words.get(word::SIZE)) * 2),
        data_offset: Sectors(0),
        data_size: place,
        super_offset: place,
        bitmap: (state & BITMAP_PRESENT != 0).then_some(MdBitmap {
            offset_sectors: BITMAP_SECTORS,
            chunk: None,
        }),
        reshape: reshape(words, minor)?,
        role: role(words),
        resync_offset: match state & CLEAN {
            0 => resync(words.get(word::RECOVERY_CP).into()),
            _ => None,
        },
        events: words.double(word::EVENTS),
        features: 0,
    })
}

/// mdadm shows the words one after the other.
fn uuid(words: &Words<'_>) -> Uuid {
    let mut bytes = [0; 16];
    for (part, index) in bytes.chunks_exact_mut(4).zip(word::SET_UUID) {
        part.copy_from_slice(&words.get(index).to_be_bytes());
    }
    Uuid::from_bytes(bytes)
}

fn reshape(words: &Words<'_>, minor: u32) -> Result<Option<MdReshape>, Fault> {
    if minor < 91 {
        return Ok(None);
    }
    let new_level = level(words.signed(word::NEW_LEVEL))?;
    let new_chunk = Bytes(words.get(word::NEW_CHUNK).into());
    Ok(Some(MdReshape {
        position: Sectors(words.double(word::RESHAPE_POSITION)),
        delta_disks: words.signed(word::DELTA_DISKS),
        new_level,
        new_layout: words.get(word::NEW_LAYOUT),
        new_chunk: chunk("new chunk size", new_level, new_chunk)?,
    }))
}

fn role(words: &Words<'_>) -> MdRole {
    let state = words.get(word::THIS_STATE);
    let place = u16::try_from(words.get(word::THIS_RAID_DISK));
    match place {
        _ if state & FAULTY != 0 => MdRole::Faulty,
        Ok(place) if state & ACTIVE_AND_SYNC != 0 => MdRole::Active(place),
        _ => MdRole::Spare,
    }
}
