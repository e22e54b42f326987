//! Odd surroundings: nowhere to write to, nothing to read from, very many
//! devices. Needs no privilege.

#![expect(clippy::unwrap_used, reason = "what the tests share is a test too")]

use std::{
    fmt::Write as _,
    fs::File,
    process::{Command, Output, Stdio},
    time::{Duration, Instant},
};

use tempfile::TempDir;

#[path = "support/tree.rs"]
mod tree;

/// Disks with a partition each, and as many writes to each.
struct Machine {
    sysfs: TempDir,
    events: tempfile::NamedTempFile,
}

impl Machine {
    fn new(disks: u64, writes: u64) -> Self {
        let mut text = String::new();
        for disk in 0..disks {
            let block = format!("block/sd{disk}");
            let _ = write!(
                text,
                "{block}/dev = 8:{minor}\n{block}/size = 1048576\n{block}/diskseq = {disk}\n\
                 {block}/mq/\n{block}/alignment_offset = 0\n\
                 {block}/queue/logical_block_size = 512\n\
                 {block}/queue/physical_block_size = 4096\n\
                 {block}/queue/minimum_io_size = 4096\n{block}/queue/optimal_io_size = 0\n\
                 {block}/queue/rotational = 1\n\
                 {block}/sd{disk}p1/partition = 1\n{block}/sd{disk}p1/dev = 8:{partition}\n\
                 {block}/sd{disk}p1/start = 63\n{block}/sd{disk}p1/size = 1000000\n\
                 {block}/sd{disk}p1/alignment_offset = 512\n",
                minor = disk * 16,
                partition = disk * 16 + 1,
            );
        }
        let mut events = String::new();
        for n in 0..disks * writes {
            let _ = writeln!(events, "sd{}p1 write {} 4096", n % disks, n / disks * 4096);
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), events).unwrap();
        Self {
            sysfs: tree::expand(&text).unwrap(),
            events: file,
        }
    }

    fn iotrace(&self, format: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_iotrace"));
        command
            .arg("--sysfs")
            .arg(self.sysfs.path())
            .arg("--events")
            .arg(self.events.path())
            .args(["--format", format]);
        command
    }
}

fn full() -> Stdio {
    File::options()
        .write(true)
        .open("/dev/full")
        .unwrap()
        .into()
}

#[test]
fn a_full_disk_is_named() {
    let machine = Machine::new(1, 1);
    let mut probe = Command::new(env!("CARGO_BIN_EXE_iotrace"));
    probe.arg("probe");
    let mut schema = Command::new(env!("CARGO_BIN_EXE_iotrace"));
    schema.arg("schema");
    for mut command in [
        machine.iotrace("json"),
        machine.iotrace("plain"),
        probe,
        schema,
    ] {
        let output = command.stdout(full()).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{command:?}");
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            message,
            "iotrace: cannot write to standard output: No space left on device (os error 28)\n"
        );
    }
}

#[test]
fn nobody_to_tell_is_no_failure_of_its_own() {
    let machine = Machine::new(1, 1);
    let done = machine.iotrace("json").stderr(full()).output().unwrap();
    assert!(done.status.success());
    let failed: Output = machine
        .iotrace("json")
        .args(["--dev", "sdx"])
        .stderr(full())
        .output()
        .unwrap();
    assert_eq!(failed.status.code(), Some(1));
}

#[test]
fn descriptors_may_be_closed() {
    let machine = Machine::new(1, 1);
    let inner = machine.iotrace("json");
    let words: Vec<_> = std::iter::once(inner.get_program())
        .chain(inner.get_args())
        .collect();
    for closed in ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"] {
        let line = format!("exec \"$@\" {closed}");
        let mut shell = Command::new("sh");
        let status = shell
            .args(["-c", &line, "sh"])
            .args(&words)
            .stdout(Stdio::null())
            .status()
            .unwrap();
        assert_eq!(status.code(), Some(0), "{closed}");
    }
}

/// A bound that only something quadratic breaks.
#[test]
fn thousands_of_devices() {
    const DISKS: u64 = 2003;
    let machine = Machine::new(DISKS, 3);
    let start = Instant::now();
    let output = machine.iotrace("json").output().unwrap();
    let took = start.elapsed();
    assert!(took < Duration::from_secs(60), "{took:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let summary: serde_json::Value = serde_json::from_str(text.trim_end()).unwrap();
    let devices = summary["devices"].as_array().unwrap();
    assert_eq!(devices.len() as u64, 2 * DISKS);
    for device in devices {
        assert_eq!(device["write"]["physical"]["off_grid"], 3);
    }
}
