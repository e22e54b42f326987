//! LUKS, LVM, bcache, and more than one thing on a device.

use serde_json::Value;

use super::{Image, Said};
use crate::{
    superblock::{BcacheRole, Content, Luks, LvmArea, LvmPv, lvm::CRC},
    units::{Bytes, Sectors},
};

fn luks(name: &str) -> Luks {
    match Image::named(name).only() {
        Content::Luks(luks) => luks,
        other => panic!("{other:?}"),
    }
}

fn volume(image: &Image) -> LvmPv {
    match image.only() {
        Content::LvmPv(volume) => volume,
        other => panic!("{other:?}"),
    }
}

#[test]
fn luks_agrees_with_luksdump() {
    let Luks::V1(first) = luks("luks1") else {
        panic!();
    };
    let said = Said::of("luks1");
    assert_eq!(first.payload_offset.0, said.number("Payload offset"));
    assert_eq!(first.uuid.unwrap().to_string(), said.text("UUID"));
    for (name, sector) in [("luks2", 512), ("luks2_128k", 4096)] {
        let Luks::V2(second) = luks(name) else {
            panic!();
        };
        let said = Said::of(name);
        assert_eq!(second.header_size.0, said.number("Metadata area"));
        assert_eq!(
            second.keyslots_size.unwrap().0,
            said.number("Keyslots area")
        );
        assert_eq!(second.uuid.unwrap().to_string(), said.text("UUID"));
        let [segment] = &second.segments[..] else {
            panic!();
        };
        assert_eq!(segment.offset.0, said.number("offset"));
        assert_eq!(segment.sector_size, Some(Bytes(said.number("sector"))));
        assert_eq!(segment.sector_size, Some(Bytes(sector)));
        assert_eq!((segment.id, segment.size), (0, None));
        assert!(segment.encrypted && !segment.has_integrity && !segment.is_backup);
    }
}

#[test]
fn what_reencryption_keeps_for_itself_is_no_place_of_data() {
    let content = Image::named("luks2_reencrypt").only();
    let Content::Luks(Luks::V2(header)) = &content else {
        panic!();
    };
    let backups: Vec<_> = header.segments.iter().map(|one| one.is_backup).collect();
    assert_eq!(backups, [false, true, true]);
    let said = Said::of("luks2_reencrypt");
    assert_eq!(content.data_offset(), Some(Bytes(said.number("offset"))));
}

/// Every text below `value`, names of members too.
fn texts(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(values) => values.iter().for_each(|value| texts(value, found)),
        Value::Object(members) => {
            for (name, value) in members {
                found.push(name.clone());
                texts(value, found);
            }
        }
        _ => {}
    }
}

#[test]
fn nothing_of_a_key_slot_or_digest_is_kept() {
    let image = Image::named("luks2");
    let json = image.bytes(4096, 12288);
    let end = json.iter().position(|byte| *byte == 0).unwrap();
    let json: Value = serde_json::from_slice(&json[..end]).unwrap();
    let mut secret = Vec::new();
    for part in ["keyslots", "digests", "tokens"] {
        texts(&json[part], &mut secret);
    }
    assert!(secret.iter().any(|text| text == "salt"));
    // Numbers of slots, and names that segments have too, are in any text.
    let public = ["keyslots", "offset", "segments", "size", "type"];
    secret.retain(|text| text.len() > 2 && !public.contains(&text.as_str()));
    assert!(secret.len() > 20);
    let content = image.only();
    let kept = format!("{content:?} {}", serde_json::to_string(&content).unwrap());
    for text in secret {
        assert!(!kept.contains(&text), "{text}");
    }
    // The salt of the header and its checksum.
    for range in [(104, 64), (448, 64)] {
        let bytes = image.bytes(range.0, range.1);
        assert!(bytes.iter().any(|byte| *byte != 0));
        assert!(!kept.contains(&format!("{:?}", &bytes[..8]).replace(['[', ']'], "")));
    }
}

#[test]
fn a_segment_that_cannot_be_and_json_that_is_none() {
    let altered = |from: &str, to: &str| {
        let mut image = Image::named("luks2");
        let json = image.bytes(4096, 12288);
        let text = String::from_utf8(json).unwrap();
        let text = text.replacen(from, to, 1);
        image.write(4096, &text.as_bytes()[..12288]);
        image.fault()
    };
    assert_eq!(
        altered("\"sector_size\":512", "\"sector_size\":520"),
        "LUKS header: segment's sector size 520 is no power of two"
    );
    assert_eq!(
        altered("\"offset\":\"16777216\"", "\"offset\":\"16777217\""),
        "LUKS header: segment's offset 16777217 is no multiple of 512"
    );
    let mut stale = Image::named("luks2");
    // Its sequence number.
    stale.write(16, &99_u64.to_be_bytes());
    assert_eq!(
        stale.contents().found,
        Image::named("luks2").contents().found
    );
    assert_eq!(
        stale.remarks(),
        ["LUKS header: the checksum does not match"]
    );
    let deep = "[".repeat(12000);
    assert_eq!(
        altered("{", &deep),
        "LUKS header: JSON cannot be understood"
    );
    let mut image = Image::named("luks2");
    image.write(8, &(1_u64 << 40).to_be_bytes());
    assert_eq!(
        image.fault(),
        "LUKS header: header size 1099511627776 is not within 16384 to 4194304"
    );
    image.write(6, &3_u16.to_be_bytes());
    assert_eq!(image.fault(), "LUKS header: version 3 is not known");
}

/// The line of a table below its heads.
fn columns(said: &Said) -> Vec<&str> {
    said.0.lines().nth(1).unwrap().split_whitespace().collect()
}

fn number(column: &str) -> u64 {
    column.trim_end_matches('B').parse().unwrap()
}

#[test]
fn lvm_agrees_with_pvs() {
    let volume = volume(&Image::named("lvm"));
    let said = Said::of("lvm");
    let [uuid, start, size, count, name, extent, sequence] = columns(&said)[..] else {
        panic!();
    };
    assert_eq!(volume.uuid, uuid.replace('-', ""));
    assert_eq!(volume.pe_start(), Some(Bytes(number(start))));
    assert_eq!(volume.device_size, Bytes(number(size)));
    assert_eq!(volume.label_sector, Sectors(1));
    let group = volume.group.unwrap();
    assert_eq!(group.name, name);
    assert_eq!(group.pe_start, Some(Sectors(384)));
    assert_eq!(group.pe_count, Some(number(count)));
    assert_eq!(group.extent_size.bytes(), Bytes(number(extent)));
    assert_eq!(group.sequence, number(sequence));
}

#[test]
fn a_volume_in_no_group() {
    let volume = volume(&Image::named("lvm_orphan"));
    let said = Said::of("lvm_orphan");
    let [uuid, start, size, metadata] = columns(&said)[..] else {
        panic!();
    };
    assert_eq!(volume.uuid, uuid.replace('-', ""));
    assert_eq!(volume.group, None);
    assert_eq!(volume.pe_start(), Some(Bytes(number(start))));
    assert_eq!(volume.device_size, Bytes(number(size)));
    let area = LvmArea {
        start: Bytes(4096),
        size: Some(Bytes(number(metadata))),
    };
    assert_eq!(volume.metadata_areas, [area]);
}

#[test]
fn text_that_goes_round_the_ring() {
    let mut image = Image::named("lvm");
    let word = |at: u64| {
        let bytes: [u8; 8] = image.bytes(at, 8).try_into().unwrap();
        usize::try_from(u64::from_le_bytes(bytes)).unwrap()
    };
    let (area, size) = (4096_u64, word(4096 + 32));
    let (offset, len) = (word(4096 + 40), word(4096 + 48));
    let text = image.bytes(area + offset as u64, len);
    let before = volume(&image);
    let (first, rest) = text.split_at(700);
    let begin = size - first.len();
    image.write(area + 512, &vec![b'x'; 7680]);
    image.write(area + begin as u64, first);
    image.write(area + 512, rest);
    image.write(area + 40, &(begin as u64).to_le_bytes());
    let sum = CRC.checksum(&image.bytes(area + 4, 508));
    image.write(area, &sum.to_le_bytes());
    assert_eq!(volume(&image), before);
    image.write(area + 600, b"?");
    assert_eq!(
        image.remarks(),
        ["LVM label: the text of a metadata area could not be read"]
    );
    let [Content::LvmPv(volume)] = &image.contents().found[..] else {
        panic!();
    };
    assert_eq!(volume.group, None);
    assert_eq!(volume.pe_start(), before.pe_start());
}

#[test]
fn bcache_agrees_with_bcache_super_show() {
    let Content::Bcache(backing) = Image::named("bcache_backing").only() else {
        panic!();
    };
    let said = Said::of("bcache_backing");
    let data_offset = Sectors(said.number("dev.data.first_sector"));
    assert_eq!(backing.role, BcacheRole::Backing { data_offset });
    assert_eq!(backing.version, said.number("sb.version"));
    assert_eq!(
        backing.block_size,
        Bytes(512 * said.number("dev.sectors_per_block"))
    );
    assert_eq!(backing.uuid.to_string(), said.text("dev.uuid"));
    assert_eq!(backing.set_uuid.to_string(), said.text("cset.uuid"));
    let Content::Bcache(cache) = Image::named("bcache_cache").only() else {
        panic!();
    };
    let said = Said::of("bcache_cache");
    assert_eq!(cache.version, 0);
    assert_eq!(cache.block_size, Bytes(4096));
    let bucket = said.number("dev.sectors_per_bucket");
    let role = BcacheRole::Cache {
        bucket_size: Bytes(512 * bucket),
        buckets: said.number("dev.cache.total_sectors") / bucket,
        first_bucket: 1,
    };
    assert_eq!(cache.role, role);
    assert_eq!(said.number("dev.cache.first_sector"), bucket);
}

#[test]
fn the_first_bcache_begins_at_sector_16() {
    let mut image = Image::named("bcache_backing");
    image.write(4096 + 16, &1_u64.to_le_bytes());
    image.write(4096 + 184, &0_u64.to_le_bytes());
    assert_eq!(
        image.remarks(),
        ["bcache superblock: the checksum does not match"]
    );
    let [Content::Bcache(backing)] = &image.contents().found[..] else {
        panic!();
    };
    let data_offset = Sectors(16);
    assert_eq!(backing.role, BcacheRole::Backing { data_offset });
    image.write(4096 + 16, &4_u64.to_le_bytes());
    assert_eq!(
        image.fault(),
        "bcache superblock: data offset in sectors 0 is not within 16 to 18446744073709551615"
    );
}

#[test]
fn two_that_claim_a_device_are_both_told() {
    let both = Image::named("xfs").with(&Image::named("bcache_backing"));
    assert_eq!(both.contents().found.len(), 2);
    assert_eq!(
        both.remarks(),
        ["bcache superblock and XFS superblock on one device: one of them is left over"]
    );
}

#[test]
fn where_what_is_shown_begins() {
    let offset = |name: &str| Image::named(name).only().data_offset().map(|at| at.0);
    assert_eq!(offset("md12"), Some(2048 * 512));
    assert_eq!(offset("md090"), Some(0));
    assert_eq!(offset("lvm"), Some(192 << 10));
    assert_eq!(offset("luks1"), Some(4096 * 512));
    assert_eq!(offset("luks2"), Some(16 << 20));
    assert_eq!(offset("luks2_128k"), Some(36872 * 512));
    assert_eq!(offset("bcache_backing"), Some(4096 * 512));
    for name in ["bcache_cache", "gpt", "xfs", "swap"] {
        assert_eq!(offset(name), None);
    }
}
