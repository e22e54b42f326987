//! Partition tables: MBR (block/partitions/msdos.h) and GPT
//! (block/partitions/efi.h). Little-endian.
//!
//! Must not read. Logical partitions inside an extended one are not followed:
//! sysfs has their places, and the table is asked only for what it is and for
//! the types of the first four.

use serde::{Deserialize, Serialize};
use uuid::Uuid;
use zerocopy::{
    FromBytes, Immutable, KnownLayout, Unaligned,
    byteorder::{LE, U16, U32, U64},
};

use super::{
    check::crc32,
    fault::{Fault, Format, Remark, Why},
};
use crate::units::{Bytes, SECTOR_BYTES, Sectors};

/// A partition table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartitionTable {
    pub kind: TableKind,
    /// Used entries, in their order in the table.
    pub partitions: Vec<Partition>,
}

/// What kind of table it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TableKind {
    /// Of MBR's: its numbers are logical blocks of the device; 512 bytes are
    /// taken for one unless the reader was told another.
    Mbr { signature: u32 },
    Gpt {
        disk: Uuid,
        /// The logical block it was written with: its header lies in the second.
        block_size: Bytes,
        first_usable: Sectors,
        last_usable: Sectors,
    },
}

/// An entry of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Partition {
    /// As in the kernel's names, from 1.
    pub number: u32,
    pub start: Sectors,
    pub length: Sectors,
    pub kind: PartitionKind,
    /// GPT's name; empty elsewhere.
    pub name: String,
}

/// What an entry is said to be for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartitionKind {
    Mbr(u8),
    Gpt(Uuid),
}

const FORMAT: Format = Format::Partitions;
const MBR_BYTES: usize = 512;
const MBR_MAGIC: [u8; 2] = [0x55, 0xaa];
/// `EFI_PMBR_OSTYPE_EFI_GPT`.
const PROTECTIVE: u8 = 0xee;
const GPT_MAGIC: &[u8] = b"EFI PART";
/// All entries of a GPT together; usual are 16 KiB.
const MOST_ENTRIES_BYTES: u64 = 1 << 20;

#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct DiskMbr {
    _code: [u8; 440],
    signature: U32<LE>,
    _unused: [u8; 2],
    entries: [DiskMbrEntry; 4],
    magic: [u8; 2],
}

const _: () = assert!(size_of::<DiskMbr>() == MBR_BYTES);

/// `struct msdos_partition`.
#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct DiskMbrEntry {
    boot: u8,
    _chs: [u8; 3],
    kind: u8,
    _end_chs: [u8; 3],
    start: U32<LE>,
    size: U32<LE>,
}

/// `gpt_header`.
#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct DiskGpt {
    _signature: [u8; 8],
    _revision: U32<LE>,
    header_size: U32<LE>,
    header_crc: U32<LE>,
    _reserved: U32<LE>,
    my_lba: U64<LE>,
    _alternate_lba: U64<LE>,
    first_usable_lba: U64<LE>,
    last_usable_lba: U64<LE>,
    disk: [u8; 16],
    entry_lba: U64<LE>,
    entries: U32<LE>,
    entry_size: U32<LE>,
    entries_crc: U32<LE>,
}

const GPT_BYTES: usize = size_of::<DiskGpt>();
const GPT_CRC_AT: usize = std::mem::offset_of!(DiskGpt, header_crc);

/// `gpt_entry`.
#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct DiskGptEntry {
    kind: [u8; 16],
    _partition: [u8; 16],
    first_lba: U64<LE>,
    last_lba: U64<LE>,
    _attributes: U64<LE>,
    name: [U16<LE>; 36],
}

impl PartitionTable {
    /// `head` begins with the device, whose logical block is `block`; `piece`
    /// gives bytes of it. `None`: no table.
    pub(super) fn parse(
        head: &[u8],
        block: Bytes,
        piece: impl FnOnce(u64, usize) -> Option<Vec<u8>>,
        remarks: &mut Vec<Remark>,
    ) -> Option<Result<Self, Fault>> {
        let mbr = DiskMbr::ref_from_prefix(head).ok()?.0;
        if mbr.magic != MBR_MAGIC || is_boot_sector(head, mbr) {
            return None;
        }
        if mbr.entries.iter().any(|entry| entry.kind == PROTECTIVE) {
            return Some(gpt(head, block, piece, remarks));
        }
        Some(mbr_table(mbr, block))
    }
}

/// Of a file system (FAT, exFAT, NTFS), which has the same magic and code where
/// a table would be; as block/partitions/msdos.c tells them apart.
fn is_boot_sector(head: &[u8], mbr: &DiskMbr) -> bool {
    let named = |at: usize, name: &[u8]| head.get(at..).is_some_and(|at| at.starts_with(name));
    mbr.entries.iter().any(|entry| entry.boot & 0x7f != 0)
        || named(54, b"FAT")
        || named(82, b"FAT32")
        || named(3, b"NTFS")
        || named(3, b"EXFAT")
}

fn mbr_table(mbr: &DiskMbr, block: Bytes) -> Result<PartitionTable, Fault> {
    let used = |(_, entry): &(u32, &DiskMbrEntry)| entry.kind != 0 && entry.size.get() != 0;
    let partition = |(number, entry): (u32, &DiskMbrEntry)| Partition {
        number,
        start: sectors(entry.start.get().into(), block),
        length: sectors(entry.size.get().into(), block),
        kind: PartitionKind::Mbr(entry.kind),
        name: String::new(),
    };
    let entries = (1..).zip(&mbr.entries).filter(used);
    Ok(PartitionTable {
        kind: TableKind::Mbr {
            signature: mbr.signature.get(),
        },
        partitions: entries.map(partition).collect(),
    })
}

fn sectors(blocks: u64, block: Bytes) -> Sectors {
    Sectors(blocks.saturating_mul(block.0 / SECTOR_BYTES))
}

/// As `is_gpt_valid`, block/partitions/efi.c; the copy at the end is not read.
fn gpt(
    head: &[u8],
    block: Bytes,
    piece: impl FnOnce(u64, usize) -> Option<Vec<u8>>,
    remarks: &mut Vec<Remark>,
) -> Result<PartitionTable, Fault> {
    let (block, bytes) = gpt_block(head, block).ok_or_else(|| {
        FORMAT.fault("GPT header, which the MBR announces,", None, Why::Malformed)
    })?;
    let disk: &DiskGpt = FORMAT.layout(bytes)?;
    let size = FORMAT.within("GPT header size", disk.header_size.get(), 92..=512)?;
    let header = &bytes[..usize::try_from(size).unwrap_or(GPT_BYTES).min(bytes.len())];
    FORMAT.within("GPT header's own place", disk.my_lba.get(), 1..=1)?;
    let (first, last) = (disk.first_usable_lba.get(), disk.last_usable_lba.get());
    FORMAT.within("GPT's last usable block", last, first..=u64::MAX)?;
    let each = FORMAT.power_of_two("GPT entry size", disk.entry_size.get(), 128..=4096)?;
    let count = disk.entries.get();
    let most = MOST_ENTRIES_BYTES / u64::from(each);
    FORMAT.within("number of GPT entries", u64::from(count), 0..=most)?;
    let len = u64::from(count) * u64::from(each);
    let at = disk.entry_lba.get().saturating_mul(block.0);
    let entries = piece(at, usize::try_from(len).unwrap_or_default())
        .ok_or_else(|| FORMAT.fault("GPT entries", None, Why::Truncated))?;
    let behind = header.get(GPT_CRC_AT + 4..).unwrap_or_default();
    let header_crc = crc32(&[&header[..GPT_CRC_AT], &[0; 4], behind]);
    if header_crc != disk.header_crc.get() || crc32(&[&entries]) != disk.entries_crc.get() {
        remarks.push(Remark::Checksum { format: FORMAT });
    }
    Ok(PartitionTable {
        kind: TableKind::Gpt {
            disk: Uuid::from_bytes_le(disk.disk),
            block_size: block,
            first_usable: sectors(first, block),
            last_usable: sectors(last, block),
        },
        partitions: gpt_partitions(&entries, each, block)?,
    })
}

/// The header lies in the second block: of the device's length, or of the one
/// that the disk had where it was partitioned.
fn gpt_block(head: &[u8], block: Bytes) -> Option<(Bytes, &[u8])> {
    let at = |block: Bytes| {
        let bytes = head.get(usize::try_from(block.0).ok()?..)?;
        bytes.starts_with(GPT_MAGIC).then_some((block, bytes))
    };
    at(block)
        .or_else(|| at(Bytes(512)))
        .or_else(|| at(Bytes(4096)))
}

fn gpt_partitions(entries: &[u8], each: u32, block: Bytes) -> Result<Vec<Partition>, Fault> {
    let each = usize::try_from(each).unwrap_or(usize::MAX);
    let mut partitions = Vec::new();
    for (number, bytes) in (1..).zip(entries.chunks_exact(each)) {
        let entry: &DiskGptEntry = FORMAT.layout(bytes)?;
        if entry.kind == [0; 16] {
            continue;
        }
        let (first, last) = (entry.first_lba.get(), entry.last_lba.get());
        FORMAT.within("last block of a GPT entry", last, first..=u64::MAX - 1)?;
        let name = entry
            .name
            .iter()
            .map(|unit| unit.get())
            .take_while(|unit| *unit != 0);
        partitions.push(Partition {
            number,
            start: sectors(first, block),
            length: sectors(last - first + 1, block),
            kind: PartitionKind::Gpt(Uuid::from_bytes_le(entry.kind)),
            name: char::decode_utf16(name)
                .map(|char| char.unwrap_or(char::REPLACEMENT_CHARACTER))
                .collect(),
        });
    }
    Ok(partitions)
}
