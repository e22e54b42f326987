//! `--by process`: who issued what, by command, pid and control group.

use std::{
    fs::{self, OpenOptions},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::Value;

use crate::harness::{
    device::Device,
    lab::{self, Lab},
    loopdev::Loop,
    stat::Stat,
    tracer::{Attach, Report, Tracer},
    wait,
};

const MIB: u64 = 1 << 20;

/// Of a summary or interval, those on a device.
fn processes<'a>(line: &'a Value, device: &Device) -> Vec<&'a Value> {
    let all = line["processes"].as_array().expect("processes");
    all.iter()
        .filter(|process| process["device"] == device.name())
        .collect()
}

fn by_process(device: &Device, attach: Attach) -> Tracer {
    // A loop device's own block is 512; these are what is to be missed.
    let geometry = format!("{}=physical:4k,chunk:64k,data:2", device.name());
    Tracer::of(
        &[device],
        attach,
        &["--by", "process", "--geometry", &geometry],
    )
}

/// Runs `dd` to its end; its pid.
fn dd(args: &[&str]) -> u32 {
    let mut dd = Command::new("dd")
        .args(args)
        .stderr(Stdio::null())
        .spawn()
        .expect("dd");
    let pid = dd.id();
    assert!(dd.wait().expect("dd's status").success(), "dd {args:?}");
    pid
}

#[test]
fn a_writer_is_named() {
    let Some(lab) = Lab::open("a_writer_is_named", &[]) else {
        return;
    };
    for attach in [Attach::Btf, Attach::Raw] {
        let looped = Loop::new(&lab, 8 * MIB);
        let device = looped.device();
        let tracer = by_process(&device, attach);
        let of = format!("of={}", device.node_text());
        let sub_block = dd(&[
            "if=/dev/zero",
            &of,
            "bs=512",
            "seek=1",
            "count=7",
            "oflag=direct",
        ]);
        let whole = dd(&[
            "if=/dev/zero",
            &of,
            "bs=128k",
            "seek=2",
            "count=3",
            "oflag=direct",
        ]);
        let report: Report = tracer.stop();
        let found = processes(&report.summary, &device);
        let writes = |pid: u32| {
            let process = found.iter().find(|process| process["pid"] == pid);
            let process = process.unwrap_or_else(|| panic!("no {pid} in {found:?}"));
            assert_eq!(process["command"], "dd");
            let write = &process["write"];
            [
                "requests",
                "bytes",
                "misaligned",
                "partial_blocks",
                "partial_stripe",
            ]
            .map(|key| write[key].as_u64().expect("a number"))
        };
        assert_eq!(writes(sub_block), [7, 3584, 7, 7, 7], "{attach:?}");
        assert_eq!(writes(whole), [3, 3 * 131_072, 0, 0, 0], "{attach:?}");
        assert_eq!(report.summary["lost_events"], 0);
    }
}

/// A control group of its own, removed when dropped.
struct Group(PathBuf);

impl Group {
    fn new(name: &str) -> Self {
        lab::mount_if_missing("cgroup2", "/sys/fs/cgroup");
        let root = Path::new("/sys/fs/cgroup");
        // Write-back is charged by both together (Documentation/admin-guide/
        // cgroup-v2.rst, Writeback).
        fs::write(root.join("cgroup.subtree_control"), "+io +memory").expect("the controllers");
        let path = root.join(name);
        fs::create_dir(&path).expect("a control group");
        Self(path)
    }

    /// Runs a shell line within; it ends before this returns.
    fn run(&self, line: &str) {
        let enter = format!("echo $$ >{}/cgroup.procs && {line}", self.0.display());
        let status = Command::new("sh").args(["-c", &enter]).status();
        assert!(status.expect("a shell").success(), "{line}");
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

/// Dirty pages are written soon, until this is dropped.
struct WriteBackSoon([(&'static str, String); 2]);

impl WriteBackSoon {
    fn new() -> Self {
        let soon = ["dirty_expire_centisecs", "dirty_writeback_centisecs"];
        Self(soon.map(|name| {
            let path = Path::new("/proc/sys/vm").join(name);
            let before = fs::read_to_string(&path).expect("a kernel parameter");
            fs::write(path, "20").expect("a kernel parameter");
            (name, before)
        }))
    }
}

impl Drop for WriteBackSoon {
    fn drop(&mut self) {
        for (name, before) in &self.0 {
            let _ = fs::write(Path::new("/proc/sys/vm").join(name), before);
        }
    }
}

#[test]
#[ignore = "needs cgroup2 with the io controller: run in a guest"]
fn write_back_is_charged_to_the_writer() {
    let Some(lab) = Lab::open("write_back_is_charged_to_the_writer", &[]) else {
        return;
    };
    let group = Group::new("iotrace-writer");
    let looped = Loop::new(&lab, 8 * MIB);
    let device = looped.device();
    // While it is open, nobody's close writes the pages back.
    let open = OpenOptions::new().write(true).open(device.node());
    let tracer = by_process(&device, Attach::Btf);
    let soon = WriteBackSoon::new();
    let before = Stat::read(&device);
    group.run(&format!(
        "dd if=/dev/zero of={} bs=64k count=16 2>/dev/null",
        device.node_text()
    ));
    wait::until_true("the pages to be written", || {
        Stat::read(&device).written_bytes() - before.written_bytes() >= MIB
    });
    drop(soon);
    let report = tracer.stop();
    drop(open);
    let found = processes(&report.summary, &device);
    let kworkers: Vec<_> = found
        .iter()
        .filter(|one| one["write"]["bytes"] != 0)
        .collect();
    let mut bytes = 0;
    for one in &kworkers {
        let command = one["command"].as_str().expect("a command");
        assert!(command.starts_with("kworker/"), "{found:?}");
        assert_eq!(one["cgroup_path"], "/iotrace-writer", "{found:?}");
        bytes += one["write"]["bytes"].as_u64().expect("a number");
    }
    assert_eq!(bytes, MIB);
}
