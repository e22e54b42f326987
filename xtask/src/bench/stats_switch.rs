//! The kernel's statistics of BPF programs: switched for a while, put back at
//! the end, after an error too.

use std::fs;

use anyhow::{Context as _, Result};

const SWITCH: &str = "/proc/sys/kernel/bpf_stats_enabled";

/// The statistics as they are wanted now; as they were, when dropped.
pub struct StatsSwitch {
    before: String,
}

impl StatsSwitch {
    /// Counts runs and their time.
    pub fn on() -> Result<Self> {
        Self::set("1")
    }

    /// Does not, which costs each run of a program some 20 ns less.
    pub fn off() -> Result<Self> {
        Self::set("0")
    }

    fn set(value: &str) -> Result<Self> {
        let before = fs::read_to_string(SWITCH).with_context(|| format!("reading {SWITCH}"))?;
        fs::write(SWITCH, value).with_context(|| format!("writing {SWITCH}"))?;
        Ok(Self { before })
    }
}

impl Drop for StatsSwitch {
    fn drop(&mut self) {
        if let Err(error) = fs::write(SWITCH, &self.before) {
            eprintln!(
                "xtask: {SWITCH} could not be put back to {}: {error}",
                self.before.trim_end()
            );
        }
    }
}
