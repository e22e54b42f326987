//! The one shape of an exactness test: everybody watches the same IO on
//! devices at rest before and after, and everybody must have seen the same.

use std::fs::File;

use serde_json::Value;

use crate::harness::{
    blktrace::Blktrace,
    device::Device,
    expect::{Expected, Terms},
    lab::Lab,
    stat::{Stat, settle},
    tracer::{Attach, Report, Tracer, row},
};

mod compare;
mod sums;

pub(crate) use compare::{
    kernel_tells_skipped_runs, md_counts_bytes_once, nothing_lost, skipped_runs,
};

/// What a device is made of, written down by the test, in bytes; 0 is none.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Geometry {
    pub(crate) logical: u64,
    pub(crate) physical: u64,
    pub(crate) alignment: u64,
    pub(crate) chunk: u64,
    pub(crate) data_disks: u64,
}

impl Geometry {
    /// A plain disk.
    pub(crate) fn disk(logical: u64, physical: u64) -> Self {
        Self {
            logical,
            physical,
            ..Self::default()
        }
    }

    pub(crate) fn aligned_at(self, alignment: u64) -> Self {
        Self { alignment, ..self }
    }

    pub(crate) fn striped(self, chunk: u64, data_disks: u64) -> Self {
        Self {
            chunk,
            data_disks,
            ..self
        }
    }

    pub(crate) fn stripe(&self) -> u64 {
        self.chunk * self.data_disks
    }
}

/// Which of the kernel's own figures must agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Books {
    /// Requests and bytes, by the identity of a request-based disk.
    All,
    /// Bytes: the requests are counted after the device's own splits.
    Bytes,
    /// Of an md array: bytes, and not even those where a kernel counts what is
    /// left after each of its splits again.
    Array,
    /// The device keeps none.
    None,
}

/// A device, and how it is judged.
#[derive(Clone, Debug)]
pub(crate) struct Watched {
    device: Device,
    geometry: Geometry,
    books: Books,
    /// Sectors in which writes are write zeroes.
    zeroes: (u64, u64),
}

impl Watched {
    pub(crate) fn new(device: &Device, geometry: Geometry, books: Books) -> Self {
        Self {
            device: device.clone(),
            geometry,
            books,
            zeroes: (0, 0),
        }
    }

    /// The workload sends write zeroes, and no other write, to these sectors.
    pub(crate) fn zeroes(self, from: u64, to: u64) -> Self {
        Self {
            zeroes: (from, to),
            ..self
        }
    }

    fn terms(&self) -> Terms {
        let of = if self.device.has_requests() {
            Terms::of_requests()
        } else {
            Terms::of_bios()
        };
        let mut terms = of
            .with("logical", self.geometry.logical)
            .with("physical", self.geometry.physical)
            .with("alignment", self.geometry.alignment)
            .with("chunk", self.geometry.chunk)
            .with("stripe", self.geometry.stripe())
            .with("zeroes_from", self.zeroes.0)
            .with("zeroes_to", self.zeroes.1);
        if self.device.is_partition() {
            let start = self.device.number("start");
            terms = terms
                .with("from", start)
                .with("to", start + self.device.sectors());
        }
        terms
    }
}

/// What one device did, by everybody's account.
pub(crate) struct Seen {
    pub(crate) expected: Expected,
    pub(crate) stat: Stat,
}

/// Runs `workload` under blktrace and under iotrace attached in every way, and
/// compares. Gives what each device did, so that a test can insist on it.
pub(crate) fn exact(
    lab: &Lab,
    watched: &[Watched],
    args: &[&str],
    workload: impl FnOnce(),
) -> Vec<Seen> {
    exact_by(&Attach::ALL, lab, watched, args, workload)
}

/// [`exact`], attached in these ways.
pub(crate) fn exact_by(
    ways: &[Attach],
    lab: &Lab,
    watched: &[Watched],
    args: &[&str],
    workload: impl FnOnce(),
) -> Vec<Seen> {
    let ways = &Attach::tried(ways);
    let devices: Vec<Device> = watched.iter().map(|one| one.device.clone()).collect();
    // The first to open a new device makes the kernel look for partitions: that
    // is over before anybody counts.
    let _open: Vec<File> = devices
        .iter()
        .map(|device| File::open(device.node()).expect("a watched device"))
        .collect();
    let before = settle(&devices);
    let asked: Vec<&Device> = devices.iter().collect();
    // The kernel runs no classic program on a CPU on which somebody is in the
    // middle of reading a map, so nobody reads before the end.
    let interval = if ways.contains(&Attach::Tracepoint) {
        "1h"
    } else {
        "250ms"
    };
    let started: Vec<Tracer> = ways
        .iter()
        .map(|&attach| Tracer::every(interval, &asked, attach, args))
        .collect();
    let tracers: Vec<Tracer> = started
        .into_iter()
        .map(Tracer::wait_until_attached)
        .collect();
    let trace = Blktrace::start(&devices);

    workload();

    let after = settle(&devices);
    let records = trace.stop(lab);
    let seen: Vec<Seen> = watched
        .iter()
        .zip(after.iter().zip(&before))
        .map(|(one, (after, before))| Seen {
            expected: Expected::new(&records[one.device.whole().name()], &one.terms()),
            stat: *after - *before,
        })
        .collect();
    let reports: Vec<Report> = tracers.into_iter().map(Tracer::stop).collect();
    assert_eq!(settle(&devices), after, "somebody else used the devices");

    for (attach, report) in ways.iter().zip(&reports) {
        judge(*attach, report, watched, &seen);
    }
    seen
}

/// The kernel's books alone, for a device that was not there all the time.
/// For the ways of attaching that tell everything.
pub(crate) fn books_agree(who: &str, attach: Attach, row: &Value, stat: &Stat, books: Books) {
    assert_ne!(attach, Attach::Tracepoint);
    compare::books(who, attach, row, stat, &Expected::default(), books);
    sums::parts_add_up(who, row);
}

fn judge(attach: Attach, report: &Report, watched: &[Watched], seen: &[Seen]) {
    if skipped_runs(attach, report) {
        return;
    }
    nothing_lost(attach, report);
    for (one, seen) in watched.iter().zip(seen) {
        let name = one.device.name();
        let who = format!("{} on {name}", attach.word());
        let row = row(&report.summary, name)
            .unwrap_or_else(|| panic!("{who}: no row in {}", report.summary));
        assert_eq!(
            seen.expected.get("still_in_flight"),
            0,
            "{who}: the trace ends at rest"
        );
        compare::geometry(&who, row, one);
        compare::classes(&who, attach, row, &seen.expected, &one.geometry);
        compare::remainders(&who, row, &seen.expected, &one.geometry);
        compare::books(&who, attach, row, &seen.stat, &seen.expected, one.books);
        sums::parts_add_up(&who, row);
        sums::histograms_add_up(&who, row);
        for line in &report.intervals {
            if let Some(row) = self::row(line, name) {
                sums::parts_add_up(&who, row);
            }
        }
        sums::intervals_add_up(&who, name, report);
    }
}

/// A number in a row; `None` where it says null.
fn number(row: &Value, path: &str) -> Option<u64> {
    let pointer = format!("/{}", path.replace('.', "/"));
    let value = row
        .pointer(&pointer)
        .unwrap_or_else(|| panic!("no {path} in {row}"));
    if value.is_null() {
        return None;
    }
    let number = value.as_u64();
    Some(number.unwrap_or_else(|| panic!("{path} is {value}")))
}
