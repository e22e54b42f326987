//! The BPF programs and maps of a process, as the kernel describes them in
//! `/proc/PID/fdinfo`; their names, which are not there, from bpftool.
//!
//! Must not start or load anything.

use std::{collections::BTreeMap, fs, process::Command};

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::process;

/// Runs of programs and the time they took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Runs {
    pub count: u64,
    pub time_ns: u64,
}

impl Runs {
    pub fn ns_a_run(self) -> Option<f64> {
        (self.count != 0).then(|| self.time_ns as f64 / self.count as f64)
    }

    /// What came after `before`.
    pub fn since(self, before: Self) -> Self {
        Self {
            count: self.count.saturating_sub(before.count),
            time_ns: self.time_ns.saturating_sub(before.time_ns),
        }
    }

    pub fn add(&mut self, more: Self) {
        self.count += more.count;
        self.time_ns += more.time_ns;
    }
}

/// A map, as the kernel accounts for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Map {
    pub max_entries: u64,
    /// `memlock` of fdinfo: what the kernel says it takes.
    pub bytes: u64,
}

/// Programs of a process by their id.
pub fn runs(pid: u32) -> Result<BTreeMap<u64, Runs>> {
    let infos = descriptors(pid)?;
    Ok(infos.iter().filter_map(|info| program(info)).collect())
}

/// Maps of a process by their id.
pub fn maps(pid: u32) -> Result<BTreeMap<u64, Map>> {
    let infos = descriptors(pid)?;
    Ok(infos.iter().filter_map(|info| map(info)).collect())
}

/// Names of all programs there are, by id.
pub fn program_names() -> Result<BTreeMap<u64, String>> {
    names("prog")
}

/// Names of all maps there are, by id; cut off after 15 letters.
pub fn map_names() -> Result<BTreeMap<u64, String>> {
    names("map")
}

fn descriptors(pid: u32) -> Result<Vec<String>> {
    let dir = format!("/proc/{pid}/fdinfo");
    let entries = fs::read_dir(&dir).with_context(|| format!("reading {dir}"))?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    // One that was closed in the meantime is nobody's loss.
    Ok(paths
        .filter_map(|path| fs::read_to_string(path).ok())
        .collect())
}

fn value(info: &str, name: &str) -> Option<u64> {
    info.lines().find_map(|line| {
        let value = line.strip_prefix(name)?.strip_prefix(':')?;
        value.trim().parse().ok()
    })
}

fn program(info: &str) -> Option<(u64, Runs)> {
    // A link names its program, too; it has no type of program.
    value(info, "prog_type")?;
    let runs = Runs {
        count: value(info, "run_cnt")?,
        time_ns: value(info, "run_time_ns")?,
    };
    Some((value(info, "prog_id")?, runs))
}

fn map(info: &str) -> Option<(u64, Map)> {
    let map = Map {
        max_entries: value(info, "max_entries")?,
        bytes: value(info, "memlock")?,
    };
    Some((value(info, "map_id")?, map))
}

fn names(kind: &str) -> Result<BTreeMap<u64, String>> {
    let bpftool = process::find("bpftool").context("no `bpftool` here")?;
    let output = process::output(Command::new(bpftool).args(["--json", kind, "show"]))?;
    let list: Vec<Value> = serde_json::from_str(&output).context("bpftool's output")?;
    let named = list.iter().filter_map(|one| {
        let name = one["name"].as_str()?.to_owned();
        Some((one["id"].as_u64()?, name))
    });
    Ok(named.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_and_links_are_told_apart() {
        let info = "pos:\t0\nprog_type:\t26\nprog_id:\t2418\nmemlock:\t4096\n\
                    run_time_ns:\t648236\nrun_cnt:\t1514\n";
        let expected = Runs {
            count: 1514,
            time_ns: 648_236,
        };
        assert_eq!(program(info), Some((2418, expected)));
        assert_eq!(
            program("link_type:\traw_tracepoint\nprog_id:\t2418\n"),
            None
        );
        assert_eq!(map(info), None);
        let twice = Runs {
            count: 3014,
            time_ns: 700_000,
        };
        assert_eq!(twice.since(expected).count, 1500);
    }
}
