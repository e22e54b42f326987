use proptest::prelude::*;

use super::*;

const KIB: u64 = 1024;

fn array(level: &str, raid_disks: u32, layout: i64) -> MdArray {
    MdArray {
        level: level.into(),
        raid_disks: Some(raid_disks),
        layout: Some(layout),
        chunk: Some(Bytes(64 * KIB)),
        ..MdArray::default()
    }
}

fn whole(md: &MdArray, sizes_kib: &[u64]) -> Geometry {
    let components: Vec<_> = sizes_kib
        .iter()
        .map(|kib| Component {
            data_size: Some(Bytes(kib * KIB)),
            ..Component::default()
        })
        .collect();
    of_whole(&Limits::default(), Some(md), &components)
}

#[test]
fn stripes_by_level() {
    for (level, disks, layout, stripe_kib) in [
        ("raid4", 4, 0, Some(192)),
        ("raid5", 4, 2, Some(192)),
        ("raid6", 9, 2, Some(448)),
        ("raid6", 2, 2, None),
        ("raid10", 6, 258, Some(192)),
        ("raid10", 6, 513, Some(384)),
        ("raid10", 6, 66049, Some(384)),
        ("raid10", 5, 258, None),
        ("raid10", 2, 0x303, None),
        ("raid1", 2, 0, None),
        ("linear", 3, 0, None),
        ("", 0, 0, None),
    ] {
        let g = whole(&array(level, disks, layout), &[]);
        assert_eq!(
            g.stripe,
            stripe_kib.map(|kib| Bytes(kib * KIB)),
            "{level} {disks}"
        );
        let striped = matches!(level, "raid4" | "raid5" | "raid6" | "raid10");
        assert_eq!(g.chunk.is_some(), striped, "{level}");
    }
}

#[test]
fn raid0_has_a_stripe_only_in_one_zone() {
    let md = array("raid0", 2, -1);
    assert_eq!(whole(&md, &[640, 640]).stripe, Some(Bytes(128 * KIB)));
    // The rest of a chunk is not used.
    assert_eq!(whole(&md, &[640, 641]).stripe, Some(Bytes(128 * KIB)));
    for zones in [&[640, 704][..], &[640], &[]] {
        let g = whole(&md, zones);
        assert_eq!((g.stripe, g.chunk), (None, Some(Bytes(64 * KIB))));
    }
}

#[test]
fn a_reshape_keeps_only_what_it_does_not_change() {
    let more_disks = MdArray {
        raid_disks_before: Some(8),
        reshaping: true,
        ..array("raid6", 9, 2)
    };
    let g = whole(&more_disks, &[]);
    assert_eq!((g.chunk, g.stripe), (Some(Bytes(64 * KIB)), None));
    let other_layout = MdArray {
        layout_before: Some(0),
        reshaping: true,
        ..array("raid6", 9, 2)
    };
    assert_eq!(whole(&other_layout, &[]).stripe, Some(Bytes(448 * KIB)));
    let other_chunk = MdArray {
        chunk_before: Some(Bytes(128 * KIB)),
        reshaping: true,
        ..array("raid6", 9, 2)
    };
    let g = whole(&other_chunk, &[]);
    assert_eq!((g.chunk, g.stripe), (None, None));
}

fn shifted(alignment_offset: u64, data_offset: u64) -> Component {
    Component {
        physical_block: Some(Bytes(4096)),
        alignment_offset: Some(Bytes(alignment_offset)),
        data_offset: Some(Sectors(data_offset)),
        data_size: None,
    }
}

#[test]
fn inconsistent_is_no_byte_count() {
    let limits = Limits {
        physical_block: Some(Bytes(4096)),
        alignment_offset: Some(AlignmentOffset::Inconsistent),
        ..Limits::default()
    };
    let offset = |components: &[Component]| {
        of_whole(&limits, Some(&array("raid6", 4, 2)), components).alignment_offset
    };
    // Partitions at sector 63: their grid begins 512 bytes in.
    assert_eq!(
        offset(&[shifted(512, 0), shifted(512, 0)]),
        Some(Bytes(512))
    );
    assert_eq!(offset(&[shifted(0, 2048), shifted(0, 264)]), Some(Bytes(0)));
    assert_eq!(offset(&[shifted(512, 0), shifted(0, 0)]), None);
    assert_eq!(offset(&[]), None);
    let unknown = classifier(&of_whole(&limits, None, &[]), Sectors(0));
    assert_eq!(unknown.physical_bytes, 0);
}

#[test]
fn the_larger_block_of_unlike_members_is_trusted() {
    let limits = Limits {
        physical_block: Some(Bytes(512)),
        ..Limits::default()
    };
    let g = of_whole(&limits, Some(&array("raid1", 2, 0)), &[shifted(0, 0)]);
    assert_eq!(g.physical_block, Some(Bytes(4096)));
}

#[test]
fn an_offset_of_15_blocks_is_none_for_the_drive() {
    let limits = Limits {
        physical_block: Some(Bytes(4096)),
        alignment_offset: Some(AlignmentOffset::Bytes(Bytes(61440))),
        ..Limits::default()
    };
    assert_eq!(
        of_whole(&limits, None, &[]).alignment_offset,
        Some(Bytes(0))
    );
}

prop_compose! {
    /// Any disk, with boundaries of any number of sectors.
    fn any_disk()(
        p in 1u64..600,
        a in 0u64..600,
        chunk in prop::option::of(1u64..3000),
        data in prop::option::of(1u32..20),
    ) -> Geometry {
        let chunk = chunk.map(|sectors| Sectors(sectors).bytes());
        Geometry {
            logical_block: Some(Bytes(512)),
            physical_block: Some(Bytes(p * 512)),
            alignment_offset: Some(Bytes(a % p * 512)),
            chunk,
            data_disks: data,
            stripe: stripe(chunk, data),
            ..Geometry::default()
        }
    }
}

proptest! {
    /// A partition's geometry, used from its own first byte, says the same as
    /// its disk's at the absolute position.
    #[test]
    fn a_partition_is_its_disk_shifted(
        disk in any_disk(), start in 0u64..1 << 40, s in 0u64..100_000, n in 1u64..20_000
    ) {
        let start = Sectors(start);
        let part = of_partition(&disk, start);
        let absolute = classifier(&part, start);
        prop_assert_eq!(absolute, classifier(&disk, Sectors(0)));

        let (s, n) = (s * 512, n * 512);
        let relative = classify::Geometry {
            alignment_offset_bytes: part.alignment_offset.unwrap().0,
            ..absolute
        };
        let there = classify::classify(start.bytes().0 + s, n, &absolute);
        let here = classify::classify(s, n, &relative);
        prop_assert_eq!(here.physical, there.physical);
        prop_assert_eq!(here.partial_blocks, there.partial_blocks);
    }

    /// The phase is the first boundary in the partition, and less than one
    /// width away.
    #[test]
    fn phase_is_the_first_boundary(disk in any_disk(), start in 0u64..1 << 40) {
        let part = of_partition(&disk, Sectors(start));
        let phase = part.phase.unwrap().0;
        let absolute = start * 512 + phase;
        let (width, first) = match part.stripe.or(part.chunk) {
            Some(width) => (width.0, 0),
            None => (disk.physical_block.unwrap().0, disk.alignment_offset.unwrap().0),
        };
        prop_assert!(phase < width);
        prop_assert_eq!(absolute % width, first % width);
    }
}
