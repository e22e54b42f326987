//! `iotrace serve` as a program: how it starts, serves, and ends. Needs no
//! privilege.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "what the tests share is a test too"
)]

use std::{
    io::Write as _,
    net::TcpListener,
    os::fd::OwnedFd,
    process::{Command, Output, Stdio},
    time::{Duration, Instant},
};

#[expect(dead_code, reason = "shared with tests that do more with it")]
#[path = "support/agent.rs"]
mod agent;
#[path = "support/machine.rs"]
mod machine;

use agent::{Agent, Metrics, get};
use machine::Machine;

fn serve(machine: &Machine, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_iotrace"));
    command.arg("serve").args(more);
    machine.count(&mut command);
    command
}

const ANY_PORT: [&str; 2] = ["--listen", "127.0.0.1:0"];

fn failed(command: &mut Command) -> String {
    let Output { status, stderr, .. } = command.output().unwrap();
    assert_eq!(status.code(), Some(1), "{command:?}");
    String::from_utf8(stderr).unwrap()
}

#[test]
fn from_the_start_to_sigterm() {
    let machine = Machine::new(2, 3);
    let agent = Agent::start(&mut serve(&machine, &ANY_PORT));
    let metrics = agent.metrics();
    let writes = "iotrace_device_requests_total{device=\"sd1\",operation=\"write\"}";
    assert_eq!(metrics.value(writes), Some(3.0));
    let live: serde_json::Value = serde_json::from_str(&agent.get("/api/v1/live")).unwrap();
    assert_eq!(live["devices"].as_array().unwrap().len(), 4);
    assert!(agent.get("/").contains("page/page.js"));
    let (status, said) = agent.stop();
    assert_eq!((status.code(), said.as_str()), (Some(0), ""));
}

/// What the page shows: each what happened since the one before.
#[test]
fn intervals() {
    let machine = Machine::new(2, 3);
    let agent = Agent::start(&mut serve(&machine, &ANY_PORT));
    let ask =
        || -> serde_json::Value { serde_json::from_str(&agent.get("/api/v1/interval")).unwrap() };
    let written = |line: &serde_json::Value| -> Vec<u64> {
        let devices = line["devices"].as_array().unwrap().iter();
        devices
            .map(|device| device["write"]["requests"].as_u64().unwrap())
            .collect()
    };
    let first = ask();
    assert_eq!(first["summary"], false);
    assert_eq!(written(&first), [3; 4]);
    // Asked again too soon, the same.
    let second = loop {
        let line = ask();
        if line["time"] != first["time"] {
            break line;
        }
        assert_eq!(line, first);
    };
    assert_eq!(written(&second), [0; 4]);
    let sums: serde_json::Value = serde_json::from_str(&agent.get("/api/v1/live")).unwrap();
    assert_eq!(written(&sums), [3; 4]);
}

#[test]
fn only_the_devices_that_are_wanted() {
    let machine = Machine::new(3, 1);
    let told = |more: &[&str]| -> Vec<String> {
        let mut args = ANY_PORT.to_vec();
        args.extend(more);
        let metrics = Agent::start(&mut serve(&machine, &args)).metrics().0;
        let sizes = metrics
            .lines()
            .filter(|line| line.contains("_size_bytes{device=\"sd"));
        let names = sizes.filter_map(|line| line.split('"').nth(1));
        let mut names: Vec<String> = names.map(str::to_owned).collect();
        names.sort_unstable();
        names.dedup();
        names
    };
    assert_eq!(told(&[]), ["sd0", "sd0p1", "sd1", "sd1p1", "sd2", "sd2p1"]);
    assert_eq!(told(&["--device-include", "^sd1"]), ["sd1", "sd1p1"]);
    assert_eq!(told(&["--device-exclude", "p1$"]), ["sd0", "sd1", "sd2"]);
    assert_eq!(told(&["--dev", "sd2"]), ["sd2", "sd2p1"]);
}

#[test]
fn several_places() {
    let machine = Machine::new(1, 1);
    // A port that was free a moment ago.
    let second = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let second = second.to_string();
    let args = ["--listen", "127.0.0.1:0", "--listen", &second];
    let agent = Agent::start(&mut serve(&machine, &args));
    assert!(agent.get("/metrics").contains("iotrace_build_info"));
    assert!(get(&second, "/metrics").contains("iotrace_build_info"));
}

#[test]
fn a_port_in_use() {
    let machine = Machine::new(1, 1);
    let agent = Agent::start(&mut serve(&machine, &ANY_PORT));
    let error = failed(&mut serve(&machine, &["--listen", &agent.address]));
    assert!(error.contains("the port is in use"), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
    assert!(agent.get("/-/healthy").contains("healthy"));
}

/// As systemd hands it over: descriptor 3, and two variables.
#[test]
fn a_socket_that_is_handed_over() {
    let machine = Machine::new(1, 1);
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap().to_string();
    let inner = serve(&machine, &["--listen", "fd://"]);
    let words = std::iter::once(inner.get_program()).chain(inner.get_args());
    let line = "exec 3<&0 </dev/null; LISTEN_PID=$$ LISTEN_FDS=1 exec \"$@\"";
    let mut shell = Command::new("sh");
    shell.args(["-c", line, "sh"]).args(words);
    let agent = Agent::start(shell.stdin(Stdio::from(OwnedFd::from(socket))));
    assert_eq!(agent.address, address);
    assert!(agent.get("/metrics").contains("iotrace_build_info"));
    drop(agent);
    let error = failed(&mut serve(&machine, &["--listen", "fd://"]));
    assert!(error.contains("no socket"), "{error}");
}

#[test]
fn what_cannot_be_understood() {
    let machine = Machine::new(1, 1);
    let error = failed(&mut serve(&machine, &["--device-include", "("]));
    assert!(error.contains("--device-include"), "{error}");
    let mut args = ANY_PORT.to_vec();
    args.extend(["--web.config.file", "/nowhere/web.yml"]);
    let error = failed(&mut serve(&machine, &args));
    assert!(error.contains("/nowhere/web.yml"), "{error}");
    let mut args = ANY_PORT.to_vec();
    args.extend(["--dev", "sdx"]);
    assert!(failed(&mut serve(&machine, &args)).contains("--dev"));
    let usage = serve(&machine, &["--listen", "nowhere"]).output().unwrap();
    assert_eq!(usage.status.code(), Some(2));
}

/// The most memory that a process has had, in MiB.
fn peak_mib(pid: libc::pid_t) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().split(' ').next()?.parse::<u64>().ok());
    kib.unwrap() / 1024
}

/// Scraped by two at once. The bounds are such that only something quadratic,
/// or something that is kept, breaks them.
#[test]
fn two_thousand_devices() {
    const DISKS: u64 = 2000;
    let machine = Machine::new(DISKS, 3);
    let agent = Agent::start(&mut serve(&machine, &ANY_PORT));
    let at_rest = peak_mib(agent.pid());
    let scrapes: Vec<(Duration, Metrics)> = std::thread::scope(|scope| {
        let scraper = || {
            let scrape = || {
                let begin = Instant::now();
                let metrics = agent.metrics();
                (begin.elapsed(), metrics)
            };
            (0..3).map(|_| scrape()).collect::<Vec<_>>()
        };
        let both = [scope.spawn(scraper), scope.spawn(scraper)];
        both.into_iter()
            .flat_map(|one| one.join().unwrap())
            .collect()
    });
    for (took, metrics) in &scrapes {
        assert!(*took < Duration::from_secs(60), "{took:?}");
        assert_eq!(metrics.counters(), scrapes[0].1.counters());
        for disk in [0, DISKS - 1] {
            let series =
                format!("iotrace_device_requests_total{{device=\"sd{disk}\",operation=\"write\"}}");
            assert_eq!(metrics.value(&series), Some(3.0));
        }
    }
    let metrics = &scrapes[0].1;
    let series = metrics
        .0
        .lines()
        .filter(|line| !line.starts_with('#'))
        .count();
    let read = metrics.value("iotrace_scrape_duration_seconds").unwrap();
    let slowest = scrapes.iter().map(|(took, _)| took).max().unwrap();
    let peak = peak_mib(agent.pid());
    // Past libtest's capture: figures for people.
    let _ = writeln!(
        std::io::stderr(),
        "{DISKS} disks with a partition each: {series} series, {} KiB, read in {read:.3} s, \
         slowest of two at once {slowest:.2?}, {at_rest} MiB at rest, {peak} MiB at most",
        metrics.0.len() / 1024
    );
    assert!(peak < 1024, "{peak} MiB");
}

#[test]
fn promtool_finds_nothing_to_say() {
    let there = Command::new("promtool").arg("--version").output();
    if there.is_err() {
        assert!(
            std::env::var_os("IOTRACE_REQUIRE").is_none(),
            "IOTRACE_REQUIRE is set, and there is no promtool (package prometheus)"
        );
        eprintln!("not run: no promtool (package prometheus)");
        return;
    }
    let machine = Machine::new(2, 3);
    let agent = Agent::start(&mut serve(&machine, &ANY_PORT));
    let golden = include_str!("golden/metrics.txt").to_owned();
    for text in [agent.metrics().0, golden] {
        let mut promtool = Command::new("promtool")
            .args(["check", "metrics"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = promtool.stdin.take().unwrap();
        stdin.write_all(text.as_bytes()).unwrap();
        drop(stdin);
        let output = promtool.wait_with_output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&said)
        );
        assert_eq!(String::from_utf8_lossy(&said), "");
    }
}
