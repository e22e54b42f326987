//! Partition tables.

use super::{Image, Said};
use crate::{
    superblock::{Content, Partition, PartitionKind, PartitionTable, TableKind},
    units::{Bytes, Sectors},
};

fn table(image: &Image) -> PartitionTable {
    match image.only() {
        Content::Partitions(table) => table,
        other => panic!("{other:?}"),
    }
}

/// Number, start, length and type of the lines of `sfdisk -d`, in its blocks.
fn dumped(said: &Said) -> Vec<(u32, u64, u64, String)> {
    let field = |line: &str, name: &str| {
        let rest = &line[line.find(name).unwrap() + name.len()..];
        rest.split(',').next().unwrap().trim().to_owned()
    };
    let lines = said.0.lines().filter(|line| line.contains("start="));
    let line = |line: &str| {
        let device = line.split(' ').next().unwrap();
        let number = device.rsplit(|char: char| !char.is_ascii_digit()).next();
        (
            number.unwrap().parse().unwrap(),
            field(line, "start=").parse().unwrap(),
            field(line, "size=").parse().unwrap(),
            field(line, "type=").to_lowercase(),
        )
    };
    lines.map(line).collect()
}

fn kind(partition: &Partition) -> String {
    match partition.kind {
        PartitionKind::Mbr(kind) => format!("{kind:x}"),
        PartitionKind::Gpt(kind) => kind.to_string(),
    }
}

#[test]
fn tables_agree_with_sfdisk() {
    for (name, block) in [("mbr", 512), ("gpt", 512), ("gpt_4k", 4096)] {
        let table = table(&Image::named(name));
        // Those inside an extended one are not in the table.
        let mut said = dumped(&Said::of(name));
        said.retain(|(number, ..)| name != "mbr" || *number < 5);
        let sectors = block / 512;
        let ours: Vec<_> = table
            .partitions
            .iter()
            .map(|one| {
                (
                    one.number,
                    one.start.0 / sectors,
                    one.length.0 / sectors,
                    kind(one),
                )
            })
            .collect();
        assert_eq!(ours, said, "{name}");
    }
}

#[test]
fn the_head_of_a_gpt() {
    for (name, block) in [("gpt", 512), ("gpt_4k", 4096)] {
        let said = Said::of(name);
        let TableKind::Gpt {
            disk,
            block_size,
            first_usable,
            last_usable,
        } = table(&Image::named(name)).kind
        else {
            panic!();
        };
        assert_eq!(disk.to_string(), said.text("label-id").to_lowercase());
        assert_eq!(block_size, Bytes(block));
        assert_eq!(
            first_usable,
            Sectors(said.number("first-lba") * block / 512)
        );
        assert_eq!(last_usable, Sectors(said.number("last-lba") * block / 512));
    }
    let named = table(&Image::named("gpt"));
    assert_eq!(named.partitions[1].name, "data ü");
}

#[test]
fn an_mbr_and_boot_sectors_that_are_none() {
    let mut image = Image::named("mbr");
    let kind = TableKind::Mbr {
        signature: 0x1234_5678,
    };
    assert_eq!(table(&image).kind, kind);
    assert_eq!(table(&image).partitions[0].start, Sectors(63));
    image.write(54, b"FAT16");
    assert!(image.contents().is_empty());
    image.write(54, &[0; 5]);
    image.write(446, &[0x33]);
    assert!(image.contents().is_empty());
}

#[test]
fn a_gpt_that_cannot_be() {
    let mut image = Image::named("gpt");
    image.write(512 + 80, &u32::MAX.to_le_bytes());
    assert_eq!(
        image.fault(),
        "partition table: number of GPT entries 4294967295 is not within 0 to 8192"
    );
    let mut image = Image::named("gpt");
    image.write(512, b"x");
    assert_eq!(
        image.fault(),
        "partition table: GPT header, which the MBR announces, cannot be understood"
    );
    let mut image = Image::named("gpt");
    image.write(1024 + 40, &0_u64.to_le_bytes());
    assert_eq!(
        image.fault(),
        "partition table: last block of a GPT entry 0 is not within 34 to 18446744073709551614"
    );
    let mut image = Image::named("gpt");
    image.write(1024 + 57, b"x");
    assert_eq!(
        image.remarks(),
        ["partition table: the checksum does not match"]
    );
}
