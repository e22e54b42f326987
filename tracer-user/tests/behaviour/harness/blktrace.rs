//! The kernel's own block tracer, its records printed by blkparse.
//!
//! The records come through tracefs in blktrace's binary format (the `blk`
//! tracer), not through the relay files in debugfs that the program `blktrace`
//! reads: a locked-down kernel keeps those shut.

use std::{
    collections::BTreeMap,
    fs::{self, OpenOptions},
    io::{ErrorKind, Read as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

use super::{device::Device, lab::Lab, process::run_from};

const TRACEFS: &str = "/sys/kernel/tracing";

/// For each CPU: enough for some 200,000 records, as nothing is read before
/// the end.
const BUFFER_KIB: &str = "16384";

/// What is set for a trace and put back after it. The buffers last: to change
/// the tracer empties them.
const SETTINGS: [(&str, &str, &str); 6] = [
    // One clock for all CPUs: records are sorted by time.
    ("trace_clock", "mono", "local"),
    ("options/bin", "1", "0"),
    ("options/context-info", "0", "1"),
    ("current_tracer", "blk", "nop"),
    ("buffer_size_kb", BUFFER_KIB, "1408"),
    ("tracing_on", "1", "1"),
];

/// The head of every record, in memory's order: magic number and version 7,
/// linux/blktrace_api.h.
const MAGIC: [u8; 4] = [0x07, b't', b'a', b'e'];
const RECORD_BYTES: usize = 48;
const ACTION_AT: usize = 28;
/// Among the action's bits: no IO but a note, as md leaves them.
const NOTE: u32 = 1 << 26;
const PDU_LEN_AT: usize = 46;

/// A trace that runs, of some disks.
pub(crate) struct Blktrace {
    disks: Vec<Device>,
}

impl Blktrace {
    /// Starts tracing the disks of `devices`; it runs when this returns.
    pub(crate) fn start(devices: &[Device]) -> Self {
        for (setting, on, _) in SETTINGS {
            set(setting, on);
        }
        set("trace", "");
        let mut disks: Vec<Device> = devices.iter().map(Device::whole).collect();
        disks.dedup();
        let trace = Self { disks };
        for disk in &trace.disks {
            disk.write("trace/enable", "1");
        }
        trace
    }

    /// Stops, and gives for each disk's name its records as lines "ACTION RWBS
    /// SECTOR BYTES", in the order of time. Fails if one is missing.
    pub(crate) fn stop(self, lab: &Lab) -> BTreeMap<String, String> {
        for disk in &self.disks {
            disk.write("trace/enable", "0");
        }
        assert_no_record_overwritten();
        let records = drain();
        let path = lab.path("records");
        fs::write(&path, &records).expect("a copy of the records");
        let args = ["-q", "-i", "-", "-f", "%D %a %d %S %N\n"];
        let lines = run_from("blkparse", &args, &path);
        let lines: Vec<&str> = lines.lines().filter(|line| is_record(line)).collect();
        assert_eq!(lines.len(), count(&records), "records printed by blkparse");
        self.disks
            .iter()
            .map(|disk| (disk.name().to_owned(), of_disk(disk, &lines)))
            .collect()
    }
}

impl Drop for Blktrace {
    fn drop(&mut self) {
        for disk in &self.disks {
            // Of a test that failed; the disk may be gone.
            let _ = fs::write(disk.sysfs().join("trace/enable"), "0");
        }
        for (setting, _, off) in SETTINGS {
            let _ = fs::write(Path::new(TRACEFS).join(setting), off);
        }
    }
}

fn set(setting: &str, value: &str) {
    let path = Path::new(TRACEFS).join(setting);
    fs::write(&path, value)
        .unwrap_or_else(|error| panic!("{value:?} to {}: {error}", path.display()));
}

fn assert_no_record_overwritten() {
    let cpus = fs::read_dir(Path::new(TRACEFS).join("per_cpu")).expect("per_cpu");
    for cpu in cpus {
        let path = cpu.expect("a CPU").path().join("stats");
        let stats = fs::read_to_string(&path).expect("stats");
        for lost in ["overrun: ", "commit overrun: ", "dropped events: "] {
            let line = stats.lines().find_map(|line| line.strip_prefix(lost));
            assert_eq!(line, Some("0"), "{lost}in {}", path.display());
        }
    }
}

/// Everything in the trace, until there is nothing more.
fn drain() -> Vec<u8> {
    let mut pipe = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(Path::new(TRACEFS).join("trace_pipe"))
        .expect("trace_pipe");
    let mut records = Vec::new();
    let mut part = vec![0; 1 << 16];
    loop {
        match pipe.read(&mut part) {
            Ok(0) => return records,
            Ok(bytes) => records.extend_from_slice(&part[..bytes]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return records,
            Err(error) => panic!("trace_pipe: {error}"),
        }
    }
}

/// How many records of IO there are: each record says how much follows it.
fn count(mut records: &[u8]) -> usize {
    let mut found = 0;
    while !records.is_empty() {
        assert!(records.starts_with(&MAGIC), "record {found} has no head");
        let action = records[ACTION_AT..].first_chunk().expect("an action");
        if u32::from_le_bytes(*action) & NOTE == 0 {
            found += 1;
        }
        let more = records[PDU_LEN_AT..].first_chunk().expect("a length");
        records = &records[RECORD_BYTES + usize::from(u16::from_le_bytes(*more))..];
    }
    found
}

/// Whether blkparse printed this line in the format asked for: the text of
/// notes comes in a format of its own.
fn is_record(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    matches!(words[..], [_, _, _, sector, bytes]
        if sector.parse::<u64>().is_ok() && bytes.parse::<u64>().is_ok())
}

fn of_disk(disk: &Device, lines: &[&str]) -> String {
    let number = disk.read("dev").expect("dev").replace(':', ",");
    lines
        .iter()
        .filter_map(|line| {
            let (device, record) = line.trim_start().split_once(' ')?;
            (device == number).then(|| format!("{}\n", record.trim_start()))
        })
        .collect()
}
