//! LUKS 1 and 2: cryptsetup's on-disk formats (docs/on-disk-format.pdf and
//! docs/on-disk-format-luks2.pdf there; `struct luks_phdr`,
//! `struct luks2_hdr_disk`). Big-endian; version 2 keeps JSON behind its head.
//!
//! Must not read, and must not keep a key slot, a digest or a salt: the structs
//! that JSON is read into have no place for them.

use std::{collections::BTreeMap, str::FromStr};

use ring::digest::{Context, SHA256};
use serde::{Deserialize, Serialize, de::IgnoredAny};
use uuid::Uuid;
use zerocopy::{
    FromBytes, Immutable, KnownLayout, Unaligned,
    byteorder::{BE, U16, U32, U64},
};

use super::fault::{Fault, Format, Remark, Why};
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

const FORMAT: Format = Format::Luks;
const MAGIC: &[u8] = b"LUKS\xba\xbe";
/// JSON begins behind the head of version 2.
const HEAD_BYTES: usize = 4096;
/// More are not believed; two of reencryption's states have three each.
const MOST_SEGMENTS: usize = 64;

/// What both versions begin with.
#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct DiskVersion {
    _magic: [u8; 6],
    version: U16<BE>,
}

#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Disk1 {
    _version: DiskVersion,
    _cipher_mode_hash: [u8; 96],
    payload_offset: U32<BE>,
    _key_bytes: U32<BE>,
    _digest_salt_iterations: [u8; 56],
    uuid: [u8; 40],
}

#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Disk2 {
    _version: DiskVersion,
    hdr_size: U64<BE>,
    _seqid: U64<BE>,
    _label: [u8; 48],
    csum_alg: [u8; 32],
    _salt: [u8; 64],
    uuid: [u8; 40],
    _subsystem: [u8; 48],
    hdr_offset: U64<BE>,
    _padding: [u8; 184],
    csum: [u8; CSUM_BYTES],
}

/// The longest of any algorithm.
const CSUM_BYTES: usize = 64;
const CSUM_AT: usize = std::mem::offset_of!(Disk2, csum);
const _: () = assert!(CSUM_AT == 448);

/// What is kept of JSON: serde passes over all that is not named here.
#[derive(Deserialize)]
struct Json {
    segments: BTreeMap<u32, JsonSegment>,
    config: JsonConfig,
}

#[derive(Deserialize)]
struct JsonConfig {
    keyslots_size: Option<String>,
}

#[derive(Deserialize)]
struct JsonSegment {
    #[serde(rename = "type")]
    kind: String,
    offset: String,
    size: String,
    sector_size: Option<u32>,
    integrity: Option<IgnoredAny>,
    #[serde(default)]
    flags: Vec<String>,
}

impl Luks {
    /// `head` begins with the device; `json` gives that many bytes from there
    /// where it is longer than `head`. `None`: no LUKS.
    pub(super) fn parse(
        head: &[u8],
        json: impl FnOnce(usize) -> Option<Vec<u8>>,
        remarks: &mut Vec<Remark>,
    ) -> Option<Result<Self, Fault>> {
        head.starts_with(MAGIC).then(|| {
            let version = FORMAT.layout::<DiskVersion>(head)?.version.get();
            match version {
                1 => parse_1(head).map(Self::V1),
                2 => parse_2(head, json, remarks).map(Self::V2),
                _ => Err(FORMAT.fault("version", Some(version.into()), Why::Unknown)),
            }
        })
    }
}

fn parse_1(head: &[u8]) -> Result<Luks1, Fault> {
    let disk: &Disk1 = FORMAT.layout(head)?;
    Ok(Luks1 {
        uuid: uuid(&disk.uuid),
        payload_offset: Sectors(disk.payload_offset.get().into()),
    })
}

fn parse_2(
    head: &[u8],
    json: impl FnOnce(usize) -> Option<Vec<u8>>,
    remarks: &mut Vec<Remark>,
) -> Result<Luks2, Fault> {
    let disk: &Disk2 = FORMAT.layout(head)?;
    FORMAT.within("its own place", disk.hdr_offset.get(), 0..=0)?;
    let size = disk.hdr_size.get();
    FORMAT.power_of_two("header size", size, 16 << 10..=4 << 20)?;
    let len = usize::try_from(size).unwrap_or(usize::MAX);
    let mut longer = Vec::new();
    let header = match head.get(..len) {
        Some(header) => header,
        None => {
            longer = json(len).ok_or_else(|| FORMAT.fault("JSON", None, Why::Truncated))?;
            &longer[..]
        }
    };
    if sum_matches(header, disk) == Some(false) {
        remarks.push(Remark::Checksum { format: FORMAT });
    }
    let parsed = parse_json(header.get(HEAD_BYTES..).unwrap_or_default());
    longer.fill(0);
    let (segments, keyslots_size) = parsed?;
    Ok(Luks2 {
        uuid: uuid(&disk.uuid),
        header_size: Bytes(size),
        keyslots_size,
        segments,
    })
}

/// Over head and JSON, the checksum itself taken for zeroes. `None`: another
/// algorithm.
fn sum_matches(header: &[u8], disk: &Disk2) -> Option<bool> {
    if text(&disk.csum_alg)? != "sha256" {
        return None;
    }
    let mut sum = Context::new(&SHA256);
    sum.update(header.get(..CSUM_AT)?);
    sum.update(&[0; CSUM_BYTES]);
    sum.update(header.get(CSUM_AT + CSUM_BYTES..)?);
    Some(disk.csum.starts_with(sum.finish().as_ref()))
}

/// Text that ends with a zero.
fn text(bytes: &[u8]) -> Option<&str> {
    let len = bytes.iter().position(|byte| *byte == 0)?;
    str::from_utf8(&bytes[..len]).ok()
}

fn uuid(bytes: &[u8]) -> Option<Uuid> {
    Uuid::from_str(text(bytes)?).ok()
}

fn parse_json(bytes: &[u8]) -> Result<(Vec<LuksSegment>, Option<Bytes>), Fault> {
    let malformed = || FORMAT.fault("JSON", None, Why::Malformed);
    // serde's words could quote what stands there.
    let json: Json = text(bytes)
        .and_then(|text| serde_json::from_str(text).ok())
        .ok_or_else(malformed)?;
    FORMAT.within(
        "number of segments",
        json.segments.len() as u64,
        0..=MOST_SEGMENTS as u64,
    )?;
    let segments: Result<_, Fault> = json.segments.iter().map(segment).collect();
    let keyslots = json.config.keyslots_size;
    let keyslots = keyslots
        .map(|size| number("key slots' size", &size))
        .transpose()?;
    Ok((segments?, keyslots))
}

/// JSON has no integers of 64 bits, so they are written as text.
fn number(field: &'static str, text: &str) -> Result<Bytes, Fault> {
    let number = text.parse().ok();
    number
        .map(Bytes)
        .ok_or_else(|| FORMAT.fault(field, None, Why::Malformed))
}

fn segment((id, json): (&u32, &JsonSegment)) -> Result<LuksSegment, Fault> {
    let encrypted = match json.kind.as_str() {
        "crypt" => true,
        "linear" => false,
        _ => return Err(FORMAT.fault("type of a segment", None, Why::Unknown)),
    };
    let offset = number("segment's offset", &json.offset)?;
    FORMAT.multiple("segment's offset", offset.0, 512)?;
    let size = match json.size.as_str() {
        "dynamic" => None,
        told => Some(number("segment's size", told)?),
    };
    let sector_size = match json.sector_size.filter(|_| encrypted) {
        Some(told) => Some(FORMAT.power_of_two("segment's sector size", told, 512..=4096)?),
        None => None,
    };
    Ok(LuksSegment {
        id: *id,
        encrypted,
        offset,
        size,
        sector_size: sector_size.map(|size| Bytes(size.into())),
        has_integrity: json.integrity.is_some(),
        is_backup: json.flags.iter().any(|flag| flag.starts_with("backup-")),
    })
}
