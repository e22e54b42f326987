//! An oracle that is not ours: md's own messages in a block trace, and the
//! reads of its members in the same trace.

use std::collections::{BTreeMap, BTreeSet};

use super::{KIB, needs, rig::Rig};
use crate::harness::{
    blktrace::{Blktrace, notes},
    direct::Direct,
    lab::{Lab, Needs},
    tracer::Attach,
};

/// Of each row that was announced, by the first sector on a member from where
/// data begins: `rmw`, `rcw`, or both.
fn announced(notes: &[String]) -> BTreeMap<u64, BTreeSet<String>> {
    let mut rows: BTreeMap<u64, BTreeSet<String>> = BTreeMap::new();
    for note in notes {
        let words: Vec<&str> = note.split_whitespace().collect();
        if let ["raid5", kind @ ("rmw" | "rcw"), sector, ..] = words[..] {
            let sector = sector.parse().expect("a sector");
            rows.entry(sector).or_default().insert(kind.to_owned());
        }
    }
    rows
}

/// Reads queued to a member, in bytes by row.
fn reads(lines: &str, data_offset: u64, into: &mut BTreeMap<u64, u64>) {
    for line in lines.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let ["Q", rwbs, sector, bytes] = words[..]
            && rwbs.starts_with('R')
        {
            let sector: u64 = sector.parse().expect("a sector");
            let bytes: u64 = bytes.parse().expect("bytes");
            *into.entry(sector - data_offset).or_default() += bytes;
        }
    }
}

/// Whole blocks of 4 KiB, cold and one after another: each row with a message
/// has pre-reads of that kind, and each row with pre-reads has a message.
#[test]
#[ignore = "needs md and scsi_debug: run in a guest"]
fn md_says_the_same_of_every_row() {
    let mut needed = needs().to_vec();
    needed.push(Needs::Program("blkparse"));
    let Some(lab) = Lab::open("md_says_the_same_of_every_row", &needed) else {
        return;
    };
    let rig = Rig::new(&lab, "6", "64", 9, &["--bitmap=none"]);
    for attach in Attach::tried(&Attach::TELLING) {
        rig.empty_stripe_cache();
        let traced = rig.all();
        let trace = Blktrace::start(&traced);
        let device = rig.device();
        let Some(raid) = rig.measured(attach, || {
            let direct = Direct::open(&device);
            // One row; many rows of one chunk; rows that rcw is cheaper for; a
            // ragged stripe. Every row once.
            direct.write(4 * KIB, 4 << 10, 1);
            direct.write(10 * 448 * KIB, 64 << 10, 1);
            direct.write(20 * 448 * KIB, 384 << 10, 1);
            direct.write(30 * 448 * KIB + 20 * KIB, 500 << 10, 1);
            direct.write(50 * 448 * KIB, 448 << 10, 2);
        }) else {
            return;
        };
        let lines = trace.stop(&lab);
        let rows = announced(&notes(&lab, &device));
        let mut read = BTreeMap::new();
        for member in rig.members() {
            reads(&lines[member.name()], rig.data_offset(member), &mut read);
        }
        let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
        for (row, bytes) in &read {
            let kinds = rows.get(row);
            let kinds = kinds.unwrap_or_else(|| {
                panic!(
                    "row {row} is read without a message: {rows:?}, {:?}",
                    notes(&lab, &device)
                )
            });
            let kind = kinds.first().expect("a kind");
            assert_eq!(kinds.len(), 1, "row {row}: {kinds:?}");
            *sums.entry(kind).or_default() += bytes;
        }
        for row in rows.keys() {
            assert!(
                read.contains_key(row),
                "row {row} has a message and no read"
            );
        }
        assert!(sums["rmw"] > 0 && sums["rcw"] > 0, "{sums:?}");
        assert_eq!(
            raid["preread_bytes"]["rmw"], sums["rmw"],
            "{attach:?}: {raid}"
        );
        assert_eq!(
            raid["preread_bytes"]["rcw"], sums["rcw"],
            "{attach:?}: {raid}"
        );
        assert_eq!(raid["preread_bytes"]["partial_block"], 0);
    }
}
