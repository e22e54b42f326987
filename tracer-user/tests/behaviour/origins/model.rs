//! Levels, layouts, chunks and `rmw_level`s against the row model: what md does
//! on cold rows.

use std::path::Path;

use iotrace::raid::{
    ArraySector, Extent, MemberSector, ParityLevel, ParityShape, RmwLevel, RowModel, Synced,
    WriteCost,
};
use iotrace::units::Sectors;

use super::{KIB, needs, rig::Rig};
use crate::harness::{direct::Direct, lab::Lab, tracer::Attach};

/// (level, disks, chunk in KiB, layout, `rmw_level`)
const ARRAYS: [(&str, u32, u64, &str, u32); 8] = [
    ("5", 4, 64, "left-symmetric", 1),
    ("5", 5, 4, "left-asymmetric", 1),
    ("5", 5, 64, "right-asymmetric", 0),
    ("5", 4, 512, "right-symmetric", 2),
    ("4", 4, 64, "", 1),
    ("6", 5, 64, "left-symmetric", 1),
    ("6", 7, 4, "right-asymmetric", 2),
    ("6", 6, 64, "left-symmetric", 0),
];

/// Writes from the begin of a stripe on: where, and how long, in bytes.
fn writes(chunk: u64, stripe: u64) -> [(u64, u64); 8] {
    [
        (0, 512),
        (512, 4096),
        (0, 4096),
        (4096, 8192),
        (0, chunk),
        (0, stripe - 4096),
        (0, stripe),
        (chunk, stripe),
    ]
}

#[test]
#[ignore = "needs md and scsi_debug: run in a guest"]
fn every_level_and_layout() {
    let Some(lab) = Lab::open("every_level_and_layout", &needs()) else {
        return;
    };
    for (level, disks, chunk_kib, layout, rmw_level) in ARRAYS {
        let layout = format!("--layout={layout}");
        let mut options = vec!["--bitmap=none"];
        if level != "4" {
            options.push(&layout);
        }
        let chunk = chunk_kib.to_string();
        let count = usize::try_from(disks).expect("a number");
        let rig = Rig::new(&lab, level, &chunk, count, &options);
        let name = format!("raid{level}");
        let level = ParityLevel::from_md(&name).expect("a level with parity");
        let shape = ParityShape::new(level, disks, Sectors(chunk_kib * 2)).expect("an array");
        rig.device().write("md/rmw_level", &rmw_level.to_string());
        let rmw = RmwLevel::from_md(rmw_level).expect("a level");
        let model = RowModel::new(shape, rmw, Synced::Whole);
        if compare(&rig, &model, chunk_kib * KIB, shape.stripe().0).is_none() {
            return;
        }
    }
}

/// Rows that the first resync has not reached: md reconstructs always, whatever
/// it has to read for that.
#[test]
#[ignore = "needs md and scsi_debug: run in a guest"]
fn a_row_that_is_not_synchronized_is_reconstructed() {
    let name = "a_row_that_is_not_synchronized_is_reconstructed";
    let Some(lab) = Lab::open(name, &needs()) else {
        return;
    };
    let rig = Rig::unsynced(&lab, "6", "64", 8);
    let shape = ParityShape::new(ParityLevel::Raid6, 8, Sectors(128)).expect("an array");
    let stripe = shape.stripe().0;
    let synced = Synced::UpTo(MemberSector(0));
    let model = RowModel::new(shape, RmwLevel::Fewer, synced);
    let Some(raid) = compare(&rig, &model, 64 * KIB, stripe) else {
        return;
    };
    assert_eq!(raid["preread_bytes"]["rmw"], 0, "{raid}");
    // By the table for kernels without BTF of md's modules the state of the
    // array is not known.
    let causes = &raid["cause"]["bytes"];
    let known = md_has_btf();
    assert_eq!(causes["not_synced"] != 0, known, "{raid}");
}

/// Whether md's modules have BTF here (`CONFIG_DEBUG_INFO_BTF_MODULES`).
fn md_has_btf() -> bool {
    Path::new("/sys/kernel/btf/raid456").exists()
}

/// Writes of all kinds against the model; the array's figures, `None` as in
/// [`Rig::measured`].
fn compare(rig: &Rig, model: &RowModel, chunk: u64, stripe: u64) -> Option<serde_json::Value> {
    let device = rig.device();
    // Longer ones md splits, and what it makes of the parts is a race.
    let whole = writes(chunk, stripe).into_iter();
    let whole = whole.filter(|(_, len)| *len <= 1 << 20);
    let writes: Vec<(u64, u64)> = (0..)
        .zip(whole)
        // Rows of their own for each.
        .map(|(index, (start, len))| (index * 4 * stripe + start, len))
        .collect();
    let expected: WriteCost = writes
        .iter()
        .map(|&(start, len)| {
            let extent = Extent::new(ArraySector(start / 512), Sectors(len / 512));
            model.write(&extent.expect("some sectors"))
        })
        .sum();
    let raid = rig.measured(Attach::Btf, || {
        let direct = Direct::open(&device);
        for (start, len) in &writes {
            direct.write(*start, usize::try_from(*len).expect("a length"), 1);
        }
    })?;
    let bytes = |value: &serde_json::Value| value.as_u64().expect("bytes");
    let preread = &raid["preread_bytes"];
    assert_eq!(
        [
            bytes(&preread["rmw"]),
            bytes(&preread["rcw"]),
            bytes(&preread["partial_block"]),
            bytes(&raid["data_write_bytes"]),
            bytes(&raid["parity_write_bytes"]),
            bytes(&raid["rows"]["full"]),
        ],
        [
            expected.preread.rmw.0,
            expected.preread.rcw.0,
            expected.preread.partial_block.0,
            expected.data_write.0,
            expected.parity_write.0,
            expected.rows.full,
        ],
        "{model:?}: {raid}"
    );
    Some(raid)
}
