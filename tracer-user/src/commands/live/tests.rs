use std::{
    cell::RefCell,
    collections::VecDeque,
    io::Write,
    os::fd::{AsFd, BorrowedFd},
    os::unix::net::UnixStream,
    rc::Rc,
};

use serde_json::Value;
use tracer_ebpf::op::Op;

use super::*;
use crate::{
    report::testing::{Bench, raid_topology},
    snapshot::Snapshot,
    sysfs::device::Topology,
};

/// A source whose every reading finds ten more writes on `sda1`; so the first
/// interval, which begins when the source did, has those of two readings.
struct Fake {
    bench: Bench,
    started: Instant,
    finished: bool,
    fails_after: Option<u32>,
    wake: Option<UnixStream>,
    refreshed: Rc<RefCell<u32>>,
}

impl Fake {
    fn new() -> Self {
        Self {
            bench: Bench::new(raid_topology()),
            started: Instant::now(),
            finished: false,
            fails_after: None,
            wake: None,
            refreshed: Rc::default(),
        }
    }
}

impl Source for Fake {
    fn snapshot(&mut self) -> anyhow::Result<Snapshot> {
        if let Some(left) = &mut self.fails_after {
            *left = left.checked_sub(1).context("the maps are gone")?;
        }
        self.bench
            .io("sda1", Op::Write, (17408, 4096, 4096), 10, 1000);
        self.bench.snapshot.elapsed = self.started.elapsed();
        Ok(self.bench.snapshot.clone())
    }

    fn refresh(&mut self) -> anyhow::Result<bool> {
        *self.refreshed.borrow_mut() += 1;
        Ok(true)
    }

    fn topology(&self) -> &Topology {
        &self.bench.topology
    }

    fn wake(&self) -> Option<BorrowedFd<'_>> {
        self.wake.as_ref().map(|stream| stream.as_fd())
    }

    fn finished(&self) -> bool {
        self.finished
    }

    fn describe(&self) -> String {
        "fake".to_owned()
    }

    fn inside(&self) -> crate::source::Inside {
        crate::source::Inside::default()
    }
}

fn options() -> LiveOptions {
    LiveOptions {
        announce: false,
        interval: Duration::from_millis(1000),
        count: None,
        duration: None,
        format: Format::Json,
        by: By::Device,
        devices: Vec::new(),
    }
}

/// Runs with a clock that jumps to the next thing to wait for.
fn run_with(
    fake: impl FnOnce() -> Fake,
    options: &LiveOptions,
    stop: impl Future<Output = ()>,
) -> (anyhow::Result<()>, Vec<Value>) {
    let mut out = Vec::new();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    let result = runtime.block_on(async {
        let view = View::into_writer(&mut out, options.format, "fake".to_owned());
        drive(Box::new(fake()), options, view, stop).await
    });
    let lines = out
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty());
    let values = lines.map(|line| serde_json::from_slice(line).unwrap_or(Value::Null));
    (result, values.collect())
}

fn writes(line: &Value) -> u64 {
    let devices = line["devices"].as_array().unwrap();
    let sda1 = devices.iter().find(|device| device["device"] == "sda1");
    sda1.unwrap()["write"]["requests"].as_u64().unwrap()
}

#[test]
fn a_count_of_intervals_and_their_summary() {
    let options = LiveOptions {
        count: Some(3),
        ..options()
    };
    let (result, lines) = run_with(Fake::new, &options, pending());
    result.unwrap();
    let expected: VecDeque<(u64, f64, bool)> = [
        (20, 1.0, false),
        (10, 1.0, false),
        (10, 1.0, false),
        (40, 3.0, true),
    ]
    .into();
    let seen: VecDeque<_> = lines
        .iter()
        .map(|line| {
            let seconds = line["interval_seconds"].as_f64().unwrap();
            (writes(line), seconds, line["summary"].as_bool().unwrap())
        })
        .collect();
    for ((writes, seconds, summary), expected) in seen.iter().zip(&expected) {
        assert_eq!((*writes, *summary), (expected.0, expected.2));
        assert!((seconds - expected.1).abs() < 0.01, "{seconds}");
    }
    assert_eq!(seen.len(), expected.len());
}

#[test]
fn a_duration_ends_with_the_interval_that_it_cuts() {
    let options = LiveOptions {
        duration: Some(Duration::from_millis(2500)),
        ..options()
    };
    let (result, lines) = run_with(Fake::new, &options, pending());
    result.unwrap();
    assert_eq!(
        lines.iter().map(writes).collect::<Vec<_>>(),
        [20, 10, 10, 40]
    );
    let exact = LiveOptions {
        duration: Some(Duration::from_secs(2)),
        ..options
    };
    let (_, lines) = run_with(Fake::new, &exact, pending());
    assert_eq!(lines.iter().map(writes).collect::<Vec<_>>(), [20, 10, 30]);
}

#[test]
fn a_signal_ends_with_a_summary() {
    let stop = async { tokio::time::sleep(Duration::from_millis(1300)).await };
    let (result, lines) = run_with(Fake::new, &options(), stop);
    result.unwrap();
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[2]["summary"], true);
    assert_eq!(writes(&lines[2]), 30);
}

#[test]
fn a_source_that_has_ended_gives_one_line_with_everything() {
    let fake = || Fake {
        finished: true,
        ..Fake::new()
    };
    let (result, lines) = run_with(fake, &options(), pending());
    result.unwrap();
    assert_eq!(lines.len(), 1);
    assert_eq!(lines[0]["summary"], true);
    assert!(writes(&lines[0]) >= 10);
}

#[test]
fn a_source_that_fails_is_an_error() {
    let fake = || Fake {
        fails_after: Some(2),
        ..Fake::new()
    };
    let (result, lines) = run_with(fake, &options(), pending());
    assert_eq!(result.unwrap_err().to_string(), "the maps are gone");
    assert_eq!(lines.len(), 1);
}

#[test]
fn no_interval_is_an_error() {
    let options = LiveOptions {
        interval: Duration::ZERO,
        ..options()
    };
    let (result, lines) = run_with(Fake::new, &options, pending());
    assert!(result.is_err());
    assert!(lines.is_empty());
}

/// Takes one line and is closed.
struct ClosedPipe(bool);

impl Write for ClosedPipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if std::mem::replace(&mut self.0, true) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_closed_pipe_is_no_error() {
    for format in [Format::Json, Format::Plain] {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .unwrap();
        let view = View::into_writer(ClosedPipe(false), format, "fake".to_owned());
        let options = options();
        let result = runtime
            .block_on(async { drive(Box::new(Fake::new()), &options, view, pending()).await });
        result.unwrap();
    }
}

#[test]
fn devices_are_followed_when_they_come() {
    let (mut kernel, ours) = UnixStream::pair().unwrap();
    kernel.write_all(b"add").unwrap();
    let refreshed: Rc<RefCell<u32>> = Rc::default();
    let seen = Rc::clone(&refreshed);
    let fake = move || Fake {
        wake: Some(ours),
        refreshed,
        ..Fake::new()
    };
    let options = LiveOptions {
        count: Some(1),
        ..options()
    };
    let (result, _) = run_with(fake, &options, pending());
    result.unwrap();
    // At the start, when the descriptor became readable, and on the tick.
    assert_eq!(*seen.borrow(), 3);
}
