//! md's members.

use super::{Image, Said};
use crate::{
    superblock::{Content, MdMember, MdReshape, MdRole, MdVersion},
    units::{Bytes, Sectors},
};

fn member(image: &Image) -> MdMember {
    match image.only() {
        Content::MdMember(member) => *member,
        other => panic!("{other:?}"),
    }
}

/// As mdadm writes a uuid: four words.
fn uuid(member: &MdMember) -> String {
    let digits = member.array_uuid.simple().to_string();
    let words: Vec<&str> = (0..4).map(|word| &digits[8 * word..8 * word + 8]).collect();
    words.join(":")
}

#[test]
fn version_1_agrees_with_mdadm() {
    for (name, version) in [
        ("md10", MdVersion::V1_0),
        ("md11", MdVersion::V1_1),
        ("md12", MdVersion::V1_2),
    ] {
        let member = member(&Image::named(name));
        let said = Said::of(name);
        assert_eq!(member.version, version);
        assert_eq!(uuid(&member), said.text("Array UUID"));
        assert_eq!(member.level, 6);
        assert_eq!(said.text("Raid Level"), "raid6");
        assert_eq!(member.layout, 2);
        assert_eq!(said.text("Layout"), "left-symmetric");
        assert_eq!(member.chunk, Some(Bytes(said.number("Chunk Size") << 10)));
        assert_eq!(u64::from(member.raid_disks), said.number("Raid Devices"));
        // mdadm shows it where it is less than there is.
        let used = if said.0.contains("Used Dev Size") {
            "Used Dev Size"
        } else {
            "Avail Dev Size"
        };
        assert_eq!(member.used.0, said.number(used));
        assert_eq!(member.data_size.0, said.number("Avail Dev Size"));
        assert_eq!(member.super_offset.0, said.number("Super Offset"));
        assert_eq!(member.role, MdRole::Active(3));
        assert_eq!(said.text("Device Role"), "Active device 3");
        assert_eq!(u64::from(member.features), said.number("Feature Map"));
        assert_eq!(member.events, said.number("Events"));
        assert_eq!((member.resync_offset, member.reshape), (None, None));
        let bitmap = member.bitmap.unwrap();
        let text = said.text("Internal Bitmap");
        let offset: i64 = text.split(' ').next().unwrap().parse().unwrap();
        assert_eq!(bitmap.offset_sectors, offset);
        assert_eq!(bitmap.chunk, Some(Bytes(said.number("Chunksize") << 20)));
        let data_offset = match version {
            MdVersion::V1_0 => 0,
            _ => said.number("Data Offset"),
        };
        assert_eq!(member.data_offset.0, data_offset);
    }
}

#[test]
fn version_0_90_agrees_with_mdadm() {
    let image = Image::named("md090");
    let member = member(&image);
    let said = Said::of("md090");
    assert_eq!(member.version, MdVersion::V0_90);
    assert!(said.text("UUID").starts_with(&uuid(&member)));
    assert_eq!((member.level, member.layout), (5, 2));
    assert_eq!(member.chunk, Some(Bytes(said.number("Chunk Size") << 10)));
    assert_eq!(u64::from(member.raid_disks), said.number("Raid Devices"));
    assert_eq!(member.used.0, 2 * said.number("Used Dev Size"));
    assert_eq!(member.super_offset, Sectors(98176));
    assert_eq!(member.data_offset, Sectors(0));
    assert_eq!(member.role, MdRole::Active(2));
    let bitmap = member.bitmap.unwrap();
    assert_eq!(
        (bitmap.offset_sectors, bitmap.chunk),
        (8, Some(Bytes(8 << 20)))
    );
    assert_eq!(member.resync_offset, None);
}

#[test]
fn version_0_90_of_the_other_byte_order() {
    let mut image = Image::named("md090");
    let expected = member(&image);
    let at = 98176 * 512;
    let mut bytes = image.bytes(at, 4096);
    bytes.chunks_exact_mut(4).for_each(<[u8]>::reverse);
    // The words of 64-bit numbers change places, too.
    for pair in [39, 41, 44] {
        let (first, second) = (4 * pair, 4 * pair + 4);
        let word: [u8; 4] = bytes[first..second].try_into().unwrap();
        bytes.copy_within(second..second + 4, first);
        bytes[second..second + 4].copy_from_slice(&word);
    }
    image.write(at, &bytes);
    assert_eq!(member(&image), expected);
}

#[test]
fn a_reshape_that_stopped_tells_where() {
    let member = member(&Image::named("md_reshape"));
    let said = Said::of("md_reshape");
    let reshape = MdReshape {
        position: Sectors(2 * said.number("Reshape pos'n")),
        delta_disks: 1,
        new_level: 5,
        new_layout: 2,
        new_chunk: Some(Bytes(64 << 10)),
    };
    assert_eq!(member.reshape, Some(reshape));
    assert_eq!(said.text("Delta Devices"), "1 (3->4)");
    assert_eq!(member.raid_disks, 4);
    assert_eq!(member.data_offset.0, said.number("Data Offset"));
    assert_eq!(member.bitmap, None);
}

#[test]
fn what_an_array_with_its_superblock_at_the_end_holds_is_no_contradiction() {
    let at_end = Image::named("xfs");
    let mut at_end = Image::named("md10").with(&at_end);
    assert_eq!(at_end.contents().found.len(), 2);
    assert_eq!(at_end.remarks(), [""; 0]);
    at_end = Image::named("md12").with(&Image::named("xfs"));
    assert_eq!(
        at_end.remarks(),
        ["md superblock and XFS superblock on one device: one of them is left over"]
    );
}

#[test]
fn a_member_that_cannot_be() {
    let mut image = Image::named("md12");
    image.write(4096 + 88, &100_u32.to_le_bytes());
    assert_eq!(
        image.fault(),
        "md superblock: chunk size 51200 is no power of two"
    );
    let mut image = Image::named("md12");
    image.write(4096 + 72, &7_u32.to_le_bytes());
    assert_eq!(image.fault(), "md superblock: level 7 is not known");
    // As where a partition was grown and the old superblock stayed.
    let mut image = Image::named("md12");
    image.write(4096 + 144, &16_u64.to_le_bytes());
    assert_eq!(
        image.fault(),
        "md superblock: its own place in sectors 16 is not within 8 to 8"
    );
    let mut image = Image::named("md12");
    image.write(8192, b"none");
    assert_eq!(
        image.remarks(),
        ["md superblock: the head of its bitmap could not be read"]
    );
}

#[test]
fn roles() {
    let role = |told: u16| {
        let mut image = Image::named("md12");
        image.write(4096 + 256 + 6, &told.to_le_bytes());
        match &image.contents().found[..] {
            [Content::MdMember(member)] => member.role,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(role(0xffff), MdRole::Spare);
    assert_eq!(role(0xfffe), MdRole::Faulty);
    assert_eq!(role(0xfffd), MdRole::Journal);
    assert_eq!(role(12), MdRole::Active(12));
}

#[test]
fn a_member_that_ends_where_its_disk_does_is_not_the_disk() {
    let partition = Image::named("md10");
    let mut disk = Image::empty(partition.size + (1 << 20));
    for (offset, line) in &partition.lines {
        disk.write(offset + (1 << 20), line);
    }
    assert!(disk.contents().is_empty());
}
