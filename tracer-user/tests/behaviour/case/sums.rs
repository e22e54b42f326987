//! Parts add up to their whole, and intervals to the summary.

use std::collections::BTreeMap;

use serde_json::Value;

use super::number;
use crate::harness::tracer::{Report, row};

/// The operations that have classes.
const OPERATIONS: [&str; 4] = ["read", "write", "write_zeroes", "discard"];

/// In one row of one line.
pub(super) fn parts_add_up(who: &str, row: &Value) {
    for op in OPERATIONS {
        if row[op].is_null() {
            continue;
        }
        let of = |path: &str| number(row, &format!("{op}.{path}"));
        let get = |path: &str| of(path).unwrap_or_else(|| panic!("{who}: {op}.{path} is null"));
        // A part that only some versions print is 0 where it isn't.
        let perhaps = |group: &str, part: &str| row[op][group][part].as_u64().unwrap_or(0);
        let (requests, bytes) = (get("requests"), get("bytes"));
        let misaligned = get("physical.off_grid") + get("physical.sub_block");
        assert_eq!(get("physical.misaligned"), misaligned, "{who}: {op}: {row}");
        let physical = get("physical.aligned") + misaligned + get("physical.unknown");
        assert_eq!(physical, requests, "{who}: {op} physical: {row}");
        if !row[op]["chunk"].is_null() {
            let known = get("chunk.aligned") + get("chunk.inside") + get("chunk.crossing");
            let all = known + perhaps("chunk", "unknown");
            assert_eq!(all, requests, "{who}: {op} chunk: {row}");
        }
        if !row[op]["stripe"].is_null() {
            let known = get("stripe.full") + get("stripe.mixed") + get("stripe.partial");
            let all = known + perhaps("stripe", "unknown");
            assert_eq!(all, requests, "{who}: {op} stripe: {row}");
            let known = get("stripe.full_bytes") + get("stripe.partial_bytes");
            let all = known + perhaps("stripe", "unknown_bytes");
            assert_eq!(all, bytes, "{who}: {op} stripe bytes: {row}");
        }
    }
}

/// Every read and every write is in one bin of each histogram: at rest, as they
/// are other cells than the counters, read at another moment.
pub(super) fn histograms_add_up(who: &str, row: &Value) {
    let Some(histograms) = row["histograms"].as_object() else {
        return;
    };
    for name in ["remainder_bytes", "grain_bytes", "size_bytes"] {
        let bins = histograms[name].as_array().expect("bins");
        for (count, op) in [("reads", "read"), ("writes", "write")] {
            let sum: u64 = bins.iter().filter_map(|bin| bin[count].as_u64()).sum();
            let requests = number(row, &format!("{op}.requests"));
            assert_eq!(Some(sum), requests, "{who}: {count} in {name}: {row}");
        }
    }
}

/// The interval lines of a device, added, are its summary.
pub(super) fn intervals_add_up(who: &str, name: &str, report: &Report) {
    let mut sum = BTreeMap::new();
    for row in report.intervals.iter().filter_map(|line| row(line, name)) {
        for (path, value) in counts(row) {
            *sum.entry(path).or_insert(0) += value;
        }
    }
    let summary = row(&report.summary, name).expect("a row in the summary");
    for (path, value) in counts(summary) {
        let added = sum.get(&path).copied().unwrap_or(0);
        assert_eq!(added, value, "{who}: {path} over all intervals");
    }
}

/// Every count in a row, by its path.
fn counts(row: &Value) -> BTreeMap<String, u64> {
    let mut found = BTreeMap::new();
    for key in OPERATIONS
        .iter()
        .chain(&["flush", "requeued", "other_requests"])
    {
        collect(key, &row[*key], &mut found);
    }
    found
}

fn collect(path: &str, value: &Value, found: &mut BTreeMap<String, u64>) {
    match value {
        Value::Number(number) => {
            if let Some(count) = number.as_u64() {
                found.insert(path.to_owned(), count);
            }
        }
        Value::Object(members) => {
            // Percentiles are no counts.
            for (key, member) in members.iter().filter(|(key, _)| !key.contains("latency")) {
                collect(&format!("{path}.{key}"), member, found);
            }
        }
        _ => {}
    }
}
