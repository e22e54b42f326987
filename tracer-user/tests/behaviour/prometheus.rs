//! Every query of the dashboards and every rule, asked of a real Prometheus
//! that scrapes a real agent.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::harness::{
    agent::Agent,
    device::Device,
    fio::Fio,
    lab::{Lab, Needs},
    loopdev::Loop,
    md::Array,
    partition::Partition,
    prometheus::{Paper, Prometheus},
    queries::{Query, Variables, queries, rules},
    stat::settle,
    tracer::{iotrace, row},
    wait,
};

const MIB: u64 = 1 << 20;
const FIO: Needs = Needs::Program("fio");
const MDADM: Needs = Needs::Program("mdadm");
const PROMETHEUS: Needs = Needs::Program("prometheus");

/// As a reader of a dashboard sees a ratio: far below what any wrong figure
/// would be off by.
const ROUNDING: f64 = 1e-9;

/// Of a disk with a partition, where nothing keeps a device's own times or a
/// phase, and `kernel.bpf_stats_enabled` may be 0.
const NOT_DUE_OF_A_DISK: [&str; 4] = [
    "device.json: Boundaries: E",
    "device.json: Device time of writes, aligned against misaligned: A",
    "device.json: Device time of writes, aligned against misaligned: B",
    "device.json: Processor time of the programs: A",
];

/// Of an array whose pre-reads are measured, without node_exporter.
const NOT_DUE_OF_AN_ARRAY: [&str; 3] = [
    "array.json: Pre-reads by kind: B",
    "array.json: State, as node_exporter has it: A",
    "array.json: Synchronized, as node_exporter has it: A",
];

fn agent(more: &[&str]) -> Agent {
    let mut command = iotrace();
    command
        .args(["serve", "--listen", "127.0.0.1:0"])
        .args(more);
    Agent::start(&mut command)
}

/// A device in the agent's own JSON: since it was started.
fn told(agent: &Agent, device: &Device) -> Value {
    let live: Value = serde_json::from_str(&agent.get("/api/v1/live")).expect("JSON");
    row(&live, device.name()).expect("the device").clone()
}

/// The expression of a panel, filled in.
fn panel(place: &str, variables: Variables<'_>) -> String {
    let query = queries().into_iter().find(|query| query.place() == place);
    let query = query.unwrap_or_else(|| panic!("no panel {place}"));
    variables.fill(&query.expr)
}

fn figure(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value}"))
}

/// Waits until the panel shows the figure: then the last request was scraped.
fn wait_for(prometheus: &Prometheus, place: &str, variables: Variables<'_>, expected: f64) {
    let expr = panel(place, variables);
    let mut last = None;
    let what = format!("{place} to show {expected}");
    wait::until_true(&what, || {
        let now = prometheus.value(&expr);
        if now != last {
            last = now;
            eprintln!("{place}: {now:?}, expected {expected}");
        }
        now.is_some_and(|now| (now - expected).abs() < ROUNDING)
    });
}

/// Asks for every panel of one of the dashboards; only those `not_due` may be
/// without data.
fn panels_have_data(
    prometheus: &Prometheus,
    dashboard: &str,
    variables: Variables<'_>,
    not_due: &[&str],
) {
    let of_it = queries();
    let of_it = of_it.iter().filter(|query| query.dashboard == dashboard);
    let empty = of_it.filter(|query| {
        let expr = variables.fill(&query.expr);
        prometheus.values(&expr).is_empty()
    });
    let empty: BTreeSet<String> = empty.map(Query::place).collect();
    let late: Vec<&String> = empty
        .iter()
        .filter(|place| !not_due.contains(&place.as_str()))
        .collect();
    assert!(late.is_empty(), "no data: {late:?}");
}

/// Whether each alert's condition holds of that target.
fn alerts_that_hold(prometheus: &Prometheus, instance: &str) -> Vec<String> {
    let holds = |expr: &str| {
        let expr = format!("({expr}) and on (instance) up{{instance=\"{instance}\"}}");
        !prometheus.values(&expr).is_empty()
    };
    let alerts = rules().into_iter().filter(|rule| rule.alert);
    alerts
        .filter(|rule| holds(&rule.expr))
        .map(|rule| rule.name)
        .collect()
}

/// Waits until every recording rule has recorded something of that target.
fn rules_have_data(prometheus: &Prometheus, instance: &str) {
    for rule in rules().into_iter().filter(|rule| !rule.alert) {
        let name = rule.name;
        let expr = format!("{name}{{instance=\"{instance}\"}}");
        wait::until_true(&format!("a sample of {name}"), || {
            !prometheus.values(&expr).is_empty()
        });
    }
}

/// A real agent while fio writes to a partition at sector 63; a machine on
/// paper has the array that there is not here.
#[test]
fn misaligned_writes_in_every_panel() {
    let name = "misaligned_writes_in_every_panel";
    let Some(lab) = Lab::open(name, &[FIO, PROMETHEUS]) else {
        return;
    };
    let disk = Loop::new(&lab, 64 * MIB);
    let device = disk.device();
    let partition = Partition::create(&device, 63, 65_537);
    let geometry = format!("{}=physical:4k,chunk:64k,data:7", device.name());
    let agent = agent(&["--dev", device.name(), "--geometry", &geometry]);
    let paper = Paper::serve();
    let prometheus = Prometheus::start(&lab, &[&agent.address, &paper.address], "1s");
    let real = Variables {
        instance: &agent.address,
        device: device.name(),
        array: "none",
    };
    // Every series once at 0, or its first requests are in no rate.
    let counting = real.fill("iotrace_scrape_success{instance=\"$instance\"}");
    wait::until_true("the first scrape", || {
        prometheus.value(&counting) == Some(1.0)
    });

    Fio::mixed(&partition, 2003)
        .set("bssplit=512/10:4k/60:8k/30")
        .run(&lab);

    let write = &told(&agent, &device)["write"];
    let misaligned = figure(&write["physical"]["misaligned"]) / figure(&write["requests"]);
    assert!(misaligned > 0.05, "{write}");
    let writes = "device.json: Writes misaligned: A";
    wait_for(&prometheus, writes, real, misaligned);
    let recorded = real.fill(
        "device:iotrace_misaligned_writes:ratio_rate5m{instance=\"$instance\",device=\"$device\"}",
    );
    wait::until_true("the recording rule to follow", || {
        let recorded = prometheus.value(&recorded);
        recorded.is_some_and(|recorded| (recorded - misaligned).abs() < ROUNDING)
    });

    panels_have_data(&prometheus, "device.json", real, &NOT_DUE_OF_A_DISK);
    assert_eq!(
        alerts_that_hold(&prometheus, &agent.address),
        ["IotraceMisalignedWrites"]
    );
    on_paper(&prometheus, &paper.address);
    assert_eq!(prometheus.wrong_rules(), [""; 0]);
}

/// The golden machine: nothing lost, an array that is being checked, and a
/// figure of each kind.
fn on_paper(prometheus: &Prometheus, instance: &str) {
    let paper = Variables {
        instance,
        device: "sda",
        array: "md127",
    };
    let ratio = "array.json: Read-modify-write ratio: A";
    wait_for(prometheus, ratio, paper, 12_288.0 / 4_587_520.0);
    let on_write = "array.json: Reads on write: A";
    wait_for(prometheus, on_write, paper, 12_288.0 / 286_720.0);
    let amplification = "array.json: Write amplification: A";
    wait_for(prometheus, amplification, paper, 286_720.0 / 4_587_520.0);
    panels_have_data(prometheus, "array.json", paper, &NOT_DUE_OF_AN_ARRAY);
    rules_have_data(prometheus, instance);
    let all = Variables {
        instance: ".+",
        ..paper
    };
    panels_have_data(prometheus, "fleet.json", all, &[]);
    assert_eq!(
        alerts_that_hold(prometheus, instance),
        ["IotraceMisalignedWrites"]
    );
}

/// The array's dashboard shows what the JSON of the same agent says.
#[test]
#[ignore = "needs md: run in a guest"]
fn a_raid6_in_every_panel() {
    let name = "a_raid6_in_every_panel";
    let Some(lab) = Lab::open(name, &[FIO, MDADM, PROMETHEUS]) else {
        return;
    };
    let disks: Vec<Loop> = (0..5).map(|_| Loop::new(&lab, 16 * MIB)).collect();
    let members: Vec<Device> = disks.iter().map(Loop::device).collect();
    let array = Array::create("md74", "6", "64", &members);
    let device = array.device();
    array.wait_until_idle();
    let all = [vec![device.clone()], members].concat();
    settle(&all);
    let asked = all.iter().flat_map(|device| ["--dev", device.name()]);
    let agent = agent(&asked.collect::<Vec<_>>());
    let prometheus = Prometheus::start(&lab, &[&agent.address], "2s");
    let real = Variables {
        instance: &agent.address,
        device: "md74",
        array: "md74",
    };
    let counting = real.fill("iotrace_scrape_success{instance=\"$instance\"}");
    wait::until_true("the first scrape", || {
        prometheus.value(&counting) == Some(1.0)
    });

    Fio::mixed(&device, 211)
        .set("rw=randwrite")
        .set("bssplit=4k/50:64k/25:192k/25")
        .set("blockalign=4096")
        .run(&lab);
    settle(&all);

    let raid = &told(&agent, &device)["raid"];
    assert_eq!(raid["source"], "measured");
    let shown = [
        ("array.json: Read-modify-write ratio: A", "preread_ratio"),
        ("array.json: Reads on write: A", "reads_on_write"),
        ("array.json: Write amplification: A", "write_amplification"),
        (
            "array.json: Write amplification: B",
            "write_amplification_minimum",
        ),
        ("array.json: Rows filled: A", "full_row_share"),
    ];
    for (place, key) in shown {
        wait_for(&prometheus, place, real, figure(&raid[key]));
    }
    assert!(figure(&raid["preread_ratio"]) > 0.05, "{raid}");
    panels_have_data(&prometheus, "array.json", real, &NOT_DUE_OF_AN_ARRAY);
    rules_have_data(&prometheus, &agent.address);
    let held = alerts_that_hold(&prometheus, &agent.address);
    assert!(
        !held.contains(&"IotraceUnattributedIo".to_owned()),
        "{held:?}"
    );
    assert_eq!(prometheus.wrong_rules(), [""; 0]);
}
