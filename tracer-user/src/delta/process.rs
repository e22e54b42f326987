//! Who queued the bios of an interval.
//!
//! Must not look up a process: what the kernel side noted is all there is.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use schemars::JsonSchema;
use serde::Serialize;
use tracer_ebpf::abi::{ProcessCells, ProcessKey};

use super::{
    DeviceFigures,
    rates::{per_second, ratio},
};
use crate::{
    snapshot::{OTHER_COMMANDS, ProcessRow, Snapshot},
    units::DevId,
};

/// One process's bios on one device.
#[derive(Clone, Debug, PartialEq)]
pub struct ProcessFigures {
    /// The device's kernel name.
    pub device: String,
    pub command: String,
    /// `None` for all of that command that have ended and are not told apart
    /// any more.
    pub pid: Option<u32>,
    /// kernfs id of the cgroup that is charged; `None` where not known.
    pub cgroup: Option<u64>,
    /// Below the cgroup hierarchy; `None` where not known.
    pub cgroup_path: Option<Arc<str>>,
    pub read: ProcessRead,
    pub write: ProcessWrite,
    /// Neither reads nor writes.
    pub other_requests: u64,
    pub reads_per_second: Option<f64>,
    pub writes_per_second: Option<f64>,
    pub read_bytes_per_second: Option<f64>,
    pub write_bytes_per_second: Option<f64>,
    /// Misaligned reads and writes together.
    pub misaligned_per_second: Option<f64>,
    /// `None` as well where the physical block is not known.
    pub misaligned_read_share: Option<f64>,
    /// `None` as well where the physical block is not known.
    pub misaligned_write_share: Option<f64>,
    /// Writes that cover no whole stripe, of all; `None` without stripes.
    pub partial_stripe_share: Option<f64>,
}

/// Reads of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ProcessRead {
    /// Bios queued.
    pub requests: u64,
    pub bytes: u64,
    /// Against the physical block. null: that is not known.
    pub misaligned: Option<u64>,
    /// Out of its write calls: it wrote less than a page-cache block.
    pub write_fill_requests: u64,
    pub write_fill_bytes: u64,
    /// Out of its page faults.
    pub fault_requests: u64,
    pub fault_bytes: u64,
}

/// Writes of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ProcessWrite {
    /// Bios queued.
    pub requests: u64,
    pub bytes: u64,
    /// Against the physical block. null: that is not known.
    pub misaligned: Option<u64>,
    /// Physical blocks only partly covered. null: the block is not known.
    pub partial_blocks: Option<u64>,
    /// Writes that cover no whole stripe. null: the device has no stripe.
    pub partial_stripe: Option<u64>,
    /// Bytes in stripes only partly covered. null: the device has no stripe.
    pub partial_stripe_bytes: Option<u64>,
}

/// The processes that did anything on the devices shown.
pub(super) fn processes(
    before: &Snapshot,
    after: &Snapshot,
    devices: &[DeviceFigures],
    length: Duration,
) -> Vec<ProcessFigures> {
    let shown: BTreeMap<DevId, &DeviceFigures> =
        devices.iter().map(|device| (device.id, device)).collect();
    let then = Before::new(before, after);
    let mut figures: Vec<ProcessFigures> = after
        .processes
        .iter()
        .filter_map(|row| {
            let device = shown.get(&row.device)?;
            let cells = row.cells.since(&then.of(row));
            (cells.read_requests + cells.write_requests + cells.other_requests != 0)
                .then(|| ProcessFigures::new(device, row, &cells, length))
        })
        .collect();
    figures.sort_by(|a, b| {
        order(b)
            .cmp(&order(a))
            .then_with(|| a.identity().cmp(&b.identity()))
    });
    figures
}

/// What processes had done at the reading before.
struct Before<'a> {
    /// Those with a row of their own.
    own: HashMap<(DevId, ProcessKey), &'a ProcessCells>,
    /// By device and command: those that had ended, and those whose row is
    /// gone since, which means that the ended include them now.
    ended: HashMap<(DevId, [u8; 16]), ProcessCells>,
}

impl<'a> Before<'a> {
    fn new(before: &'a Snapshot, after: &Snapshot) -> Self {
        let rows = |ended: bool, snapshot: &'a Snapshot| {
            let rows = snapshot.processes.iter();
            rows.filter(move |row| row.ended == ended)
        };
        let there: HashSet<(DevId, ProcessKey)> = after
            .processes
            .iter()
            .map(|row| (row.device, row.key))
            .collect();
        let ended_key = |device, comm| {
            let key = ProcessKey {
                comm,
                ..ProcessKey::default()
            };
            there.contains(&(device, key))
        };
        let mut ended: HashMap<(DevId, [u8; 16]), ProcessCells> = rows(true, before)
            .map(|row| ((row.device, row.key.comm), row.cells))
            .collect();
        for row in rows(false, before).filter(|row| !there.contains(&(row.device, row.key))) {
            let comm = if ended_key(row.device, row.key.comm) {
                row.key.comm
            } else {
                OTHER_COMMANDS
            };
            let cells = ended.entry((row.device, comm)).or_default();
            cells.add(&row.cells);
        }
        let own = rows(false, before)
            .map(|row| ((row.device, row.key), &row.cells))
            .collect();
        Self { own, ended }
    }

    fn of(&self, row: &ProcessRow) -> ProcessCells {
        let (device, key) = (row.device, row.key);
        let cells = if row.ended {
            self.ended.get(&(device, key.comm)).copied()
        } else {
            self.own.get(&(device, key)).map(|cells| **cells)
        };
        cells.unwrap_or_default()
    }
}

fn order(process: &ProcessFigures) -> (u64, u64, u64) {
    (
        process.write.bytes,
        process.read.bytes,
        process.other_requests,
    )
}

impl ProcessFigures {
    /// Read and written; `None` for an interval of no length.
    #[must_use]
    pub fn bytes_per_second(&self) -> Option<f64> {
        Some(self.read_bytes_per_second? + self.write_bytes_per_second?)
    }

    fn identity(&self) -> (&str, &str, Option<u32>, Option<u64>) {
        (&self.device, &self.command, self.pid, self.cgroup)
    }

    fn new(
        device: &DeviceFigures,
        row: &ProcessRow,
        cells: &ProcessCells,
        length: Duration,
    ) -> Self {
        let key = &row.key;
        let if_physical = |count: u64| device.geometry.physical_block.map(|_| count);
        let if_stripe = |count: u64| device.geometry.stripe.map(|_| count);
        Self {
            device: device.name.clone(),
            command: command(&key.comm),
            pid: (!row.ended).then_some(key.tgid),
            cgroup: (key.cgroup != 0).then_some(key.cgroup),
            cgroup_path: row.cgroup_path.clone(),
            read: ProcessRead {
                requests: cells.read_requests,
                bytes: cells.read_bytes,
                misaligned: if_physical(cells.read_misaligned),
                write_fill_requests: cells.write_fill_requests,
                write_fill_bytes: cells.write_fill_bytes,
                fault_requests: cells.fault_requests,
                fault_bytes: cells.fault_bytes,
            },
            write: ProcessWrite {
                requests: cells.write_requests,
                bytes: cells.write_bytes,
                misaligned: if_physical(cells.write_misaligned),
                partial_blocks: if_physical(cells.write_partial_blocks),
                partial_stripe: if_stripe(cells.write_partial_stripe),
                partial_stripe_bytes: if_stripe(cells.write_partial_stripe_bytes),
            },
            other_requests: cells.other_requests,
            reads_per_second: per_second(cells.read_requests, length),
            writes_per_second: per_second(cells.write_requests, length),
            read_bytes_per_second: per_second(cells.read_bytes, length),
            write_bytes_per_second: per_second(cells.write_bytes, length),
            misaligned_per_second: if_physical(cells.read_misaligned + cells.write_misaligned)
                .and_then(|count| per_second(count, length)),
            misaligned_read_share: if_physical(cells.read_misaligned)
                .and_then(|part| ratio(part, cells.read_requests)),
            misaligned_write_share: if_physical(cells.write_misaligned)
                .and_then(|part| ratio(part, cells.write_requests)),
            partial_stripe_share: if_stripe(cells.write_partial_stripe)
                .and_then(|part| ratio(part, cells.write_requests)),
        }
    }
}

/// `comm` up to its NUL. Anybody may put anything in there: control
/// characters must not reach a terminal.
fn command(comm: &[u8; 16]) -> String {
    let text = comm.split(|&byte| byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text)
        .chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_cleaned() {
        assert_eq!(command(b"fio\0garbage\0\0\0\0\0"), "fio");
        assert_eq!(command(b"a\x1b[31mred\0\0\0\0\0\0\0"), "a\u{fffd}[31mred");
    }
}
