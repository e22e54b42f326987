//! What can't be done ends at once, with a reason and a remedy on standard
//! error; what can be done in part is done, and says what is missing.

use std::{
    fs,
    os::unix::process::CommandExt as _,
    process::{Command, Output},
};

use serde_json::Value;

use crate::harness::{
    fio::Fio,
    hidden::{Over, hide},
    lab::{Lab, Needs},
    loopdev::Loop,
    process::{finished, text},
    stat::settle,
    tracer::{Attach, Tracer, iotrace, row},
};

/// tracefs, and the same inside debugfs.
const TRACEFS: [(&str, Over<'_>); 2] = [
    ("/sys/kernel/tracing", Over::Nothing),
    ("/sys/kernel/debug", Over::Nothing),
];
const BTF: (&str, Over<'_>) = ("/sys/kernel/btf", Over::Nothing);

/// One interval in JSON.
fn once() -> Command {
    let mut command = iotrace();
    command.args(["--format", "json", "--interval", "50ms", "--count", "1"]);
    command
}

/// Exit status 1, nothing on standard output; gives the reason.
fn refusal(output: &Output) -> String {
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert_eq!(text(&output.stdout), "", "{stderr}");
    assert!(stderr.starts_with("iotrace: "), "{stderr}");
    assert!(!stderr.contains("panicked"), "{stderr}");
    stderr
}

fn assert_names(reason: &str, names: &[&str]) {
    for name in names {
        assert!(reason.contains(name), "{name} is not in: {reason}");
    }
}

/// The summary of a run that succeeded.
fn summary(output: &Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let stdout = text(&output.stdout);
    let last = stdout.lines().last().expect("a summary line");
    serde_json::from_str(last).expect("JSON")
}

#[test]
fn an_unknown_device() {
    let Some(lab) = Lab::open("an_unknown_device", &[]) else {
        return;
    };
    let disk = Loop::new(&lab, 1 << 20);
    let name = disk.device().name().to_owned();
    let reason = refusal(&finished(once().args(["--dev", &format!("{name}x")])));
    assert_names(&reason, &[&format!("\"{name}x\""), &name]);
    // A path that is there, and no device.
    refusal(&finished(once().args(["--dev", "/dev/null"])));
    refusal(&finished(once().args(["--dev", "4095:1"])));
}

#[test]
fn an_unprivileged_user() {
    let Some(lab) = Lab::open("an_unprivileged_user", &[]) else {
        return;
    };
    // Where that user can't go, its program must come from.
    let program = lab.path("iotrace");
    let original = iotrace();
    fs::copy(original.get_program(), &program).expect("a copy of iotrace");
    const NOBODY: u32 = 65534;
    let mut command = Command::new(&program);
    command.args(["--format", "json", "--count", "1"]);
    let output = finished(command.uid(NOBODY).gid(NOBODY).current_dir("/"));
    assert_names(&refusal(&output), &["CAP_BPF", "CAP_PERFMON"]);
}

#[test]
fn no_btf() {
    let Some(_lab) = Lab::open("no_btf", &[]) else {
        return;
    };
    let reason = refusal(&finished(hide(once().args(["--attach", "btf"]), &[BTF])));
    assert_names(&reason, &["/sys/kernel/btf/vmlinux"]);
    let reason = refusal(&finished(hide(once().args(["--attach", "raw"]), &[BTF])));
    assert_names(&reason, &["/sys/kernel/btf/vmlinux"]);
    // Left to itself it takes what works.
    let summary = summary(&finished(hide(&mut once(), &[BTF])));
    assert_names(&summary["attach"].to_string(), &["tracepoint"]);
}

#[test]
fn no_tracefs() {
    let Some(_lab) = Lab::open("no_tracefs", &[]) else {
        return;
    };
    let forced = finished(hide(once().args(["--attach", "tracepoint"]), &TRACEFS));
    assert_names(&refusal(&forced), &["tracefs"]);
    let summary = summary(&finished(hide(&mut once(), &TRACEFS)));
    assert_names(&summary["attach"].to_string(), &["btf"]);
}

#[test]
fn neither_btf_nor_tracefs() {
    let Some(_lab) = Lab::open("neither_btf_nor_tracefs", &[]) else {
        return;
    };
    let hidden = [BTF, TRACEFS[0], TRACEFS[1]];
    let reason = refusal(&finished(hide(&mut once(), &hidden)));
    assert_names(&reason, &["/sys/kernel/btf/vmlinux", "tracefs"]);
}

#[test]
fn a_kernel_without_the_tracepoint() {
    let Some(_lab) = Lab::open("a_kernel_without_the_tracepoint", &[]) else {
        return;
    };
    let event = "/sys/kernel/tracing/events/block/block_rq_issue";
    let hidden = [BTF, (event, Over::Nothing), TRACEFS[1]];
    let reason = refusal(&finished(hide(&mut once(), &hidden)));
    assert_names(&reason, &["block_rq_issue"]);
}

/// A physical block that can't be read, and one that is no number: not known,
/// so every request's class is not known; and counted all the same.
#[test]
fn an_unreadable_sysfs_value() {
    let name = "an_unreadable_sysfs_value";
    let Some(lab) = Lab::open(name, &[Needs::Program("fio")]) else {
        return;
    };
    let disk = Loop::new(&lab, 16 << 20);
    let device = disk.device();
    let nonsense = lab.path("nonsense");
    fs::write(&nonsense, "4k\n").expect("a file");
    let value = device.sysfs().join("queue/physical_block_size");
    // Reading one's own memory from address 0 is an error.
    for over in [nonsense.to_str().expect("UTF-8"), "/proc/self/mem"] {
        let mut command = iotrace();
        command.args(["--format", "json", "--interval", "100ms"]);
        command.args(["--dev", device.name(), "--attach", Attach::Btf.word()]);
        let path = value.to_str().expect("UTF-8");
        let before = settle(std::slice::from_ref(&device));
        let tracer =
            Tracer::start(hide(&mut command, &[(path, Over::File(over))])).wait_until_attached();
        Fio::mixed(&device, 101)
            .set("bssplit=512/50:4k/50")
            .run(&lab);
        let stat = settle(std::slice::from_ref(&device))[0] - before[0];
        let report = tracer.stop();
        let row = row(&report.summary, device.name()).expect("a row");
        assert!(row["geometry"]["physical_block_bytes"].is_null(), "{row}");
        for (op, requests) in [("read", stat.reads()), ("write", stat.writes())] {
            assert_eq!(row[op]["requests"], requests, "{row}");
            assert_eq!(row[op]["physical"]["unknown"], requests, "{row}");
        }
        assert_eq!(stat.reads() + stat.writes(), 101, "{stat:?}");
    }
}
