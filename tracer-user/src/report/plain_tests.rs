use super::*;
use crate::{
    delta::Meter,
    report::testing::{Bench, busy_bench, golden, raid_topology},
};

fn rendered(width: usize, by_process: bool) -> String {
    let bench = busy_bench();
    let first = Bench::new(raid_topology()).snapshot;
    let mut meter = Meter::new(first, Vec::new(), by_process);
    meter.devices(&bench.topology);
    let interval = meter.interval(bench.snapshot);
    let summary = meter.summary();
    let mut out = Vec::new();
    let mut report = PlainReport::new(&mut out, "live, 7 programs by btf".to_owned(), width);
    report.interval(&interval).unwrap();
    report.summary(&summary).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn at_80_columns() {
    let text = rendered(80, true);
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    golden("tests/golden/plain_80.txt", &text);
}

#[test]
fn at_120_columns() {
    golden("tests/golden/plain_120.txt", &rendered(120, false));
}

#[test]
fn nothing_happened() {
    let first = Bench::new(raid_topology()).snapshot;
    let mut meter = Meter::new(first.clone(), Vec::new(), false);
    meter.devices(&raid_topology());
    meter.interval(first);
    let mut out = Vec::new();
    let mut report = PlainReport::new(&mut out, "live".to_owned(), 80);
    report.summary(&meter.summary()).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(text.contains("No IO reached any device"), "{text}");
}

#[test]
fn for_whom_a_kernel_thread_wrote() {
    let mut bench = busy_bench();
    let row = &mut bench.snapshot.processes[0];
    row.key.comm = *b"kworker/u8:1-flu";
    row.cgroup_path = Some("/system.slice/postgresql.service".into());
    let first = Bench::new(raid_topology()).snapshot;
    let mut meter = Meter::new(first, Vec::new(), true);
    meter.devices(&bench.topology);
    let interval = meter.interval(bench.snapshot);
    let text = process_table(&interval.processes.unwrap());
    let mut lines = text.lines().skip_while(|line| !line.contains("kworker"));
    assert!(lines.next().is_some());
    assert_eq!(
        lines.next().map(str::trim),
        Some("for /system.slice/postgresql.service")
    );
}
