//! Where md keeps its books on a component: superblock, bitmap, partial parity
//! log. sysfs names the last two; the superblock's place follows from the
//! metadata's version.
//!
//! Pure. Must not read a superblock.

use tracer_ebpf::origin::{Metadata, Region};

use super::device::{MdArray, MdBitmap, MdComponent};
use crate::units::{Bytes, SECTOR_BYTES, Sectors};

/// A superblock's room: a page (`sb_size` and `MD_SB_BYTES`, drivers/md/md.c).
const SUPERBLOCK_SECTORS: u64 = 8;
/// Before the bits (`bitmap_super_t`, drivers/md/md-bitmap.h).
const BITMAP_HEAD_BYTES: u64 = 256;
/// The bitmap is written in pages.
const PAGE_BYTES: u64 = 4096;

/// What is where on a component of `size`; positions from its start.
#[must_use]
pub fn books(
    md: &MdArray,
    component: &MdComponent,
    size: Sectors,
    array_size: Option<Sectors>,
) -> Vec<Region> {
    if component.books_only {
        return under_dm(size);
    }
    let mut books = Vec::new();
    let superblock = md
        .metadata_version
        .as_deref()
        .and_then(|version| superblock_sector(version, size));
    if let Some(start) = superblock {
        books.push(region(Metadata::Superblock, start, SUPERBLOCK_SECTORS));
        if let Some(bitmap) = &md.bitmap
            && let Some(start) = start.checked_add_signed(bitmap.location_sectors)
            && let Some(len) = bitmap_sectors(md, bitmap, component, array_size)
        {
            books.push(region(Metadata::Bitmap, start, len));
        }
    }
    if let Some((start, len)) = component.ppl {
        books.push(region(Metadata::Ppl, start.0, len.0));
    }
    books
}

const fn region(what: Metadata, start_sector: u64, len_sectors: u64) -> Region {
    Region {
        start_sector,
        len_sectors,
        what: what as u32,
        _pad: 0,
    }
}

/// A device that holds nothing but books (`super_load` and
/// `parse_raid_params`, drivers/md/dm-raid.c): a superblock in its first 4 KiB,
/// then the bitmap.
fn under_dm(size: Sectors) -> Vec<Region> {
    let rest = size.0.saturating_sub(SUPERBLOCK_SECTORS);
    vec![
        region(Metadata::Superblock, 0, SUPERBLOCK_SECTORS),
        region(Metadata::Bitmap, SUPERBLOCK_SECTORS, rest),
    ]
}

/// `super_90_load`, `super_1_load`, drivers/md/md.c.
fn superblock_sector(version: &str, size: Sectors) -> Option<u64> {
    match version {
        "0.90" => (size.0 & !127).checked_sub(128),
        "1.0" => Some(size.0.checked_sub(16)? & !7),
        "1.1" => Some(0),
        "1.2" => Some(8),
        _ => None,
    }
}

/// `md_bitmap_create`, drivers/md/md-bitmap.c: a bit a chunk of what is
/// synchronized: a component, of raid10 the array.
fn bitmap_sectors(
    md: &MdArray,
    bitmap: &MdBitmap,
    component: &MdComponent,
    array_size: Option<Sectors>,
) -> Option<u64> {
    let synced = if md.level == "raid10" {
        array_size?.bytes()
    } else {
        component.data_size?
    };
    let Bytes(chunk) = bitmap.chunk;
    let bits = (chunk != 0).then(|| synced.0.div_ceil(chunk))?;
    let bytes = BITMAP_HEAD_BYTES.checked_add(bits.div_ceil(8))?;
    Some(bytes.checked_next_multiple_of(PAGE_BYTES)? / SECTOR_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn books_of(version: &str, bitmap: Option<MdBitmap>) -> Vec<(u32, u64, u64)> {
        let md = MdArray {
            level: "raid6".to_owned(),
            metadata_version: Some(version.to_owned()),
            bitmap,
            ..MdArray::default()
        };
        let component = MdComponent {
            data_size: Some(Bytes(64 << 20)),
            ppl: (version == "1.1").then_some((Sectors(264), Sectors(2040))),
            ..MdComponent::default()
        };
        let found = books(&md, &component, Sectors(131_070), None);
        found
            .into_iter()
            .map(|region| (region.what, region.start_sector, region.len_sectors))
            .collect()
    }

    #[test]
    fn every_version() {
        let bitmap = MdBitmap {
            location_sectors: 8,
            chunk: Bytes(4096),
        };
        let (sb, bits, ppl) = (1, 2, 4);
        // 16384 bits are 2048 bytes, with the head less than a page.
        assert_eq!(books_of("1.2", Some(bitmap)), [(sb, 8, 8), (bits, 16, 8)]);
        assert_eq!(books_of("1.1", None), [(sb, 0, 8), (ppl, 264, 2040)]);
        let before = MdBitmap {
            location_sectors: -16,
            ..bitmap
        };
        assert_eq!(
            books_of("1.0", Some(before)),
            [(sb, 131_048, 8), (bits, 131_032, 8)]
        );
        assert_eq!(books_of("0.90", None), [(sb, 130_816, 8)]);
        assert_eq!(books_of("external:imsm", Some(bitmap)), []);
    }

    #[test]
    fn a_device_of_their_own() {
        let component = MdComponent {
            books_only: true,
            ..MdComponent::default()
        };
        let found = books(&MdArray::default(), &component, Sectors(8192), None);
        assert_eq!(
            found,
            [
                region(Metadata::Superblock, 0, 8),
                region(Metadata::Bitmap, 8, 8184)
            ]
        );
    }
}
