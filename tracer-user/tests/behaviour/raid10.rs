//! Near, far and offset layouts of raid10 under the same sequential writes and
//! reads: how much each member writes, which one serves which reads, and how
//! far its head goes, compared with where the layout keeps each sector.
//!
//! `cargo xtask bench raid10-layouts` sets `IOTRACE_RAID10_LAYOUTS`: all chunks,
//! and a line for each array, which `docs/raid10.md` is made of.

use std::{collections::HashMap, env};

use serde_json::{Value, json};

use self::heads::{Heads, IO_BYTES};
use crate::{
    case,
    harness::{
        device::Device,
        direct::Direct,
        ioctl,
        lab::{Lab, Needs},
        md::Array,
        scsi_debug::ScsiDebug,
        stat::Stat,
        tracer::{Attach, Report, Tracer, row},
    },
};

mod heads;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// What `mdadm` calls the layouts: two copies each.
const LAYOUTS: [&str; 3] = ["n2", "f2", "o2"];
const DISKS: [usize; 2] = [2, 4];

/// The same work for every array: from its begin on.
#[derive(Clone, Copy)]
struct Work {
    /// Of a member.
    disk_mib: u64,
    /// Written, then read.
    bytes: u64,
}

/// Each array with chunks of another length.
const FEW: Work = Work {
    disk_mib: 16,
    bytes: 2 * MIB,
};
const FEW_CHUNKS: [[u64; 2]; 3] = [
    [64 * KIB, 4 * KIB],
    [4 * KIB, 256 * KIB],
    [64 * KIB, 64 * KIB],
];

/// Two rows of the longest chunk on four disks.
const ALL: Work = Work {
    disk_mib: 64,
    bytes: 32 * MIB,
};
const ALL_CHUNKS: [u64; 6] = [4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB, MIB, 4 * MIB];

#[test]
#[ignore = "needs md and scsi_debug: run in a guest"]
fn heads_go_where_the_layout_says() {
    let name = "heads_go_where_the_layout_says";
    let Some(_lab) = Lab::open(name, &[Needs::Program("mdadm")]) else {
        return;
    };
    let print = env::var_os("IOTRACE_RAID10_LAYOUTS").is_some();
    let (work, rounds) = if print {
        (ALL, ALL_CHUNKS.map(|chunk| [[chunk; 2]; 3]).to_vec())
    } else {
        (FEW, vec![FEW_CHUNKS])
    };
    let size = format!("dev_size_mb={}", work.disk_mib);
    let module = ScsiDebug::load(&[&size, "sector_size=512", "physblk_exp=3"]);
    module.add(LAYOUTS.len() * DISKS.iter().sum::<usize>() - 1);
    let disks = module.disks();
    for disk in &disks {
        // Else md gives the read to the member with less to do, and what that
        // is, is a race.
        disk.write("queue/rotational", "1");
    }
    for chunks in rounds {
        let arrays = arrays(&disks, chunks);
        let Some(seen) = watched(&arrays, work) else {
            return;
        };
        for array in &arrays {
            let expected = Heads::new(&array.md, work.bytes);
            compare(array, &seen, &expected, work);
            if print {
                println!("{}", line(array, &expected));
            }
        }
    }
}

/// One of them.
struct Layout {
    name: &'static str,
    chunk_bytes: u64,
    md: Array,
}

/// One of each layout and number of disks, side by side.
fn arrays(disks: &[Device], chunks: [[u64; 2]; 3]) -> Vec<Layout> {
    let mut rest = disks;
    let mut arrays = Vec::new();
    for (name, chunks) in LAYOUTS.into_iter().zip(chunks) {
        for (count, chunk_bytes) in DISKS.into_iter().zip(chunks) {
            let (members, others) = rest.split_at(count);
            rest = others;
            let node = format!("md{}", 70 + arrays.len());
            let chunk = (chunk_bytes / KIB).to_string();
            let layout = format!("--layout={name}");
            let options = [layout.as_str(), "--bitmap=none"];
            let md = Array::create_with(&node, "10", &chunk, members, &options);
            // The first to open it makes the kernel look for partitions.
            drop(ioctl::open_direct(&md.device().node()));
            md.keep_active();
            arrays.push(Layout {
                name,
                chunk_bytes,
                md,
            });
        }
    }
    arrays
}

/// What iotrace saw while the arrays were written to, and while they were read;
/// `None`, and told, where the kernel skipped runs of a program.
struct Seen {
    writing: Vec<Value>,
    reading: Vec<Value>,
    report: Report,
    /// Bytes read of each member by the kernel's own books.
    books: HashMap<String, u64>,
}

fn watched(arrays: &[Layout], work: Work) -> Option<Seen> {
    let devices: Vec<Device> = arrays.iter().map(|array| array.md.device()).collect();
    let asked: Vec<&Device> = devices.iter().collect();
    let members: Vec<Device> = arrays
        .iter()
        .flat_map(|one| one.md.members().to_vec())
        .collect();
    let tracer = Tracer::every("1s", &asked, Attach::Btf, &[]).wait_until_attached();
    let books = || -> Vec<Stat> { members.iter().map(Stat::read).collect() };
    let len = usize::try_from(IO_BYTES).expect("a length");
    for device in &devices {
        Direct::open(device).write(0, len, work.bytes / IO_BYTES);
    }
    tracer.print_twice();
    let written = tracer.lines().len();
    let before = books();
    for device in &devices {
        Direct::open(device).read(0, len, work.bytes / IO_BYTES);
    }
    let after = books();
    tracer.print_twice();
    let report = tracer.stop();
    if case::skipped_runs(Attach::Btf, &report) {
        return None;
    }
    case::nothing_lost(Attach::Btf, &report);
    let (writing, reading) = report.intervals.split_at(written);
    Some(Seen {
        writing: writing.to_vec(),
        reading: reading.to_vec(),
        report,
        books: members
            .iter()
            .zip(after.iter().zip(&before))
            .map(|(member, (after, before))| {
                (member.name().to_owned(), (*after - *before).read_bytes())
            })
            .collect(),
    })
}

fn compare(array: &Layout, seen: &Seen, expected: &Heads, work: Work) {
    let who = |member: &Device| {
        let device = array.md.device();
        format!("{}, {} of {}", array.name, member.name(), device.name())
    };
    for (index, member) in array.md.members().iter().enumerate() {
        // First of the kernel itself: whether md read what it was taken to read.
        assert_eq!(
            seen.books[member.name()],
            expected.reading[index].counted().read_bytes,
            "{}, by its own stat; degraded: {:?}",
            who(member),
            array.md.device().read("md/degraded")
        );
        for (lines, expected) in [
            (&seen.writing, &expected.writing[index]),
            (&seen.reading, &expected.reading[index]),
        ] {
            let seen = heads::seen(lines, member);
            assert_eq!(seen, expected.counted(), "{}", who(member));
        }
    }
    let device = array.md.device();
    let raid = &row(&seen.report.summary, device.name()).expect("the array")["raid"];
    assert_eq!(raid["user_write_bytes"], work.bytes, "{raid}");
    assert_eq!(raid["data_write_bytes"], 2 * work.bytes, "{raid}");
    assert_eq!(raid["write_amplification"], 2.0, "{raid}");
}

/// A row of the table, in JSON.
fn line(array: &Layout, expected: &Heads) -> Value {
    json!({
        "layout": array.name,
        "chunk_bytes": array.chunk_bytes,
        "write": expected.writing.iter().map(heads::Head::to_json).collect::<Vec<_>>(),
        "read": expected.reading.iter().map(heads::Head::to_json).collect::<Vec<_>>(),
    })
}
