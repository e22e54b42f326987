//! Samples by metric, on their way to the `prometheus` crate.
//!
//! Must not decide what is told.

use std::collections::BTreeMap;

use prometheus::proto;

use super::table::{Kind, Metric};

/// Samples of all metrics.
#[derive(Default)]
pub(super) struct Families(BTreeMap<&'static str, (&'static Metric, Vec<proto::Metric>)>);

/// A histogram as it is counted: not cumulative.
pub(super) struct Bins {
    /// Inclusive upper bound and count of each bin, the bounds rising; what
    /// lies above the last is in `above`.
    pub(super) bins: Vec<(f64, u64)>,
    pub(super) above: u64,
    pub(super) sum: f64,
}

impl Families {
    /// One value; of a counter or a gauge.
    pub(super) fn add(&mut self, metric: &'static Metric, labels: &[&str], value: f64) {
        let mut sample = labelled(metric, labels);
        match metric.kind {
            Kind::Counter => {
                let mut counter = proto::Counter::default();
                counter.set_value(value);
                sample.set_counter(counter);
            }
            Kind::Gauge | Kind::Info | Kind::Histogram => {
                let mut gauge = proto::Gauge::default();
                gauge.set_value(value);
                sample.set_gauge(gauge);
            }
        }
        self.push(metric, sample);
    }

    /// A count, or a number of bytes. Exact up to 2^53, as all of Prometheus is.
    pub(super) fn count(&mut self, metric: &'static Metric, labels: &[&str], value: u64) {
        self.add(metric, labels, value as f64);
    }

    pub(super) fn info(&mut self, metric: &'static Metric, labels: &[&str]) {
        self.add(metric, labels, 1.0);
    }

    pub(super) fn histogram(&mut self, metric: &'static Metric, labels: &[&str], bins: Bins) {
        let mut below = 0;
        let buckets = bins.bins.into_iter().map(|(le, count)| {
            below += count;
            let mut bucket = proto::Bucket::default();
            bucket.set_upper_bound(le);
            bucket.set_cumulative_count(below);
            bucket
        });
        let mut histogram = proto::Histogram::default();
        histogram.set_bucket(buckets.collect());
        histogram.set_sample_count(below + bins.above);
        histogram.set_sample_sum(bins.sum);
        let mut sample = labelled(metric, labels);
        sample.set_histogram(histogram);
        self.push(metric, sample);
    }

    fn push(&mut self, metric: &'static Metric, sample: proto::Metric) {
        let (_, samples) = self
            .0
            .entry(metric.name)
            .or_insert_with(|| (metric, Vec::new()));
        samples.push(sample);
    }

    pub(super) fn into_proto(self) -> Vec<proto::MetricFamily> {
        let families = self.0.into_values().map(|(metric, samples)| {
            let mut family = proto::MetricFamily::default();
            family.set_name(metric.name.to_owned());
            family.set_help(metric.help.to_owned());
            family.set_field_type(match metric.kind {
                Kind::Counter => proto::MetricType::COUNTER,
                Kind::Gauge | Kind::Info => proto::MetricType::GAUGE,
                Kind::Histogram => proto::MetricType::HISTOGRAM,
            });
            family.set_metric(samples);
            family
        });
        families.collect()
    }
}

fn labelled(metric: &Metric, values: &[&str]) -> proto::Metric {
    debug_assert_eq!(metric.labels.len(), values.len(), "{}", metric.name);
    let pairs = metric.labels.iter().zip(values).map(|(name, value)| {
        let mut pair = proto::LabelPair::default();
        pair.set_name((*name).to_owned());
        pair.set_value((*value).to_owned());
        pair
    });
    proto::Metric::from_label(pairs.collect())
}
