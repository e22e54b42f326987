//! Odd surroundings: nowhere to write to, nothing to read from, very many
//! devices. Needs no privilege.

#![expect(clippy::unwrap_used, reason = "what the tests share is a test too")]

use std::{
    fs::File,
    process::{Command, Output, Stdio},
    time::{Duration, Instant},
};

#[path = "support/machine.rs"]
mod machine;

use machine::Machine;

fn live(machine: &Machine, format: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_iotrace"));
    command.args(["--format", format]);
    machine.count(&mut command);
    command
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
        live(&machine, "json"),
        live(&machine, "plain"),
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
    let done = live(&machine, "json").stderr(full()).output().unwrap();
    assert!(done.status.success());
    let failed: Output = live(&machine, "json")
        .args(["--dev", "sdx"])
        .stderr(full())
        .output()
        .unwrap();
    assert_eq!(failed.status.code(), Some(1));
}

#[test]
fn descriptors_may_be_closed() {
    let machine = Machine::new(1, 1);
    let inner = live(&machine, "json");
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
    let output = live(&machine, "json").output().unwrap();
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
