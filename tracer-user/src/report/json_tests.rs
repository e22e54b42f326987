use proptest::prelude::*;
use tracer_ebpf::cells::{CELLS, detail};

use super::*;
use crate::{
    delta::Meter,
    report::testing::{Bench, busy_bench, golden, raid_topology},
    snapshot::{Lost, Unknown},
};

fn lines(bench: Bench, by_process: bool) -> String {
    let first = Bench::new(raid_topology()).snapshot;
    let mut meter = Meter::new(first, Vec::new(), by_process);
    meter.devices(&bench.topology);
    let mut out = Vec::new();
    let mut report = JsonReport::new(&mut out, "live, 7 programs by btf".to_owned());
    report.interval(&meter.interval(bench.snapshot)).unwrap();
    report.summary(&meter.summary()).unwrap();
    String::from_utf8(out).unwrap()
}

fn check_schema(text: &str) {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    for line in text.lines() {
        let value: Value = serde_json::from_str(line).unwrap();
        let errors: Vec<String> = validator
            .iter_errors(&value)
            .map(|error| format!("{}: {error}", error.instance_path))
            .collect();
        assert!(errors.is_empty(), "{errors:?}\n{line}");
    }
}

#[test]
fn exact_lines() {
    let text = lines(busy_bench(), true);
    check_schema(&text);
    golden("tests/golden/lines.jsonl", &text);
}

#[test]
fn what_is_not_known_is_null() {
    let mut bench = busy_bench();
    bench.snapshot.unknown = Unknown {
        operations: true,
        requeues: true,
        flush_bios: true,
        latency: true,
        callers: true,
    };
    bench.snapshot.lost = Lost::default();
    let text = lines(bench, false);
    check_schema(&text);
    let line: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!(line["lost_events"], Value::Null);
    assert_eq!(line.get("processes"), None);
    for device in line["devices"].as_array().unwrap() {
        for key in ["write_zeroes", "zone_append", "requeued", "raid", "origin"] {
            assert_eq!(device.get(key), Some(&Value::Null), "{key}");
        }
        assert_eq!(device["flush"]["empty_bios"], Value::Null);
        assert_eq!(device["write"]["latency_seconds"], Value::Null);
        assert_eq!(device["read"]["stripe"], Value::Null);
    }
}

#[test]
fn the_schema_is_the_committed_one() {
    let text = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
    golden("schema/live-line.schema.json", &text);
}

#[test]
fn the_schema_refuses_what_a_line_is_not() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    let text = lines(busy_bench(), false);
    let line: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert!(validator.is_valid(&line));
    for pointer in ["/devices/0", "/devices/0/write", "/devices/0/geometry", ""] {
        let keys: Vec<String> = line
            .pointer(pointer)
            .unwrap()
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect();
        for key in keys {
            let mut broken = line.clone();
            broken
                .pointer_mut(pointer)
                .unwrap()
                .as_object_mut()
                .unwrap()
                .remove(&key);
            assert!(
                !validator.is_valid(&broken),
                "{pointer}/{key} may be missing"
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn every_line_fits_the_schema(
        cells in prop::collection::vec((0usize..9, 0..CELLS, any::<u32>()), 0..60),
        details in prop::collection::vec((0usize..9, 0..detail::CELLS, any::<u32>()), 0..60),
        unknown in any::<(bool, bool, bool, bool, bool)>(),
        lost in any::<(Option<u32>, Option<u32>)>(),
        with_detail in any::<bool>(),
    ) {
        let mut bench = busy_bench();
        let (operations, requeues, flush_bios, latency, callers) = unknown;
        bench.snapshot.unknown = Unknown {
            operations,
            requeues,
            flush_bios,
            latency,
            callers,
        };
        bench.snapshot.lost = Lost {
            by_maps: lost.0.map(u64::from),
            by_recursion: lost.1.map(u64::from),
        };
        let mut rows: Vec<_> = bench.snapshot.rows.values_mut().collect();
        for (row, cell, amount) in cells {
            rows[row].cells[cell] += u64::from(amount);
        }
        for (row, cell, amount) in details {
            match &mut rows[row].detail {
                Some(detail) if with_detail => detail[cell] += u64::from(amount),
                kept => *kept = None,
            }
        }
        check_schema(&lines(bench, true));
    }
}
