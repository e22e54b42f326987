//! One row against what must be in it.

use std::{
    fs,
    io::{self, Write as _},
};

use serde_json::Value;

use super::{Books, Geometry, Watched, number};
use crate::harness::{
    expect::Expected,
    stat::Stat,
    tracer::{Attach, Report},
};

const PHYSICAL: [&str; 5] = [
    "aligned",
    "misaligned",
    "off_grid",
    "sub_block",
    "partial_blocks",
];
const CHUNK: [&str; 3] = ["aligned", "inside", "crossing"];
const STRIPE: [&str; 5] = ["full", "mixed", "partial", "full_bytes", "partial_bytes"];

/// Nothing lost, in any interval: known to be nothing where the kernel says.
pub(crate) fn nothing_lost(attach: Attach, report: &Report) {
    for line in report.intervals.iter().chain([&report.summary]) {
        let lost = &line["lost_events"];
        if attach != Attach::Tracepoint && kernel_tells_skipped_runs() {
            assert_eq!(*lost, 0, "{}: {line}", attach.word());
        } else {
            assert!(lost.is_null() || *lost == 0, "{}: {line}", attach.word());
        }
    }
}

/// Whether the kernel skipped runs of a program, and iotrace says so, on a
/// kernel whose tracepoints can be preempted (`IOTRACE_PREEMPTIBLE`, set by who
/// runs the tests there): what another task does meanwhile on that CPU is lost
/// to any tracer. Such a run is told and not compared.
pub(crate) fn skipped_runs(attach: Attach, report: &Report) -> bool {
    let skipped = number(&report.summary, "lost.recursion").unwrap_or(0);
    if skipped == 0 || std::env::var_os("IOTRACE_PREEMPTIBLE").is_none() {
        return false;
    }
    assert_eq!(number(&report.summary, "lost_events"), Some(skipped));
    // Past the test runner, which shows only what failed tests print.
    let told = writeln!(
        io::stderr(),
        "NOT COMPARED: {}: the kernel skipped {skipped} runs of a program",
        attach.word()
    );
    told.expect("standard error");
    true
}

/// Whether this kernel counts the runs of a program that it skipped: the field
/// has a name in its BTF.
pub(crate) fn kernel_tells_skipped_runs() -> bool {
    let btf = fs::read("/sys/kernel/btf/vmlinux").unwrap_or_default();
    let name = b"\0recursion_misses\0";
    btf.windows(name.len()).any(|window| window == name)
}

/// Before it had this function (5.14), md counted a bio's whole length, split
/// it, and counted the rest when it came back.
pub(crate) fn md_counts_bytes_once() -> bool {
    let symbols = fs::read_to_string("/proc/kallsyms").expect("kallsyms");
    symbols.contains(" md_account_bio\t") || symbols.contains(" md_account_bio\n")
}

/// The geometry printed is the one the test made. A partition's depends on its
/// disk's and is not judged here.
pub(super) fn geometry(who: &str, row: &Value, one: &Watched) {
    if one.device.is_partition() {
        return;
    }
    let geometry = &one.geometry;
    let some = |value: u64| (value != 0).then_some(value);
    let printed = |name: &str| number(row, &format!("geometry.{name}"));
    for (name, expected) in [
        ("logical_block_bytes", some(geometry.logical)),
        ("physical_block_bytes", some(geometry.physical)),
        ("alignment_offset_bytes", Some(geometry.alignment)),
        ("chunk_bytes", some(geometry.chunk)),
        ("data_disks", some(geometry.data_disks)),
        ("stripe_bytes", some(geometry.stripe())),
    ] {
        assert_eq!(printed(name), expected, "{who}: {name} in {row}");
    }
}

/// Every class of every operation, as the script found them.
pub(super) fn classes(
    who: &str,
    attach: Attach,
    row: &Value,
    expected: &Expected,
    geometry: &Geometry,
) {
    let classic = attach == Attach::Tracepoint;
    for op in ["read", "write", "discard"] {
        operation(who, row, op, expected, geometry);
    }
    assert_eq!(
        number(row, "flush.requests"),
        Some(expected.get("flush.requests")),
        "{who}: flushes in {row}"
    );
    if classic {
        for not_told in ["write_zeroes", "requeued"] {
            assert!(row[not_told].is_null(), "{who}: {not_told} in {row}");
        }
        return;
    }
    operation(who, row, "write_zeroes", expected, geometry);
    assert_eq!(
        number(row, "requeued"),
        Some(expected.get("requeued")),
        "{who}: requeued in {row}"
    );
    assert_eq!(number(row, "other_requests"), Some(0), "{who}: {row}");
    for bios in ["empty_bios", "preflush_bios", "fua_bios"] {
        let path = format!("flush.{bios}");
        assert_eq!(
            number(row, &path),
            Some(expected.get(&path)),
            "{who}: {path} in {row}"
        );
    }
}

/// The remainder of every read and write against the physical block, where
/// the row has histograms.
pub(super) fn remainders(who: &str, row: &Value, expected: &Expected, geometry: &Geometry) {
    let Some(bins) = row["histograms"]["remainder_bytes"].as_array() else {
        return;
    };
    for bin in bins {
        let logical_blocks = number(bin, "bytes").expect("a bin's start") / geometry.logical;
        for (count, op) in [("reads", "read"), ("writes", "write")] {
            assert_eq!(
                number(bin, count),
                Some(expected.get(&format!("{op}.remainder.{logical_blocks}"))),
                "{who}: {op} {logical_blocks} blocks off: {row}"
            );
        }
    }
}

fn operation(who: &str, row: &Value, op: &str, expected: &Expected, geometry: &Geometry) {
    let check = |path: &str| {
        let path = format!("{op}.{path}");
        assert_eq!(
            number(row, &path),
            Some(expected.get(&path)),
            "{who}: {path} in {row}"
        );
    };
    check("requests");
    check("bytes");
    for part in PHYSICAL {
        check(&format!("physical.{part}"));
    }
    assert_eq!(
        number(row, &format!("{op}.physical.unknown")),
        Some(0),
        "{who}: {row}"
    );
    if geometry.chunk == 0 {
        assert!(row[op]["chunk"].is_null(), "{who}: {op}.chunk in {row}");
    } else {
        CHUNK
            .iter()
            .for_each(|part| check(&format!("chunk.{part}")));
    }
    if geometry.stripe() == 0 || op == "read" {
        assert!(row[op]["stripe"].is_null(), "{who}: {op}.stripe in {row}");
    } else {
        STRIPE
            .iter()
            .for_each(|part| check(&format!("stripe.{part}")));
    }
}

/// The kernel's books, by the identity that holds for the kind of device.
pub(super) fn books(
    who: &str,
    attach: Attach,
    row: &Value,
    stat: &Stat,
    expected: &Expected,
    books: Books,
) {
    if books == Books::None || books == Books::Array && !md_counts_bytes_once() {
        return;
    }
    let printed = |path: &str| number(row, path);
    let same = |what: &str, ours: Option<u64>, kernels: u64| {
        assert_eq!(ours, Some(kernels), "{who}: {what}: {row}\n{stat:?}");
    };
    same("bytes read", printed("read.bytes"), stat.read_bytes());
    same(
        "bytes discarded",
        printed("discard.bytes"),
        stat.discarded_bytes(),
    );
    // Write zeroes are writes in the books. Where the tracer can't tell them,
    // the script's figure stands in.
    let classic = attach == Attach::Tracepoint;
    let told_or = |path: &str| {
        if classic {
            expected.get(path)
        } else {
            printed(path).unwrap_or_else(|| panic!("{who}: {path} is null in {row}"))
        }
    };
    let written = printed("write.bytes").map(|bytes| bytes + told_or("write_zeroes.bytes"));
    same("bytes written", written, stat.written_bytes());
    if books != Books::All {
        return;
    }
    same("reads", printed("read.requests"), stat.reads());
    same("discards", printed("discard.requests"), stat.discards());
    same("flushes", printed("flush.requests"), stat.flushes());
    let others = told_or("write_zeroes.requests") + told_or("flush.empty_bios");
    let writes = printed("write.requests").map(|writes| writes + others);
    same("writes", writes, stat.writes());
}
