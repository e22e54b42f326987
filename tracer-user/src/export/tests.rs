use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use prometheus::{
    Registry, TextEncoder,
    proto::{LabelPair, MetricFamily},
};
use tracer_ebpf::{
    op::Op,
    origin::{
        Cause, Origin, RowKind,
        abi::{CAUSES, CELLS, ROWS, origin_cell},
    },
};

use super::{table::ALL, *};
use crate::{
    delta::Totals,
    facts::program::ProgramFacts,
    plan,
    report::testing::{Bench, busy_bench, device, golden, topology},
    snapshot::{OriginKey, Origins, RowKey},
    source::{Inside, MapUse, RunningProgram},
    sysfs::{
        device::{Device, MdBitmap, MdComponent},
        stripe_cache::StripeCache,
    },
    units::{Bytes, Sectors},
};

fn inside() -> Inside {
    Inside {
        programs: vec![RunningProgram {
            name: "block_rq_issue_btf".to_owned(),
            event: "block_rq_issue",
            kind: plan::Kind::Btf,
            facts: ProgramFacts {
                recursion_misses: Some(0),
                run_count: Some(1000),
                run_time_ns: Some(66_000),
            },
        }],
        maps: vec![MapUse {
            name: "slots",
            used: 9,
            capacity: 73,
        }],
    }
}

fn change(bench: &mut Bench, name: &str, change: impl FnOnce(&mut Device)) {
    let mut devices = bench.topology.devices.values_mut();
    change(devices.find(|device| device.name == name).unwrap());
}

/// A second of mixed work, with all that an array and its components tell.
fn bench() -> Bench {
    let mut bench = busy_bench();
    change(&mut bench, "sda", |sda| {
        sda.wwn = Some("naa.5000c500a1b2c3d4".to_owned());
        sda.model = Some("ACME \"2 TB\"".to_owned());
        sda.geometry.boundary = Some(Bytes(16_384));
    });
    bench.io("sda", Op::Write, (16_384, 16_384, 0), 2, 50_000);
    change(&mut bench, "md127", |array| {
        let md = array.md.as_mut().unwrap();
        md.uuid = Some("6f3f3d5e-8f0c-4c5e-9d5b-0d7c1c1f2a3b".to_owned());
        md.metadata_version = Some("1.2".to_owned());
        md.raid_disks = Some(9);
        md.layout = Some(2);
        md.chunk = Some(Bytes(65_536));
        md.degraded = Some(0);
        md.sync_action = Some("check".to_owned());
        md.bitmap = Some(MdBitmap {
            location_sectors: 8,
            chunk: Bytes(65_536),
        });
        md.components = vec![MdComponent {
            name: "sda1".to_owned(),
            slot: Some(0),
            state: vec!["in_sync".to_owned()],
            data_offset: Some(Sectors(2048)),
            ..MdComponent::default()
        }];
    });
    change(&mut bench, "sda1", |sda1| {
        sda1.geometry.phase = Some(Bytes(3072));
    });
    let id = |name: &str| bench.topology.by_name(name).unwrap().id;
    let key = |name: &str| RowKey {
        device: id(name),
        name: name.to_owned(),
    };
    let mut cells = Box::new([0; CELLS]);
    for (origin, bios) in [
        (Origin::RmwData, 3),
        (Origin::Data, 70),
        (Origin::ReadCheck, 9),
    ] {
        cells[origin_cell(origin)] = bios;
        cells[origin_cell(origin) + 1] = bios * 4096;
    }
    cells[ROWS + RowKind::Rmw as usize] = 3;
    cells[CAUSES + Cause::StartsInside as usize] = 3 * 4096;
    let component = OriginKey {
        array: key("md127"),
        component: key("sda1"),
    };
    let cache = StripeCache {
        active_rows: 17,
        size_rows: 256,
    };
    bench.snapshot.stripe_caches.insert(id("md127"), cache);
    bench.snapshot.origins = Some(Origins {
        components: [(component, cells)].into(),
        rows: true,
    });
    bench
}

fn scrape(bench: &Bench) -> Scrape {
    let mut totals = Totals::new(Vec::new());
    Scrape {
        sums: totals.take(bench.snapshot.clone(), &bench.topology),
        inside: inside(),
        attach: "test".to_owned(),
        took: Duration::from_micros(1500),
    }
}

fn gather(bench: &Bench, filter: DeviceFilter) -> Vec<MetricFamily> {
    let scrape = scrape(bench);
    let read = Box::new(move || Ok(scrape.clone()));
    let exporter = Exporter::new(read, filter, false);
    let exporter = exporter.with_web_config(Arc::new(AtomicBool::new(true)));
    let registry = Registry::new();
    registry.register(Box::new(exporter)).unwrap();
    registry.gather()
}

fn text(bench: &Bench) -> String {
    let families = gather(bench, DeviceFilter::default());
    let text = TextEncoder::new().encode_to_string(&families).unwrap();
    // The version changes.
    text.replace(env!("CARGO_PKG_VERSION"), "VERSION")
}

#[test]
fn the_whole_text() {
    golden("tests/golden/metrics.txt", &text(&bench()));
    let families = gather(&bench(), DeviceFilter::default());
    let open = encode_openmetrics(&families).replace(env!("CARGO_PKG_VERSION"), "VERSION");
    golden("tests/golden/metrics_openmetrics.txt", &open);
}

#[test]
fn the_reference_is_the_tables() {
    golden("../docs/metrics.md", &reference());
}

#[test]
fn the_table_follows_the_rules_of_both_formats() {
    let mut names = BTreeSet::new();
    let mut families = BTreeSet::new();
    for metric in ALL {
        let name = metric.name;
        assert!(names.insert(name), "{name} twice");
        let family = match metric.kind {
            Kind::Counter => name
                .strip_suffix("_total")
                .unwrap_or_else(|| panic!("{name}")),
            Kind::Info => name
                .strip_suffix("_info")
                .unwrap_or_else(|| panic!("{name}")),
            Kind::Gauge | Kind::Histogram => {
                assert!(
                    !name.ends_with("_total") && !name.ends_with("_info"),
                    "{name}"
                );
                name
            }
        };
        assert!(families.insert(family), "two families {family}");
        if let Some(unit) = metric.unit {
            assert!(family.ends_with(&format!("_{unit}")), "{name} in {unit}");
        }
        for unit in ["bytes", "seconds", "ratio"] {
            let named = family.ends_with(&format!("_{unit}"));
            assert_eq!(named, metric.unit == Some(unit), "{name}");
        }
        assert!(metric.help.ends_with('.'), "{name}");
        assert!(!metric.labels.contains(&"le"), "{name}");
        assert_eq!(by_name(name).unwrap(), *metric);
    }
}

/// Nothing is told that the table does not have, and with its labels only.
#[test]
fn samples_are_as_the_table_says() {
    let mut told: BTreeMap<String, &'static Metric> = BTreeMap::new();
    for family in gather(&bench(), DeviceFilter::default()) {
        let metric = by_name(family.name()).unwrap();
        for sample in family.get_metric() {
            let labels: BTreeSet<&str> = sample.get_label().iter().map(LabelPair::name).collect();
            assert_eq!(labels, metric.labels.iter().copied().collect());
        }
        told.insert(family.name().to_owned(), metric);
    }
    // What this bench has nothing of.
    let missing: Vec<&str> = ALL
        .iter()
        .map(|metric| metric.name)
        .filter(|name| !told.contains_key(*name) && !name.starts_with("iotrace_partition_"))
        .collect();
    assert_eq!(
        missing,
        [
            "iotrace_device_request_service_seconds",
            "iotrace_device_phase_bytes",
            "iotrace_array_estimated_preread_bytes_total",
        ]
    );
}

fn value(text: &str, series: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix(series))?;
    line.trim().parse().ok()
}

#[test]
fn parts_add_up_to_their_whole() {
    let text = text(&bench());
    let sum = |metric: &str, device: &str, operation: &str| -> f64 {
        let start = format!("{metric}{{device=\"{device}\",operation=\"{operation}\"");
        let custom = "boundary=\"custom\"";
        let lines = text
            .lines()
            .filter(|line| line.starts_with(&start) && !line.contains(custom));
        let values = lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
        values.sum()
    };
    for (device, operation) in [("sda", "read"), ("sda", "write"), ("md127", "write")] {
        let of = |metric: &str| sum(&format!("iotrace_device_{metric}"), device, operation);
        let requests = of("requests_total");
        assert!(requests > 0.0);
        let physical = of("misaligned_requests_total")
            + of("boundary_aligned_requests_total")
            + of("unclassified_requests_total");
        assert_eq!(physical, requests, "{device} {operation}");
        assert_eq!(of("request_size_bytes_count"), requests);
        assert_eq!(of("request_size_bytes_sum"), of("io_bytes_total"));
        assert_eq!(of("request_duration_seconds_count"), requests);
    }
    let of = |metric: &str| sum(&format!("iotrace_device_{metric}"), "md127", "write");
    assert_eq!(of("stripe_requests_total"), of("requests_total"));
    assert_eq!(of("chunk_requests_total"), of("requests_total"));
    assert_eq!(of("stripe_io_bytes_total"), of("io_bytes_total"));
}

/// `le` is inclusive: exactly 4096 bytes are in the bucket of 4096.
#[test]
fn bounds_are_inclusive() {
    let mut bench = Bench::new(topology([device("sda", 8, 0)]));
    for len in [512, 4096, 4097, 64 << 20] {
        bench.io("sda", Op::Write, (0, len, 0), 1, 16_384);
    }
    bench.io("sda", Op::Write, (1536, 4096, 0), 1, 16_385);
    let text = text(&bench);
    let bucket = |metric: &str, labels: &str, le: &str| {
        let series =
            format!("iotrace_device_{metric}_bucket{{device=\"sda\",{labels},le=\"{le}\"}}");
        value(&text, &series).unwrap_or_else(|| panic!("{series}"))
    };
    let size = |le| bucket("request_size_bytes", "operation=\"write\"", le);
    assert_eq!([size("512"), size("2048"), size("4096")], [1.0, 1.0, 3.0]);
    assert_eq!(
        [size("8192"), size("16777216"), size("+Inf")],
        [4.0, 4.0, 5.0]
    );
    let remainder = |le| bucket("request_remainder_bytes", "operation=\"write\"", le);
    assert_eq!(
        [remainder("0"), remainder("1024"), remainder("1536")],
        [4.0, 4.0, 5.0]
    );
    let off = "operation=\"write\",alignment=\"misaligned\"";
    let seconds = |le| bucket("request_duration_seconds", off, le);
    assert_eq!(seconds("0.000016384"), 2.0);
    assert_eq!(seconds("0.000032768"), 3.0);
}

#[test]
fn partitions_have_names_of_their_own() {
    let text = text(&bench());
    let start = "iotrace_partition_misaligned_requests_total{device=\"sda1\",operation=\"write\",boundary=\"physical\",class=\"off_grid\"}";
    assert_eq!(value(&text, start), Some(300.0));
    assert!(!text.contains("iotrace_device_requests_total{device=\"sda1\""));
    let remainder =
        "iotrace_partition_start_remainder_bytes{device=\"sda1\",boundary=\"physical_block\"}";
    assert_eq!(value(&text, remainder), Some(1024.0));
    // Their histograms are in their disk's.
    assert!(!text.contains("iotrace_partition_request_size_bytes"));
    assert!(!text.contains("device=\"loop0\""));
}

#[test]
fn what_is_not_known_is_absent() {
    let mut bench = bench();
    bench.snapshot.unknown.operations = true;
    bench.snapshot.unknown.requeues = true;
    bench.snapshot.unknown.flush_bios = true;
    bench.snapshot.unknown.latency = true;
    bench.snapshot.origins = None;
    bench.snapshot.lost.by_recursion = None;
    change(&mut bench, "sdb", |sdb| sdb.geometry.physical_block = None);
    let text = text(&bench);
    for absent in [
        "write_zeroes",
        "zone_append",
        "passthrough",
        "requeued",
        "flush_bios",
        "duration_seconds_bucket",
        "array_preread",
        "array_estimated",
        "component_",
        "recursion\"",
        "iotrace_device_physical_block_bytes{device=\"sdb\"}",
        "iotrace_device_request_remainder_bytes_count{device=\"sdb\"",
    ] {
        assert!(!text.contains(absent), "{absent}");
    }
    assert!(text.contains("operation=\"not_told\""));
}

#[test]
fn where_the_counters_cannot_be_read_that_is_said() {
    let read = Box::new(|| Err("gone".to_owned()));
    let registry = Registry::new();
    let exporter = Exporter::new(read, DeviceFilter::default(), false);
    registry.register(Box::new(exporter)).unwrap();
    let families = registry.gather();
    let text = TextEncoder::new().encode_to_string(&families).unwrap();
    assert_eq!(value(&text, "iotrace_scrape_success"), Some(0.0));
    assert!(!text.contains("iotrace_device_"));
}

/// Disks without partitions have histograms, up to a number.
#[test]
fn histograms_do_not_explode() {
    let disks = (0..100).map(|n| device(&format!("sd{n}"), 8, n * 16));
    let bench = Bench::new(topology(disks));
    let text = text(&bench);
    let with = text.matches("request_size_bytes_count{").count();
    assert_eq!(with, 2 * 64);
    assert_eq!(value(&text, "iotrace_devices_with_histograms"), Some(64.0));
}
