//! Who queued the bios of an interval.
//!
//! Must not look up a process: what the kernel side noted is all there is.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use schemars::JsonSchema;
use serde::Serialize;
use tracer_ebpf::abi::{ProcessCells, ProcessKey};

use super::{
    DeviceFigures,
    rates::{per_second, ratio},
};
use crate::{snapshot::Snapshot, units::DevId};

/// One process's bios on one device.
#[derive(Clone, Debug, PartialEq)]
pub struct ProcessFigures {
    /// The device's kernel name.
    pub device: String,
    pub command: String,
    pub pid: u32,
    /// kernfs id of the cgroup that is charged; `None` where not known.
    pub cgroup: Option<u64>,
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
    let then: HashMap<(DevId, ProcessKey), &ProcessCells> = before
        .processes
        .iter()
        .map(|row| ((row.device, row.key), &row.cells))
        .collect();
    let mut figures: Vec<ProcessFigures> = after
        .processes
        .iter()
        .filter_map(|row| {
            let device = shown.get(&row.device)?;
            let cells = difference(then.get(&(row.device, row.key)).copied(), &row.cells);
            (cells.read_requests + cells.write_requests + cells.other_requests != 0)
                .then(|| ProcessFigures::new(device, &row.key, &cells, length))
        })
        .collect();
    figures.sort_by(|a, b| {
        order(b)
            .cmp(&order(a))
            .then_with(|| a.identity().cmp(&b.identity()))
    });
    figures
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

    fn identity(&self) -> (&str, &str, u32, Option<u64>) {
        (&self.device, &self.command, self.pid, self.cgroup)
    }

    fn new(
        device: &DeviceFigures,
        key: &ProcessKey,
        cells: &ProcessCells,
        length: Duration,
    ) -> Self {
        let if_physical = |count: u64| device.geometry.physical_block.map(|_| count);
        let if_stripe = |count: u64| device.geometry.stripe.map(|_| count);
        Self {
            device: device.name.clone(),
            command: command(&key.comm),
            pid: key.tgid,
            cgroup: (key.cgroup != 0).then_some(key.cgroup),
            read: ProcessRead {
                requests: cells.read_requests,
                bytes: cells.read_bytes,
                misaligned: if_physical(cells.read_misaligned),
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

fn difference(before: Option<&ProcessCells>, after: &ProcessCells) -> ProcessCells {
    let before = before.copied().unwrap_or_default();
    ProcessCells {
        read_requests: after.read_requests.saturating_sub(before.read_requests),
        read_bytes: after.read_bytes.saturating_sub(before.read_bytes),
        read_misaligned: after.read_misaligned.saturating_sub(before.read_misaligned),
        write_requests: after.write_requests.saturating_sub(before.write_requests),
        write_bytes: after.write_bytes.saturating_sub(before.write_bytes),
        write_misaligned: after
            .write_misaligned
            .saturating_sub(before.write_misaligned),
        write_partial_blocks: after
            .write_partial_blocks
            .saturating_sub(before.write_partial_blocks),
        write_partial_stripe: after
            .write_partial_stripe
            .saturating_sub(before.write_partial_stripe),
        write_partial_stripe_bytes: after
            .write_partial_stripe_bytes
            .saturating_sub(before.write_partial_stripe_bytes),
        other_requests: after.other_requests.saturating_sub(before.other_requests),
    }
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
