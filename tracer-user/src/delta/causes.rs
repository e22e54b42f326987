//! What in a write made its pre-reads necessary.
//!
//! Must not format text.

use schemars::JsonSchema;
use serde::Serialize;
use tracer_ebpf::origin::Cause;

use super::origin::OriginCounts;

/// Pre-read bytes by what in the write made them necessary; they add up to all
/// pre-reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Causes {
    /// The write covered a 4 KiB block partly.
    pub sub_block: u64,
    /// It was shorter than a stripe.
    pub smaller_than_stripe: u64,
    /// It was long enough and started inside a stripe.
    pub starts_inside_stripe: u64,
    /// It started at a stripe and ended inside one.
    pub ends_inside_stripe: u64,
    /// md itself cut a longer write there.
    pub split_by_md: u64,
    /// Another way would have read less: the row is not synchronized yet.
    pub not_synced: u64,
    /// Another way would have read less: `rmw_level` is 0.
    pub rmw_level: u64,
    /// The write could not be found any more.
    pub not_told: u64,
}

/// The causes by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MainCause {
    SubBlock,
    SmallerThanStripe,
    StartsInsideStripe,
    EndsInsideStripe,
    SplitByMd,
    NotSynced,
    RmwLevel,
    NotTold,
}

impl Causes {
    /// `splits`: md cut bios in two in the interval; else a write as long as
    /// the limit came like that.
    pub(super) fn new(counts: &OriginCounts, splits: bool) -> Self {
        let bytes = |cause| counts.cause_bytes(cause);
        let at_limit_smaller = bytes(Cause::AtLimitSmaller);
        let at_limit_starts = bytes(Cause::AtLimitStartsInside);
        let at_limit_ends = bytes(Cause::AtLimitEndsInside);
        let unless_split = |bytes| if splits { 0 } else { bytes };
        let at_limit = at_limit_smaller + at_limit_starts + at_limit_ends;
        Self {
            sub_block: bytes(Cause::SubBlock),
            smaller_than_stripe: bytes(Cause::Smaller) + unless_split(at_limit_smaller),
            starts_inside_stripe: bytes(Cause::StartsInside) + unless_split(at_limit_starts),
            ends_inside_stripe: bytes(Cause::EndsInside) + unless_split(at_limit_ends),
            split_by_md: at_limit - unless_split(at_limit),
            not_synced: bytes(Cause::NotSynced),
            rmw_level: bytes(Cause::RmwLevel),
            not_told: bytes(Cause::NotTold),
        }
    }

    /// Each cause with its name.
    #[must_use]
    pub const fn by_name(&self) -> [(&'static str, u64); 8] {
        [
            ("sub_block", self.sub_block),
            ("smaller_than_stripe", self.smaller_than_stripe),
            ("starts_inside_stripe", self.starts_inside_stripe),
            ("ends_inside_stripe", self.ends_inside_stripe),
            ("split_by_md", self.split_by_md),
            ("not_synced", self.not_synced),
            ("rmw_level", self.rmw_level),
            ("not_told", self.not_told),
        ]
    }

    pub(super) const fn plus(self, other: Self) -> Self {
        Self {
            sub_block: self.sub_block + other.sub_block,
            smaller_than_stripe: self.smaller_than_stripe + other.smaller_than_stripe,
            starts_inside_stripe: self.starts_inside_stripe + other.starts_inside_stripe,
            ends_inside_stripe: self.ends_inside_stripe + other.ends_inside_stripe,
            split_by_md: self.split_by_md + other.split_by_md,
            not_synced: self.not_synced + other.not_synced,
            rmw_level: self.rmw_level + other.rmw_level,
            not_told: self.not_told + other.not_told,
        }
    }

    /// The one with the most bytes, and how many; `None` where nothing was
    /// pre-read.
    #[must_use]
    pub fn main(&self) -> Option<(MainCause, u64)> {
        let all = [
            (MainCause::SubBlock, self.sub_block),
            (MainCause::SmallerThanStripe, self.smaller_than_stripe),
            (MainCause::StartsInsideStripe, self.starts_inside_stripe),
            (MainCause::EndsInsideStripe, self.ends_inside_stripe),
            (MainCause::SplitByMd, self.split_by_md),
            (MainCause::NotSynced, self.not_synced),
            (MainCause::RmwLevel, self.rmw_level),
            (MainCause::NotTold, self.not_told),
        ];
        let main = all.into_iter().max_by_key(|(_, bytes)| *bytes)?;
        (main.1 != 0).then_some(main)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_main_cause_is_the_largest() {
        let causes = Causes {
            sub_block: 1,
            starts_inside_stripe: 3,
            ends_inside_stripe: 2,
            ..Causes::default()
        };
        assert_eq!(causes.main(), Some((MainCause::StartsInsideStripe, 3)));
        assert_eq!(Causes::default().main(), None);
    }
}
