//! What is said of a superblock that cannot be, or that ought not to be.
//!
//! Must not know any layout.

use std::{borrow::Cow, fmt};

use serde::{Deserialize, Serialize};

/// A format that is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    Partitions,
    Md,
    Lvm,
    Luks,
    Bcache,
    Xfs,
    Ext,
    Btrfs,
    Swap,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Partitions => "partition table",
            Self::Md => "md superblock",
            Self::Lvm => "LVM label",
            Self::Luks => "LUKS header",
            Self::Bcache => "bcache superblock",
            Self::Xfs => "XFS superblock",
            Self::Ext => "ext superblock",
            Self::Btrfs => "btrfs superblock",
            Self::Swap => "swap header",
        })
    }
}

/// A format's magic is there, but one of its numbers cannot be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    pub format: Format,
    /// The field, in words.
    pub field: Cow<'static, str>,
    /// What it holds, if that is a number.
    pub value: Option<u64>,
    pub why: Why,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.format, self.field)?;
        if let Some(value) = self.value {
            write!(f, " {value}")?;
        }
        write!(f, " {}", self.why)
    }
}

impl std::error::Error for Fault {}

/// Why a value cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    NoPowerOfTwo,
    Outside {
        least: u64,
        most: u64,
    },
    NoMultipleOf(u64),
    Unknown,
    /// It ends before what it has to hold.
    Truncated,
    Malformed,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPowerOfTwo => f.write_str("is no power of two"),
            Self::Outside { least, most } => write!(f, "is not within {least} to {most}"),
            Self::NoMultipleOf(unit) => write!(f, "is no multiple of {unit}"),
            Self::Unknown => f.write_str("is not known"),
            Self::Truncated => f.write_str("is cut off"),
            Self::Malformed => f.write_str("cannot be understood"),
        }
    }
}

/// What ought to be told of things that were found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Remark {
    /// The numbers are plausible, their checksum is not theirs.
    Checksum { format: Format },
    /// Both claim the device; one of them is left over.
    Contradiction { first: Format, second: Format },
    /// A part that a superblock points to could not be read: LVM's text, an md
    /// bitmap's head.
    Unread {
        format: Format,
        part: Cow<'static, str>,
    },
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Checksum { format } => write!(f, "{format}: the checksum does not match"),
            Self::Contradiction { first, second } => write!(
                f,
                "{first} and {second} on one device: one of them is left over"
            ),
            Self::Unread { format, part } => write!(f, "{format}: {part} could not be read"),
        }
    }
}
