//! The pages that hold counters.
//!
//! Must not know who asks.

use std::sync::{Arc, atomic::AtomicBool};

use prometheus::{Registry, TextEncoder};

use super::counting::Asker;
use crate::{
    export::{DeviceFilter, Exporter, encode_openmetrics},
    report::json::Line,
    serve::Pages,
};

/// Pages made from readings.
pub(super) struct MetricPages {
    registry: Registry,
    asker: Asker,
    filter: DeviceFilter,
}

impl MetricPages {
    /// `named`: devices were asked for by name. `usable`: the settings of the
    /// web server, where there is a file of them.
    ///
    /// # Errors
    /// When the metrics contradict each other, which a test excludes.
    pub(super) fn new(
        asker: Asker,
        filter: DeviceFilter,
        named: bool,
        usable: Option<Arc<AtomicBool>>,
    ) -> prometheus::Result<Self> {
        let reader = asker.clone();
        let read = Box::new(move || reader.read());
        let mut exporter = Exporter::new(read, filter.clone(), named);
        if let Some(usable) = usable {
            exporter = exporter.with_web_config(usable);
        }
        let registry = Registry::new();
        registry.register(Box::new(exporter))?;
        Ok(Self {
            registry,
            asker,
            filter,
        })
    }
}

impl Pages for MetricPages {
    fn text(&self) -> String {
        let families = self.registry.gather();
        let text = TextEncoder::new().encode_to_string(&families);
        // It refuses families without samples, of which there are none.
        text.unwrap_or_default()
    }

    fn openmetrics(&self) -> String {
        encode_openmetrics(&self.registry.gather())
    }

    fn live(&self) -> Option<String> {
        let scrape = self.asker.read().ok()?;
        let mut summary = scrape.sums.into_summary();
        let told = |name: &str, kind| self.filter.tells(name, kind);
        summary.devices.retain(|one| told(&one.name, one.kind));
        serde_json::to_string(&Line::new(&summary, &scrape.attach)).ok()
    }

    fn healthy(&self) -> bool {
        self.asker.works()
    }
}
