use std::collections::{BTreeMap, BTreeSet};

use super::*;
use proptest::prelude::*;

/// 64 KiB.
const CHUNK: Sectors = Sectors(128);

fn places(array: &Raid10, sector: u64) -> Vec<(u32, u64)> {
    array
        .copies(ArraySector(sector))
        .unwrap()
        .map(|place| (place.slot.0, place.sector.0))
        .collect()
}

fn place(slot: u32, sector: u64) -> Place {
    Place {
        slot: Slot(slot),
        sector: MemberSector(sector),
    }
}

/// KERNEL.md 6: seen on real arrays of four members.
#[test]
fn places_seen_on_real_arrays() {
    let far = Raid10::new(0x201, 4, CHUNK, Sectors(2 * 129_024)).unwrap();
    assert_eq!(places(&far, 8192), [(0, 2048), (1, 2048 + 129_024)]);
    let offset = Raid10::new(0x10201, 4, CHUNK, Sectors(2 * 129_024)).unwrap();
    assert_eq!(places(&offset, 8192), [(0, 4096), (1, 4224)]);
}

/// CASES.md S3: six members, 64 KiB; each chunk is written twice.
#[test]
fn near_far_and_offset_of_six_members() {
    let array = |layout| Raid10::new(layout, 6, CHUNK, Sectors(128 * 100)).unwrap();
    let (near, far, offset) = (array(258), array(513), array(66049));
    // Chunks 0, 1 and 7.
    assert_eq!(places(&near, 0), [(0, 0), (1, 0)]);
    assert_eq!(places(&near, 128), [(2, 0), (3, 0)]);
    assert_eq!(places(&near, 7 * 128 + 5), [(2, 261), (3, 261)]);
    assert_eq!(places(&far, 0), [(0, 0), (1, 50 * 128)]);
    assert_eq!(places(&far, 7 * 128 + 5), [(1, 133), (2, 133 + 50 * 128)]);
    assert_eq!(places(&offset, 7 * 128 + 5), [(1, 261), (2, 389)]);
    // The far copy of the last member's chunk is on the first.
    assert_eq!(places(&far, 5 * 128), [(5, 0), (0, 50 * 128)]);
    for array in [near, far, offset] {
        assert_eq!(array.layout().copies().get(), 2);
        assert_eq!(array.size(), Sectors(300 * 128));
        assert!(array.copies(ArraySector(300 * 128 - 1)).is_some());
        assert!(array.copies(ArraySector(300 * 128)).is_none());
    }
}

/// near=2 on three members: copies run over the end of a row.
#[test]
fn near_copies_over_the_end_of_a_row() {
    let array = Raid10::new(0x102, 3, CHUNK, Sectors(128 * 3)).unwrap();
    assert_eq!(array.size(), Sectors(128 * 4));
    assert_eq!(places(&array, 128), [(2, 0), (0, 128)]);
    // 4 chunks twice are 8 of 9 places.
    assert_eq!(array.content(place(1, 2 * 128)), Some(ArraySector(3 * 128)));
    assert_eq!(array.content(place(2, 2 * 128)), None);
}

/// far=2 with sets of two members (0x40000) on five: sets {0,1} and {2,3,4}.
#[test]
fn far_sets_and_the_larger_last_one() {
    let array = Raid10::new(0x40201, 5, CHUNK, Sectors(128 * 10)).unwrap();
    let far_slots: Vec<_> = (0..5)
        .map(|chunk| places(&array, chunk * 128)[1].0)
        .collect();
    assert_eq!(far_slots, [1, 0, 3, 4, 2]);
}

#[test]
fn the_mistaken_far_sets_can_put_two_copies_on_one_member() {
    // Three far copies in sets of two members.
    let array = Raid10::new(0x20301, 6, CHUNK, Sectors(128 * 9)).unwrap();
    assert!(array.copies_share_members());
    assert_eq!(places(&array, 0), [(0, 0), (1, 384), (0, 768)]);
    assert!(
        !Raid10::new(0x40301, 6, CHUNK, Sectors(128 * 9))
            .unwrap()
            .copies_share_members()
    );
}

#[test]
fn what_md_refuses_is_an_error() {
    let new = |layout, disks, chunk, len| {
        Raid10::new(layout, disks, Sectors(chunk), Sectors(len)).unwrap_err()
    };
    // No copies near or far, one copy in all, unknown far sets, more bits.
    for layout in [-1, 0, 0x100, 0x002, 0x101, 0x60102, 0x8_0102, 1 << 40] {
        assert_eq!(new(layout, 4, 128, 1280), Raid10Error::Layout(layout));
    }
    assert_eq!(new(0x102, 4, 100, 1280), Raid10Error::Chunk(Sectors(100)));
    assert_eq!(new(0x102, 4, 128, 127), Raid10Error::Members(Sectors(127)));
    assert_eq!(
        new(0x102, 4, 8, u64::MAX),
        Raid10Error::Members(Sectors(u64::MAX))
    );
    let (copies, raid_disks) = (4, 3);
    assert_eq!(
        new(0x202, 3, 128, 1280),
        Raid10Error::Disks { copies, raid_disks }
    );
    let error = new(0x10202, 5, 128, 1280);
    assert_eq!(
        error.to_string(),
        "layout 0x10202 of 5 members puts two sectors on one place"
    );
}

/// Where md puts a chunk, step by step as `__raid10_find_phys` goes, without
/// this module's remedies for what md gets wrong: (member, row of chunks).
fn stepped(layout: i64, disks: u32, section_rows: u64, chunk: u64) -> Vec<(u32, u64)> {
    let (near, far) = ((layout & 255) as u32, (layout >> 8 & 255) as u32);
    let offset = layout & 1 << 16 != 0;
    let set_disks = match layout >> 17 {
        0 => disks,
        1 => disks / far,
        _ => near * far,
    };
    let remainder = disks % set_disks;
    let last_first = (disks / set_disks - 1) * set_disks;
    let start = chunk * u64::from(near);
    let mut slot = (start % u64::from(disks)) as u32;
    let mut row = start / u64::from(disks) * if offset { u64::from(far) } else { 1 };
    let mut found = Vec::new();
    for _ in 0..near {
        let (mut far_slot, mut far_row) = (slot, row);
        found.push((far_slot, far_row));
        for _ in 1..far {
            let set = far_slot / set_disks;
            far_slot += near;
            far_slot = if remainder != 0 && far_slot > last_first {
                (far_slot - last_first) % (set_disks + remainder) + last_first
            } else {
                far_slot % set_disks + set * set_disks
            };
            far_row += if offset { 1 } else { section_rows };
            found.push((far_slot, far_row));
        }
        slot += 1;
        if slot == disks {
            (slot, row) = (0, row + 1);
        }
    }
    found
}

/// Every layout of up to 12 members: accepted exactly if no two chunks share a
/// place, and then as md goes.
#[test]
fn every_small_array_agrees_with_stepping() {
    let mut compared = [0; 2];
    let layouts = (1..=6)
        .flat_map(|near| (1..=6).map(move |far| near | far << 8))
        .flat_map(|copies| (0..6).map(move |flags| copies | flags << 16))
        .filter(|layout| Raid10Layout::from_md(*layout).is_some());
    for layout in layouts {
        let copies = Raid10Layout::from_md(layout).unwrap().copies().get();
        for disks in copies..=12 {
            let far = (layout >> 8 & 255) as u64;
            let section_rows = 2 * u64::from(disks);
            let component = Sectors(8 * section_rows * far);
            let array = Raid10::new(layout, disks, Sectors(8), component);
            let chunks = section_rows * u64::from(disks) / (layout & 255) as u64;
            let mut owners = BTreeMap::new();
            let mut overlap = false;
            for chunk in 0..chunks {
                for at in stepped(layout, disks, section_rows, chunk) {
                    let before = owners.insert(at, chunk);
                    overlap |= before.is_some();
                }
            }
            compared[usize::from(overlap)] += 1;
            let Ok(array) = array else {
                assert!(overlap, "{layout:#x} of {disks} refused");
                continue;
            };
            assert!(!overlap, "{layout:#x} of {disks} accepted");
            assert_eq!(array.size(), Sectors(8 * chunks));
            for chunk in 0..chunks {
                let expected: Vec<_> = stepped(layout, disks, section_rows, chunk)
                    .into_iter()
                    .map(|(slot, row)| (slot, row * 8 + 3))
                    .collect();
                assert_eq!(
                    places(&array, chunk * 8 + 3),
                    expected,
                    "{layout:#x} of {disks}"
                );
            }
            for (slot, row) in
                (0..disks).flat_map(|s| (0..section_rows * far + 2).map(move |r| (s, r)))
            {
                let owner = owners
                    .get(&(slot, row))
                    .map(|chunk| ArraySector(chunk * 8 + 3));
                assert_eq!(
                    array.content(place(slot, row * 8 + 3)),
                    owner,
                    "{layout:#x} of {disks}"
                );
            }
            assert_eq!(array.content(place(disks, 0)), None);
        }
    }
    assert!(compared[0] > 300 && compared[1] > 30, "{compared:?}");
}

fn any_array() -> impl Strategy<Value = Raid10> {
    let layout =
        (1i64..5, 1i64..5, 0i64..6).prop_map(|(near, far, flags)| near | far << 8 | flags << 16);
    (layout, 2u32..40, 3u32..12, 1u64..1 << 40).prop_filter_map(
        "md refuses it",
        |(layout, disks, exponent, component)| {
            Raid10::new(layout, disks, Sectors(1 << exponent), Sectors(component)).ok()
        },
    )
}

proptest! {
    #[test]
    fn copies_are_distinct_and_found_again(array in any_array(), at in 0f64..1.0) {
        let last = array.size().0 - 1;
        let sector = ((last as f64 * at) as u64).min(last);
        let copies: Vec<_> = array.copies(ArraySector(sector)).unwrap().collect();
        prop_assert_eq!(copies.len() as u32, array.layout().copies().get());
        prop_assert_eq!(copies.iter().collect::<BTreeSet<_>>().len(), copies.len());
        if !array.copies_share_members() {
            let slots: BTreeSet<_> = copies.iter().map(|copy| copy.slot).collect();
            prop_assert_eq!(slots.len(), copies.len());
        }
        for copy in copies {
            prop_assert_eq!(array.content(copy), Some(ArraySector(sector)));
        }
    }

    #[test]
    fn content_is_one_of_its_copies(array in any_array(), slot in 0u32..40, sector: u64) {
        let at = place(slot, sector);
        if let Some(found) = array.content(at) {
            prop_assert!(array.copies(found).unwrap().any(|copy| copy == at));
        }
    }
}
