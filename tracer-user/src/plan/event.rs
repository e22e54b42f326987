//! The tracepoints, the ways to attach to them, and the names of the programs:
//! the contract with the eBPF object.
//!
//! Must not know what a particular kernel offers.

use std::{fmt, str::FromStr};

use serde::Serialize;
use thiserror::Error;

/// A tracepoint that iotrace has programs for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    BlockRqIssue,
    BlockRqRequeue,
    BlockRqComplete,
    BlockBioQueue,
    BlockBioComplete,
    BlockBioRemap,
    BlockSplit,
}

impl Event {
    /// What all counting rests on first.
    pub const ALL: [Self; 7] = [
        Self::BlockRqIssue,
        Self::BlockBioQueue,
        Self::BlockRqRequeue,
        Self::BlockRqComplete,
        Self::BlockBioComplete,
        Self::BlockBioRemap,
        Self::BlockSplit,
    ];

    /// The kernel's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::BlockRqIssue => "block_rq_issue",
            Self::BlockRqRequeue => "block_rq_requeue",
            Self::BlockRqComplete => "block_rq_complete",
            Self::BlockBioQueue => "block_bio_queue",
            Self::BlockBioComplete => "block_bio_complete",
            Self::BlockBioRemap => "block_bio_remap",
            Self::BlockSplit => "block_split",
        }
    }

    /// Nothing can be counted without it.
    #[must_use]
    pub const fn is_mandatory(self) -> bool {
        matches!(self, Self::BlockRqIssue | Self::BlockBioQueue)
    }

    /// What is not known without it, for a person.
    #[must_use]
    pub const fn lost_without(self) -> &'static str {
        match self {
            Self::BlockRqIssue => "all IO on disks",
            Self::BlockRqRequeue => "requests put back and issued again count twice",
            Self::BlockRqComplete => "latency of disks",
            Self::BlockBioQueue => "all IO on md, dm and other bio devices, and who issued it",
            Self::BlockBioComplete => "latency of md, dm and other bio devices",
            Self::BlockBioRemap => "IO on raid0 and linear arrays that sit on bio devices",
            Self::BlockSplit => "splits at chunk and size limits",
        }
    }

    /// The program of the eBPF object for this way of attaching, as in
    /// `block_rq_issue_btf`.
    #[must_use]
    pub fn program(self, kind: Kind) -> String {
        format!("{}_{}", self.name(), kind.suffix())
    }

    /// Why the record of the classic tracepoint is of no use; `None` where
    /// there is a program for it.
    pub(super) const fn untold_by_record(self) -> Option<&'static str> {
        match self {
            Self::BlockRqComplete => Some("its record does not tell when the request began"),
            Self::BlockBioComplete => Some("its record does not tell which bio completed"),
            Self::BlockBioRemap => {
                Some("its record does not tell whether the bio was queued before")
            }
            Self::BlockRqIssue | Self::BlockRqRequeue | Self::BlockBioQueue | Self::BlockSplit => {
                None
            }
        }
    }

    /// The structure that programs need of the event's arguments.
    pub(super) const fn argument_type(self) -> &'static str {
        match self {
            Self::BlockRqIssue | Self::BlockRqRequeue | Self::BlockRqComplete => "struct request *",
            Self::BlockBioQueue
            | Self::BlockBioComplete
            | Self::BlockBioRemap
            | Self::BlockSplit => "struct bio *",
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// How a program is attached to a tracepoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// `tp_btf`: typed arguments, fields load directly, and the verifier
    /// refuses a wrong offset.
    Btf,
    /// `raw_tp`: the same arguments untyped, fields read by a helper.
    Raw,
    /// The classic tracepoint: its record only.
    Tracepoint,
}

impl Kind {
    /// In order of preference: one run took 66, 188 and 173 ns in that order
    /// on one 6.18 machine, and a classic record tells less.
    pub const ALL: [Self; 3] = [Self::Btf, Self::Raw, Self::Tracepoint];

    const fn suffix(self) -> &'static str {
        match self {
            Self::Btf => "btf",
            Self::Raw => "raw",
            Self::Tracepoint => "tp",
        }
    }

    /// As `--attach` takes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Btf => "btf",
            Self::Raw => "raw",
            Self::Tracepoint => "tracepoint",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// `--attach` names no kind.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0:?} is no way to attach: btf, raw or tracepoint")]
pub struct UnknownKind(String);

impl FromStr for Kind {
    type Err = UnknownKind;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let kind = Self::ALL.into_iter().find(|kind| kind.name() == text);
        kind.ok_or_else(|| UnknownKind(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::wanted::TRACEPOINTS;

    #[test]
    fn facts_are_gathered_for_every_event() {
        for event in Event::ALL {
            assert!(TRACEPOINTS.contains(&event.name()), "{event}");
        }
        assert_eq!(TRACEPOINTS.len(), Event::ALL.len());
    }

    #[test]
    fn kinds_read_back() {
        for kind in Kind::ALL {
            assert_eq!(kind.name().parse(), Ok(kind));
        }
        assert!("kprobe".parse::<Kind>().is_err());
    }
}
