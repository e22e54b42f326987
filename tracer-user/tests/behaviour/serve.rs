//! The exporter's counters against the kernel's own books: over devices that
//! are taken away and come back, and while two scrape at once.

use std::{
    io::Write as _,
    sync::atomic::{AtomicBool, Ordering},
};

use crate::{
    case::{kernel_tells_skipped_runs, md_counts_bytes_once},
    harness::{
        agent::{Agent, Metrics},
        device::Device,
        fio::Fio,
        lab::{Lab, Needs},
        loopdev::Loop,
        md::Array,
        stat::{Stat, settle},
        tracer::iotrace,
    },
};

const MIB: u64 = 1 << 20;
const FIO: Needs = Needs::Program("fio");
const MDADM: Needs = Needs::Program("mdadm");

fn agent(more: &[&str]) -> Agent {
    let mut command = iotrace();
    command.args(["serve", "--listen", "127.0.0.1:0"]);
    Agent::start(command.args(more))
}

/// A counter of a device, of one operation.
fn counted(metrics: &Metrics, metric: &str, name: &str, operation: &str) -> u64 {
    let series = format!("iotrace_device_{metric}{{device=\"{name}\",operation=\"{operation}\"}}");
    let value = metrics.value(&series);
    let value = value.unwrap_or_else(|| panic!("no {series} in\n{}", metrics.0));
    format!("{value}").parse().expect("a whole number")
}

/// Reads, writes and discards as `/sys/block/*/stat` has them: it counts write
/// zeroes, zone appends and empty flushes among the writes.
fn books_agree(metrics: &Metrics, name: &str, stat: &Stat) {
    let of = |metric: &str, operation: &str| counted(metrics, metric, name, operation);
    let requests = |operation: &str| of("requests_total", operation);
    let bytes = |operation: &str| of("io_bytes_total", operation);
    let empty = format!("iotrace_device_flush_bios_total{{device=\"{name}\",kind=\"empty\"}}");
    let empty = metrics.value(&empty).map_or(0, |empty| empty as u64);
    let written = ["write", "write_zeroes", "zone_append"];
    let writes: u64 = written.iter().map(|operation| requests(operation)).sum();
    let written: u64 = written.iter().map(|operation| bytes(operation)).sum();
    assert_eq!(requests("read"), stat.reads(), "reads of {name}");
    assert_eq!(bytes("read"), stat.read_bytes(), "bytes read of {name}");
    assert_eq!(writes + empty, stat.writes(), "writes of {name}");
    assert_eq!(written, stat.written_bytes(), "bytes written of {name}");
    assert_eq!(requests("discard"), stat.discards(), "discards of {name}");
    assert_eq!(
        bytes("discard"),
        stat.discarded_bytes(),
        "bytes discarded of {name}"
    );
    assert_eq!(requests("flush"), stat.flushes(), "flushes of {name}");
}

/// md counts bytes, and pieces of its own making instead of bios.
fn array_books_agree(metrics: &Metrics, name: &str, stat: &Stat) {
    if !md_counts_bytes_once() {
        return;
    }
    let bytes = |operation: &str| counted(metrics, "io_bytes_total", name, operation);
    assert_eq!(bytes("read"), stat.read_bytes(), "bytes read of {name}");
    let written = bytes("write") + bytes("write_zeroes");
    assert_eq!(written, stat.written_bytes(), "bytes written of {name}");
    let user = |operation: &str| {
        let array = "iotrace_array_user_bytes_total";
        metrics.value(&format!(
            "{array}{{device=\"{name}\",operation=\"{operation}\"}}"
        ))
    };
    assert_eq!(user("write"), Some(written as f64));
    assert_eq!(user("read"), Some(bytes("read") as f64));
}

fn lost(metrics: &Metrics, mechanism: &str) -> Option<f64> {
    metrics.value(&format!(
        "iotrace_lost_events_total{{mechanism=\"{mechanism}\"}}"
    ))
}

fn nothing_lost(metrics: &Metrics) {
    assert_eq!(lost(metrics, "maps"), Some(0.0));
    let skipped = lost(metrics, "recursion");
    assert_eq!(skipped, kernel_tells_skipped_runs().then_some(0.0));
}

/// As [`skipped_runs`](crate::case::skipped_runs): told and not compared.
fn skipped_runs(metrics: &Metrics) -> bool {
    let skipped = lost(metrics, "recursion").unwrap_or(0.0);
    if skipped == 0.0 || std::env::var_os("IOTRACE_PREEMPTIBLE").is_none() {
        return false;
    }
    // Past the test runner, which shows only what failed tests print.
    let told = writeln!(
        std::io::stderr(),
        "NOT COMPARED: the kernel skipped {skipped} runs of a program"
    );
    told.expect("standard error");
    true
}

/// Scrapes until `done`; no counter may ever fall or go away. How often it has.
fn scrape_meanwhile(agent: &Agent, done: &AtomicBool) -> usize {
    let mut before = agent.metrics();
    let mut scrapes = 1;
    while !done.load(Ordering::Relaxed) {
        let now = agent.metrics();
        let counters = now.counters();
        for (series, value) in before.counters() {
            let now = counters.get(series);
            assert!(now >= Some(&value), "{series} was {value} and is {now:?}");
        }
        before = now;
        scrapes += 1;
    }
    scrapes
}

/// Set when dropped: a workload that fails must not be waited for for ever.
struct DoneWhenDropped<'a>(&'a AtomicBool);

impl Drop for DoneWhenDropped<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The workload, scraped by two at once.
fn scraped_by_two(agent: &Agent, workload: impl FnOnce()) {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let scrapers = [0, 1].map(|_| scope.spawn(|| scrape_meanwhile(agent, &done)));
        {
            let _done = DoneWhenDropped(&done);
            workload();
        }
        for scraper in scrapers {
            assert!(scraper.join().expect("no counter fell") > 0);
        }
    });
}

/// Attached again over another file, as a disk that is plugged in again. Loop
/// devices are told to who asks for them.
#[test]
fn a_loop_device_scraped_and_attached_again() {
    let name = "a_loop_device_scraped_and_attached_again";
    let Some(lab) = Lab::open(name, &[FIO]) else {
        return;
    };
    let mut disk = Loop::new(&lab, 64 * MIB);
    let device = disk.device();
    let info = format!("iotrace_device_info{{device=\"{}\",", device.name());
    let nobody_asked = agent(&[]).metrics();
    assert_eq!(nobody_asked.value("iotrace_scrape_success"), Some(1.0));
    assert!(!nobody_asked.0.contains(&info));
    let before = settle(std::slice::from_ref(&device))[0];
    let agent = agent(&["--dev", device.name()]);
    scraped_by_two(&agent, || {
        Fio::mixed(&device, 401)
            .deep("libaio")
            .set("fsync=7")
            .run(&lab);
        disk.reattach(&lab, 32 * MIB);
        Fio::mixed(&device, 103).set("offset=16m").run(&lab);
    });
    let stat = settle(std::slice::from_ref(&device))[0] - before;
    assert!(stat.reads() + stat.writes() >= 504, "{stat:?}");
    let metrics = agent.metrics();
    assert!(metrics.0.contains(&info));
    if !skipped_runs(&metrics) {
        books_agree(&metrics, device.name(), &stat);
        nothing_lost(&metrics);
    }
    let (status, said) = agent.stop();
    assert_eq!((status.code(), said.as_str()), (Some(0), ""));
}

/// How often the array is assembled again: `IOTRACE_ASSEMBLIES=400` takes some
/// twenty minutes.
fn assemblies() -> usize {
    match std::env::var("IOTRACE_ASSEMBLIES") {
        Ok(text) => text.parse().expect("IOTRACE_ASSEMBLIES: a number"),
        Err(_) => 2,
    }
}

/// md's own books start anew with each assembly: the counters are the sum.
#[test]
#[ignore = "needs md: run in a guest"]
fn an_array_stopped_and_assembled_again() {
    let name = "an_array_stopped_and_assembled_again";
    let Some(lab) = Lab::open(name, &[FIO, MDADM]) else {
        return;
    };
    let disks: Vec<Loop> = (0..4).map(|_| Loop::new(&lab, 16 * MIB)).collect();
    let members: Vec<Device> = disks.iter().map(Loop::device).collect();
    let array = Array::create("md73", "5", "64", &members);
    let device = array.device();
    let before = settle(&[vec![device.clone()], members.clone()].concat());
    let mut args = vec!["--dev", "md73"];
    for member in &members {
        args.extend(["--dev", member.name()]);
    }
    let agent = agent(&args);
    let books = || settle(std::slice::from_ref(&device))[0];
    let mut of_array = Stat::default();
    let mut resident = Vec::new();
    scraped_by_two(&agent, || {
        Fio::mixed(&device, 101).run(&lab);
        of_array = books() - before[0];
        for again in 0..assemblies() {
            array.assemble_again();
            // Its books begin at 0, and udev may have read it meanwhile.
            Fio::mixed(&device, 53).run(&lab);
            of_array = of_array + books();
            resident.push(agent.resident_kib());
            if again % 50 == 49 {
                eprintln!("{} assemblies, {resident:?} KiB", again + 1);
            }
        }
    });
    let now = settle(&members);
    let metrics = agent.metrics();
    flat(&resident);
    if skipped_runs(&metrics) {
        return;
    }
    array_books_agree(&metrics, "md73", &of_array);
    for (member, (now, before)) in members.iter().zip(now.iter().zip(&before[1..])) {
        books_agree(&metrics, member.name(), &(*now - *before));
    }
    nothing_lost(&metrics);
}

/// The agent's memory, once everything has happened that will: the most of the
/// last quarter against the most of the second.
fn flat(resident_kib: &[u64]) {
    const QUARTERS: usize = 4;
    const NOISE_KIB: u64 = 512;
    let quarter = resident_kib.len() / QUARTERS;
    let most = |from: usize| resident_kib[from..from + quarter].iter().max();
    let (second, last) = (most(quarter), most(resident_kib.len() - quarter));
    if let (Some(second), Some(last)) = (second, last) {
        assert!(
            *last <= second + NOISE_KIB,
            "it grows: {resident_kib:?} KiB"
        );
    }
}
