//! The dashboards and rules that are shipped: every expression parses, and
//! names only what the table of metrics has. Needs no privilege.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "what the tests share is a test too"
)]

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    process::Command,
};

use iotrace::export::{ALL, Kind};
use promql_parser::{
    label::MatchOp,
    parser::{Expr, LabelModifier, VectorSelector, parse},
    util::{ExprVisitor, walk_expr},
};
use serde_json::Value;

#[path = "support/queries.rs"]
mod queries;

use queries::{DASHBOARDS, Query, Variables, panels, queries, rules};

const GOLDEN: &str = include_str!("golden/metrics.txt");
const RUNBOOKS: &str = include_str!("../../docs/runbooks.md");

/// What Prometheus adds to every series.
const TARGET: [&str; 2] = ["instance", "job"];

/// Series of others, with their labels.
const OTHERS: [(&str, &[&str]); 4] = [
    ("up", &[]),
    ("node_md_state", &["device", "state"]),
    ("node_md_blocks", &["device"]),
    ("node_md_blocks_synced", &["device"]),
];

/// Words that stand for variables' values, and for nothing in a series.
const ANY: Variables<'static> = Variables {
    instance: "VARIABLE",
    device: "VARIABLE",
    array: "VARIABLE",
};

/// What an expression names.
#[derive(Default)]
struct Names {
    selectors: Vec<VectorSelector>,
    /// In `by`, `on`, `group_left` and the like.
    labels: BTreeSet<String>,
    /// In the `without` of aggregations: gone from the result.
    without: BTreeSet<String>,
}

impl Names {
    fn of(place: &str, expr: &str) -> Self {
        let expr = ANY.fill(expr);
        let parsed = parse(&expr).unwrap_or_else(|error| panic!("{place}: {error} in {expr}"));
        let mut names = Self::default();
        walk_expr(&mut names, &parsed).unwrap();
        assert!(!names.selectors.is_empty(), "{place}: no series in {expr}");
        names
    }

    fn modifier(&mut self, modifier: &LabelModifier) {
        self.labels.extend(modifier.labels().labels.iter().cloned());
    }
}

impl ExprVisitor for Names {
    type Error = std::convert::Infallible;

    fn pre_visit(&mut self, expr: &Expr) -> Result<bool, Self::Error> {
        match expr {
            Expr::VectorSelector(selector) => self.selectors.push(selector.clone()),
            Expr::MatrixSelector(matrix) => self.selectors.push(matrix.vs.clone()),
            Expr::Aggregate(aggregate) => {
                if let Some(modifier) = &aggregate.modifier {
                    self.modifier(modifier);
                    if !modifier.is_include() {
                        let gone = modifier.labels().labels.iter().cloned();
                        self.without.extend(gone);
                    }
                }
            }
            Expr::Binary(binary) => {
                if let Some(modifier) = &binary.modifier {
                    if let Some(matching) = &modifier.matching {
                        self.modifier(matching);
                    }
                    let kept = modifier.card.labels();
                    let kept = kept.iter().flat_map(|kept| kept.labels.iter().cloned());
                    self.labels.extend(kept);
                }
            }
            _ => {}
        }
        Ok(true)
    }
}

/// The labels of every series that there can be.
struct Known(BTreeMap<String, BTreeSet<String>>);

impl Known {
    fn new() -> Self {
        let mut known = Self(BTreeMap::new());
        for metric in ALL {
            if metric.kind == Kind::Histogram {
                known.add(&format!("{}_sum", metric.name), metric.labels);
                known.add(&format!("{}_count", metric.name), metric.labels);
                let labels = [metric.labels, &["le"]].concat();
                known.add(&format!("{}_bucket", metric.name), &labels);
            } else {
                known.add(metric.name, metric.labels);
            }
        }
        for (name, labels) in OTHERS {
            known.add(name, labels);
        }
        // In their order: a rule may name those before it.
        for rule in rules().iter().filter(|rule| !rule.alert) {
            let names = known.check(&rule.name, &rule.expr);
            let left = known.labels(&names);
            let left: Vec<&str> = left
                .difference(&names.without)
                .map(String::as_str)
                .collect();
            known.add(&rule.name, &left);
        }
        known
    }

    fn add(&mut self, name: &str, labels: &[&str]) {
        let labels = labels.iter().chain(&TARGET).map(|&label| label.to_owned());
        let before = self.0.insert(name.to_owned(), labels.collect());
        assert!(before.is_none(), "{name} twice");
    }

    fn of(&self, place: &str, selector: &VectorSelector) -> &BTreeSet<String> {
        let name = selector.name.as_deref().unwrap_or_default();
        let labels = self.0.get(name);
        labels.unwrap_or_else(|| panic!("{place}: there is no series {name:?}"))
    }

    /// All labels of all series that are named.
    fn labels(&self, names: &Names) -> BTreeSet<String> {
        let of_each = names.selectors.iter().map(|selector| self.of("", selector));
        of_each.flatten().cloned().collect()
    }

    /// Fails where a series or a label is unknown, or a value that no series
    /// of the metric has.
    fn check(&self, place: &str, expr: &str) -> Names {
        let names = Names::of(place, expr);
        for selector in &names.selectors {
            let name = selector.name.as_deref().unwrap_or_default();
            let labels = self.of(place, selector);
            for matcher in &selector.matchers.matchers {
                let label = &matcher.name;
                assert!(labels.contains(label), "{place}: {name} has no {label}");
                let values: Vec<&str> = match matcher.op {
                    MatchOp::Equal => vec![matcher.value.as_str()],
                    MatchOp::Re(_) => matcher.value.split('|').collect(),
                    _ => Vec::new(),
                };
                let told = values.iter().filter(|value| !value.contains("VARIABLE"));
                for value in told.filter(|_| !TARGET.contains(&label.as_str())) {
                    let sample = format!("{label}=\"{value}\"");
                    // What no golden machine has is not held against anybody.
                    let mut told = golden(name).peekable();
                    assert!(
                        told.peek().is_none() || told.any(|line| line.contains(&sample)),
                        "{place}: no {name} has {sample}"
                    );
                }
            }
        }
        let labels = self.labels(&names);
        for label in &names.labels {
            assert!(labels.contains(label), "{place}: nothing has {label}");
        }
        names
    }
}

/// The samples of a metric on the golden machine.
fn golden(name: &str) -> impl Iterator<Item = &'static str> {
    let start = format!("{name}{{");
    GOLDEN.lines().filter(move |line| line.starts_with(&start))
}

/// The labels in `{{instance}} {{device}}`.
fn legend_labels(query: &Query) -> Vec<&str> {
    let parts = query.legend.split("{{").skip(1);
    parts.filter_map(|part| part.split("}}").next()).collect()
}

#[test]
fn panels_name_only_what_there_is() {
    let known = Known::new();
    for query in queries() {
        let names = known.check(&query.place(), &query.expr);
        let labels = known.labels(&names);
        for label in legend_labels(&query) {
            assert!(labels.contains(label), "{}: {label}", query.place());
        }
    }
}

#[test]
fn rules_name_only_what_there_is() {
    let known = Known::new();
    for rule in rules() {
        known.check(&rule.name, &rule.expr);
    }
}

/// `label_values(SERIES, LABEL)`.
#[test]
fn variables_name_only_what_there_is() {
    let known = Known::new();
    for (name, text) in DASHBOARDS {
        let dashboard: Value = serde_json::from_str(text).unwrap();
        let variables = dashboard["templating"]["list"].as_array().unwrap();
        assert_eq!(variables[0]["type"], "datasource", "{name}");
        for variable in &variables[1..] {
            let query = variable["query"]["query"].as_str().unwrap();
            let inner = query.strip_prefix("label_values(").unwrap();
            let (series, label) = inner.strip_suffix(')').unwrap().rsplit_once(", ").unwrap();
            let names = known.check(name, series);
            assert!(known.labels(&names).contains(label), "{name}: {query}");
        }
    }
}

#[test]
fn an_unknown_metric_label_or_value_is_found() {
    let known = Known::new();
    let wrong = [
        "iotrace_device_writes_total",
        "iotrace_device_request_size_bytes",
        "sum by (proces) (iotrace_device_requests_total)",
        "iotrace_device_requests_total{op=\"write\"}",
        "iotrace_device_requests_total{operation=\"writes\"}",
        "iotrace_array_rows_total{kind=~\"full|rwm\"}",
        "device:iotrace_array_preread:ratio_rate5m{kind=\"rmw\"}",
        "sum(iotrace_device_requests_total",
    ];
    for expr in wrong {
        let checked = std::panic::catch_unwind(|| known.check("test", expr).selectors.len());
        assert!(checked.is_err(), "{expr}");
    }
}

/// What a person needs to read a panel, and what Grafana needs to find its way.
#[test]
fn dashboards_are_whole() {
    let mut uids = BTreeSet::new();
    for (name, text) in DASHBOARDS {
        let dashboard: Value = serde_json::from_str(text).unwrap();
        uids.insert(dashboard["uid"].as_str().unwrap().to_owned());
        assert!(!text.contains("libraryPanel"), "{name}");
        let mut ids = BTreeSet::new();
        for panel in panels(text) {
            let title = panel["title"].as_str().unwrap();
            assert!(ids.insert(panel["id"].as_u64().unwrap()), "{name}: {title}");
            let description = panel["description"].as_str().unwrap();
            let normal = ["normal", "Normal"];
            let says = normal.iter().any(|word| description.contains(word));
            assert!(says, "{name}: {title}: what is normal?");
            assert!(panel["fieldConfig"]["defaults"]["unit"].is_string());
            let targets = panel["targets"].as_array().unwrap();
            for place in targets.iter().chain([&panel]) {
                let uid = &place["datasource"]["uid"];
                assert_eq!(uid, "${datasource}", "{name}: {title}");
            }
        }
    }
    assert_eq!(uids.len(), DASHBOARDS.len());
    for (name, text) in DASHBOARDS {
        let links = text.split("\"/d/").skip(1);
        for link in links {
            let uid = link.split(['?', '"']).next().unwrap();
            assert!(uids.contains(uid), "{name} leads to {uid}");
        }
    }
}

/// As GitHub makes them: in small letters.
#[test]
fn every_alert_has_its_runbook() {
    let headings = RUNBOOKS.lines().filter_map(|line| line.strip_prefix("## "));
    let headings: BTreeSet<&str> = headings
        .filter(|name| name.starts_with("Iotrace"))
        .collect();
    let alerts: Vec<_> = rules().into_iter().filter(|rule| rule.alert).collect();
    let names: BTreeSet<&str> = alerts.iter().map(|alert| alert.name.as_str()).collect();
    assert_eq!(headings, names);
    for alert in &alerts {
        let expected = format!("docs/runbooks.md#{}", alert.name.to_lowercase());
        assert_eq!(alert.runbook, Some(expected));
    }
}

#[test]
fn promtool_checks_and_tests_the_rules() {
    if Command::new("promtool").arg("--version").output().is_err() {
        assert!(
            std::env::var_os("IOTRACE_REQUIRE").is_none(),
            "IOTRACE_REQUIRE is set, and there is no promtool (package prometheus)"
        );
        eprintln!("not run: no promtool (package prometheus)");
        return;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../prometheus");
    let check = [
        "check",
        "rules",
        "--lint=all",
        "--lint-fatal",
        "rules.yml",
        "alerts.yml",
    ];
    let test = ["test", "rules", "tests.yml"];
    for args in [&check[..], &test[..]] {
        let output = Command::new("promtool")
            .args(args)
            .current_dir(&folder)
            .output()
            .expect("promtool");
        let said = [output.stdout, output.stderr].concat();
        assert!(
            output.status.success(),
            "promtool {}: {}",
            args.join(" "),
            String::from_utf8_lossy(&said)
        );
    }
}
