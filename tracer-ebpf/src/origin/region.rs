//! Which of md's books lies at a place on a component.
//!
//! Must not know how the places are found.

/// What md keeps for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Metadata {
    /// md's, at a place that is none of the others'.
    Unknown = 0,
    Superblock = 1,
    Bitmap = 2,
    BadBlocks = 3,
    /// Partial parity log.
    Ppl = 4,
    /// Write journal.
    Journal = 5,
}

impl Metadata {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Unknown,
        Self::Superblock,
        Self::Bitmap,
        Self::BadBlocks,
        Self::Ppl,
        Self::Journal,
    ];

    /// Back from `self as u32`.
    #[inline(always)]
    #[must_use]
    pub const fn from_number(number: u32) -> Self {
        match number {
            1 => Self::Superblock,
            2 => Self::Bitmap,
            3 => Self::BadBlocks,
            4 => Self::Ppl,
            5 => Self::Journal,
            _ => Self::Unknown,
        }
    }
}

/// One of md's books on a component; `len_sectors` 0 is none.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Region {
    /// From the start of the component.
    pub start_sector: u64,
    pub len_sectors: u64,
    /// A [`Metadata`].
    pub what: u32,
    pub _pad: u32,
}

impl Region {
    /// Does this sector of the component lie in it?
    #[inline(always)]
    #[must_use]
    pub const fn holds(&self, sector: u64) -> bool {
        sector.wrapping_sub(self.start_sector) < self.len_sectors
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_told_apart() {
        let region = Region {
            start_sector: 8,
            len_sectors: 8,
            ..Region::default()
        };
        assert!(!region.holds(7) && region.holds(8) && region.holds(15) && !region.holds(16));
        assert!(!Region::default().holds(0));
        for what in Metadata::ALL {
            assert_eq!(Metadata::from_number(what as u32), what);
        }
    }
}
