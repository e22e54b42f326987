use super::*;
use crate::raid::shape::ParityLevel;
use proptest::prelude::*;

fn extent(start: u64, len: u64) -> Extent {
    Extent::new(ArraySector(start), Sectors(len)).unwrap()
}

#[test]
fn an_extent_is_not_empty_and_ends_where_the_kernel_does() {
    let new = |start, len| Extent::new(ArraySector(start), Sectors(len));
    let end = 1 << 54;
    assert_eq!(new(0, 0), None);
    assert_eq!(new(end - 1, 1), None);
    assert!(new(end - 2, 1).is_some());
    assert_eq!(new(u64::MAX, 1), None);
    assert_eq!(new(1, u64::MAX), None);
}

#[test]
fn one_block_written_at_both_ends_is_partial_once() {
    let shape = ParityShape::new(ParityLevel::Raid5, 4, Sectors(16)).unwrap();
    let row = |in_chunk| Row {
        stripe: 0,
        in_chunk,
    };
    let write = RowWrite::of(&extent(17, 2), row(0), &shape).unwrap();
    assert_eq!((write.touched(), write.written()), (1..2, 1));
    assert!(write.is_partial(1));
    assert_eq!(RowWrite::of(&extent(17, 2), row(1), &shape), None);
    // From the middle of block 1 to the middle of block 4.
    let write = |in_chunk| RowWrite::of(&extent(12, 24), row(in_chunk), &shape).unwrap();
    assert_eq!((write(0).touched(), write(1).touched()), (1..3, 0..2));
    assert!(!write(0).is_partial(1) && write(0).is_partial(2));
    assert!(write(1).is_partial(0) && !write(1).is_partial(1));
}

proptest! {
    /// Against each sector on its own.
    #[test]
    fn rows_agree_with_walking_sectors(
        disks in 4u32..8,
        chunk in proptest::sample::select(vec![8u64, 16, 64]),
        start in 0u64..2000,
        len in 1u64..2000,
    ) {
        let shape = ParityShape::new(ParityLevel::Raid6, disks, Sectors(chunk)).unwrap();
        let extent = extent(start, len);
        let data = u64::from(shape.data_disks());
        // Sectors written of each block, by stripe, row and block.
        let mut written = std::collections::BTreeMap::<_, u64>::new();
        for sector in start..start + len {
            let row = Row {
                stripe: sector / (chunk * data),
                in_chunk: sector % chunk / ROW_SECTORS,
            };
            *written.entry((row, (sector / chunk % data) as u32)).or_default() += 1;
        }
        let stripes = extent.stripes(&shape);
        prop_assert_eq!(stripes.start, start / (chunk * data));
        for stripe in stripes.start.saturating_sub(1)..stripes.end + 1 {
            let mut filled = true;
            for in_chunk in 0..shape.rows_per_chunk() {
                let row = Row { stripe, in_chunk };
                let write = RowWrite::of(&extent, row, &shape);
                for block in 0..shape.data_disks() {
                    let sectors = written.get(&(row, block)).copied().unwrap_or(0);
                    let touched = write.as_ref().is_some_and(|w| w.touched().contains(&block));
                    prop_assert_eq!(touched, sectors > 0);
                    if touched {
                        let partial = write.as_ref().unwrap().is_partial(block);
                        prop_assert_eq!(partial, sectors < ROW_SECTORS);
                    }
                    filled &= sectors == ROW_SECTORS;
                }
                prop_assert!(write.is_none() || stripes.contains(&stripe));
            }
            prop_assert_eq!(extent.filled_stripes(&shape).contains(&stripe), filled);
        }
    }
}
