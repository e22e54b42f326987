//! How md raid4/5/6 decides what to read before it writes a row, and what a
//! write costs on rows of which md holds nothing.
//!
//! Must not be taken for a measurement. It is one write, all of which has
//! reached its rows before md looks at them, on a healthy array without journal
//! or PPL that is not being reshaped. Smaller writes that follow each other
//! meet in the stripe cache and cost less ([`super::cache`] knows some of
//! that); a write that md handles in pieces can cost more.
//!
//! After `handle_stripe` of drivers/md/raid5.c, which calls
//! `handle_stripe_fill` first: a block of which only a part is written is then
//! `R5_LOCKED` for its read (`need_this_block`, `fetch_block`). Next, in the
//! same pass, `handle_stripe_dirtying` counts what rmw and rcw would still have
//! to read, and skips what is locked or up to date. So a partly written block
//! is read either way and never tips the balance. Later passes find what was
//! chosen locked or up to date, and so never choose again.

use super::{
    cost::{Preread, RowCounts, WriteCost, blocks},
    extent::{Extent, Row, RowWrite},
    place::MemberSector,
    shape::ParityShape,
};

/// `md/rmw_level`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RmwLevel {
    /// 0, `PARITY_DISABLE_RMW`.
    Never,
    /// 1, `PARITY_ENABLE_RMW`: where it reads fewer blocks than rcw. The
    /// default, except for raid6 on a CPU without `xor_syndrome`.
    Fewer,
    /// 2, `PARITY_PREFER_RMW`: where it reads no more.
    NoMore,
}

impl RmwLevel {
    #[must_use]
    pub const fn from_md(rmw_level: u32) -> Option<Self> {
        match rmw_level {
            0 => Some(Self::Never),
            1 => Some(Self::Fewer),
            2 => Some(Self::NoMore),
            _ => None,
        }
    }
}

/// How far the first sync, or the one after an unclean stop, has come: old
/// parity behind it is not trusted, so that md never does rmw there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Synced {
    Whole,
    /// Rows from this sector on are not (`mddev->recovery_cp`, in later kernels
    /// `resync_offset`; `md/resync_start`).
    UpTo(MemberSector),
}

/// How an array decides on each row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowModel {
    shape: ParityShape,
    rmw: RmwLevel,
    synced: Synced,
}

/// Blocks of a row that md does not hold, by what the write does to them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Missing {
    pub(super) overwritten: u32,
    pub(super) partial: u32,
    pub(super) untouched: u32,
    pub(super) parity: u32,
}

/// What has to be read besides partly written blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Nothing,
    /// Old data of overwritten blocks, and parity.
    Rmw,
    /// Data of untouched blocks.
    Rcw,
}

impl RowModel {
    #[must_use]
    pub const fn new(shape: ParityShape, rmw: RmwLevel, synced: Synced) -> Self {
        Self { shape, rmw, synced }
    }

    #[must_use]
    pub const fn shape(&self) -> &ParityShape {
        &self.shape
    }

    /// What one write costs on rows of which md holds nothing.
    #[must_use]
    pub fn write(&self, extent: &Extent) -> WriteCost {
        let touched = extent.stripes(&self.shape);
        let filled = extent.filled_stripes(&self.shape);
        let rows = 0..self.shape.rows_per_chunk();
        // Two stripes at most are not filled.
        let partial: WriteCost = (touched.start..filled.start)
            .chain(filled.end..touched.end)
            .flat_map(|stripe| rows.clone().map(move |in_chunk| Row { stripe, in_chunk }))
            .filter_map(|row| {
                let write = RowWrite::of(extent, row, &self.shape)?;
                let missing = self.all_missing(&write);
                Some(self.cost(&write, missing, self.way(missing, row)))
            })
            .sum();
        let mut cost = self.filled_rows((filled.end - filled.start) * rows.end);
        cost += partial;
        cost
    }

    /// The decision of `handle_stripe_dirtying`.
    pub(super) fn way(&self, missing: Missing, row: Row) -> Way {
        let rmw = missing.overwritten + missing.parity;
        let rcw = missing.untouched;
        if rcw == 0 {
            return Way::Nothing;
        }
        if !self.may_rmw(row) {
            return Way::Rcw;
        }
        match (rmw.cmp(&rcw), self.rmw) {
            _ if rmw == 0 => Way::Nothing,
            (std::cmp::Ordering::Less, _) | (std::cmp::Ordering::Equal, RmwLevel::NoMore) => {
                Way::Rmw
            }
            _ => Way::Rcw,
        }
    }

    /// What a row costs that is written in this way.
    pub(super) fn cost(&self, write: &RowWrite, missing: Missing, way: Way) -> WriteCost {
        let of = |condition: bool, count: u32| blocks(if condition { count.into() } else { 0 });
        let (rmw, rcw) = (way == Way::Rmw, way == Way::Rcw);
        let partial_only = way == Way::Nothing && missing.partial > 0;
        let nothing = way == Way::Nothing && missing.partial == 0;
        let full = self.fills(write);
        WriteCost {
            preread: Preread {
                rmw: of(rmw, missing.overwritten + missing.parity),
                rcw: of(rcw, missing.untouched),
                partial_block: blocks(missing.partial.into()),
            },
            data_write: blocks(write.written().into()),
            parity_write: blocks(self.shape.level().parity_disks().into()),
            rows: RowCounts {
                full: u64::from(nothing && full),
                rmw: u64::from(rmw),
                rcw: u64::from(rcw),
                partial_block: u64::from(partial_only),
                cached: u64::from(nothing && !full),
            },
        }
    }

    const fn may_rmw(&self, row: Row) -> bool {
        let synced = match self.synced {
            Synced::Whole => true,
            Synced::UpTo(end) => row.sector(&self.shape).0 < end.0,
        };
        synced && !matches!(self.rmw, RmwLevel::Never)
    }

    fn fills(&self, write: &RowWrite) -> bool {
        write.written() == self.shape.data_disks() && !write.touched().any(|b| write.is_partial(b))
    }

    fn all_missing(&self, write: &RowWrite) -> Missing {
        // A write has a first and a last block only.
        let partial = write.touched().filter(|b| write.is_partial(*b)).count() as u32;
        Missing {
            overwritten: write.written() - partial,
            partial,
            untouched: self.shape.data_disks() - write.written(),
            parity: self.shape.level().parity_disks(),
        }
    }

    fn filled_rows(&self, rows: u64) -> WriteCost {
        WriteCost {
            data_write: blocks(rows.saturating_mul(self.shape.data_disks().into())),
            parity_write: blocks(rows.saturating_mul(self.shape.level().parity_disks().into())),
            rows: RowCounts {
                full: rows,
                ..RowCounts::default()
            },
            ..WriteCost::default()
        }
    }
}

#[cfg(test)]
#[path = "rows_tests.rs"]
mod tests;
