use proptest::prelude::*;

use super::*;
use crate::{
    dm::{Segment, Target},
    raid::{ArraySector, ParityLevel, Raid456},
    report::testing::{by_name, device, partition, topology},
    stack::testing::Example,
    sysfs::device::{MdArray, MdComponent},
    units::Sectors,
};

/// Offset of a device against a boundary of a layer.
fn offset(topology: &Topology, on: &str, layer: &str, boundary: Boundary) -> Option<u64> {
    let places = places(topology);
    let layer = by_name(topology, layer).id;
    let all = places[&by_name(topology, on).id].below.iter();
    let mut found = all.filter(|one| (one.layer, one.boundary) == (layer, boundary));
    let found = found.next()?;
    found.offset.as_ref().ok().map(|offset| offset.0)
}

#[test]
fn against_every_layer_below() {
    use Boundary::{Chunk, PhysicalBlock, Stripe};
    let all = Example::new().stack.topology;
    // 64 KiB into the second half of a stripe; LUKS adds 16 MiB.
    for name in ["dm-0", "dm-1"] {
        assert_eq!(offset(&all, name, "md127", Stripe), Some(65536), "{name}");
        assert_eq!(offset(&all, name, "md127", Chunk), Some(0));
        assert_eq!(offset(&all, name, "sda", PhysicalBlock), Some(0));
        // Its partition begins at sector 63.
        assert_eq!(offset(&all, name, "sdd", PhysicalBlock), Some(3584));
    }
    assert_eq!(offset(&all, "md127", "sdd", PhysicalBlock), Some(3584));
    assert_eq!(offset(&all, "md127", "sdd", Stripe), None);
    assert_eq!(offset(&all, "bcache0", "sda", PhysicalBlock), Some(0));
    let bcache = by_name(&all, "bcache0").chain.clone();
    assert_eq!(bcache, None, "no array is below it");
}

#[test]
fn what_lies_further_in() {
    let all = Example::new().stack.topology;
    let places = places(&all);
    let inside = places[&by_name(&all, "md127").id].inside(Bytes(2176 * 512));
    let stripe = inside.iter().find(|one| one.boundary == Boundary::Stripe);
    let stripe = stripe.unwrap();
    assert_eq!(stripe.offset, Ok(Bytes(65536)));
    assert_eq!(
        (stripe.phase(), stripe.is_aligned()),
        (Some(Bytes(65536)), false)
    );
}

#[test]
fn parts_that_disagree_and_pieces_too_small() {
    let (mut sda, sdb) = (device("sda", 8, 0), device("sdb", 8, 16));
    sda.geometry.stripe = Some(Bytes(100 << 10));
    sda.geometry.chunk = Some(Bytes(50 << 10));
    let mut lv = device("dm-0", 253, 0);
    lv.geometry = Geometry::default();
    lv.members = vec![sda.id, sdb.id];
    let segment = |start, words: &str| Segment {
        start: Sectors(start),
        len: Sectors(8),
        target: Target::parse("linear", words),
    };
    lv.dm_table = Some(vec![
        segment(0, "8:0 8"),
        segment(8, "8:0 24"),
        segment(16, "8:16 1"),
    ]);
    let mut striped = device("dm-1", 253, 1);
    striped.members = vec![sda.id];
    striped.dm_table = Some(vec![Segment {
        target: Target::parse("striped", "2 100 8:0 0 8:0 100"),
        ..segment(0, "")
    }]);
    let all = topology([sda, sdb, lv, striped]);
    let places = places(&all);
    let why = |name: &str, boundary: Boundary| {
        let below = &places[&by_name(&all, name).id].below;
        let found = below.iter().find(|one| one.boundary == boundary).unwrap();
        found.offset.clone().map_err(|why| why.to_string())
    };
    let disagree = Err("its parts lie at different places".to_owned());
    assert_eq!(why("dm-0", Boundary::Stripe), disagree);
    assert_eq!(why("dm-0", Boundary::Chunk), disagree);
    assert_eq!(why("dm-0", Boundary::PhysicalBlock), Ok(Bytes(0)));
    assert_eq!(
        offset(&all, "dm-0", "sdb", Boundary::PhysicalBlock),
        Some((512 - 8192_i64).rem_euclid(4096) as u64)
    );
    assert_eq!(why("dm-1", Boundary::Chunk), Ok(Bytes(0)));
    let small = Err("the layers between rearrange smaller pieces".to_owned());
    assert_eq!(why("dm-1", Boundary::Stripe), small);
}

/// Where each byte of a parity array really is, by md's own arithmetic.
#[derive(Debug)]
struct Array {
    disks: u32,
    chunk: u64,
    starts: Vec<u64>,
    data_offset: u64,
    block: u64,
    first: u64,
}

prop_compose! {
    fn array()(
        disks in 4u32..9,
        chunk_shift in 0u32..8,
        start in 0u64..5000,
        data_offset in 0u64..5000,
        block in prop_oneof![Just(512u64), Just(4096), Just(16384)],
        first in 0u64..8,
    ) -> Array {
        Array {
            disks,
            chunk: 4096 << chunk_shift,
            // Alike modulo any block, but not the same.
            starts: (0..u64::from(disks)).map(|slot| start + slot * 32).collect(),
            data_offset,
            block,
            first: first * 512,
        }
    }
}

impl Array {
    fn topology(&self, lv_start: u64) -> Topology {
        let mut devices = Vec::new();
        let mut components = Vec::new();
        for (slot, start) in (0..self.disks).zip(&self.starts) {
            let mut disk = device(&format!("sd{slot}"), 8, slot * 16);
            disk.geometry.physical_block = Some(Bytes(self.block));
            disk.geometry.alignment_offset = Some(Bytes(self.first % self.block));
            let part = partition(&format!("sd{slot}p"), 8, slot * 16 + 1, disk.id, *start);
            let part = Device {
                geometry: disk.geometry,
                ..part
            };
            components.push(MdComponent {
                device: Some(part.id),
                slot: Some(slot),
                data_offset: Some(Sectors(self.data_offset)),
                ..MdComponent::default()
            });
            devices.extend([disk, part]);
        }
        let mut md = device("md0", 9, 0);
        md.members = components.iter().filter_map(|part| part.device).collect();
        md.geometry.chunk = Some(Bytes(self.chunk));
        md.geometry.stripe = Some(Bytes(self.chunk * u64::from(self.disks - 2)));
        md.md = Some(MdArray {
            level: "raid6".to_owned(),
            chunk: Some(Bytes(self.chunk)),
            components,
            ..MdArray::default()
        });
        let mut lv = device("dm-0", 253, 0);
        lv.members = vec![md.id];
        lv.dm_table = Some(vec![Segment {
            start: Sectors(0),
            len: Sectors(1 << 20),
            target: Target::parse("linear", &format!("9:0 {lv_start}")),
        }]);
        devices.extend([md, lv]);
        topology(devices)
    }
}

proptest! {
    /// Whatever sector of the volume is taken: where md puts it on a disk, it
    /// lies as far past a block as its position and the volume's offset say.
    #[test]
    fn through_an_array_as_md_itself_goes(
        array in array(), lv_start in 0u64..100_000, sector in 0u64..1_000_000
    ) {
        let all = array.topology(lv_start);
        let chunk = Sectors(array.chunk / 512);
        let level = ParityLevel::from_md("raid6").unwrap();
        let md = Raid456::new(level, 2, array.disks, chunk).unwrap();
        let place = md.locate(ArraySector(lv_start + sector)).data;
        let slot = place.slot.0 as usize;
        let on_disk = (array.starts[slot] + array.data_offset + place.sector.0) * 512;
        let real = (i128::from(on_disk) - i128::from(array.first)).rem_euclid(array.block.into());
        let told = offset(&all, "dm-0", &format!("sd{slot}"), Boundary::PhysicalBlock);
        if array.chunk % array.block == 0 {
            let told = (told.unwrap() + sector * 512) % array.block;
            prop_assert_eq!(i128::from(told), real);
        } else {
            prop_assert_eq!(told, None);
        }
        let stripe = array.chunk * u64::from(array.disks - 2);
        prop_assert_eq!(offset(&all, "dm-0", "md0", Boundary::Stripe), Some(lv_start * 512 % stripe));
        prop_assert_eq!(offset(&all, "dm-0", "md0", Boundary::Chunk), Some(lv_start * 512 % array.chunk));
    }

    /// The phase is the first position on a boundary.
    #[test]
    fn phases(width in 1u64..1 << 40, offset in any::<u64>(), first in any::<u64>()) {
        let against = Against {
            layer: DevId::default(),
            boundary: Boundary::Stripe,
            width: Bytes(width),
            offset: Ok(Bytes(offset % width)),
        };
        let phase = against.phase().unwrap().0;
        prop_assert!(phase < width);
        prop_assert!(against.moved(phase.into()).is_aligned());
        let there = against.moved(first.into()).offset.unwrap().0;
        let expected = (u128::from(offset % width) + u128::from(first)) % u128::from(width);
        prop_assert_eq!(u128::from(there), expected);
    }
}
