//! What one row has counted, summed over the slots it has and has had.
//!
//! Must not read maps.

use tracer_ebpf::cells::{CELLS, detail};

use super::maps::SlotCells;
use crate::{
    snapshot::{Row, Unknown},
    units::DevId,
};

/// Histogram cells of one reading.
pub(super) type Detail = Box<[u64; detail::CELLS]>;

/// A row's counters, while they are summed.
#[derive(Clone)]
pub(super) struct Counted {
    /// The whole disk, for a partition.
    disk: Option<DevId>,
    /// Signed: more may have been put back in one slot than was issued in it.
    cells: Box<[i64; CELLS]>,
    requeues: u64,
    detail: Option<Detail>,
}

impl Counted {
    pub(super) fn nothing(disk: Option<DevId>) -> Self {
        Self {
            disk,
            cells: Box::new([0; CELLS]),
            requeues: 0,
            detail: None,
        }
    }

    /// Adds a reading of one of the row's slots.
    pub(super) fn add(&mut self, slot: &SlotCells, detail: Option<Detail>) {
        for (sum, cell) in self.cells.iter_mut().zip(slot.cells.iter()) {
            *sum += cell;
        }
        self.requeues += slot.requeues;
        match (&mut self.detail, detail) {
            (Some(sum), Some(more)) => {
                for (sum, cell) in sum.iter_mut().zip(more.iter()) {
                    *sum += cell;
                }
            }
            (sum @ None, Some(more)) => *sum = Some(more),
            (_, None) => {}
        }
    }

    /// The row as views see it.
    pub(super) fn row(self, unknown: Unknown) -> Row {
        let mut cells = Box::new([0u64; CELLS]);
        for (cell, sum) in cells.iter_mut().zip(self.cells.iter()) {
            // Below 0 while a request that has grown smaller is put back and
            // not issued again yet.
            *cell = u64::try_from(*sum).unwrap_or(0);
        }
        Row {
            disk: self.disk,
            cells,
            requeued: (!unknown.requeues).then_some(self.requeues),
            detail: self.detail,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_of_a_row_are_summed_before_they_are_cut_at_nothing() {
        let slot = |cell: i64| SlotCells {
            cells: Box::new([cell; CELLS]),
            requeues: 1,
        };
        let mut counted = Counted::nothing(None);
        counted.add(&slot(-2), None);
        counted.add(&slot(5), Some(Box::new([7; detail::CELLS])));
        counted.add(&slot(0), Some(Box::new([1; detail::CELLS])));
        let row = counted.row(Unknown::default());
        assert_eq!(row.cells[0], 3);
        assert_eq!(row.requeued, Some(3));
        assert_eq!(row.detail.unwrap()[0], 8);
        let mut less = Counted::nothing(None);
        less.add(&slot(-1), None);
        assert_eq!(less.row(Unknown::default()).cells[0], 0);
    }
}
