//! The pages that hold counters, made on one thread, one after another: so
//! that many scrapers take no more memory than one.
//!
//! Must not know who asks.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::AtomicBool,
        mpsc::{self, Sender},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use prometheus::{Registry, TextEncoder};

use super::counting::Asker;
use crate::{
    delta::Interval,
    export::{DeviceFilter, Exporter, Live, encode_openmetrics},
    report::json::Line,
    serve::Pages,
};

/// Whoever asks for an interval sooner is given the last one again: several
/// who look share their intervals, and none cuts another's short.
const SHORTEST_INTERVAL: Duration = Duration::from_secs(1);

/// Asks for pages, from any thread.
pub(super) struct MetricPages {
    orders: Mutex<Sender<Order>>,
    asker: Asker,
}

/// A page that somebody waits for.
struct Order {
    page: Page,
    made: Sender<Option<String>>,
}

#[derive(Clone, Copy)]
enum Page {
    Text,
    OpenMetrics,
    Live,
    Interval,
}

impl MetricPages {
    /// `named`: devices were asked for by name. `usable`: the settings of the
    /// web server, where there is a file of them.
    ///
    /// # Errors
    /// When the metrics contradict each other, which a test excludes, or no
    /// thread can be started.
    pub(super) fn new(
        asker: Asker,
        filter: DeviceFilter,
        named: bool,
        usable: Option<Arc<AtomicBool>>,
    ) -> anyhow::Result<Self> {
        let reader = asker.clone();
        let read = Box::new(move || reader.read());
        let mut exporter = Exporter::new(read, filter.clone(), named);
        if let Some(usable) = usable {
            exporter = exporter.with_web_config(usable);
        }
        let registry = Registry::new();
        registry.register(Box::new(exporter))?;
        let mut maker = Maker {
            registry,
            asker: asker.clone(),
            filter,
            last: None,
        };
        let (orders, ordered) = mpsc::channel::<Order>();
        thread::Builder::new()
            .name("pages".to_owned())
            .spawn(move || {
                for order in ordered {
                    // Whoever ordered it may have gone.
                    let _ = order.made.send(maker.make(order.page));
                }
            })
            .context("cannot start a thread")?;
        Ok(Self {
            orders: Mutex::new(orders),
            asker,
        })
    }

    fn order(&self, page: Page) -> Option<String> {
        let (made, is_made) = mpsc::channel();
        let orders = self.orders.lock().unwrap_or_else(PoisonError::into_inner);
        orders.send(Order { page, made }).ok()?;
        drop(orders);
        is_made.recv().ok()?
    }
}

impl Pages for MetricPages {
    fn text(&self) -> Option<String> {
        self.order(Page::Text)
    }

    fn openmetrics(&self) -> Option<String> {
        self.order(Page::OpenMetrics)
    }

    fn live(&self) -> Option<String> {
        self.order(Page::Live)
    }

    fn interval(&self) -> Option<String> {
        self.order(Page::Interval)
    }

    fn healthy(&self) -> bool {
        self.asker.works()
    }
}

/// Makes pages from readings.
struct Maker {
    registry: Registry,
    asker: Asker,
    filter: DeviceFilter,
    /// The last interval, and when it ended.
    last: Option<(Instant, String)>,
}

impl Maker {
    fn make(&mut self, page: Page) -> Option<String> {
        match page {
            // It refuses families without samples, of which there are none.
            Page::Text => TextEncoder::new()
                .encode_to_string(&self.registry.gather())
                .ok(),
            Page::OpenMetrics => Some(encode_openmetrics(&self.registry.gather())),
            Page::Live => self.live(),
            Page::Interval => self.interval(),
        }
    }

    fn live(&self) -> Option<String> {
        let scrape = self.asker.read().ok()?;
        self.line(scrape.sums.into_summary(), &scrape.attach)
    }

    fn interval(&mut self) -> Option<String> {
        if let Some((end, line)) = &self.last
            && end.elapsed() < SHORTEST_INTERVAL
        {
            return Some(line.clone());
        }
        let Live { interval, attach } = self.asker.interval().ok()?;
        let line = self.line(interval, &attach)?;
        self.last = Some((Instant::now(), line.clone()));
        Some(line)
    }

    fn line(&self, mut interval: Interval, attach: &str) -> Option<String> {
        let told = |name: &str, kind| self.filter.tells(name, kind);
        interval.devices.retain(|one| told(&one.name, one.kind));
        serde_json::to_string(&Line::new(&interval, attach)).ok()
    }
}
