//! What the figures were measured on.

use std::{fs, process::Command};

use anyhow::{Context as _, Result};

use crate::process;

/// Date, CPU, kernel, and how busy the machine was at the start.
pub fn describe() -> Result<String> {
    let cpuinfo = read("/proc/cpuinfo")?;
    let model = cpuinfo
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(':'))
        .map_or(std::env::consts::ARCH, |(_, model)| model.trim());
    let cpus = std::thread::available_parallelism().context("counting CPUs")?;
    let kernel = read("/proc/sys/kernel/osrelease")?;
    let load = read("/proc/loadavg")?;
    let date = process::output(Command::new("date").arg("+%F"))?;
    Ok(format!(
        "{}, {cpus} CPUs of {model}, Linux {}; load average at the start {}.\n",
        date.trim_end(),
        kernel.trim_end(),
        load.split(' ').next().unwrap_or_default(),
    ))
}

fn read(file: &str) -> Result<String> {
    fs::read_to_string(file).with_context(|| format!("reading {file}"))
}
