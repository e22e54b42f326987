//! The leaf cells of one device over one interval, and their sums over a
//! whole disk and its partitions.
//!
//! Must not know what a cell means, save for telling whether it is empty.

use std::collections::BTreeMap;

use tracer_ebpf::cells::{CELLS, READ, READ_BYTES, WRITE, WRITE_TAIL, detail};

use super::growth;
use crate::{
    snapshot::{Row, RowKey, Snapshot},
    units::DevId,
};

/// What was added to each cell of a device.
#[derive(Clone, Debug)]
pub(super) struct Counts {
    pub(super) cells: Box<[u64; CELLS]>,
    pub(super) requeued: Option<u64>,
    pub(super) detail: Option<Box<[u64; detail::CELLS]>>,
    /// Anything was counted since the source started.
    pub(super) ever_active: bool,
}

impl Counts {
    /// Of a device that no IO has reached.
    pub(super) fn none() -> Self {
        Self {
            cells: Box::new([0; CELLS]),
            requeued: Some(0),
            detail: None,
            ever_active: false,
        }
    }

    fn between(before: Option<&Row>, after: &Row) -> Self {
        let mut cells = after.cells.clone();
        let mut detail = after.detail.clone();
        if let Some(before) = before {
            take_out(&mut *cells, &*before.cells);
            if let (Some(now), Some(then)) = (&mut detail, &before.detail) {
                take_out(&mut **now, &**then);
            }
        }
        Self {
            cells,
            requeued: growth(before.and_then(|row| row.requeued), after.requeued),
            detail,
            ever_active: after.cells.iter().any(|&cell| cell != 0),
        }
    }

    /// Adds a partition to its disk. Histograms that would lack a part of the
    /// requests are left out.
    fn add(&mut self, other: &Self) {
        self.detail = match (self.detail.take(), &other.detail) {
            (Some(mut sum), Some(more)) => {
                put_in(&mut *sum, &**more);
                Some(sum)
            }
            (Some(sum), None) if !other.has_placed() => Some(sum),
            (None, Some(more)) if !self.has_placed() => Some(more.clone()),
            _ => None,
        };
        put_in(&mut *self.cells, &*other.cells);
        self.requeued = match (self.requeued, other.requeued) {
            (Some(a), Some(b)) => Some(a.saturating_add(b)),
            _ => None,
        };
        self.ever_active |= other.ever_active;
    }

    /// Anything was counted in the interval.
    pub(super) fn active(&self) -> bool {
        self.cells.iter().any(|&cell| cell != 0)
    }

    /// Requests that histograms hold: those with a place, reads and writes.
    fn has_placed(&self) -> bool {
        self.cells[READ..READ_BYTES].iter().any(|&cell| cell != 0)
    }
}

// `has_placed` reads the joint cells of reads and writes in one go.
const _: () = assert!(READ == 0 && WRITE < READ_BYTES && READ_BYTES < WRITE_TAIL);

fn take_out(from: &mut [u64], what: &[u64]) {
    for (cell, less) in from.iter_mut().zip(what) {
        *cell = cell.saturating_sub(*less);
    }
}

fn put_in(into: &mut [u64], what: &[u64]) {
    for (cell, more) in into.iter_mut().zip(what) {
        *cell = cell.saturating_add(*more);
    }
}

/// The counts of every device that has a row, or whose partitions have one.
pub(super) fn by_device(before: &Snapshot, after: &Snapshot) -> BTreeMap<RowKey, Counts> {
    let own = |(key, row): (&RowKey, &Row)| {
        let counts = Counts::between(before.rows.get(key), row);
        (key.clone(), counts)
    };
    let mut sums: BTreeMap<RowKey, Counts> = after.rows.iter().map(own).collect();
    for (key, row) in &after.rows {
        // A partition's own are not changed by those of another.
        let (Some(disk), Some(counts)) = (row.disk, sums.get(key)) else {
            continue;
        };
        let counts = counts.clone();
        sums.entry(disk_of(disk, key, after))
            .or_insert_with(Counts::none)
            .add(&counts);
    }
    sums
}

/// The row of a partition's disk. Where one number had several names, the
/// partition's own name begins with its disk's.
fn disk_of(disk: DevId, partition: &RowKey, after: &Snapshot) -> RowKey {
    after
        .rows
        .keys()
        .filter(|key| key.device == disk && partition.name.starts_with(&key.name))
        .max_by_key(|key| key.name.len())
        .cloned()
        .unwrap_or_else(|| RowKey {
            device: disk,
            name: disk_name(&partition.name).to_owned(),
        })
}

/// `sda` of `sda1`, `nvme0n1` of `nvme0n1p1`: the kernel puts a `p` between a
/// disk's name that ends in a digit and the number (`disk_name()`,
/// block/partitions/core.c).
pub(super) fn disk_name(partition: &str) -> &str {
    let stem = partition.trim_end_matches(|c: char| c.is_ascii_digit());
    match stem.strip_suffix('p') {
        Some(disk) if disk.ends_with(|c: char| c.is_ascii_digit()) => disk,
        _ => stem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_disks() {
        for (partition, disk) in [
            ("sda1", "sda"),
            ("sdp12", "sdp"),
            ("nvme0n1p3", "nvme0n1"),
            ("md127p1", "md127"),
            ("mmcblk0p2", "mmcblk0"),
        ] {
            assert_eq!(disk_name(partition), disk);
        }
    }
}
