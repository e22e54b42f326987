//! `iotrace doctor`: looks at the storage as it was built, counts for a while if
//! that was asked for, and says what is wrong.
//!
//! Must not judge: [`crate::doctor`] does.

use std::{io::Write, time::Duration};

use anyhow::Context as _;
use tokio::{
    signal::unix::{SignalKind, signal},
    time::{Instant, MissedTickBehavior, interval},
};

use super::{
    TO_STDOUT,
    live::{readable, wake_fd},
    machine::OpenedStack,
    open::{self, Extras},
    shown, tell,
};
use crate::{
    cli::{DeviceArgs, DoctorArgs, PrintFormat, SourceArgs},
    delta::{Interval, Meter, nothing_yet},
    doctor::{Diagnosis, examine},
    privileges,
    report::findings::{self, json},
    source::Source,
    sysfs::device::Kind,
    units::DevId,
};

/// Between readings: how full a stripe cache is is looked at so often.
const BETWEEN: Duration = Duration::from_secs(1);

/// Looks, and prints what was found.
///
/// # Errors
/// For a device that is not there, a capture that is none, or where the
/// output cannot be written. That nothing can be counted is no error: it is
/// told, and the rest is done.
pub fn run(args: &DoctorArgs, out: &mut impl Write) -> anyhow::Result<Diagnosis> {
    if let Err(error) = privileges::keep_needed() {
        tell(&error.to_string());
    }
    let opened = OpenedStack::open(&args.source)?;
    let mut stack = opened.stack;
    let asked = &opened.selection.asked;
    let mut interval = None;
    if args.duration.is_some() || args.events.is_some() {
        let named = if asked.is_empty() {
            all_devices(&stack.topology.devices)
        } else {
            args.source.named.devices.clone()
        };
        match counted(args, named) {
            Ok(counted) => interval = Some(counted),
            // What was built can be told all the same.
            Err(error) => stack
                .missing
                .push(format!("nothing could be counted: {error:#}")),
        }
    }
    let diagnosis = examine(&stack, asked, interval.as_ref());
    match args.format {
        PrintFormat::Plain => shown(out, |text| findings::print(&diagnosis, text)),
        PrintFormat::Json => json::print(&diagnosis, out),
    }
    .context(TO_STDOUT)?;
    Ok(diagnosis)
}

/// Named one by one, they have histograms, as far as there is room for them.
fn all_devices(
    devices: &std::collections::BTreeMap<DevId, crate::sysfs::device::Device>,
) -> Vec<String> {
    let real = devices.values().filter(|device| {
        !matches!(device.kind, Kind::Ram | Kind::Zram)
            && (device.kind != Kind::Loop || device.loop_file.is_some())
    });
    real.map(|device| device.name.clone()).collect()
}

fn counted(args: &DoctorArgs, devices: Vec<String>) -> anyhow::Result<Interval> {
    let source = SourceArgs {
        named: DeviceArgs {
            devices,
            geometry: args.source.named.geometry.clone(),
        },
        attach: None,
        sysfs: args.source.sysfs.clone(),
        events: args.events.clone(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the event loop")?;
    // Within the runtime: a source may have descriptors to watch.
    let _guard = runtime.enter();
    let opened = open::open(&source, Extras::default())?;
    let duration = args.duration.unwrap_or_default();
    if args.events.is_none() {
        tell(&format!(
            "counting for {} ({})",
            humantime::format_duration(duration),
            opened.source.describe()
        ));
    }
    runtime.block_on(measure(opened.source, opened.devices, duration))
}

/// Counts until the time is over, or SIGINT or SIGTERM comes.
async fn measure(
    mut source: Box<dyn Source>,
    devices: Vec<DevId>,
    duration: Duration,
) -> anyhow::Result<Interval> {
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot wait for SIGINT")?;
    let mut terminate = signal(SignalKind::terminate()).context("cannot wait for SIGTERM")?;
    source.refresh()?;
    let first = nothing_yet(&source.snapshot()?);
    let mut meter = Meter::new(first, devices, false);
    meter.devices(source.topology());
    let wake = wake_fd(source.as_ref())?;
    let over = tokio::time::sleep_until(Instant::now() + duration);
    tokio::pin!(over);
    let mut ticks = interval(BETWEEN);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut more = !source.finished();
    while more {
        tokio::select! {
            _ = interrupt.recv() => more = false,
            _ = terminate.recv() => more = false,
            () = &mut over => more = false,
            _ = ticks.tick() => {}
            result = readable(wake.as_ref()) => result?,
        }
        if source.refresh()? {
            meter.devices(source.topology());
        }
        let reading = source.snapshot()?;
        meter.interval(reading);
    }
    if source.finished() {
        let reading = source.snapshot()?;
        meter.interval(reading);
    }
    Ok(meter.summary())
}
