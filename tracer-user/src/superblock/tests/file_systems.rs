//! XFS, ext, btrfs and swap.

use super::{Image, Said};
use crate::{
    superblock::{Btrfs, Content, Ext, ExtJournal, ExtKind, Suspended, Swap, Xfs, XfsLogPlace},
    units::Bytes,
};

fn xfs(image: &Image) -> Xfs {
    match image.only() {
        Content::Xfs(xfs) => *xfs,
        other => panic!("{other:?}"),
    }
}

fn ext(name: &str) -> Ext {
    match Image::named(name).only() {
        Content::Ext(ext) => *ext,
        other => panic!("{other:?}"),
    }
}

fn swap(image: &Image) -> Swap {
    match image.only() {
        Content::Swap(swap) => swap,
        other => panic!("{other:?}"),
    }
}

#[test]
fn xfs_agrees_with_xfs_db() {
    for name in ["xfs", "xfs_v4", "xfs_external_log"] {
        let xfs = xfs(&Image::named(name));
        let said = Said::of(name);
        let number = |label| said.number(label);
        let blocks = |label| Some(Bytes(number(label) * number("blocksize"))).filter(|b| b.0 > 0);
        assert_eq!(xfs.block_size.0, number("blocksize"));
        assert_eq!(xfs.sector_size.0, number("sectsize"));
        assert_eq!(xfs.inode_size.0, number("inodesize"));
        assert_eq!(xfs.data_blocks, number("dblocks"));
        assert_eq!(u64::from(xfs.ag_blocks), number("agblocks"));
        assert_eq!(u64::from(xfs.ag_count), number("agcount"));
        assert_eq!(u64::from(xfs.log.blocks), number("logblocks"));
        assert_eq!(u64::from(xfs.features.version), number("versionnum"));
        assert_eq!(u64::from(xfs.features.second), number("features2"));
        assert_eq!(xfs.stripe_unit, blocks("unit"));
        assert_eq!(xfs.stripe_width, blocks("width"));
        assert_eq!(xfs.uuid.to_string(), said.text("uuid"));
        assert_eq!(xfs.realtime, None);
    }
}

#[test]
fn xfs_striped_by_options() {
    let xfs = xfs(&Image::named("xfs"));
    assert_eq!(xfs.version, 5);
    assert!(xfs.takes_stripe());
    assert_eq!(xfs.stripe_unit, Some(Bytes(64 << 10)));
    assert_eq!(xfs.stripe_width, Some(Bytes(192 << 10)));
    assert_eq!(xfs.log.stripe_unit, Some(Bytes(64 << 10)));
    assert_eq!(xfs.log.sector_size, Bytes(4096));
    assert_eq!(xfs.log.version, 2);
    // Block 131088 is 16 in group 4 of 32768 blocks.
    let log = Bytes((4 * 32768 + 16) * 4096);
    assert_eq!(xfs.log.place, XfsLogPlace::Internal(log));
    assert_eq!(xfs.features.read_only_compatible, 0xd);
    assert_eq!(xfs.features.incompatible, 0xb);
}

#[test]
fn xfs_of_version_4_and_with_a_log_elsewhere() {
    let old = xfs(&Image::named("xfs_v4"));
    assert_eq!((old.version, old.log.version), (4, 1));
    assert!(!old.takes_stripe());
    assert_eq!((old.stripe_unit, old.log.stripe_unit), (None, None));
    assert_eq!(old.log.sector_size, Bytes(512));
    assert_eq!(old.features.incompatible, 0);
    let external = xfs(&Image::named("xfs_external_log"));
    assert_eq!(external.log.place, XfsLogPlace::External);
    assert_eq!(external.stripe_unit, Some(Bytes(128 << 10)));
    assert_eq!(external.stripe_width, Some(Bytes(512 << 10)));
}

#[test]
fn xfs_that_cannot_be_names_field_and_value() {
    let mut image = Image::named("xfs");
    image.write(4, &3_u32.to_be_bytes());
    assert_eq!(
        image.fault(),
        "XFS superblock: block size 3 is no power of two"
    );
    let mut image = Image::named("xfs");
    image.write(188, &50_u32.to_be_bytes());
    assert_eq!(
        image.fault(),
        "XFS superblock: stripe width in blocks 50 is no multiple of 16"
    );
    let mut image = Image::named("xfs");
    image.write(88, &9_u32.to_be_bytes());
    assert_eq!(
        image.fault(),
        "XFS superblock: data blocks 262144 is not within 262145 to 294912"
    );
}

#[test]
fn a_stale_checksum_is_a_remark_and_no_fault() {
    let mut image = Image::named("xfs");
    image.write(188, &32_u32.to_be_bytes());
    assert_eq!(
        image.remarks(),
        ["XFS superblock: the checksum does not match"]
    );
    assert_eq!(image.contents().found.len(), 1);
}

#[test]
fn ext_agrees_with_dumpe2fs() {
    for name in [
        "ext2",
        "ext3",
        "ext4",
        "ext4_bigalloc",
        "ext4_external_journal",
    ] {
        let ext = ext(name);
        let said = Said::of(name);
        assert_eq!(ext.block_size.0, said.number("Block size"), "{name}");
        assert_eq!(ext.blocks, said.number("Block count"));
        assert_eq!(u64::from(ext.first_data_block), said.number("First block"));
        assert_eq!(
            u64::from(ext.blocks_per_group),
            said.number("Blocks per group")
        );
        assert_eq!(
            u64::from(ext.inodes_per_group),
            said.number("Inodes per group")
        );
        assert_eq!(ext.uuid.to_string(), said.text("Filesystem UUID"));
    }
}

#[test]
fn ext_of_every_kind() {
    let striped = ext("ext4");
    let said = Said::of("ext4");
    assert_eq!(striped.kind, ExtKind::Ext4);
    assert_eq!(
        striped.stride,
        Some(Bytes(said.number("RAID stride") * 4096))
    );
    assert_eq!(
        striped.stripe_width,
        Some(Bytes(said.number("RAID stripe width") * 4096))
    );
    assert_eq!(striped.stripe_width, Some(Bytes(192 << 10)));
    assert_eq!(striped.flex_groups, Some(16));
    assert_eq!(striped.journal, ExtJournal::Inode(8));
    assert_eq!(striped.inode_size, Bytes(256));
    assert_eq!(striped.cluster_size, None);
    let big = ext("ext4_bigalloc");
    assert_eq!(
        big.cluster_size,
        Some(Bytes(Said::of("ext4_bigalloc").number("Cluster size")))
    );
    assert_eq!((big.stride, big.stripe_width), (None, None));
    let third = ext("ext3");
    assert_eq!(
        (third.kind, third.journal),
        (ExtKind::Ext3, ExtJournal::Inode(8))
    );
    assert_eq!(third.flex_groups, None);
    let second = ext("ext2");
    assert_eq!(
        (second.kind, second.journal),
        (ExtKind::Ext2, ExtJournal::None)
    );
    assert_eq!(second.inode_size, Bytes(128));
}

#[test]
fn an_external_journal_is_matched_by_its_uuid() {
    let said = Said::of("ext4_external_journal");
    let ExtJournal::Device(uuid) = ext("ext4_external_journal").journal else {
        panic!();
    };
    assert_eq!(uuid.to_string(), said.text("Journal UUID"));
    let journal = ext("ext_journal");
    assert_eq!(journal.kind, ExtKind::JournalDevice);
    assert_eq!(journal.uuid, uuid);
    assert_eq!(journal.blocks, 16384);
}

#[test]
fn a_mounted_ext_is_taken_from_the_page_cache() {
    let mut image = Image::named("ext4");
    let mut newer = image.clone();
    newer.write(1024 + 368, &64_u32.to_le_bytes());
    image.cached = Some(Box::new(newer));
    let [Content::Ext(ext)] = &image.contents().found[..] else {
        panic!();
    };
    assert_eq!(ext.stripe_width, Some(Bytes(256 << 10)));
}

#[test]
fn btrfs_agrees_with_dump_super() {
    let Content::Btrfs(btrfs) = Image::named("btrfs").only() else {
        panic!();
    };
    let Btrfs { device, .. } = &*btrfs;
    let said = Said::of("btrfs");
    assert_eq!(btrfs.uuid.to_string(), said.text("fsid"));
    assert_eq!(btrfs.sector_size.0, said.number("sectorsize"));
    assert_eq!(btrfs.node_size.0, said.number("nodesize"));
    assert_eq!(btrfs.stripe_size.0, said.number("stripesize"));
    assert_eq!(btrfs.total.0, said.number("total_bytes"));
    assert_eq!(btrfs.devices, said.number("num_devices"));
    assert_eq!(btrfs.incompatible, said.number("incompat_flags"));
    assert_eq!(btrfs.read_only_compatible, said.number("compat_ro_flags"));
    assert_eq!(device.id, said.number("dev_item.devid"));
    assert_eq!(device.total.0, said.number("dev_item.total_bytes"));
    assert_eq!(device.uuid.to_string(), said.text("dev_item.uuid"));
    assert_eq!(device.sector_size.0, said.number("dev_item.sector_size"));
    let [chunk] = &btrfs.system_chunks[..] else {
        panic!();
    };
    // SYSTEM and RAID1.
    assert_eq!(chunk.flags, 0x12);
    assert_eq!(chunk.stripe_length, Bytes(65536));
    assert_eq!(chunk.length, Bytes(8_388_608));
    assert_eq!(chunk.sub_stripes, 1);
    assert_eq!(
        chunk.stripes,
        [(1, Bytes(22_020_096)), (2, Bytes(1_048_576))]
    );
}

#[test]
fn swap_of_small_and_large_pages() {
    for (name, page, last) in [("swap", 4096, 16383), ("swap_64k", 65536, 1023)] {
        let swap = swap(&Image::named(name));
        let said = Said::of(name).0;
        assert_eq!(swap.version, 1);
        assert_eq!(swap.page_size, Bytes(page));
        assert_eq!(swap.last_page, Some(last));
        assert!(said.contains(&format!("{}k page size", page >> 10)));
        assert!(said.contains(&format!("size {last} pages")));
        assert!(said.contains(&swap.uuid.unwrap().to_string()));
        assert_eq!((swap.bad_pages, swap.suspended), (Some(0), None));
    }
}

#[test]
fn swap_of_the_other_byte_order_and_with_a_sleeping_system() {
    let mut image = Image::named("swap");
    image.write(1024, &1_u32.to_be_bytes());
    image.write(1028, &16383_u32.to_be_bytes());
    assert_eq!(swap(&image).last_page, Some(16383));
    image.write(4086, b"S1SUSPEND\0");
    assert_eq!(swap(&image).suspended, Some(Suspended::Kernel));
    image.write(1028, &16384_u32.to_be_bytes());
    assert_eq!(
        image.fault(),
        "swap header: last page 16384 is not within 1 to 16383"
    );
    image.write(4086, b"SWAP-SPACE");
    assert_eq!((swap(&image).version, swap(&image).last_page), (0, None));
}
