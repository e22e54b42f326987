//! `iotrace serve`: one thread owns the source and its privileges, the others
//! answer HTTP and may do nothing else.
//!
//! Must not make pages or speak HTTP.

mod counting;
mod pages;

use std::sync::Arc;

use anyhow::Context as _;
use tokio::signal::unix::{SignalKind, signal};

use self::{counting::Counting, pages::MetricPages};
use super::tell;
use crate::{
    cli::ServeArgs,
    export::DeviceFilter,
    privileges,
    serve::{self, App, Listeners, WebConfig},
};

/// What answers HTTP.
const WORKERS: usize = 2;
/// Threads that make pages and compare passwords.
const MOST_BLOCKING: usize = 24;

/// Serves until SIGINT or SIGTERM.
///
/// # Errors
/// For settings that cannot be used, a place that cannot be listened at, and
/// all that the live view cannot start for.
pub fn run(args: ServeArgs) -> anyhow::Result<()> {
    let named = !args.source.named.devices.is_empty();
    let (include, exclude) = (
        args.device_include.as_deref(),
        args.device_exclude.as_deref(),
    );
    let filter = DeviceFilter::new(include, exclude, named)?;
    // Before anything is given up: a low port needs a capability.
    let listeners = Listeners::open(&args.listen)?;
    if let Err(error) = privileges::keep_needed() {
        tell(&error.to_string());
    }
    let settings = match &args.web_config {
        Some(path) => {
            let _raised = privileges::raise_for_named_files();
            WebConfig::open(path, Box::new(tell)).context("--web.config.file")?
        }
        None => WebConfig::none(),
    };
    let is_live = args.source.events.is_none();
    let counting = Counting::start(args.source)?;
    if let Err(error) = privileges::keep_none() {
        tell(&error.to_string());
    }
    let usable = args.web_config.is_some().then(|| settings.usable());
    let scheme = if settings.has_tls() { "https" } else { "http" };
    let pages = MetricPages::new(counting.asker(), filter, named, usable)?;
    let app = App::new(Arc::new(pages), settings);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .max_blocking_threads(MOST_BLOCKING)
        .enable_all()
        .build()
        .context("cannot start the event loop")?;
    let served = runtime.block_on(async {
        let mut interrupt = signal(SignalKind::interrupt()).context("cannot wait for SIGINT")?;
        let mut terminate = signal(SignalKind::terminate()).context("cannot wait for SIGTERM")?;
        let stop = async {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        };
        if is_live {
            tell(&format!("counting ({})", counting.describe()));
        }
        for address in listeners.addresses() {
            tell(&format!("serving {scheme}://{address}/metrics"));
        }
        counting::tell_systemd("READY=1");
        let served = serve::run(listeners, Arc::new(app), stop).await;
        served.context("cannot serve")
    });
    // A page that is still being made does not hold up the end.
    runtime.shutdown_background();
    counting.stop();
    served
}
