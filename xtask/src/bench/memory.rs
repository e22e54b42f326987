//! Kernel memory: what it takes by computation, and what the kernel says of
//! the maps of an iotrace that runs here.

use std::fs;

use anyhow::{Context as _, Result};
use tracer_ebpf::{
    abi::{HotBlock, kernel_memory_bytes},
    cells::detail,
};

use super::{
    disk::Disk,
    interrupt::Interrupt,
    observer::Iotrace,
    programs,
    table::{Table, thousands, verdict},
};

/// What many devices on a large machine may take.
const BAR_BYTES: u64 = 256 << 20;
const BAR_DEVICES: u64 = 2000;
const BAR_CPUS: u64 = 128;

/// The maps that [`kernel_memory_bytes`] is about.
const PER_DEVICE: [&str; 8] = [
    "DEVICES",
    "FRONT",
    "HOT",
    "OWNERS",
    "PARTITIONS",
    "PLACES",
    "SHARED",
    "SLOTS",
];

/// Starts iotrace, reads its maps, and prints both.
pub fn report(iotrace: &Iotrace, disk: &Disk, interrupt: &Interrupt) -> Result<String> {
    let observer = iotrace.start(disk.device(), None, interrupt)?;
    let devices = fs::read_dir("/sys/class/block")
        .context("reading /sys/class/block")?
        .count() as u64;
    let maps = programs::maps(observer.pid())?;
    let names = programs::map_names()?;
    let (mut counted, mut all) = (0, 0);
    for (id, map) in &maps {
        all += map.bytes;
        if names
            .get(id)
            .is_some_and(|name| PER_DEVICE.contains(&name.as_str()))
        {
            counted += map.bytes;
        }
    }
    let cpus = possible_cpus()?;
    let mut table = Table::new(&["kernel memory", "bytes"]);
    let mut row = |what: String, bytes: u64| table.row(vec![what, thousands(bytes)]);
    row("counters, a device and CPU".to_owned(), size::<HotBlock>());
    row("all else, a device".to_owned(), one_device_more());
    row(
        "histograms, a device asked for and CPU".to_owned(),
        detail::CELLS as u64 * 8,
    );
    let here = format!("{devices} devices on {cpus} CPUs, without histograms");
    row(
        format!("{here}: computed"),
        kernel_memory_bytes(devices, cpus),
    );
    row(format!("{here}: the kernel says"), counted);
    row("all maps of that iotrace: the kernel says".to_owned(), all);
    let large = kernel_memory_bytes(BAR_DEVICES, BAR_CPUS);
    row(
        format!(
            "{} devices on {BAR_CPUS} CPUs: computed",
            thousands(BAR_DEVICES)
        ),
        large,
    );
    Ok(format!(
        "## Kernel memory\n\n{}\n{} devices on {BAR_CPUS} CPUs take less than {} MiB: \
         {} MiB: **{}**\n",
        table.render(),
        thousands(BAR_DEVICES),
        BAR_BYTES >> 20,
        large.div_ceil(1 << 20),
        verdict(large < BAR_BYTES)
    ))
}

fn size<T>() -> u64 {
    size_of::<T>() as u64
}

/// What a device takes beside its counters, and what is kept free for others.
fn one_device_more() -> u64 {
    let devices = 1024;
    (kernel_memory_bytes(2 * devices, 0) - kernel_memory_bytes(devices, 0)) / devices
}

/// The kernel keeps per-CPU values for each CPU that may ever come.
fn possible_cpus() -> Result<u64> {
    let file = "/sys/devices/system/cpu/possible";
    let text = fs::read_to_string(file).with_context(|| format!("reading {file}"))?;
    count_of_ranges(text.trim()).with_context(|| format!("{file} says {text:?}"))
}

/// How many numbers a list such as `0-3,5` has.
fn count_of_ranges(list: &str) -> Option<u64> {
    let counts = list.split(',').map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
        last.checked_sub(first)?.checked_add(1)
    });
    counts.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus_are_counted() {
        assert_eq!(count_of_ranges("0"), Some(1));
        assert_eq!(count_of_ranges("0-3,5,8-9"), Some(7));
        assert_eq!(count_of_ranges("3-0"), None);
        assert_eq!(count_of_ranges(""), None);
    }
}
