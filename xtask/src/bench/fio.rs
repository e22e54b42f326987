//! The loads: writes by fio, past the page cache.
//!
//! Must not know what is measured by it.

use std::{path::Path, process::Command, time::Duration};

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::interrupt::Interrupt;
use crate::process;

/// As many requests at once as keep a processor busy.
pub const MANY: u32 = 32;

/// Writes 4 KiB at random places of a device or file for so long, `depth`
/// requests at once, and returns the requests a second.
pub fn random_writes(
    to: &Path,
    depth: u32,
    length: Duration,
    interrupt: &Interrupt,
) -> Result<f64> {
    writes(to, ("randwrite", 4 << 10), depth, length, interrupt)
}

/// Writes as much as `len_bytes` at once, one after another.
pub fn sequential_writes(
    to: &Path,
    len_bytes: u64,
    depth: u32,
    length: Duration,
    interrupt: &Interrupt,
) -> Result<f64> {
    writes(to, ("write", len_bytes), depth, length, interrupt)
}

fn writes(
    to: &Path,
    (pattern, len_bytes): (&str, u64),
    depth: u32,
    length: Duration,
    interrupt: &Interrupt,
) -> Result<f64> {
    interrupt.check()?;
    let fio = process::find("fio").context("no `fio` here")?;
    let mut command = Command::new(fio);
    command
        .args(["--name=bench", "--direct=1", "--time_based"])
        .arg(format!("--rw={pattern}"))
        .arg(format!("--bs={len_bytes}"))
        .arg("--ioengine=libaio")
        .arg(format!("--iodepth={depth}"))
        .arg(format!("--filename={}", to.display()))
        .arg(format!("--runtime={}ms", length.as_millis()))
        .args(["--randrepeat=1", "--output-format=json"]);
    let written = process::output(&mut command);
    // fio sees a Ctrl-C as well and ends: that is no measurement.
    interrupt.check()?;
    requests_a_second(&written?)
}

fn requests_a_second(output: &str) -> Result<f64> {
    // Notes on the system may come before the JSON.
    let json = output.find('{').and_then(|begin| output.get(begin..));
    let report: Value =
        serde_json::from_str(json.unwrap_or_default()).context("fio's output is not JSON")?;
    let iops = report["jobs"][0]["write"]["iops"].as_f64();
    iops.filter(|iops| *iops > 0.0)
        .context("fio reports no writes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_is_found_behind_notes() {
        let output = "note: x\n{\"jobs\": [{\"write\": {\"iops\": 1234.5}}]}\n";
        assert!((requests_a_second(output).unwrap() - 1234.5).abs() < 1e-9);
        assert!(requests_a_second("{\"jobs\": []}").is_err());
        assert!(requests_a_second("killed").is_err());
    }
}
