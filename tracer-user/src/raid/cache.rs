//! What writes cost that follow each other, each handled before the next: rows
//! that md has just written are still in its stripe cache, and what it holds of
//! a row need not be read.
//!
//! Must not be taken for md's cache. It knows writes only (reads of an array
//! in good order do not pass through the cache), keeps a fixed number of rows
//! (md lets its cache grow and shrink, `md/stripe_cache_active`), and takes
//! `md/skip_copy` to be 0, as it is by default: with 1 a written block is not
//! held. Writes in flight together, which md may merge into one row, are not
//! for it.

use std::{
    collections::{BTreeMap, HashMap},
    num::NonZeroUsize,
};

use super::{
    cost::WriteCost,
    extent::{Extent, Row, RowWrite},
    rows::{Missing, RowModel, Way},
};

/// The rows an array has last written.
#[derive(Clone, Debug)]
pub struct StripeCache {
    model: RowModel,
    rows: NonZeroUsize,
    held: HashMap<Row, Held>,
    /// The same rows by when they were used last, the oldest first: md reuses
    /// the head of `inactive_list` and puts a row back at its tail.
    by_use: BTreeMap<u64, Row>,
    uses: u64,
}

/// A row that has been written, so that its parity is up to date.
#[derive(Clone, Debug)]
struct Held {
    last_use: u64,
    /// By data block (`R5_UPTODATE`).
    up_to_date: Vec<bool>,
}

impl StripeCache {
    /// Holds nothing yet; `rows` is `md/stripe_cache_size`.
    #[must_use]
    pub fn new(model: RowModel, rows: NonZeroUsize) -> Self {
        Self {
            model,
            rows,
            held: HashMap::new(),
            by_use: BTreeMap::new(),
            uses: 0,
        }
    }

    /// What the next write costs.
    pub fn write(&mut self, extent: &Extent) -> WriteCost {
        let shape = *self.model.shape();
        let mut cost = WriteCost::default();
        for stripe in extent.stripes(&shape) {
            for in_chunk in 0..shape.rows_per_chunk() {
                let row = Row { stripe, in_chunk };
                if let Some(write) = RowWrite::of(extent, row, &shape) {
                    cost += self.write_row(row, &write);
                }
            }
        }
        cost
    }

    fn write_row(&mut self, row: Row, write: &RowWrite) -> WriteCost {
        let before = self.take(row);
        let parity_disks = self.model.shape().level().parity_disks();
        let mut missing = Missing {
            parity: if before.is_some() { 0 } else { parity_disks },
            ..Missing::default()
        };
        let data_disks = self.model.shape().data_disks();
        let mut up_to_date = before.unwrap_or_else(|| vec![false; data_disks as usize]);
        for (block, _) in (0..).zip(&up_to_date).filter(|(_, held)| !**held) {
            if !write.touched().contains(&block) {
                missing.untouched += 1;
            } else if write.is_partial(block) {
                missing.partial += 1;
            } else {
                missing.overwritten += 1;
            }
        }
        let way = self.model.way(missing, row);
        for (block, held) in (0..).zip(&mut up_to_date) {
            *held |= way == Way::Rcw || write.touched().contains(&block);
        }
        self.put(row, up_to_date);
        self.model.cost(write, missing, way)
    }

    fn take(&mut self, row: Row) -> Option<Vec<bool>> {
        let held = self.held.remove(&row)?;
        self.by_use.remove(&held.last_use);
        Some(held.up_to_date)
    }

    fn put(&mut self, row: Row, up_to_date: Vec<bool>) {
        if self.held.len() >= self.rows.get()
            && let Some((_, oldest)) = self.by_use.pop_first()
        {
            self.held.remove(&oldest);
        }
        self.uses += 1;
        self.by_use.insert(self.uses, row);
        let last_use = self.uses;
        self.held.insert(
            row,
            Held {
                last_use,
                up_to_date,
            },
        );
    }
}

#[cfg(test)]
#[path = "cache_tests.rs"]
mod tests;
