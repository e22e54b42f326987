//! OpenMetrics 1.0 text, which the `prometheus` crate does not write.
//!
//! Must not know any metric but through the table.

use std::fmt::Write as _;

use prometheus::proto::{LabelPair, Metric, MetricFamily};

use super::table::{self, Kind};

/// The whole answer, `# EOF` included. Families that the table does not list
/// are of no kind that it knows, and left out.
#[must_use]
pub fn encode(families: &[MetricFamily]) -> String {
    let mut text = Text(String::new());
    for family in families {
        if let Some(metric) = table::by_name(family.name()) {
            text.family(metric, family);
        }
    }
    text.0.push_str("# EOF\n");
    text.0
}

struct Text(String);

impl Text {
    fn family(&mut self, metric: &table::Metric, family: &MetricFamily) {
        // The family of a counter is named without its samples' suffix.
        let base = match metric.kind {
            Kind::Counter => metric.name.trim_end_matches("_total"),
            Kind::Info => metric.name.trim_end_matches("_info"),
            Kind::Gauge | Kind::Histogram => metric.name,
        };
        self.line(format_args!("# TYPE {base} {}", metric.kind.word()));
        if let Some(unit) = metric.unit {
            self.line(format_args!("# UNIT {base} {unit}"));
        }
        self.line(format_args!("# HELP {base} {}", Escaped(metric.help)));
        for sample in family.get_metric() {
            match metric.kind {
                Kind::Counter => self.sample(metric.name, sample, sample.get_counter().get_value()),
                Kind::Gauge | Kind::Info => {
                    self.sample(metric.name, sample, sample.get_gauge().get_value());
                }
                Kind::Histogram => self.histogram(metric.name, sample),
            }
        }
    }

    fn histogram(&mut self, name: &str, sample: &Metric) {
        let histogram = sample.get_histogram();
        let labels = sample.get_label();
        for bucket in histogram.get_bucket() {
            let le = canonical(bucket.upper_bound());
            let count = bucket.cumulative_count() as f64;
            self.value(&format!("{name}_bucket"), labels, Some(&le), count);
        }
        let count = histogram.get_sample_count() as f64;
        self.value(&format!("{name}_bucket"), labels, Some("+Inf"), count);
        self.value(
            &format!("{name}_sum"),
            labels,
            None,
            histogram.get_sample_sum(),
        );
        self.value(&format!("{name}_count"), labels, None, count);
    }

    fn sample(&mut self, name: &str, sample: &Metric, value: f64) {
        self.value(name, sample.get_label(), None, value);
    }

    fn value(&mut self, name: &str, labels: &[LabelPair], le: Option<&str>, value: f64) {
        self.0.push_str(name);
        let pairs = labels.iter().map(|pair| (pair.name(), pair.value()));
        let mut before = '{';
        for (label, text) in pairs.chain(le.map(|le| ("le", le))) {
            // To a String: never fails.
            let _ = write!(self.0, "{before}{label}=\"{}\"", Escaped(text));
            before = ',';
        }
        if before == ',' {
            self.0.push('}');
        }
        self.line(format_args!(" {value}"));
    }

    fn line(&mut self, arguments: std::fmt::Arguments<'_>) {
        let _ = self.0.write_fmt(arguments);
        self.0.push('\n');
    }
}

/// A bound as OpenMetrics wants it written: always with a point.
fn canonical(bound: f64) -> String {
    format!("{bound:?}")
}

/// With `\`, `"` and line feeds escaped.
struct Escaped<'a>(&'a str);

impl std::fmt::Display for Escaped<'_> {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for character in self.0.chars() {
            match character {
                '\\' => to.write_str("\\\\")?,
                '"' => to.write_str("\\\"")?,
                '\n' => to.write_str("\\n")?,
                other => to.write_char(other)?,
            }
        }
        Ok(())
    }
}
