//! What a bio's `bi_end_io` says: which part of md, if any, sent it.
//!
//! Must not know addresses: user space fills a map from them.

/// Who will be told when a bio ends. One function of md's stands for one
/// purpose (`drivers/md/*.c`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum EndIo {
    /// `raid5_end_read_request`: a stripe's read.
    StripeRead = 1,
    /// `raid5_end_write_request`: a stripe's write.
    StripeWrite = 2,
    /// `raid5_align_endio`: a read past the stripe cache.
    AlignedRead = 3,
    /// `raid1_end_read_request` and its like: a user's read or write, or a
    /// copy of it.
    Copy = 4,
    /// `end_sync_read`, `end_sync_write` of raid1 and raid10.
    Sync = 5,
    /// `end_reshape_read`, `end_reshape_write` of raid10.
    Reshape = 6,
    /// `super_written`: superblock, bitmap, bad block log.
    Metadata = 7,
    /// `r5l_log_endio`, `r5l_log_flush_endio`.
    Journal = 8,
    /// `ppl_log_endio`.
    Ppl = 9,
    /// `md_end_io_acct`, `md_end_clone_io`: raid0 and linear send the user's
    /// bio on in this wrapping.
    Clone = 10,
    /// `submit_bio_wait_endio`: somebody waits for it, md or not.
    Waited = 11,
    /// `bio_chain_endio`: a part of a bio that was split.
    Chained = 12,
}

impl EndIo {
    /// Back from `self as u32`; `None` for none of md's.
    #[inline(always)]
    #[must_use]
    pub const fn from_number(number: u32) -> Option<Self> {
        Some(match number {
            1 => Self::StripeRead,
            2 => Self::StripeWrite,
            3 => Self::AlignedRead,
            4 => Self::Copy,
            5 => Self::Sync,
            6 => Self::Reshape,
            7 => Self::Metadata,
            8 => Self::Journal,
            9 => Self::Ppl,
            10 => Self::Clone,
            11 => Self::Waited,
            12 => Self::Chained,
            _ => return None,
        })
    }
}

/// How an array keeps its data, as far as it matters here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum Level {
    /// raid0, linear: sends bios on.
    #[default]
    Plain = 0,
    /// raid4, raid5, raid6.
    Parity = 1,
    Raid1 = 2,
    Raid10 = 3,
}

impl Level {
    /// Back from `self as u32`.
    #[inline(always)]
    #[must_use]
    pub const fn from_number(number: u32) -> Self {
        match number {
            1 => Self::Parity,
            2 => Self::Raid1,
            3 => Self::Raid10,
            _ => Self::Plain,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        for number in 1..=12 {
            let end_io = EndIo::from_number(number).unwrap();
            assert_eq!(end_io as u32, number);
        }
        assert_eq!(EndIo::from_number(0), None);
        assert_eq!(EndIo::from_number(13), None);
        for level in [Level::Plain, Level::Parity, Level::Raid1, Level::Raid10] {
            assert_eq!(Level::from_number(level as u32), level);
        }
    }
}
