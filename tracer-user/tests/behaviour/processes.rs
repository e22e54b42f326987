//! `--by process`: who issued what, by command, pid and control group.

use std::{
    fs::{self, OpenOptions},
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
    process::Command,
    thread,
};

use serde_json::Value;

use crate::{
    case,
    harness::{
        device::Device,
        ioctl,
        lab::{self, Lab},
        loopdev::Loop,
        stat::Stat,
        tracer::{Attach, Tracer},
        wait,
    },
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
    .wait_until_attached()
}

/// What direct IO asks of a buffer.
#[repr(align(4096))]
struct Aligned([u8; 128 << 10]);

/// What this process wrote, by the thread's name, as tracers see it.
fn own_writes<'a>(found: &[&'a Value], command: &str) -> &'a Value {
    let own = found
        .iter()
        .find(|one| one["pid"] == std::process::id() && one["command"] == command);
    &own.unwrap_or_else(|| panic!("no {command} in {found:?}"))["write"]
}

/// Writes `count` times `len` bytes one after another, in a thread of a name.
fn write_as(command: &str, device: &Device, start: u64, len: usize, count: u64) {
    let node = ioctl::open_direct(&device.node());
    let buffer = Box::new(Aligned([0; 128 << 10]));
    let writer = thread::Builder::new().name(command.to_owned());
    let write = move || {
        for i in 0..count {
            let at = start + i * len as u64;
            node.write_all_at(&buffer.0[..len], at).expect("a write");
        }
    };
    writer
        .spawn(write)
        .expect("a thread")
        .join()
        .expect("its writes");
}

#[test]
fn a_writer_is_named() {
    let Some(lab) = Lab::open("a_writer_is_named", &[]) else {
        return;
    };
    for attach in Attach::tried(&Attach::TELLING) {
        let looped = Loop::new(&lab, 8 * MIB);
        let device = looped.device();
        let tracer = by_process(&device, attach);
        write_as("small", &device, 512, 512, 7);
        write_as("stripes", &device, 2 * 131_072, 131_072, 3);
        let report = tracer.stop();
        let found = processes(&report.summary, &device);
        let writes = |command| {
            let write = own_writes(&found, command);
            [
                "requests",
                "bytes",
                "misaligned",
                "partial_blocks",
                "partial_stripe",
                "partial_stripe_bytes",
            ]
            .map(|key| write[key].as_u64().expect("a number"))
        };
        assert_eq!(writes("small"), [7, 3584, 7, 7, 7, 3584], "{attach:?}");
        assert_eq!(writes("stripes"), [3, 393_216, 0, 0, 0, 0], "{attach:?}");
        case::nothing_lost(attach, &report);
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
    // A device is charged to whose page is dirty first, for as long as its
    // node lives.
    let looped = Loop::never_used(&lab, 8 * MIB);
    let device = looped.device();
    // While it is open, nobody's close writes the pages back.
    let open = OpenOptions::new().write(true).open(device.node());
    let tracer = by_process(&device, Attach::Btf);
    let soon = WriteBackSoon::new();
    let before = Stat::read(&device);
    // Not at the start: whoever looked for partitions has those pages.
    group.run(&format!(
        "dd if=/dev/zero of={} bs=64k seek=32 count=16 2>/dev/null",
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
