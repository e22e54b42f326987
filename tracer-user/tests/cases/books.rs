//! md's own books, and its checks: apart from what users made it read and
//! write.

use iotrace::{
    delta::{RaidFigures, Ratios},
    report::explain::{self, findings},
    snapshot::{OriginKey, Origins, RowKey, Snapshot},
    sysfs::md_books,
    units::Sectors,
};
use tracer_ebpf::origin::{
    Metadata, Origin,
    abi::{CELLS, origin_cell},
};

use super::{Blocks, Case, page_cache::figures};

const KIB: u64 = 1 << 10;

/// Bios of one reason on every member, as the programs count them: how many of
/// how many bytes, and how many of them are misaligned.
type Counted = (Origin, u64, u64, u64);

/// Gives each member of an array these bios.
fn origins(case: &Case, array: &str, counted: &[Counted]) -> Origins {
    let device = case.device(array);
    let key = |device: &iotrace::sysfs::device::Device| RowKey {
        device: device.id,
        name: device.name.clone(),
    };
    let mut cells = Box::new([0; CELLS]);
    for (origin, bios, bytes, misaligned) in counted {
        let cell = origin_cell(*origin);
        cells[cell] = *bios;
        cells[cell + 1] = bios * bytes;
        cells[cell + 2] = *misaligned;
    }
    let components = device.members.iter().map(|id| OriginKey {
        array: key(device),
        component: key(&case.topology.devices[id]),
    });
    Origins {
        components: components.map(|key| (key, cells.clone())).collect(),
        rows: true,
    }
}

fn raid(case: &Case, array: &str, counted: &[Counted]) -> (RaidFigures, Vec<explain::Finding>) {
    let figures = figures(case, array, |all: &mut Snapshot| {
        all.origins = Some(origins(case, array, counted));
    });
    (figures.raid.clone().unwrap(), findings(&figures))
}

/// Which of md's books lies at a sector of a member.
fn book(case: &Case, array: &str, member: &str, sector: u64) -> Metadata {
    let device = case.device(array);
    let md = device.md.as_ref().unwrap();
    let part = md.components.iter().find(|part| part.name == member);
    let size = case.device(member).size.unwrap();
    let books = md_books::books(md, part.unwrap(), size, device.size);
    let there = books.iter().find(|region| region.holds(sector));
    there.map_or(Metadata::Unknown, |region| {
        Metadata::from_number(region.what)
    })
}

/// A block's old data and parity are read and written on two of the four
/// members; a superblock and a bitmap write go to all four.
#[test]
fn m1_books_are_counted_apart() {
    let case = Case::play("m1");
    let user = [
        (Origin::RmwParity, 5, 4096, 0),
        (Origin::Data, 5, 4096, 0),
        (Origin::Parity, 5, 4096, 0),
    ];
    let books = [
        (Origin::WriteSuperblock, 2, 512, 2),
        (Origin::WriteBitmap, 10, 4096, 0),
    ];
    let (with, said) = raid(&case, "md0", &[&user[..], &books[..]].concat());
    assert_eq!(with.user_write_bytes, 40 * KIB);
    assert_eq!(with.metadata_writes, 4 * 12);
    assert_eq!(with.metadata_write_bytes, 4 * (2 * 512 + 40 * KIB));
    assert_eq!(
        (with.data_write_bytes, with.parity_write_bytes),
        (80 * KIB, 80 * KIB)
    );
    let amplified = with.ratios.write_amplification.unwrap();
    assert!((amplified - (80.0 + 80.0 + 164.0) / 40.0).abs() < 1e-9);
    assert!(
        said.iter().any(|finding| {
            finding.text.starts_with(
                "48 writes of md's own books (164 KiB) for 10 writes to it: superblock and bitmap, \
                 on every member. A larger bitmap chunk makes them fewer",
            )
        }),
        "{said:?}"
    );
    let (without, said) = raid(&case, "md0", &user);
    assert_eq!(
        (without.metadata_writes, without.metadata_write_bytes),
        (0, 0)
    );
    // The books are no pre-reads.
    assert_eq!(without.preread, with.preread);
    assert_eq!(with.preread.sum(), 4 * 20 * KIB);
    assert!(!said.iter().any(|finding| finding.text.contains("books")));
}

/// A bitmap write is told by where it begins: where a member has an `io_opt` some
/// kernels write whole units of it, beyond the bitmap's own length
/// (`__write_sb_page`, drivers/md/md-bitmap.c; later ones end with the bitmap).
#[test]
fn m2_a_bitmap_written_in_units_of_io_opt() {
    let case = Case::play("m2");
    let md = case.device("md0").md.as_ref().unwrap();
    let size = case.device("sda").size.unwrap();
    let books = md_books::books(md, &md.components[0], size, case.device("md0").size);
    let bitmap = books
        .iter()
        .find(|region| region.what == Metadata::Bitmap as u32);
    let bitmap = bitmap.unwrap();
    assert_eq!((bitmap.start_sector, bitmap.len_sectors), (16, 8));
    assert_eq!(case.device("sda").limits.io_opt.unwrap().0, 64 * 4096);
    assert_eq!(book(&case, "md0", "sda", 8), Metadata::Superblock);
    assert_eq!(book(&case, "md0", "sda", 16), Metadata::Bitmap);
    assert_eq!(book(&case, "md0", "sda", 264_192), Metadata::Unknown);
    // One bio of 256 KiB for a page: 64 times as much, and all of it the
    // bitmap's.
    let page = [(Origin::WriteBitmap, 1, 4096, 0)];
    let unit = [(Origin::WriteBitmap, 1, 262_144, 0)];
    let bytes = |counted| raid(&case, "md0", counted).0.metadata_write_bytes;
    assert_eq!((bytes(&page), bytes(&unit)), (16 * KIB, 1024 * KIB));
    // The stripe is md's own, whatever its members report.
    assert_eq!(case.device("md0").geometry.stripe.unwrap().0, 1_572_864);
    assert_eq!(case.writes("sda").sub_block, 1);
}

#[test]
fn m3_books_shorter_than_a_block() {
    let case = Case::play("m3");
    for member in ["sda", "sdb"] {
        assert_eq!(book(&case, "md0", member, 8), Metadata::Superblock);
        assert_eq!(book(&case, "md0", member, 16), Metadata::Bitmap);
        assert_eq!(
            case.writes(member),
            Blocks {
                aligned: 1,
                sub_block: 2,
                partial_blocks: 2,
                ..Blocks::default()
            }
        );
    }
    let counted = [
        (Origin::WriteSuperblock, 1, 512, 1),
        (Origin::WriteBitmap, 1, 512, 1),
        (Origin::Data, 1, 65_536, 0),
    ];
    let member = figures(&case, "sda", |all| {
        all.origins = Some(origins(&case, "md0", &counted));
    });
    let origin = member.origin.unwrap();
    assert_eq!(origin.write_misaligned.metadata, 2);
    assert_eq!(origin.write_bytes.metadata, 1024);
    assert_eq!(origin.write_metadata_bytes.superblock, 512);
    assert_eq!(origin.write_metadata_bytes.bitmap, 512);
    let said = &findings(&member)[0];
    assert!(
        said.text
            .starts_with("2 writes of md's own books, shorter than a physical block"),
        "{said:?}"
    );
}

#[test]
fn m4_a_check_is_no_preread() {
    let case = Case::play("m4");
    let member = 64_512 * KIB;
    let (figures, said) = raid(&case, "md0", &[(Origin::ReadCheck, member / 4096, 4096, 0)]);
    assert_eq!(figures.sync_read_bytes, 9 * member);
    assert_eq!(figures.preread.sum(), 0);
    assert_eq!(figures.sync_action.as_deref(), Some("check"));
    assert_eq!(
        figures.ratios,
        Ratios {
            write_amplification_minimum: Some(9.0 / 7.0),
            ..Ratios::default()
        }
    );
    assert_eq!(figures.causes.unwrap().main(), None);
    assert!(
        said.iter()
            .all(|finding| finding.weight == explain::Weight::Fine),
        "{said:?}"
    );
    // With writes of whole stripes meanwhile, they are not blamed for it.
    let both = [
        (Origin::ReadCheck, member / 4096, 4096, 0),
        (Origin::Data, 7, 4096, 0),
        (Origin::Parity, 2, 4096, 0),
    ];
    let (figures, _) = raid(&case, "md0", &both);
    assert_eq!(figures.ratios.reads_on_write, Some(0.0));
    assert_eq!(case.device("md0").size, Some(Sectors(7 * 3_906_764_928)));
}

/// Of what write calls had to read and what md had to, the more is said at the
/// foot; and nothing is called "nothing read" that had to be filled.
#[test]
fn the_greater_part_of_the_reads_is_told() {
    let case = Case::play("s9");
    let told = |fills: u64, prereads: u64| {
        let counted = [
            (Origin::Rcw, prereads, 4096, 0),
            (Origin::Data, 2, 4096, 0),
            (Origin::Parity, 1, 4096, 0),
        ];
        let figures = figures(&case, "md0", |all| {
            all.origins = Some(origins(&case, "md0", &counted));
            super::page_cache::pages_read(all, "md0", fills, 0);
        });
        explain::sentence(&figures).text
    };
    assert!(told(9, 2).starts_with("9 reads (36 KiB; normal: 0) made by write calls"));
    assert!(told(9, 0).starts_with("9 reads (36 KiB; normal: 0) made by write calls"));
    assert!(told(7, 2).starts_with("32 KiB read because writes did not fill"));
}
