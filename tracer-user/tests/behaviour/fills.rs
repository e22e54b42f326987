//! Reads that a write made necessary, on any device: out of write calls of less
//! than a page, and out of page faults on a device that a program has mapped.

use std::{fs, thread};

use serde_json::Value;

use crate::{
    case,
    harness::{
        device::Device,
        dm::Mapped,
        ioctl,
        lab::{Lab, Needs},
        loopdev::Loop,
        mapping::Mapping,
        partition::Partition,
        process::run,
        scsi_debug::ScsiDebug,
        stat::settle,
        tracer::{Attach, Report, Tracer, iotrace, row},
    },
};

const MIB: u64 = 1 << 20;
const PAGES: usize = 61;

/// `dd` of `count` blocks of zeroes to a device, from `start` bytes on, through
/// the page cache; written back before it ends.
pub(crate) fn dd(device: &Device, start: u64, block: u64, count: u64) {
    run(
        "dd",
        &[
            "if=/dev/zero",
            &format!("of={}", device.node_text()),
            &format!("bs={block}"),
            &format!("seek={}", start / block),
            &format!("count={count}"),
            "conv=notrunc,fsync",
        ],
    );
}

/// The page cache forgets every block.
pub(crate) fn drop_caches() {
    fs::write("/proc/sys/vm/drop_caches", "1").expect("drop_caches");
}

/// The page cache forgets a device's blocks, those on their way to the lists of
/// another CPU as well: `drop_caches` of older kernels leaves those
/// (`invalidate_bdev`, fs/block_dev.c, drains them).
fn forget(device: &Device) {
    let node = fs::File::open(device.node()).expect("the node");
    ioctl::flush_buffers(&node).expect("BLKFLSBUF");
}

/// What the summary says of some devices, in text, beside another tracer.
pub(crate) struct Said(Tracer);

impl Said {
    pub(crate) fn start(devices: &[&Device]) -> Self {
        let mut command = iotrace();
        command.args(["--format", "plain", "--interval", "1h"]);
        for device in devices {
            command.args(["--dev", device.name()]);
        }
        Self(Tracer::start(&mut command).wait_until_attached())
    }

    /// Without its line breaks.
    pub(crate) fn text(self) -> String {
        self.0.signal(libc::SIGINT);
        let ended = self.0.wait();
        assert_eq!(ended.status.code(), Some(0), "{:?}", ended.stderr);
        let lines = ended.stdout.join(" ");
        lines.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

/// JSON by process, of everything that some work made of devices at rest.
/// `None`, and told, where the kernel skipped runs of a program.
fn watched(attach: Attach, devices: &[&Device], work: impl FnOnce()) -> Option<Report> {
    let all: Vec<Device> = devices.iter().map(|&device| device.clone()).collect();
    settle(&all);
    let more = ["--by", "process"];
    let tracer = Tracer::every("1h", devices, attach, &more).wait_until_attached();
    work();
    settle(&all);
    let report = tracer.stop();
    if case::skipped_runs(attach, &report) {
        return None;
    }
    case::nothing_lost(attach, &report);
    Some(report)
}

/// Reads out of write calls and out of page faults: requests, bytes.
fn fills(of: &Value) -> [u64; 4] {
    [
        "write_fill_requests",
        "write_fill_bytes",
        "fault_requests",
        "fault_bytes",
    ]
    .map(|key| of[key].as_u64().unwrap_or_else(|| panic!("{key} in {of}")))
}

fn of_device(report: &Report, device: &Device) -> [u64; 4] {
    let row = row(&report.summary, device.name()).expect("a row");
    fills(&row["fills"])
}

/// All that a command read on a device.
fn of_command(report: &Report, device: &Device, command: &str) -> [u64; 4] {
    let all = report.summary["processes"].as_array().expect("processes");
    let own = all
        .iter()
        .filter(|one| one["device"] == device.name() && one["command"] == command);
    own.map(|one| fills(&one["read"]))
        .fold([0; 4], |sum, one| std::array::from_fn(|n| sum[n] + one[n]))
}

/// `dd` without `bs=`: a page is read for every eight writes of 512 bytes, none
/// for writes of a page; and the reader is named.
#[test]
fn small_buffered_writes() {
    let Some(lab) = Lab::open("small_buffered_writes", &[Needs::Program("dd")]) else {
        return;
    };
    let looped = Loop::never_used(&lab, 16 * MIB);
    let device = looped.device();
    for attach in Attach::tried(&Attach::TELLING) {
        forget(&device);
        let books = || settle(std::slice::from_ref(&device))[0];
        let before = books();
        let report = watched(attach, &[&device], || {
            dd(&device, 0, 512, 8001);
            dd(&device, 8 * MIB, 4096, 1001);
        });
        let Some(report) = report else {
            return;
        };
        // First the kernel's own books: else a page was in the cache.
        assert_eq!((books() - before).reads(), 1001, "{attach:?}");
        let expected = [1001, 1001 * 4096, 0, 0];
        let row = row(&report.summary, device.name()).expect("a row");
        assert_eq!(of_device(&report, &device), expected, "{attach:?}: {row}");
        assert_eq!(of_command(&report, &device, "dd"), expected, "{attach:?}");
        assert_eq!(row["write"]["bytes"], 2 * 1001 * 4096, "{row}");
    }
}

/// Writes through a mapping, by a thread of a name.
fn write_mapped(device: &Device) {
    let device = device.clone();
    let writer = move || {
        let mut mapping = Mapping::new(&device, PAGES);
        mapping.touch();
        mapping.sync();
    };
    let thread = thread::Builder::new().name("mapped".into()).spawn(writer);
    thread.expect("a thread").join().expect("a mapped writer");
}

/// A mapped writer reads each page first; on a partition of an odd number of
/// sectors in blocks of 512 bytes.
#[test]
fn a_mapped_writer() {
    let Some(lab) = Lab::open("a_mapped_writer", &[]) else {
        return;
    };
    let disks = [0, 1].map(|_| Loop::never_used(&lab, 8 * MIB));
    let [even, odd] = [(&disks[0], 8192), (&disks[1], 8191)]
        .map(|(disk, sectors)| Partition::create(&disk.device(), 2048, sectors));
    let report = watched(Attach::Btf, &[&even, &odd], || {
        write_mapped(&even);
        write_mapped(&odd);
    });
    let Some(report) = report else {
        return;
    };
    for (partition, blocks) in [(&even, 1), (&odd, 8)] {
        let pages = PAGES as u64;
        let expected = [0, 0, blocks * pages, pages * 4096];
        assert_eq!(of_device(&report, partition), expected, "{blocks}");
        let own = of_command(&report, partition, "mapped");
        assert_eq!(own, expected, "{blocks}");
        let notes = &row(&report.summary, partition.name()).expect("a row")["notes"];
        let told = notes.to_string().contains("in blocks of 512 bytes");
        assert_eq!(told, blocks == 8, "{notes}");
    }
}

/// The same on a partition as kpartx makes it, over dm-multipath: named on both.
fn over_multipath(path: &Device, mode: &str) {
    let table = format!(
        "0 {} multipath 2 queue_mode {mode} 0 1 1 round-robin 0 1 1 {} 1\n",
        path.sectors(),
        path.node_text()
    );
    let multipath = Mapped::create(&format!("mp-{mode}"), &table);
    let device = multipath.device();
    let table = format!("0 65535 linear {} 2048\n", device.node_text());
    let mapped = Mapped::create(&format!("mp-{mode}-part1"), &table);
    let partition = mapped.device();
    let both = [&device, &partition];
    // What a person is told is the same in both modes.
    let said = (mode == "bio").then(|| Said::start(&both));
    drop_caches();
    let report = watched(Attach::Btf, &both, || write_mapped(&partition));
    let text = said.map(Said::text);
    let Some(report) = report else {
        return;
    };
    let pages = PAGES as u64;
    for device in both {
        let expected = [0, 0, 8 * pages, pages * 4096];
        let name = device.name();
        assert_eq!(of_device(&report, device), expected, "{mode}: {name}");
        let own = of_command(&report, device, "mapped");
        assert_eq!(own, expected, "{mode}: {name}");
    }
    let writes = &row(&report.summary, partition.name()).expect("a row")["write"];
    assert_eq!(writes["requests"], 8 * pages, "{mode}: {writes}");
    assert_eq!(
        writes["physical"]["sub_block"],
        8 * pages,
        "{mode}: {writes}"
    );
    for sentence in [
        "(244 KiB) made by page faults of programs that have it mapped",
        "the page cache keeps it in blocks of 512 bytes, because its length is no multiple of 4096",
    ] {
        let told = text.as_ref().is_none_or(|text| text.contains(sentence));
        assert!(told, "{mode}: no {sentence:?} in {text:?}");
    }
}

#[test]
#[ignore = "needs dm-multipath and scsi_debug: run in a guest"]
fn a_mapped_writer_over_multipath() {
    let needs = [Needs::Program("dmsetup")];
    let Some(_lab) = Lab::open("a_mapped_writer_over_multipath", &needs) else {
        return;
    };
    let module = ScsiDebug::load(&["dev_size_mb=64", "sector_size=512", "physblk_exp=3"]);
    for mode in ["bio", "mq"] {
        over_multipath(&module.disk(), mode);
    }
}
