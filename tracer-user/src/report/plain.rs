//! Plain text, for pipes, logs and terminals without a screen: a table an
//! interval, and a summary that explains itself.
//!
//! Must not compute, and must not write anything but text.

use std::{
    fmt::Write as _,
    io::{self, Write},
};

use super::{
    Report,
    columns::{self, DEVICE, DEVICE_WIDE, DEVICE_WIDTH, PROCESS, PROCESS_DEVICE_WIDTH, WIDE},
    explain::{self, Weight},
    format::{amount, count, counted, cut, fill, milliseconds, seconds, size, wrap},
    layers, reasons,
};
use crate::{
    delta::{DeviceFigures, Interval, Latency, ProcessFigures, Quantiles},
    snapshot::Lost,
    sysfs::device::Geometry,
};

/// Lines that list what a person might look at end here; JSON has them all.
const PROCESSES_SHOWN: usize = 20;

/// Writes text.
#[derive(Debug)]
pub struct PlainReport<W> {
    out: W,
    attach: String,
    width: usize,
    begun: bool,
}

impl<W: Write> PlainReport<W> {
    /// `attach` says how it is counted; `width` is that of a line, in
    /// characters.
    #[must_use]
    pub fn new(out: W, attach: String, width: usize) -> Self {
        Self {
            out,
            attach,
            width,
            begun: false,
        }
    }

    fn put(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }

    fn table(&self, interval: &Interval) -> String {
        let wide = self.width >= WIDE;
        let mut text = format!("{:<DEVICE_WIDTH$}{}", "DEVICE", columns::headings(&DEVICE));
        if wide {
            text.push_str(&columns::headings(&DEVICE_WIDE));
        }
        text.push('\n');
        let shown = |device: &&DeviceFigures| device.active || device.asked;
        for device in interval.devices.iter().filter(shown) {
            let name = columns::device_name(device, true);
            text.push_str(&format!("{name:<DEVICE_WIDTH$}"));
            text.push_str(&columns::cells(&DEVICE, device));
            if wide {
                text.push_str(&columns::cells(&DEVICE_WIDE, device));
            }
            text.push('\n');
        }
        let silent = interval
            .devices
            .iter()
            .filter(|device| !shown(device))
            .count();
        if silent > 0 {
            text.push_str(&format!(
                "({} without IO)\n",
                counted(silent as u64, "device")
            ));
        }
        text
    }
}

impl<W: Write> Report for PlainReport<W> {
    fn interval(&mut self, interval: &Interval) -> io::Result<()> {
        let mut text = String::new();
        if !self.begun {
            self.begun = true;
            text.push_str(&format!("iotrace: {}\n{HEAD}", self.attach));
            text.push_str(if self.width >= WIDE { HEAD_WIDE } else { "" });
            text.push('\n');
        }
        text.push_str(&format!(
            "{:.0}  {}{}\n",
            interval.time,
            seconds(interval.length),
            lost_mark(interval.lost)
        ));
        text.push_str(&self.table(interval));
        if let Some(processes) = &interval.processes {
            text.push_str(&process_table(processes));
        }
        text.push('\n');
        self.put(&text)
    }

    fn summary(&mut self, summary: &Interval) -> io::Result<()> {
        let mut text = format!(
            "Summary of {} up to {:.0} ({})\n",
            seconds(summary.length),
            summary.time,
            self.attach
        );
        let active: Vec<&DeviceFigures> = summary
            .devices
            .iter()
            .filter(|device| device.active)
            .collect();
        if active.is_empty() {
            text.push_str("\nNo IO reached any device that is shown.\n");
        }
        for device in active {
            device_summary(&mut text, device, self.width);
        }
        if let Some(processes) = summary.processes.as_ref().filter(|list| !list.is_empty()) {
            text.push('\n');
            text.push_str(&process_table(processes));
        }
        text.push('\n');
        text.push_str(&lost_sentence(summary.lost));
        text.push_str(FOOT);
        self.put(&text)
    }
}

const HEAD: &str = "\
MB = 1,000,000 bytes; mis. = misaligned to the physical block (normal: 0);
chunkX = crossing a chunk boundary; full/mix/part = percent of the writes that
cover only whole stripes, whole stripes and a ragged end, no whole stripe.
";

const HEAD_WIDE: &str = "al., mis. p50, p99 = await in ms of aligned, of misaligned requests.\n";

const FOOT: &str = "
Units: MB = 1,000,000 bytes, KiB = 1024 bytes. Every row counts what reached
that device; rows are not to be added up, and a disk's holds its partitions'.
Next: `iotrace --dev NAME --by process` shows who writes, `--format json` all
figures and histograms.
";

fn lost_mark(lost: Lost) -> String {
    match lost.total() {
        Some(0) => String::new(),
        Some(events) => format!("  LOST {}", counted(events, "event")),
        None => "  lost events: not known".to_owned(),
    }
}

fn lost_sentence(lost: Lost) -> String {
    match lost.total() {
        Some(0) => "Lost events: 0. Every request was counted.\n".to_owned(),
        Some(events) => format!(
            "Lost events: {}. The figures above are too low by as much.\n",
            count(events)
        ),
        None => "Lost events: not known; this way of counting cannot say.\n".to_owned(),
    }
}

fn device_summary(text: &mut String, device: &DeviceFigures, width: usize) {
    let title = match &device.dm_name {
        Some(name) => format!("{} ({name})", device.name),
        None => device.name.clone(),
    };
    text.push('\n');
    for line in wrap(&format!("{title}: {}", traffic(device)), width) {
        text.push_str(&format!("{line}\n"));
    }
    for line in geometry(&device.geometry, width.saturating_sub(5)) {
        text.push_str(&format!("     {line}\n"));
    }
    for line in layers::lines(device, width.saturating_sub(5)) {
        text.push_str(&format!("     {line}\n"));
    }
    for line in reasons::lines(device, width.saturating_sub(5)) {
        text.push_str(&format!("     {line}\n"));
    }
    for finding in explain::findings(device) {
        marked(text, finding.weight, &finding.text, width);
    }
    for note in &device.notes {
        marked(text, Weight::Hint, note, width);
    }
    for (name, latency) in [
        ("read", device.read.latency_seconds),
        ("write", device.write.latency_seconds),
    ] {
        text.push_str(&latency_lines(name, latency));
    }
}

/// ` !! text`, later lines indented alike.
fn marked(text: &mut String, weight: Weight, sentence: &str, width: usize) {
    for (number, line) in wrap(sentence, width.saturating_sub(5)).iter().enumerate() {
        let mark = if number == 0 { weight.mark() } else { "  " };
        text.push_str(&format!("  {mark} {line}\n"));
    }
}

fn traffic(device: &DeviceFigures) -> String {
    let mut parts = vec![
        format!(
            "{} ({})",
            counted(device.read.requests, "read"),
            amount(device.read.bytes)
        ),
        format!(
            "{} ({})",
            counted(device.write.requests, "write"),
            amount(device.write.bytes)
        ),
    ];
    let zeroes = device.write_zeroes.as_ref().map_or(0, |op| op.requests);
    let appends = device.zone_append.map_or(0, |append| append.requests);
    for (number, noun) in [
        (zeroes, "write-zeroes request"),
        (device.discard.requests, "discard"),
        (device.secure_erase.requests, "secure erase"),
        (appends, "zone append"),
        (device.other.requests(), "other request"),
    ] {
        if number > 0 {
            parts.push(counted(number, noun));
        }
    }
    if device.flush.requests > 0 {
        parts.push(format!("{} flushed", count(device.flush.requests)));
    }
    parts.join(", ")
}

/// The boundaries that requests were held against, in lines of at most
/// `width` characters.
#[must_use]
pub(super) fn geometry(geometry: &Geometry, width: usize) -> Vec<String> {
    let mut parts = Vec::new();
    for (name, bytes) in [
        ("logical block", geometry.logical_block),
        ("physical block", geometry.physical_block),
        ("chunk", geometry.chunk),
        ("stripe", geometry.stripe),
        ("own boundary", geometry.boundary),
    ] {
        if let Some(bytes) = bytes {
            parts.push(format!("{name} {}", size(bytes.0)));
        }
    }
    if let Some(disks) = geometry.data_disks {
        parts.push(format!("{disks} data disks"));
    }
    if let Some(offset) = geometry.alignment_offset.filter(|offset| offset.0 != 0) {
        parts.push(format!("alignment offset {} B", offset.0));
    }
    if let Some(phase) = geometry.phase.filter(|phase| phase.0 != 0) {
        parts.push(format!("phase {}", size(phase.0)));
    }
    fill(parts.iter().map(String::as_str), ", ", width)
}

fn latency_lines(name: &str, latency: Option<Latency>) -> String {
    let Some(latency) = latency else {
        return String::new();
    };
    [
        ("aligned", latency.aligned),
        ("misaligned", latency.misaligned),
    ]
    .into_iter()
    .filter(|(_, quantiles)| quantiles.count > 0)
    .map(|(class, quantiles)| {
        format!(
            "     {name:<5} await, {class:<10} {}\n",
            quantiles_text(&quantiles)
        )
    })
    .collect()
}

/// The percentiles that tell, in milliseconds.
#[must_use]
pub(super) fn quantiles_text(quantiles: &Quantiles) -> String {
    let mut text = String::new();
    for (name, value) in [
        ("p50", quantiles.p50),
        ("p90", quantiles.p90),
        ("p99", quantiles.p99),
        ("max", quantiles.max_le),
    ] {
        // Writing to a String cannot fail.
        let _ = write!(text, "{name} {:>6}  ", milliseconds(value));
    }
    text.push_str("ms");
    text
}

fn process_table(processes: &[ProcessFigures]) -> String {
    if processes.is_empty() {
        return "(no process queued any IO)\n".to_owned();
    }
    let mut text = format!(
        "{}{}\n",
        process_head("DEVICE", "COMMAND", "PID"),
        columns::headings(&PROCESS)
    );
    for process in processes.iter().take(PROCESSES_SHOWN) {
        text.push_str(&process_row(process));
        text.push('\n');
        if let Some(on_behalf) = on_behalf(process) {
            let _ = writeln!(text, "{on_behalf}");
        }
    }
    if processes.len() > PROCESSES_SHOWN {
        let more = processes.len() - PROCESSES_SHOWN;
        text.push_str(&format!("(and {more} more)\n"));
    }
    text
}

/// A process in one line.
#[must_use]
pub(super) fn process_row(process: &ProcessFigures) -> String {
    let pid = process
        .pid
        .map_or_else(|| "ended".to_owned(), |pid| pid.to_string());
    process_head(&process.device, &process.command, &pid) + &columns::cells(&PROCESS, process)
}

/// Whom a kernel thread works for, as far as the control group tells.
#[must_use]
pub(super) fn on_behalf(process: &ProcessFigures) -> Option<String> {
    let path = process.cgroup_path.as_deref()?;
    let kernel_thread = process.command.starts_with("kworker/");
    kernel_thread.then(|| format!("{:PROCESS_DEVICE_WIDTH$} for {path}", ""))
}

/// The first columns of a process.
#[must_use]
pub(super) fn process_head(device: &str, command: &str, pid: &str) -> String {
    use columns::{COMMAND_WIDTH, PID_WIDTH};
    format!(
        "{:<PROCESS_DEVICE_WIDTH$} {:<COMMAND_WIDTH$} {pid:>PID_WIDTH$}",
        cut(device, PROCESS_DEVICE_WIDTH),
        cut(command, COMMAND_WIDTH),
    )
}

#[cfg(test)]
#[path = "plain_tests.rs"]
mod tests;
