//! The `blk` tracer of tracefs, which gives the same records as the relay
//! files: of kernels whose records have version 7, with the disks open.

use std::{
    collections::BTreeMap,
    fs::{self, File, OpenOptions},
    io::{ErrorKind, Read as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

use crate::harness::{device::Device, lab::Lab};

const TRACEFS: &str = "/sys/kernel/tracing";

/// For each CPU: enough for some 200,000 records, as nothing is read before
/// the end.
const BUFFER_KIB: &str = "16384";

/// What is set for a trace and put back after it. The buffers after the
/// tracer: to change the tracer empties them.
const SETTINGS: [(&str, &str, &str); 6] = [
    // One clock for all CPUs: records are sorted by time.
    ("trace_clock", "mono", "local"),
    ("options/bin", "1", "0"),
    ("options/context-info", "0", "1"),
    ("current_tracer", "blk", "nop"),
    ("buffer_size_kb", BUFFER_KIB, "1408"),
    ("tracing_on", "1", "1"),
];

pub(crate) struct Ftrace {
    disks: Vec<Device>,
    /// A disk that nobody has open can't be traced on older kernels.
    _open: Vec<File>,
}

impl Ftrace {
    pub(super) fn start(disks: Vec<Device>) -> Self {
        for (setting, on, _) in SETTINGS {
            set(setting, on);
        }
        set("trace", "");
        let open = |disk: &Device| File::open(disk.node()).expect("the traced disk");
        let trace = Self {
            _open: disks.iter().map(open).collect(),
            disks,
        };
        for disk in &trace.disks {
            disk.write("trace/enable", "1");
        }
        trace
    }

    pub(super) fn stop(self, lab: &Lab) -> BTreeMap<String, String> {
        for disk in &self.disks {
            disk.write("trace/enable", "0");
        }
        assert_no_record_overwritten();
        let records = drain();
        let path = lab.path("records");
        fs::write(&path, &records).expect("a copy of the records");
        let lines = super::lines(&["-i", "-"], &path, super::count(&records));
        let of_disk = |disk: &Device| {
            let number = disk.read("dev").expect("dev").replace(':', ",");
            lines
                .iter()
                .filter(|(of, _)| *of == number)
                .map(|(_, line)| line.as_str())
                .collect()
        };
        self.disks
            .iter()
            .map(|disk| (disk.name().to_owned(), of_disk(disk)))
            .collect()
    }
}

impl Drop for Ftrace {
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
