use super::*;
use crate::raid::place::MAX_MEMBERS;
use proptest::prelude::*;

const CHUNK_SECTORS: u64 = 8;

fn array(level: ParityLevel, layout: i64, disks: u32) -> Raid456 {
    Raid456::new(level, layout, disks, Sectors(CHUNK_SECTORS)).unwrap()
}

/// The array as a person draws it: a line a stripe, a column a member.
fn drawn(array: &Raid456, stripes: u64) -> Vec<String> {
    let cell = |stripe, slot| {
        let sector = MemberSector(stripe * CHUNK_SECTORS);
        let place = Place {
            slot: Slot(slot),
            sector,
        };
        match array.content(place).unwrap() {
            Content::Data(sector) => (sector.0 / CHUNK_SECTORS).to_string(),
            Content::P => "P".to_owned(),
            Content::Q => "Q".to_owned(),
        }
    };
    (0..stripes)
        .map(|stripe| {
            let cells: Vec<_> = (0..array.shape().raid_disks())
                .map(|slot| cell(stripe, slot))
                .collect();
            cells.join(" ")
        })
        .collect()
}

/// Drawn by hand from the comments in `raid5_compute_sector`.
#[test]
fn raid5_layouts_as_drawn() {
    let drawings: [(i64, &[&str]); 6] = [
        (
            0,
            &["0 1 2 P", "3 4 P 5", "6 P 7 8", "P 9 10 11", "12 13 14 P"],
        ),
        (
            1,
            &["P 0 1 2", "3 P 4 5", "6 7 P 8", "9 10 11 P", "P 12 13 14"],
        ),
        (
            2,
            &["0 1 2 P", "4 5 P 3", "8 P 6 7", "P 9 10 11", "12 13 14 P"],
        ),
        (
            3,
            &["P 0 1 2", "5 P 3 4", "7 8 P 6", "9 10 11 P", "P 12 13 14"],
        ),
        (4, &["P 0 1 2", "P 3 4 5", "P 6 7 8"]),
        (5, &["0 1 2 P", "3 4 5 P", "6 7 8 P"]),
    ];
    for (layout, expected) in drawings {
        let array = array(ParityLevel::Raid5, layout, 4);
        assert_eq!(drawn(&array, expected.len() as u64), expected, "{layout}");
    }
}

#[test]
fn raid6_layouts_as_drawn() {
    let drawings: [(i64, &[&str]); 14] = [
        (
            0,
            &[
                "Q 0 1 2 P",
                "3 4 5 P Q",
                "6 7 P Q 8",
                "9 P Q 10 11",
                "P Q 12 13 14",
                "Q 15 16 17 P",
            ],
        ),
        (
            1,
            &[
                "P Q 0 1 2",
                "3 P Q 4 5",
                "6 7 P Q 8",
                "9 10 11 P Q",
                "Q 12 13 14 P",
                "P Q 15 16 17",
            ],
        ),
        (
            2,
            &[
                "Q 0 1 2 P",
                "3 4 5 P Q",
                "7 8 P Q 6",
                "11 P Q 9 10",
                "P Q 12 13 14",
                "Q 15 16 17 P",
            ],
        ),
        (
            3,
            &[
                "P Q 0 1 2",
                "5 P Q 3 4",
                "7 8 P Q 6",
                "9 10 11 P Q",
                "Q 12 13 14 P",
                "P Q 15 16 17",
            ],
        ),
        (4, &["P Q 0 1 2", "P Q 3 4 5"]),
        (5, &["0 1 2 P Q", "3 4 5 P Q"]),
        (
            8,
            &[
                "P Q 0 1 2",
                "3 P Q 4 5",
                "6 7 P Q 8",
                "9 10 11 P Q",
                "Q 12 13 14 P",
            ],
        ),
        (
            9,
            &[
                "0 1 2 P Q",
                "3 4 P Q 5",
                "6 P Q 7 8",
                "P Q 9 10 11",
                "Q 12 13 14 P",
                "15 16 17 P Q",
            ],
        ),
        (
            10,
            &[
                "0 1 2 Q P",
                "4 5 Q P 3",
                "8 Q P 6 7",
                "Q P 9 10 11",
                "P 12 13 14 Q",
                "15 16 17 Q P",
            ],
        ),
        (
            16,
            &[
                "0 1 2 P Q",
                "3 4 P 5 Q",
                "6 P 7 8 Q",
                "P 9 10 11 Q",
                "12 13 14 P Q",
            ],
        ),
        (
            17,
            &[
                "P 0 1 2 Q",
                "3 P 4 5 Q",
                "6 7 P 8 Q",
                "9 10 11 P Q",
                "P 12 13 14 Q",
            ],
        ),
        (
            18,
            &[
                "0 1 2 P Q",
                "4 5 P 3 Q",
                "8 P 6 7 Q",
                "P 9 10 11 Q",
                "12 13 14 P Q",
            ],
        ),
        (
            19,
            &[
                "P 0 1 2 Q",
                "5 P 3 4 Q",
                "7 8 P 6 Q",
                "9 10 11 P Q",
                "P 12 13 14 Q",
            ],
        ),
        (20, &["P 0 1 2 Q", "P 3 4 5 Q"]),
    ];
    for (layout, expected) in drawings {
        let array = array(ParityLevel::Raid6, layout, 5);
        assert_eq!(drawn(&array, expected.len() as u64), expected, "{layout}");
    }
}

/// KERNEL.md 6, case by case as md has it, for data block `dd` of a stripe of
/// `n` members: (its slot, P, Q).
fn by_case(
    level: ParityLevel,
    layout: i64,
    n: u64,
    stripe: u64,
    dd: u64,
) -> (u64, u64, Option<u64>) {
    let skip = |p: u64, dd: u64| if dd >= p { dd + 1 } else { dd };
    let raid5 = |n: u64| match layout % 16 {
        0 => (skip(n - 1 - stripe % n, dd), n - 1 - stripe % n),
        1 => (skip(stripe % n, dd), stripe % n),
        2 => ((n - 1 - stripe % n + 1 + dd) % n, n - 1 - stripe % n),
        3 => ((stripe % n + 1 + dd) % n, stripe % n),
        4 => (dd + 1, 0),
        _ => (dd, n - 1),
    };
    let asymmetric = |p: u64| match p {
        _ if p == n - 1 => (dd + 1, p, Some(0)),
        _ if dd >= p => (dd + 2, p, Some(p + 1)),
        _ => (dd, p, Some(p + 1)),
    };
    let symmetric = |p: u64| ((p + 2 + dd) % n, p, Some((p + 1) % n));
    match (level, layout) {
        (ParityLevel::Raid4, _) => (dd, n - 1, None),
        (ParityLevel::Raid5, _) => (raid5(n).0, raid5(n).1, None),
        (_, 0) => asymmetric(n - 1 - stripe % n),
        (_, 1 | 8) => asymmetric(stripe % n),
        (_, 2) => symmetric(n - 1 - stripe % n),
        (_, 3) => symmetric(stripe % n),
        (_, 4) => (dd + 2, 0, Some(1)),
        (_, 5) => (dd, n - 2, Some(n - 1)),
        (_, 9) => asymmetric(n - 1 - (stripe + 1) % n),
        (_, 10) => {
            let p = n - 1 - stripe % n;
            ((p + 1 + dd) % n, p, Some((p + n - 1) % n))
        }
        (_, _) => (raid5(n - 1).0, raid5(n - 1).1, Some(n - 1)),
    }
}

/// CASES.md S4: a raid4's parity sits on one member, whatever the layout says.
#[test]
fn raid4_keeps_parity_on_the_last_member() {
    for layout in [-1, 0, 2, 7] {
        let array = array(ParityLevel::Raid4, layout, 4);
        assert_eq!(drawn(&array, 3), ["0 1 2 P", "3 4 5 P", "6 7 8 P"]);
    }
}

#[test]
fn unknown_layouts_are_errors() {
    use ParityLevel::{Raid5, Raid6};
    let known = |level| -> Vec<i64> {
        (-40..40)
            .filter(|&layout| Raid456::new(level, layout, 6, Sectors(8)).is_ok())
            .collect()
    };
    assert_eq!(known(Raid5), [0, 1, 2, 3, 4, 5]);
    assert_eq!(
        known(Raid6),
        [0, 1, 2, 3, 4, 5, 8, 9, 10, 16, 17, 18, 19, 20]
    );
    let error = Raid456::new(Raid5, 8, 6, Sectors(8)).unwrap_err();
    assert_eq!(error.to_string(), "raid5 has no layout 8");
}

#[test]
fn no_content_beyond_the_members_and_the_count() {
    let array = array(ParityLevel::Raid5, 2, 4);
    let content = |slot, sector| {
        array.content(Place {
            slot: Slot(slot),
            sector: MemberSector(sector),
        })
    };
    assert_eq!(content(4, 0), None);
    assert_eq!(content(u32::MAX, 0), None);
    // 2^64 sectors of member would be more of the array.
    let beyond: Vec<_> = (0..4).map(|slot| content(slot, u64::MAX)).collect();
    assert_eq!(beyond.iter().filter(|c| **c == Some(Content::P)).count(), 1);
    assert_eq!(beyond.iter().filter(|c| c.is_none()).count(), 3);
    // The last sector the array can have is found.
    let located = array.locate(ArraySector(u64::MAX));
    assert_eq!(
        array.content(located.data),
        Some(Content::Data(ArraySector(u64::MAX)))
    );
}

fn any_kind() -> impl Strategy<Value = (ParityLevel, i64)> {
    let raid6 = proptest::sample::select(vec![0, 1, 2, 3, 4, 5, 8, 9, 10, 16, 17, 18, 19, 20]);
    prop_oneof![
        1 => Just((ParityLevel::Raid4, 0)),
        3 => (0i64..=5).prop_map(|layout| (ParityLevel::Raid5, layout)),
        6 => raid6.prop_map(|layout| (ParityLevel::Raid6, layout)),
    ]
}

fn any_array() -> impl Strategy<Value = Raid456> {
    let disks = prop_oneof![9 => 4u32..16, 1 => Just(MAX_MEMBERS)];
    (any_kind(), disks, 3u32..12).prop_map(|((level, layout), disks, exponent)| {
        Raid456::new(level, layout, disks, Sectors(1 << exponent)).unwrap()
    })
}

proptest! {
    #[test]
    fn agrees_with_md_case_by_case(kind in any_kind(), disks in 4u32..20, number in 0u64..10_000) {
        let (level, layout) = kind;
        let array = array(level, layout, disks);
        let data = u64::from(array.shape().data_disks());
        let (stripe, dd) = (number / data, number % data);
        let located = array.locate(ArraySector(number * CHUNK_SECTORS + 5));
        let slots = (located.data.slot.0.into(), located.p.0.into(), located.q.map(|q| q.0.into()));
        prop_assert_eq!(slots, by_case(level, layout, disks.into(), stripe, dd));
        prop_assert_eq!(located.data.sector, MemberSector(stripe * CHUNK_SECTORS + 5));
    }

    #[test]
    fn every_sector_is_found_again_beside_its_parity(
        array in any_array(),
        sector in prop_oneof![0u64..100_000, any::<u64>()],
    ) {
        let located = array.locate(ArraySector(sector));
        let at = |slot| array.content(Place { slot, ..located.data });
        prop_assert_eq!(at(located.data.slot), Some(Content::Data(ArraySector(sector))));
        prop_assert_eq!(at(located.p), Some(Content::P));
        prop_assert_ne!(located.data.slot, located.p);
        prop_assert_eq!(located.q.is_some(), array.shape().level() == ParityLevel::Raid6);
        if let Some(q) = located.q {
            prop_assert_eq!(at(q), Some(Content::Q));
            prop_assert!(q != located.p && q != located.data.slot);
        }
    }

    /// A row's members hold each block of its stripe once, and the parity once.
    #[test]
    fn a_row_is_complete(array in any_array(), sector in 0u64..100_000) {
        let shape = *array.shape();
        let mut indexes = Vec::new();
        let mut parity = 0;
        for slot in 0..shape.raid_disks() {
            let place = Place { slot: Slot(slot), sector: MemberSector(sector) };
            match array.content(place).unwrap() {
                Content::Data(found) => {
                    prop_assert_eq!(array.locate(found).data, place);
                    let chunk = shape.chunk().sectors().0;
                    prop_assert_eq!(found.0 % chunk, sector % chunk);
                    prop_assert_eq!(found.0 / (chunk * u64::from(shape.data_disks())), sector / chunk);
                    indexes.push(found.0 / chunk % u64::from(shape.data_disks()));
                }
                Content::P | Content::Q => parity += 1,
            }
        }
        prop_assert_eq!(parity, shape.level().parity_disks());
        indexes.sort_unstable();
        prop_assert_eq!(indexes, (0..u64::from(shape.data_disks())).collect::<Vec<_>>());
    }
}
