//! Every PromQL expression that is shipped: of the dashboards' panels and
//! variables, of recording rules and alerts.
//!
//! Must not judge them.

use serde_json::Value;

/// File name and text of each dashboard.
pub(crate) const DASHBOARDS: [(&str, &str); 3] = [
    ("fleet.json", include_str!("../../../dashboards/fleet.json")),
    (
        "device.json",
        include_str!("../../../dashboards/device.json"),
    ),
    ("array.json", include_str!("../../../dashboards/array.json")),
];

/// File name and text of each file of rules.
pub(crate) const RULES: [(&str, &str); 2] = [
    ("rules.yml", include_str!("../../../prometheus/rules.yml")),
    ("alerts.yml", include_str!("../../../prometheus/alerts.yml")),
];

/// One target of a panel.
#[derive(Debug)]
pub(crate) struct Query {
    pub(crate) dashboard: &'static str,
    pub(crate) panel: String,
    /// `A`, `B`, ...
    pub(crate) reference: String,
    /// With Grafana's variables.
    pub(crate) expr: String,
    pub(crate) legend: String,
}

impl Query {
    /// `device.json: Requests: A`.
    pub(crate) fn place(&self) -> String {
        format!("{}: {}: {}", self.dashboard, self.panel, self.reference)
    }
}

/// One recording rule or alert.
#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) name: String,
    pub(crate) alert: bool,
    pub(crate) expr: String,
    pub(crate) runbook: Option<String>,
}

fn text(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}

/// The panels of a dashboard, without the headings of rows.
pub(crate) fn panels(dashboard: &str) -> Vec<Value> {
    let dashboard: Value = serde_json::from_str(dashboard).expect("a dashboard in JSON");
    let panels = dashboard["panels"].as_array().expect("panels").clone();
    panels
        .into_iter()
        .filter(|panel| panel["type"] != "row")
        .collect()
}

/// What all panels ask.
pub(crate) fn queries() -> Vec<Query> {
    let mut queries = Vec::new();
    for (name, dashboard) in DASHBOARDS {
        for panel in panels(dashboard) {
            let targets = panel["targets"].as_array().expect("targets");
            queries.extend(targets.iter().map(|target| Query {
                dashboard: name,
                panel: text(&panel, "title"),
                reference: text(target, "refId"),
                expr: text(target, "expr"),
                legend: text(target, "legendFormat"),
            }));
        }
    }
    queries
}

/// All recording rules and alerts.
pub(crate) fn rules() -> Vec<Rule> {
    let mut rules = Vec::new();
    for (_, yaml) in RULES {
        let file: Value = serde_yaml_ng::from_str(yaml).expect("rules in YAML");
        for group in file["groups"].as_array().expect("groups") {
            let of_group = group["rules"].as_array().expect("rules");
            rules.extend(of_group.iter().map(|rule| {
                let alert = rule.get("alert").is_some();
                Rule {
                    name: text(rule, if alert { "alert" } else { "record" }),
                    alert,
                    expr: text(rule, "expr"),
                    runbook: rule["annotations"]["runbook_url"]
                        .as_str()
                        .map(str::to_owned),
                }
            }));
        }
    }
    rules
}

/// What Grafana's variables stand for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Variables<'a> {
    pub(crate) instance: &'a str,
    pub(crate) device: &'a str,
    pub(crate) array: &'a str,
}

impl Variables<'_> {
    /// The expression as Grafana sends it; ranges are such that a test's are
    /// within.
    pub(crate) fn fill(&self, expr: &str) -> String {
        let host = self.instance.rsplit_once(':');
        let values = [
            ("__rate_interval", "5m"),
            ("__range", "1h"),
            ("instance", self.instance),
            ("device", self.device),
            ("array", self.array),
            ("host", host.map_or(self.instance, |(host, _port)| host)),
        ];
        let filled = values.iter().fold(expr.to_owned(), |expr, (name, value)| {
            expr.replace(&format!("${{{name}}}"), value)
                .replace(&format!("${name}"), value)
        });
        assert!(!filled.contains('$'), "an unknown variable in {expr}");
        filled
    }
}
