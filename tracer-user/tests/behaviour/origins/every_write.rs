//! Every start and every length over two stripes against the row model: each
//! write by the members' own books, all together by iotrace.

use iotrace::{
    raid::{ArraySector, Extent, ParityLevel, ParityShape, RmwLevel, RowModel, Synced, WriteCost},
    units::Sectors,
};

use super::{needs, rig::Rig};
use crate::harness::{device::Device, direct::Direct, lab::Lab, stat::Stat, tracer::Attach};

/// (level, disks): the fewest of which md both reconstructs and modifies, by
/// the length of the write.
const ARRAYS: [(&str, u32); 2] = [("5", 5), ("6", 7)];
const CHUNK_KIB: u64 = 4;

#[test]
#[ignore = "needs md and scsi_debug: run in a guest"]
fn every_start_and_length_over_two_stripes() {
    let name = "every_start_and_length_over_two_stripes";
    let Some(lab) = Lab::open(name, &needs()) else {
        return;
    };
    for (level, disks) in ARRAYS {
        let count = usize::try_from(disks).expect("a number");
        let rig = Rig::new(
            &lab,
            level,
            &CHUNK_KIB.to_string(),
            count,
            &["--bitmap=none"],
        );
        let parity = ParityLevel::from_md(&format!("raid{level}")).expect("a level with parity");
        let shape = ParityShape::new(parity, disks, Sectors(CHUNK_KIB * 2)).expect("an array");
        // Whatever this CPU's default is.
        rig.device().write("md/rmw_level", "1");
        compare(&rig, &RowModel::new(shape, RmwLevel::Fewer, Synced::Whole));
    }
}

fn compare(rig: &Rig, model: &RowModel) {
    let two_stripes = model.shape().stripe().0 / 512 * 2;
    let places =
        (0..two_stripes).flat_map(|start| (1..=two_stripes - start).map(move |len| (start, len)));
    let mut expected = WriteCost::default();
    let raid = rig.measured(Attach::Btf, || {
        let direct = Direct::open(&rig.device());
        let mut before = read_bytes(rig.members());
        for (index, (start, len)) in (0..).zip(places) {
            // Rows of its own for each.
            let start = start + index * two_stripes;
            let extent = Extent::new(ArraySector(start), Sectors(len)).expect("some sectors");
            let cost = model.write(&extent);
            direct.write(
                start * 512,
                usize::try_from(len * 512).expect("a length"),
                1,
            );
            let now = read_bytes(rig.members());
            assert_eq!(
                now - before,
                cost.preread.total().0,
                "{len} sectors from {start} on: {model:?}"
            );
            before = now;
            expected += cost;
        }
    });
    let Some(raid) = raid else { return };
    let preread = &raid["preread_bytes"];
    let measured = ["rmw", "rcw", "partial_block"].map(|way| preread[way].as_u64());
    let of = expected.preread;
    assert_eq!(
        measured,
        [of.rmw, of.rcw, of.partial_block].map(|bytes| Some(bytes.0)),
        "{raid}"
    );
}

fn read_bytes(members: &[Device]) -> u64 {
    members
        .iter()
        .map(|member| Stat::read(member).read_bytes())
        .sum()
}
