//! Why md read or wrote a component: the reasons, and how they are told from
//! what a bio and its `stripe_head` say. Every decision is a pure function of
//! numbers, the same in the kernel programs and in the tests.
//!
//! Must not read memory, count, or know where the numbers come from.

pub mod abi;
mod blocks;
mod cause;
mod decide;
mod end_io;
mod region;
mod row;

pub use self::{
    blocks::{Block, Blocks},
    cause::{Cause, Shape, cause},
    decide::{RecoveryBits, StripeRead, StripeWrite, Sync, stripe_read, stripe_write},
    end_io::{EndIo, Level},
    region::{Metadata, Region},
    row::{RowKind, row_kind},
};

/// Why an IO reached a component. Reads come first; each has cells of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Origin {
    /// A user's read that goes past the stripe cache.
    UserDirect,
    /// A user's read through the stripe cache.
    UserCached,
    /// Old data, to be taken out of the parity.
    RmwData,
    /// Old parity.
    RmwParity,
    /// The data that a write did not bring.
    Rcw,
    /// The rest of a 4 KiB block of which a write brought a part.
    PartialBlock,
    /// Anything in a row with a failed member, and what a read that failed is
    /// made up from.
    Degraded,
    ReadResync,
    ReadRecover,
    ReadCheck,
    ReadRepair,
    ReadReshape,
    /// A synchronization of a kind that could not be told.
    ReadSync,
    ReadSuperblock,
    ReadBitmap,
    ReadBadBlocks,
    ReadPpl,
    ReadJournal,
    /// md's own, of an unknown place.
    ReadMetadata,
    /// A read repeated, or the reading back of what was corrected.
    ReadRetry,
    /// None of md's.
    ReadDirect,
    /// md's, and why could not be told.
    ReadUnattributed,

    /// What the user wrote, with the copies that the level keeps.
    Data,
    Parity,
    WriteResync,
    WriteRecover,
    WriteCheck,
    WriteRepair,
    WriteReshape,
    /// A synchronization of a kind that could not be told.
    WriteSync,
    WriteSuperblock,
    WriteBitmap,
    WriteBadBlocks,
    WritePpl,
    WriteJournal,
    /// md's own, of an unknown place.
    WriteMetadata,
    /// A block that could not be read, written anew.
    WriteRetry,
    /// None of md's.
    WriteDirect,
    /// md's, and why could not be told.
    WriteUnattributed,
}

impl Origin {
    /// How many there are.
    pub const COUNT: usize = Self::WriteUnattributed as usize + 1;

    /// All, in the order of their cells.
    pub const ALL: [Self; Self::COUNT] = {
        use Origin::*;
        [
            UserDirect,
            UserCached,
            RmwData,
            RmwParity,
            Rcw,
            PartialBlock,
            Degraded,
            ReadResync,
            ReadRecover,
            ReadCheck,
            ReadRepair,
            ReadReshape,
            ReadSync,
            ReadSuperblock,
            ReadBitmap,
            ReadBadBlocks,
            ReadPpl,
            ReadJournal,
            ReadMetadata,
            ReadRetry,
            ReadDirect,
            ReadUnattributed,
            Data,
            Parity,
            WriteResync,
            WriteRecover,
            WriteCheck,
            WriteRepair,
            WriteReshape,
            WriteSync,
            WriteSuperblock,
            WriteBitmap,
            WriteBadBlocks,
            WritePpl,
            WriteJournal,
            WriteMetadata,
            WriteRetry,
            WriteDirect,
            WriteUnattributed,
        ]
    };

    /// Index of its cells.
    #[inline(always)]
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// A write of md's to keep books at this place, or a read of them.
    #[inline(always)]
    #[must_use]
    pub const fn metadata(write: bool, what: Metadata) -> Self {
        match (write, what) {
            (false, Metadata::Superblock) => Self::ReadSuperblock,
            (false, Metadata::Bitmap) => Self::ReadBitmap,
            (false, Metadata::BadBlocks) => Self::ReadBadBlocks,
            (false, Metadata::Ppl) => Self::ReadPpl,
            (false, Metadata::Journal) => Self::ReadJournal,
            (false, Metadata::Unknown) => Self::ReadMetadata,
            (true, Metadata::Superblock) => Self::WriteSuperblock,
            (true, Metadata::Bitmap) => Self::WriteBitmap,
            (true, Metadata::BadBlocks) => Self::WriteBadBlocks,
            (true, Metadata::Ppl) => Self::WritePpl,
            (true, Metadata::Journal) => Self::WriteJournal,
            (true, Metadata::Unknown) => Self::WriteMetadata,
        }
    }

    /// A synchronization of this kind.
    #[inline(always)]
    #[must_use]
    pub const fn sync(write: bool, sync: Sync) -> Self {
        match (write, sync) {
            (false, Sync::Resync) => Self::ReadResync,
            (false, Sync::Recover) => Self::ReadRecover,
            (false, Sync::Check) => Self::ReadCheck,
            (false, Sync::Repair) => Self::ReadRepair,
            (false, Sync::Reshape) => Self::ReadReshape,
            (false, Sync::Unknown) => Self::ReadSync,
            (true, Sync::Resync) => Self::WriteResync,
            (true, Sync::Recover) => Self::WriteRecover,
            (true, Sync::Check) => Self::WriteCheck,
            (true, Sync::Repair) => Self::WriteRepair,
            (true, Sync::Reshape) => Self::WriteReshape,
            (true, Sync::Unknown) => Self::WriteSync,
        }
    }

    /// A read of md's that could not be told, or a write.
    #[inline(always)]
    #[must_use]
    pub const fn unattributed(write: bool) -> Self {
        if write {
            Self::WriteUnattributed
        } else {
            Self::ReadUnattributed
        }
    }

    /// A read of none of md's, or a write.
    #[inline(always)]
    #[must_use]
    pub const fn direct(write: bool) -> Self {
        if write {
            Self::WriteDirect
        } else {
            Self::ReadDirect
        }
    }

    /// A read repeated, or a write.
    #[inline(always)]
    #[must_use]
    pub const fn retry(write: bool) -> Self {
        if write {
            Self::WriteRetry
        } else {
            Self::ReadRetry
        }
    }

    /// What the user asked for, past any cache: a read, or a write's data.
    #[inline(always)]
    #[must_use]
    pub const fn user(write: bool) -> Self {
        if write { Self::Data } else { Self::UserDirect }
    }

    /// Read because a write did not fill its row.
    #[inline(always)]
    #[must_use]
    pub const fn is_preread(self) -> bool {
        matches!(
            self,
            Self::RmwData | Self::RmwParity | Self::Rcw | Self::PartialBlock
        )
    }

    /// Is it a write?
    #[inline(always)]
    #[must_use]
    pub const fn is_write(self) -> bool {
        self as u8 >= Self::Data as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_origin_is_listed_at_its_index() {
        for (index, origin) in Origin::ALL.into_iter().enumerate() {
            assert_eq!(origin.index(), index);
        }
    }

    #[test]
    fn what_is_made_for_a_write_is_a_write() {
        for write in [false, true] {
            let mut made = std::vec![
                Origin::unattributed(write),
                Origin::direct(write),
                Origin::retry(write),
                Origin::user(write),
            ];
            made.extend(Metadata::ALL.map(|what| Origin::metadata(write, what)));
            made.extend(Sync::ALL.map(|sync| Origin::sync(write, sync)));
            for origin in made {
                assert_eq!(origin.is_write(), write, "{origin:?}");
                assert!(!origin.is_preread());
            }
        }
    }
}
