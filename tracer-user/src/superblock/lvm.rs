//! LVM2's physical volumes: `struct label_header`, `struct pv_header` and
//! `struct mda_header` of lvm2 (lib/label/label.h, lib/format_text/layout.h).
//! Little-endian; what a group looks like is text in a metadata area.
//!
//! Must not read.

use crc::{Algorithm, CRC_32_ISO_HDLC, Crc};
use serde::{Deserialize, Serialize};
use zerocopy::{
    FromBytes, Immutable, KnownLayout, Unaligned,
    byteorder::{LE, U32, U64},
};

use super::{
    fault::{Fault, Format, Remark, Why},
    lvm_text,
};
use crate::units::{Bytes, Sectors};

/// What the label of a physical volume says, and its group's text where there
/// is one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LvmPv {
    /// 32 letters and digits, as pvs shows them but for the dashes.
    pub uuid: String,
    /// Where the label lies: 0 to 3.
    pub label_sector: Sectors,
    pub device_size: Bytes,
    /// Where physical extents may lie; the first begins at `pe_start` of a
    /// volume that is in no group yet.
    pub data_areas: Vec<LvmArea>,
    /// Where text is kept.
    pub metadata_areas: Vec<LvmArea>,
    /// `None`: in no group, or its text could not be read (then a remark says
    /// so), or it keeps none on this volume.
    pub group: Option<LvmGroup>,
}

impl LvmPv {
    /// Where the first extent begins: as the group has it, else as the label.
    #[must_use]
    pub fn pe_start(&self) -> Option<Bytes> {
        let told = self.group.as_ref().and_then(|group| group.pe_start);
        told.map(Sectors::bytes)
            .or_else(|| self.data_areas.first().map(|area| area.start))
    }
}

/// A piece of a physical volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LvmArea {
    pub start: Bytes,
    /// `None`: to the end of the device.
    pub size: Option<Bytes>,
}

/// What the text says of the group and of this volume in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LvmGroup {
    pub name: String,
    /// How often the text was changed.
    pub sequence: u64,
    pub extent_size: Sectors,
    /// Of this volume.
    pub pe_start: Option<Sectors>,
    /// Extents of this volume.
    pub pe_count: Option<u64>,
}

const FORMAT: Format = Format::Lvm;
const SECTOR: usize = 512;
/// `LABEL_SCAN_SECTORS`.
const LABEL_SECTORS: usize = 4;
const MAGIC: &[u8] = b"LABELONE";
const TYPE: [u8; 8] = *b"LVM2 001";
const AREA_MAGIC: [u8; 16] = *b" LVM2 x[5A%r0N*>";
/// More areas are not believed.
const MOST_AREAS: usize = 16;
/// Longer text is not read.
const MOST_TEXT_BYTES: u64 = 1 << 20;
/// `INITIAL_CRC` of lib/misc/crc.h: zlib's crc32 with another beginning and no
/// inversion at the end.
static LVM_CRC: Algorithm<u32> = Algorithm {
    init: 0xf597_a6cf_u32.reverse_bits(),
    xorout: 0,
    ..CRC_32_ISO_HDLC
};
pub(super) const CRC: Crc<u32> = Crc::<u32>::new(&LVM_CRC);

/// `struct label_header`.
#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct DiskLabel {
    _id: [u8; 8],
    sector: U64<LE>,
    crc: U32<LE>,
    offset: U32<LE>,
    kind: [u8; 8],
}

/// Where the sum of a label begins.
const LABEL_CRC_FROM: usize = 20;

/// `struct pv_header` without its lists.
#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct DiskPv {
    uuid: [u8; 32],
    device_size: U64<LE>,
}

/// `struct disk_locn`.
#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct DiskArea {
    offset: U64<LE>,
    size: U64<LE>,
}

/// `struct mda_header`.
#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct DiskMetadata {
    checksum: U32<LE>,
    magic: [u8; 16],
    _version: U32<LE>,
    _start: U64<LE>,
    size: U64<LE>,
    /// `struct raw_locn`: the text that is committed comes first.
    text_offset: U64<LE>,
    text_size: U64<LE>,
    text_checksum: U32<LE>,
    _flags: U32<LE>,
}

impl LvmPv {
    /// `head` begins with the device; `piece` gives bytes of it. `None`: no
    /// label.
    pub(super) fn parse(
        head: &[u8],
        piece: impl Fn(u64, usize) -> Option<Vec<u8>>,
        remarks: &mut Vec<Remark>,
    ) -> Option<Result<Self, Fault>> {
        let (sector, label) = (0..)
            .zip(head.chunks_exact(SECTOR).take(LABEL_SECTORS))
            .find(|(_, bytes)| bytes.starts_with(MAGIC))?;
        Some(parse(sector, label, piece, remarks))
    }
}

fn parse(
    sector: u64,
    label: &[u8],
    piece: impl Fn(u64, usize) -> Option<Vec<u8>>,
    remarks: &mut Vec<Remark>,
) -> Result<LvmPv, Fault> {
    let disk: &DiskLabel = FORMAT.layout(label)?;
    if disk.kind != TYPE {
        return Err(FORMAT.fault("type", None, Why::Unknown));
    }
    FORMAT.within("its own sector", disk.sector.get(), sector..=sector)?;
    if CRC.checksum(&label[LABEL_CRC_FROM..]) != disk.crc.get() {
        remarks.push(Remark::Checksum { format: FORMAT });
    }
    let offset = FORMAT.within("offset of the header", disk.offset.get(), 32..=472)?;
    let bytes = &label[usize::try_from(offset).unwrap_or(SECTOR)..];
    let header: &DiskPv = FORMAT.layout(bytes)?;
    let uuid = str::from_utf8(&header.uuid).ok();
    let uuid = uuid.filter(|uuid| uuid.bytes().all(|byte| byte.is_ascii_graphic()));
    let uuid = uuid.ok_or_else(|| FORMAT.fault("uuid", None, Why::Malformed))?;
    let mut lists = &bytes[size_of::<DiskPv>()..];
    let data_areas = areas(&mut lists)?;
    let metadata_areas = areas(&mut lists)?;
    let texts = metadata_areas.iter().filter(|area| area.start.0 > 0);
    let group = texts
        .map(|area| group(*area, uuid, &piece))
        .find(|found| !matches!(found, Ok(None)))
        .unwrap_or(Ok(None));
    let group = group.unwrap_or_else(|part| {
        let format = FORMAT;
        let part = part.into();
        remarks.push(Remark::Unread { format, part });
        None
    });
    Ok(LvmPv {
        uuid: uuid.to_owned(),
        label_sector: Sectors(sector),
        device_size: Bytes(header.device_size.get()),
        data_areas,
        metadata_areas,
        group,
    })
}

/// A list that ends with an empty area.
fn areas(bytes: &mut &[u8]) -> Result<Vec<LvmArea>, Fault> {
    let mut areas = Vec::new();
    loop {
        let (area, rest) = DiskArea::ref_from_prefix(bytes)
            .ok()
            .ok_or_else(|| FORMAT.fault("list of areas", None, Why::Truncated))?;
        *bytes = rest;
        let (start, size) = (area.offset.get(), area.size.get());
        if start == 0 {
            return Ok(areas);
        }
        FORMAT.within(
            "number of areas",
            areas.len() as u64 + 1,
            1..=MOST_AREAS as u64,
        )?;
        areas.push(LvmArea {
            start: Bytes(start),
            size: (size > 0).then_some(Bytes(size)),
        });
    }
}

/// The text in a metadata area, `Ok(None)` where there is none. Otherwise what
/// could not be read.
fn group(
    area: LvmArea,
    uuid: &str,
    piece: &impl Fn(u64, usize) -> Option<Vec<u8>>,
) -> Result<Option<LvmGroup>, &'static str> {
    let header = piece(area.start.0, SECTOR).ok_or("a metadata area")?;
    let disk: &DiskMetadata = FORMAT.layout(&header).ok().ok_or("a metadata area")?;
    if disk.magic != AREA_MAGIC || CRC.checksum(&header[4..]) != disk.checksum.get() {
        return Err("the head of a metadata area");
    }
    if disk.text_offset.get() == 0 {
        return Ok(None);
    }
    let text = text(area, disk, piece).ok_or("the text of a metadata area")?;
    if CRC.checksum(&text) != disk.text_checksum.get() {
        return Err("the text of a metadata area");
    }
    let group = lvm_text::group(&text, uuid).ok_or("the text of a metadata area")?;
    Ok(Some(group))
}

/// The area is a ring behind its header: text may begin near its end and go on
/// at its beginning.
fn text(
    area: LvmArea,
    disk: &DiskMetadata,
    piece: &impl Fn(u64, usize) -> Option<Vec<u8>>,
) -> Option<Vec<u8>> {
    let (offset, size) = (disk.text_offset.get(), disk.text_size.get());
    let end = disk.size.get();
    if size > MOST_TEXT_BYTES || offset < SECTOR as u64 || offset >= end {
        return None;
    }
    let first = size.min(end - offset);
    let mut text = piece(
        area.start.0.checked_add(offset)?,
        usize::try_from(first).ok()?,
    )?;
    if size > first {
        let begin = area.start.0.checked_add(SECTOR as u64)?;
        text.extend(piece(begin, usize::try_from(size - first).ok()?)?);
    }
    Some(text)
}
