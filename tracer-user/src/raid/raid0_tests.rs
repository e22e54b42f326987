use super::*;
use proptest::prelude::*;

fn sectors(lens: &[u64]) -> Vec<Sectors> {
    lens.iter().copied().map(Sectors).collect()
}

fn array(chunk: u64, lens: &[u64], layout: Raid0Layout) -> Raid0 {
    Raid0::new(Sectors(chunk), &sectors(lens), Some(layout)).unwrap()
}

fn located(array: &Raid0, sector: u64) -> (u32, u64) {
    let place = array.locate(ArraySector(sector)).unwrap();
    (place.slot.0, place.sector.0)
}

/// Slots of the chunks, in order.
fn slots(array: &Raid0, chunk: u64) -> Vec<u32> {
    (0..array.size().0 / chunk)
        .map(|number| located(array, number * chunk).0)
        .collect()
}

#[test]
fn members_of_one_length_have_one_zone_and_need_no_layout() {
    // 512 KiB chunks; the last 100 sectors of each member are left over.
    let members = sectors(&[10 * 1024 + 100; 4]);
    let array = Raid0::new(Sectors(1024), &members, None).unwrap();
    assert_eq!(array.size(), Sectors(4 * 10 * 1024));
    assert_eq!(located(&array, 0), (0, 0));
    assert_eq!(located(&array, 5 * 1024 + 7), (1, 1024 + 7));
    assert_eq!(array.locate(ArraySector(40 * 1024)), None);
    let unused = Place {
        slot: Slot(0),
        sector: MemberSector(10 * 1024),
    };
    assert_eq!(array.content(unused), None);
}

/// Members of 2, 4 and 5 chunks: zones on slots {0,1,2}, {1,2} and {2}.
#[test]
fn layouts_differ_from_the_second_zone_on() {
    let lens = [20, 40, 50];
    let alternate = array(10, &lens, Raid0Layout::Alternate);
    let original = array(10, &lens, Raid0Layout::Original);
    assert_eq!(alternate.size(), Sectors(110));
    assert_eq!(slots(&alternate, 10), [0, 1, 2, 0, 1, 2, 1, 2, 1, 2, 2]);
    // 6 chunks before the zone of two: begins with the same member.
    assert_eq!(slots(&original, 10), slots(&alternate, 10));
    // 3 before it: begins with the second one.
    let lens = [10, 30, 30];
    let alternate = array(10, &lens, Raid0Layout::Alternate);
    let original = array(10, &lens, Raid0Layout::Original);
    assert_eq!(slots(&alternate, 10), [0, 1, 2, 1, 2, 1, 2]);
    assert_eq!(slots(&original, 10), [0, 1, 2, 2, 1, 2, 1]);
    assert_eq!(located(&original, 34), (2, 14));
    assert_eq!(located(&alternate, 34), (1, 14));
    let unknown = Raid0::new(Sectors(10), &sectors(&lens), None);
    assert_eq!(unknown, Err(Raid0Error::LayoutUnknown));
    // A second zone of one member is the same in both.
    assert!(Raid0::new(Sectors(10), &sectors(&[10, 30]), None).is_ok());
}

#[test]
fn a_member_shorter_than_a_chunk_holds_nothing() {
    let array = array(10, &[9, 20, 20], Raid0Layout::Original);
    assert_eq!(slots(&array, 10), [1, 2, 1, 2]);
}

#[test]
fn what_makes_no_array_is_an_error() {
    let new = |chunk, lens: &[u64]| Raid0::new(Sectors(chunk), &sectors(lens), None).unwrap_err();
    assert_eq!(new(0, &[8]), Raid0Error::Chunk(Sectors(0)));
    assert_eq!(new(1 << 32, &[8]), Raid0Error::Chunk(Sectors(1 << 32)));
    assert_eq!(new(8, &[]), Raid0Error::Disks(0));
    assert_eq!(new(8, &[7, 7]), Raid0Error::Members);
    assert_eq!(new(8, &[u64::MAX, u64::MAX]), Raid0Error::Members);
    let layouts: Vec<_> = (-1..4).map(Raid0Layout::from_md).collect();
    let known = [Some(Raid0Layout::Original), Some(Raid0Layout::Alternate)];
    assert_eq!(layouts, [None, None, known[0], known[1], None]);
}

fn any_layout() -> impl Strategy<Value = Raid0Layout> {
    prop_oneof![Just(Raid0Layout::Original), Just(Raid0Layout::Alternate)]
}

proptest! {
    /// Exhaustive on small arrays: each sector has a place of its own, inside
    /// its member, and is found there; all whole chunks are used.
    #[test]
    fn zones_fill_every_member(
        chunk in 1u64..20,
        lens in proptest::collection::vec(0u64..120, 1..7),
        layout in any_layout(),
    ) {
        let Ok(array) = Raid0::new(Sectors(chunk), &sectors(&lens), Some(layout)) else {
            prop_assert!(lens.iter().all(|len| *len < chunk));
            return Ok(());
        };
        let used = lens.iter().map(|len| len / chunk * chunk).sum();
        prop_assert_eq!(array.size(), Sectors(used));
        let mut seen = std::collections::BTreeSet::new();
        for sector in 0..used {
            let place = array.locate(ArraySector(sector)).unwrap();
            prop_assert!(place.sector.0 < lens[place.slot.0 as usize]);
            prop_assert!(seen.insert(place));
            prop_assert_eq!(array.content(place), Some(ArraySector(sector)));
        }
        for (slot, len) in (0u32..).zip(&lens) {
            for sector in len / chunk * chunk..len + 2 * chunk {
                let place = Place { slot: Slot(slot), sector: MemberSector(sector) };
                prop_assert_eq!(array.content(place), None);
            }
        }
    }

    #[test]
    fn large_arrays_find_every_sector_again(
        chunk in 1u64..5000,
        lens in proptest::collection::vec(5000u64..1 << 50, 1..30),
        layout in any_layout(),
        at in 0f64..1.0,
    ) {
        let array = array(chunk, &lens, layout);
        let sector = ArraySector(((array.size().0 - 1) as f64 * at) as u64);
        let place = array.locate(sector).unwrap();
        prop_assert!(place.sector.0 < lens[place.slot.0 as usize]);
        prop_assert_eq!(array.content(place), Some(sector));
    }
}
