//! What raid4/5/6 arrays have in common, whatever their layout: level, members
//! and chunk; and the chunk of the levels that need a power of two.
//!
//! Must not know where parity lies: that is [`super::raid456`].

use std::{fmt, num::NonZeroU32};

use super::place::MAX_MEMBERS;
use crate::units::{Bytes, Sectors};

/// Length of a row on one member: `STRIPE_SECTORS` of drivers/md/raid5.h. Where
/// pages are larger than 4 KiB `md/stripe_size` can change it; 4096 is the
/// default there too.
pub const ROW_SECTORS: u64 = 8;

/// The same in bytes.
pub const ROW_BYTES: u64 = Sectors(ROW_SECTORS).bytes().0;

/// A chunk as raid4/5/6 and raid10 need it: a power of two, at least a page
/// (drivers/md/raid5.c, `setup_conf`; drivers/md/raid10.c, `setup_geo`). The
/// page is taken as 4 KiB, the smallest there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk(NonZeroU32);

impl Chunk {
    /// `None` for a length that md refuses.
    #[must_use]
    pub fn new(len: Sectors) -> Option<Self> {
        let sectors = u32::try_from(len.0).ok().and_then(NonZeroU32::new)?;
        (sectors.is_power_of_two() && len.0 >= ROW_SECTORS).then_some(Self(sectors))
    }

    #[must_use]
    pub const fn sectors(self) -> Sectors {
        Sectors(self.0.get() as u64)
    }
}

/// A level with parity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParityLevel {
    Raid4,
    Raid5,
    Raid6,
}

impl ParityLevel {
    /// From `md/level`; `None` for a level without parity.
    #[must_use]
    pub fn from_md(level: &str) -> Option<Self> {
        Some(match level {
            "raid4" => Self::Raid4,
            "raid5" => Self::Raid5,
            "raid6" => Self::Raid6,
            _ => return None,
        })
    }

    /// Blocks of parity in a row.
    #[must_use]
    pub const fn parity_disks(self) -> u32 {
        match self {
            Self::Raid4 | Self::Raid5 => 1,
            Self::Raid6 => 2,
        }
    }

    /// Fewest members: md itself refuses a raid6 of three
    /// (drivers/md/raid5.c, `setup_conf`); parity without data is none.
    const fn fewest_disks(self) -> u32 {
        match self {
            Self::Raid4 | Self::Raid5 => 2,
            Self::Raid6 => 4,
        }
    }
}

impl fmt::Display for ParityLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Raid4 => "raid4",
            Self::Raid5 => "raid5",
            Self::Raid6 => "raid6",
        })
    }
}

/// Why attributes make no raid4/5/6 array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    #[error("a chunk of {} sectors is no power of two of at least 8", .0.0)]
    Chunk(Sectors),
    #[error("{level} of {raid_disks} members")]
    Disks { level: ParityLevel, raid_disks: u32 },
}

/// A raid4/5/6 array without its layout: level, members and chunk fit together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParityShape {
    level: ParityLevel,
    raid_disks: u32,
    chunk: Chunk,
}

impl ParityShape {
    /// From `md/level`, `md/raid_disks` and `md/chunk_size`.
    pub fn new(level: ParityLevel, raid_disks: u32, chunk: Sectors) -> Result<Self, ShapeError> {
        if raid_disks < level.fewest_disks() || raid_disks > MAX_MEMBERS {
            return Err(ShapeError::Disks { level, raid_disks });
        }
        Ok(Self {
            level,
            raid_disks,
            chunk: Chunk::new(chunk).ok_or(ShapeError::Chunk(chunk))?,
        })
    }

    #[must_use]
    pub const fn level(&self) -> ParityLevel {
        self.level
    }

    #[must_use]
    pub const fn raid_disks(&self) -> u32 {
        self.raid_disks
    }

    /// Members less parity: at least 1.
    #[must_use]
    pub const fn data_disks(&self) -> u32 {
        self.raid_disks - self.level.parity_disks()
    }

    #[must_use]
    pub const fn chunk(&self) -> Chunk {
        self.chunk
    }

    /// chunk × data disks.
    #[must_use]
    pub const fn stripe(&self) -> Bytes {
        Bytes(self.chunk.sectors().bytes().0 * self.data_disks() as u64)
    }

    /// Rows in a stripe.
    #[must_use]
    pub const fn rows_per_chunk(&self) -> u64 {
        self.chunk.sectors().0 / ROW_SECTORS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_md_refuses_is_no_shape() {
        use ParityLevel::{Raid4, Raid5, Raid6};
        let shape = |level, disks, chunk| ParityShape::new(level, disks, Sectors(chunk));
        for chunk in [0, 4, 24, 129, 1 << 32] {
            assert_eq!(
                shape(Raid5, 3, chunk),
                Err(ShapeError::Chunk(Sectors(chunk)))
            );
        }
        for (level, raid_disks) in [(Raid4, 1), (Raid5, 1), (Raid6, 3), (Raid6, MAX_MEMBERS + 1)] {
            let error = shape(level, raid_disks, 128).unwrap_err();
            assert_eq!(error, ShapeError::Disks { level, raid_disks });
            assert_eq!(
                error.to_string(),
                format!("{level} of {raid_disks} members")
            );
        }
        assert!(shape(Raid5, 2, 8).is_ok() && shape(Raid6, 4, 8).is_ok());
    }

    #[test]
    fn the_stripe_need_not_be_a_power_of_two() {
        let level = ParityLevel::from_md("raid6").unwrap();
        let shape = ParityShape::new(level, 9, Sectors(128)).unwrap();
        assert_eq!(shape.data_disks(), 7);
        assert_eq!(shape.stripe(), Bytes(448 << 10));
        assert_eq!(shape.rows_per_chunk(), 16);
        assert_eq!(ParityLevel::from_md("raid1"), None);
    }
}
