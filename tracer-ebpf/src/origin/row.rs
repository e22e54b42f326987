//! How a row was written: md decides once for each `stripe_head`.
//!
//! Must not count.

/// How md made the parity of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum RowKind {
    /// Every data block was written whole.
    Full = 0,
    /// From the old parity and the old data of what was written.
    Rmw = 1,
    /// From all data blocks.
    Rcw = 2,
}

impl RowKind {
    /// How many there are.
    pub const COUNT: usize = 3;
}

/// How the parity of a row was made, told when it is written.
///
/// `written` data blocks of `data_disks` are new, `whole` of them from end to
/// end; `stale` of the others were never read. md reconstructs whenever it has
/// all data blocks (`handle_stripe_dirtying`, drivers/md/raid5.c: `rcw == 0`
/// decides before `rmw == 0`).
#[inline(always)]
#[must_use]
pub const fn row_kind(data_disks: u32, whole: u32, stale: u32) -> RowKind {
    if whole >= data_disks {
        RowKind::Full
    } else if stale != 0 {
        RowKind::Rmw
    } else {
        RowKind::Rcw
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds() {
        assert_eq!(row_kind(7, 7, 0), RowKind::Full);
        assert_eq!(row_kind(7, 1, 6), RowKind::Rmw);
        assert_eq!(row_kind(7, 6, 0), RowKind::Rcw);
        // Nothing was read: everything was in the stripe cache.
        assert_eq!(row_kind(7, 1, 0), RowKind::Rcw);
    }
}
