//! Sums and books: everything that reached a member has a reason, whatever ran
//! at the same time; and md's own writes are those that a block trace shows.

use super::{MIB, needs, rig::Rig};
use crate::harness::{
    blktrace::Blktrace,
    direct::Direct,
    fio::Fio,
    lab::{Lab, Needs},
    tracer::Attach,
};

fn with(program: &'static str) -> Vec<Needs> {
    let mut all = needs().to_vec();
    all.push(Needs::Program(program));
    all
}

/// Random and sequential, reads and writes, past the page cache and through it,
/// with a check in the middle; then with a failed member. That the sums are the
/// members' own is part of every measurement.
#[test]
#[ignore = "needs md and scsi_debug: run in a guest"]
fn everything_has_a_reason() {
    let Some(lab) = Lab::open("everything_has_a_reason", &with("fio")) else {
        return;
    };
    let rig = Rig::new(&lab, "6", "64", 6, &["--bitmap=internal"]);
    let device = rig.device();
    let mixed = || {
        Fio::mixed(&device, 101).run(&lab);
        Fio::mixed(&device, 61)
            .set("rw=write")
            .set("direct=0")
            .set("end_fsync=1")
            .set("bssplit=4k/40:64k/60")
            .run(&lab);
    };
    for attach in Attach::tried(&Attach::TELLING) {
        let Some(raid) = rig.measured(attach, || {
            rig.start_check();
            mixed();
        }) else {
            return;
        };
        // Rows that the stripe cache has are not read for a check.
        let checked = raid["sync_read_bytes"].as_u64().expect("bytes");
        let all = 6 * rig.component_bytes();
        assert!(checked <= all && checked > all / 2, "{raid}");
        assert!(raid["preread_bytes"]["rcw"].as_u64() > Some(0), "{raid}");
    }
    rig.fail_first();
    for attach in Attach::tried(&Attach::TELLING) {
        let Some(raid) = rig.measured(attach, mixed) else {
            return;
        };
        assert!(raid["degraded_read_bytes"].as_u64() > Some(0), "{raid}");
    }
}

/// What threads and the page cache make of a load is another each time; the
/// pre-reads are what the members were read, as nobody else reads them.
#[test]
#[ignore = "needs md and scsi_debug: run in a guest"]
fn only_prereads_are_read() {
    let Some(lab) = Lab::open("only_prereads_are_read", &with("fio")) else {
        return;
    };
    let rig = Rig::new(&lab, "6", "64", 6, &["--bitmap=none"]);
    let device = rig.device();
    device.write("md/group_thread_cnt", "2");
    let before = rig.rest();
    let Some(raid) = rig.measured(Attach::Btf, || {
        Fio::mixed(&device, 211)
            .set("rw=randwrite")
            .deep("libaio")
            .run(&lab);
        Fio::mixed(&device, 61)
            .set("rw=randwrite")
            .set("direct=0")
            .set("end_fsync=1")
            // The rest of a page would be read by the page cache.
            .set("bssplit=4k/40:64k/60")
            .set("blockalign=4k")
            .run(&lab);
    }) else {
        return;
    };
    let read: u64 = rig
        .rest()
        .iter()
        .zip(&before)
        .map(|(after, before)| (*after - *before).read_bytes())
        .sum();
    let parts = raid["preread_bytes"].as_object().expect("pre-reads");
    let prereads: u64 = parts
        .values()
        .map(|bytes| bytes.as_u64().expect("bytes"))
        .sum();
    assert!(read > 0, "{raid}");
    assert_eq!(prereads, read, "{raid}");
}

/// With a bitmap of its usual chunk, of a small one, and none.
#[test]
#[ignore = "needs md and scsi_debug: run in a guest"]
fn metadata_is_what_a_block_trace_shows() {
    let name = "metadata_is_what_a_block_trace_shows";
    let Some(lab) = Lab::open(name, &with("blkparse")) else {
        return;
    };
    let bitmaps: [&[&str]; 3] = [
        &["--bitmap=none"],
        &["--bitmap=internal"],
        &["--bitmap=internal", "--bitmap-chunk=64"],
    ];
    for options in bitmaps {
        let rig = Rig::new(&lab, "5", "64", 4, options);
        let device = rig.device();
        // Nothing may be left to write when only one of the two watches.
        rig.rest();
        let trace = Blktrace::start(rig.members());
        let Some(raid) = rig.measured(Attach::Btf, || {
            let direct = Direct::open(&device);
            for index in 0..23 {
                direct.write(index * 3 * MIB, 4 << 10, 1);
            }
        }) else {
            return;
        };
        let lines = trace.stop(&lab);
        let (mut bios, mut bytes) = (0, 0);
        for member in rig.members() {
            for (sector, len) in queued_writes(&lines[member.name()]) {
                if sector < rig.data_offset(member) {
                    bios += 1;
                    bytes += len;
                }
            }
        }
        assert!(bios > 0, "md marks an array that is written to as such");
        assert_eq!(raid["metadata_writes"], bios, "{options:?}: {raid}");
        assert_eq!(raid["metadata_write_bytes"], bytes, "{options:?}: {raid}");
    }
}

/// Sector and bytes of each write queued.
fn queued_writes(lines: &str) -> Vec<(u64, u64)> {
    let of = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let ["Q", rwbs, sector, bytes] = words[..] else {
            return None;
        };
        let write = rwbs.trim_start_matches('F').starts_with('W');
        let bytes: u64 = bytes.parse().expect("bytes");
        (write && bytes != 0).then(|| (sector.parse().expect("a sector"), bytes))
    };
    lines.lines().filter_map(of).collect()
}
