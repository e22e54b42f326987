//! From what a `stripe_head` says to the reason of a read or a write of its
//! row.
//!
//! Must not read memory: the programs hand over numbers.

use super::Origin;

/// What runs through the array for its own sake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sync {
    /// It runs, and which could not be told.
    Unknown,
    Resync,
    Recover,
    Check,
    Repair,
    Reshape,
}

impl Sync {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Unknown,
        Self::Resync,
        Self::Recover,
        Self::Check,
        Self::Repair,
        Self::Reshape,
    ];

    /// Out of the bits of `mddev->recovery` (`enum recovery_flags`,
    /// drivers/md/md.h), in the order in which md itself names the action
    /// (`action_show`, drivers/md/md.c).
    #[inline(always)]
    #[must_use]
    pub const fn of(recovery: u64, bits: &RecoveryBits) -> Self {
        if recovery & bits.reshape != 0 {
            Self::Reshape
        } else if recovery & bits.sync != 0 {
            if recovery & bits.requested == 0 {
                Self::Resync
            } else if recovery & bits.check != 0 {
                Self::Check
            } else {
                Self::Repair
            }
        } else if recovery & bits.recover != 0 {
            Self::Recover
        } else {
            Self::Unknown
        }
    }
}

/// Masks of `mddev->recovery`; 0 for a bit that this kernel does not have.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecoveryBits {
    pub sync: u64,
    pub recover: u64,
    pub requested: u64,
    pub check: u64,
    pub reshape: u64,
}

/// A member's read of a row, with what `stripe_head` and `r5dev` say: each
/// number is zero or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StripeRead {
    /// `STRIPE_SYNCING`.
    pub syncing: u64,
    /// `STRIPE_EXPANDING`, `STRIPE_EXPAND_SOURCE` or `STRIPE_EXPAND_READY`.
    pub expanding: u64,
    /// The member's block is P or Q.
    pub parity: bool,
    /// The member's own `toread`.
    pub toread: u64,
    /// The member's own `towrite`.
    pub towrite: u64,
    /// The member's own `R5_OVERWRITE`.
    pub overwrite: u64,
    /// The member's own `R5_ReadError` or `R5_ReWrite`.
    pub retry: u64,
    /// Any block's `towrite`.
    pub any_towrite: u64,
    /// Any block's `toread`.
    pub any_toread: u64,
    /// A block lacks `R5_Insync`.
    pub any_failed: u64,
}

/// Why a member is read through the stripe cache.
#[inline(always)]
#[must_use]
pub const fn stripe_read(read: &StripeRead, sync: Sync) -> Origin {
    if read.syncing != 0 {
        Origin::sync(false, sync)
    } else if read.expanding != 0 {
        Origin::ReadReshape
    } else if read.toread != 0 {
        Origin::UserCached
    } else if read.retry != 0 {
        Origin::ReadRetry
    } else if read.any_failed != 0 {
        Origin::Degraded
    } else if read.any_towrite != 0 {
        write_preread(read)
    } else if read.any_toread != 0 {
        Origin::Degraded
    } else {
        Origin::ReadUnattributed
    }
}

#[inline(always)]
const fn write_preread(read: &StripeRead) -> Origin {
    if read.parity {
        Origin::RmwParity
    } else if read.towrite == 0 {
        Origin::Rcw
    } else if read.overwrite == 0 {
        Origin::PartialBlock
    } else {
        Origin::RmwData
    }
}

/// A member's write of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StripeWrite {
    /// As in [`StripeRead`].
    pub syncing: u64,
    pub expanding: u64,
    pub parity: bool,
    /// The member's own `R5_ReWrite`.
    pub retry: u64,
}

/// Why a member is written through the stripe cache.
#[inline(always)]
#[must_use]
pub const fn stripe_write(write: &StripeWrite, sync: Sync) -> Origin {
    if write.syncing != 0 {
        Origin::sync(true, sync)
    } else if write.expanding != 0 {
        Origin::WriteReshape
    } else if write.retry != 0 {
        Origin::WriteRetry
    } else if write.parity {
        Origin::Parity
    } else {
        Origin::Data
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BITS: RecoveryBits = RecoveryBits {
        sync: 1,
        recover: 2,
        requested: 4,
        check: 8,
        reshape: 16,
    };

    #[test]
    fn md_names_its_actions_in_this_order() {
        assert_eq!(Sync::of(0, &BITS), Sync::Unknown);
        assert_eq!(Sync::of(1, &BITS), Sync::Resync);
        assert_eq!(Sync::of(1 | 4, &BITS), Sync::Repair);
        assert_eq!(Sync::of(1 | 4 | 8, &BITS), Sync::Check);
        assert_eq!(Sync::of(2, &BITS), Sync::Recover);
        assert_eq!(Sync::of(16, &BITS), Sync::Reshape);
        assert_eq!(Sync::of(u64::MAX, &RecoveryBits::default()), Sync::Unknown);
    }

    fn read(read: StripeRead) -> Origin {
        stripe_read(&read, Sync::Check)
    }

    #[test]
    fn reads_for_a_write() {
        let row = StripeRead {
            any_towrite: 1,
            ..StripeRead::default()
        };
        assert_eq!(read(row), Origin::Rcw);
        assert_eq!(
            read(StripeRead {
                parity: true,
                ..row
            }),
            Origin::RmwParity
        );
        let own = StripeRead { towrite: 1, ..row };
        assert_eq!(read(own), Origin::PartialBlock);
        let whole = StripeRead {
            overwrite: 1,
            ..own
        };
        assert_eq!(read(whole), Origin::RmwData);
        let degraded = StripeRead {
            any_failed: 1,
            ..whole
        };
        assert_eq!(read(degraded), Origin::Degraded);
    }

    #[test]
    fn what_comes_first() {
        let all = StripeRead {
            syncing: 1,
            expanding: 1,
            parity: true,
            toread: 1,
            towrite: 1,
            overwrite: 1,
            retry: 1,
            any_towrite: 1,
            any_toread: 1,
            any_failed: 1,
        };
        assert_eq!(read(all), Origin::ReadCheck);
        let all = StripeRead { syncing: 0, ..all };
        assert_eq!(read(all), Origin::ReadReshape);
        let all = StripeRead {
            expanding: 0,
            ..all
        };
        assert_eq!(read(all), Origin::UserCached);
        let all = StripeRead { toread: 0, ..all };
        assert_eq!(read(all), Origin::ReadRetry);
        assert_eq!(
            read(StripeRead {
                any_toread: 1,
                ..StripeRead::default()
            }),
            Origin::Degraded
        );
        assert_eq!(read(StripeRead::default()), Origin::ReadUnattributed);
    }

    #[test]
    fn writes() {
        let write = |write| stripe_write(&write, Sync::Recover);
        let plain = StripeWrite::default();
        assert_eq!(write(plain), Origin::Data);
        let parity = StripeWrite {
            parity: true,
            ..plain
        };
        assert_eq!(write(parity), Origin::Parity);
        assert_eq!(
            write(StripeWrite { retry: 1, ..parity }),
            Origin::WriteRetry
        );
        assert_eq!(
            write(StripeWrite {
                syncing: 1,
                ..parity
            }),
            Origin::WriteRecover
        );
    }
}
