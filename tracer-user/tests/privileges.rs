//! Which capabilities are enough, what is said where one is not held, and that
//! no more than needed are kept. Needs root, to give itself less.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "what the tests share is a test too"
)]

use std::{
    io::{BufRead as _, BufReader},
    os::unix::fs::PermissionsExt as _,
    path::PathBuf,
    process::{Command, Output, Stdio},
};

use tempfile::TempDir;

/// iotrace where an unprivileged user can reach it.
struct Reachable {
    dir: TempDir,
}

impl Reachable {
    /// `None`, with the reason said, where the test cannot run.
    fn new() -> Option<Self> {
        let root = rustix::process::geteuid().is_root();
        let setpriv = Command::new("setpriv").arg("--version").output();
        if !root || !setpriv.is_ok_and(|output| output.status.success()) {
            assert!(
                std::env::var_os("IOTRACE_REQUIRE").is_none(),
                "IOTRACE_REQUIRE is set, and root or setpriv (util-linux) is missing"
            );
            eprintln!("not run: needs root and setpriv (util-linux)");
            return None;
        }
        let dir = tempfile::tempdir().unwrap();
        let readable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(dir.path(), readable.clone()).unwrap();
        let reachable = Self { dir };
        std::fs::copy(env!("CARGO_BIN_EXE_iotrace"), reachable.program()).unwrap();
        std::fs::set_permissions(reachable.program(), readable).unwrap();
        Some(reachable)
    }

    fn program(&self) -> PathBuf {
        self.dir.path().join("iotrace")
    }

    /// As nobody, with these capabilities, as in `+bpf,+perfmon`.
    fn as_nobody(&self, capabilities: &str) -> Command {
        let mut command = self.program_as_nobody(capabilities);
        command.args(["--interval", "50ms", "--format", "json"]);
        command
    }

    /// Without any option of its own.
    fn program_as_nobody(&self, capabilities: &str) -> Command {
        let set = if capabilities.is_empty() {
            "-all".to_owned()
        } else {
            format!("-all,{capabilities}")
        };
        let mut command = Command::new("setpriv");
        command
            .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
            .arg(format!("--inh-caps={set}"))
            .arg(format!("--ambient-caps={set}"))
            .arg(format!("--bounding-set={set}"))
            .arg(self.program());
        command
    }
}

#[expect(dead_code, reason = "shared with tests that do more with it")]
#[path = "support/agent.rs"]
mod agent;

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn bpf_and_perfmon_are_enough() {
    let Some(reachable) = Reachable::new() else {
        return;
    };
    for enough in [
        "+bpf,+perfmon",
        "+bpf,+perfmon,+dac_read_search",
        "+sys_admin",
    ] {
        let mut command = reachable.as_nobody(enough);
        let output = command.args(["--count", "2"]).output().unwrap();
        assert!(output.status.success(), "{enough}: {}", stderr(&output));
        let lines = String::from_utf8(output.stdout).unwrap();
        assert_eq!(lines.lines().count(), 3, "{enough}: {lines}");
        for line in lines.lines() {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            assert_ne!(line["devices"], serde_json::json!([]), "{enough}");
            assert_eq!(line["lost"]["maps"], 0, "{enough}");
        }
    }
}

#[test]
fn what_is_missing_is_named_with_the_remedy() {
    let Some(reachable) = Reachable::new() else {
        return;
    };
    for (held, missing) in [
        ("", "needs CAP_BPF and CAP_PERFMON, which"),
        ("+bpf", "needs CAP_PERFMON, which"),
        ("+perfmon,+dac_read_search", "needs CAP_BPF, which"),
    ] {
        let output = reachable.as_nobody(held).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{held}");
        let message = stderr(&output);
        assert!(message.contains(missing), "{held}: {message}");
        assert!(
            message.contains("run as root, or give the program both (`setcap cap_bpf,"),
            "{held}: {message}"
        );
        assert!(output.stdout.is_empty());
    }
}

/// The only thing that needs tracefs is a classic tracepoint.
#[test]
fn tracefs_is_roots() {
    let Some(reachable) = Reachable::new() else {
        return;
    };
    let run = |capabilities| {
        let mut command = reachable.as_nobody(capabilities);
        let command = command.args(["--attach", "tracepoint", "--count", "1"]);
        command.output().unwrap()
    };
    let refused = run("+bpf,+perfmon");
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        stderr(&refused).contains("let this user read tracefs (root, or CAP_DAC_READ_SEARCH)"),
        "{}",
        stderr(&refused)
    );
    let done = run("+bpf,+perfmon,+dac_read_search");
    assert!(done.status.success(), "{}", stderr(&done));
}

/// A capability lets nobody read a file that only root may, by naming it.
#[test]
fn files_that_the_user_names_are_read_as_the_user() {
    let Some(reachable) = Reachable::new() else {
        return;
    };
    let secret = reachable.dir.path().join("secret");
    std::fs::write(&secret, "sda write 0 4096\n").unwrap();
    std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o600)).unwrap();
    let mut command = reachable.as_nobody("+bpf,+perfmon,+dac_read_search");
    let output = command.arg("--events").arg(&secret).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("Permission denied"));
}

#[test]
fn root_keeps_five_and_holds_none() {
    let Some(reachable) = Reachable::new() else {
        return;
    };
    let mut iotrace = Command::new(reachable.program())
        .args(["--interval", "10s"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(iotrace.stderr.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    assert!(line.starts_with("iotrace: counting"), "{line}");
    // CAP_DAC_READ_SEARCH is 2, CAP_SYS_ADMIN 21, CAP_SYSLOG 34, CAP_PERFMON 38,
    // CAP_BPF 39.
    let kept = 1u64 << 2 | 1 << 21 | 1 << 34 | 1 << 38 | 1 << 39;
    let kept = format!("CapPrm:\t{kept:016x}");
    let status = loop {
        let path = format!("/proc/{}/status", iotrace.id());
        let status = std::fs::read_to_string(path).unwrap();
        // The first reading may still be under way.
        if status.contains("CapEff:\t0000000000000000") {
            break status;
        }
    };
    assert!(status.contains(&kept), "{status}");
    let pid = rustix::process::Pid::from_child(&iotrace);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert!(iotrace.wait().unwrap().success());
}

/// The static part needs nothing; a layer that may not be looked into is told,
/// and the rest shown.
#[test]
fn a_stack_without_privileges() {
    let Some(reachable) = Reachable::new() else {
        return;
    };
    let mut command = reachable.program_as_nobody("");
    let output = command
        .args(["stack", "--format", "json"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let whole: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let devices = whole["devices"].as_array().unwrap();
    assert!(!devices.is_empty());
    for device in devices {
        assert!(device["logical_block_bytes"].is_u64(), "{device}");
        assert_eq!(device["contents"], serde_json::Value::Null, "{device}");
        // No file on this machine lets nobody read a device; some lie on
        // nothing that could be read.
        let why = &device["contents_not_read"];
        assert!(
            why.is_null() || why == "no permission to read it",
            "{device}"
        );
    }
    let refused = |device: &serde_json::Value| !device["contents_not_read"].is_null();
    assert!(devices.iter().any(refused));
}

/// What talks to a network may do nothing; one thread keeps what counting needs.
#[test]
fn only_the_thread_that_counts_may_do_anything() {
    let Some(reachable) = Reachable::new() else {
        return;
    };
    let mut serve = reachable.program_as_nobody("+bpf,+perfmon");
    let agent = agent::Agent::start(serve.args(["serve", "--listen", "127.0.0.1:0"]));
    assert!(agent.get("/metrics").contains("iotrace_scrape_success 1"));
    let threads = format!("/proc/{}/task", agent.pid());
    let mut holding = Vec::new();
    for thread in std::fs::read_dir(threads).unwrap() {
        let path = thread.unwrap().path();
        let status = std::fs::read_to_string(path.join("status")).unwrap();
        let none = |set: &str| status.contains(&format!("{set}:\t0000000000000000"));
        if !(none("CapPrm") && none("CapEff") && none("CapInh") && none("CapAmb")) {
            holding.push(status);
        }
    }
    // CAP_PERFMON is 38, CAP_BPF 39.
    let kept = format!("CapPrm:\t{:016x}", 1u64 << 38 | 1 << 39);
    assert_eq!(holding.len(), 1, "{holding:?}");
    assert!(holding[0].contains("Name:\tcounting"), "{}", holding[0]);
    assert!(holding[0].contains(&kept), "{}", holding[0]);
    assert!(agent.stop().0.success());
}
