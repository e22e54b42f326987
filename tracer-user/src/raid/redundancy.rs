//! How much more than the user's bytes a level must write: the least write
//! amplification there is, to put beside what was measured.
//!
//! Must not count metadata, or what a write of less than a stripe costs.

use std::num::NonZeroU32;

use super::{place::MAX_MEMBERS, raid10::Raid10Layout, shape::ParityLevel};

/// What a level adds to each byte of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redundancy {
    /// raid0, linear.
    None,
    /// raid1, raid10: each byte so often.
    Copies(NonZeroU32),
    Parity {
        level: ParityLevel,
        data_disks: NonZeroU32,
    },
}

impl Redundancy {
    /// From `md/level`, `md/raid_disks` and, for raid10, `md/layout`. `None`
    /// for a level or layout that is not known.
    #[must_use]
    pub fn from_md(level: &str, raid_disks: u32, layout: Option<i64>) -> Option<Self> {
        if raid_disks > MAX_MEMBERS {
            return None;
        }
        Some(match level {
            "raid0" | "linear" => Self::None,
            "raid1" => Self::Copies(NonZeroU32::new(raid_disks)?),
            "raid10" => {
                let copies = Raid10Layout::from_md(layout?)?.copies();
                Self::Copies((copies.get() <= raid_disks).then_some(copies)?)
            }
            _ => {
                let level = ParityLevel::from_md(level)?;
                let data_disks = raid_disks.checked_sub(level.parity_disks())?;
                Self::Parity {
                    level,
                    data_disks: NonZeroU32::new(data_disks)?,
                }
            }
        })
    }

    /// Bytes written to members for each byte of the user's, at the least: in
    /// writes of whole stripes.
    #[must_use]
    pub fn write_amplification_minimum(self) -> f64 {
        match self {
            Self::None => 1.0,
            Self::Copies(copies) => f64::from(copies.get()),
            Self::Parity { level, data_disks } => {
                let data = f64::from(data_disks.get());
                (data + f64::from(level.parity_disks())) / data
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_a_level_writes() {
        let minimum = |level, disks, layout| {
            Redundancy::from_md(level, disks, layout).map(Redundancy::write_amplification_minimum)
        };
        assert_eq!(minimum("raid0", 4, Some(-1)), Some(1.0));
        assert_eq!(minimum("linear", 2, None), Some(1.0));
        assert_eq!(minimum("raid1", 3, None), Some(3.0));
        // CASES.md S3: each chunk is written twice, near, far or offset.
        for layout in [258, 513, 66049] {
            assert_eq!(minimum("raid10", 6, Some(layout)), Some(2.0));
        }
        assert_eq!(minimum("raid4", 4, Some(0)), Some(4.0 / 3.0));
        assert_eq!(minimum("raid5", 4, Some(2)), Some(4.0 / 3.0));
        assert_eq!(minimum("raid6", 9, Some(2)), Some(9.0 / 7.0));
    }

    #[test]
    fn what_is_not_known_has_no_minimum() {
        let from_md = Redundancy::from_md;
        assert_eq!(from_md("container", 4, None), None);
        assert_eq!(from_md("raid1", 0, None), None);
        assert_eq!(from_md("raid10", 4, None), None);
        assert_eq!(from_md("raid10", 4, Some(0)), None);
        assert_eq!(from_md("raid10", 2, Some(0x103)), None);
        assert_eq!(from_md("raid5", 1, None), None);
        assert_eq!(from_md("raid6", 2, None), None);
        assert_eq!(from_md("raid6", u32::MAX, None), None);
    }
}
