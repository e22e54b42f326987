//! What lies on a block device, read from the device itself: file systems,
//! swap, LUKS, LVM, bcache, md, partition tables. Read-only.
//!
//! One file a format; a format's file holds its layout on disk (with the kernel
//! source it is taken from), what is kept of it, and a pure parser of bytes.
//! [`access`] reads, [`scan`] asks every format in turn.
//!
//! Must not write, not read more than a few pieces of a device, not keep a key
//! or what protects one, and not decide what a geometry is worth. What is read
//! may be anything, hostile too: nothing is allocated by a length that is not
//! checked, and a magic with impossible numbers is a [`Fault`], not silence.

mod access;
mod bcache;
mod btrfs;
mod check;
mod ext;
mod fault;
mod luks;
mod lvm;
mod lvm_text;
mod md;
mod partitions;
mod scan;
mod swap;
#[cfg(test)]
mod tests;
mod xfs;

use serde::{Deserialize, Serialize};

pub use access::{BlockFile, ReadAt, SuperblockError};
pub use bcache::{Bcache, BcacheRole};
pub use btrfs::{Btrfs, BtrfsChunk, BtrfsDevice};
pub use ext::{Ext, ExtJournal, ExtKind};
pub use fault::{Fault, Format, Remark, Why};
pub use luks::{Luks, Luks1, Luks2, LuksSegment};
pub use lvm::{LvmArea, LvmGroup, LvmPv};
pub use md::{MdBitmap, MdMember, MdReshape, MdRole, MdVersion};
pub use partitions::{Partition, PartitionKind, PartitionTable, TableKind};
pub use scan::{read, read_from};
pub use swap::{Suspended, Swap};
pub use xfs::{Xfs, XfsFeatures, XfsLog, XfsLogPlace, XfsRealtime};

use crate::units::Bytes;

/// One thing that lies on a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "format", rename_all = "snake_case")]
pub enum Content {
    Partitions(PartitionTable),
    MdMember(Box<MdMember>),
    LvmPv(LvmPv),
    Luks(Luks),
    Bcache(Bcache),
    Xfs(Box<Xfs>),
    Ext(Box<Ext>),
    Btrfs(Box<Btrfs>),
    Swap(Swap),
}

impl Content {
    /// Which format it is.
    #[must_use]
    pub const fn format(&self) -> Format {
        match self {
            Self::Partitions(_) => Format::Partitions,
            Self::MdMember(_) => Format::Md,
            Self::LvmPv(_) => Format::Lvm,
            Self::Luks(_) => Format::Luks,
            Self::Bcache(_) => Format::Bcache,
            Self::Xfs(_) => Format::Xfs,
            Self::Ext(_) => Format::Ext,
            Self::Btrfs(_) => Format::Btrfs,
            Self::Swap(_) => Format::Swap,
        }
    }

    /// Where what another device shows of it begins: an array's data on its
    /// member, the first extent, LUKS's first segment, bcache's data. `None`:
    /// no device is made of it, or not from one place (a table, a cache).
    #[must_use]
    pub fn data_offset(&self) -> Option<Bytes> {
        match self {
            Self::MdMember(member) => Some(member.data_offset.bytes()),
            Self::LvmPv(volume) => volume.pe_start(),
            Self::Luks(Luks::V1(header)) => Some(header.payload_offset.bytes()),
            Self::Luks(Luks::V2(header)) => {
                let mut used = header.segments.iter().filter(|one| !one.is_backup);
                used.next().map(|segment| segment.offset)
            }
            Self::Bcache(Bcache {
                role: BcacheRole::Backing { data_offset },
                ..
            }) => Some(data_offset.bytes()),
            _ => None,
        }
    }
}

/// Everything that was found on a device.
///
/// More than one thing may rightly lie there: a member of metadata 1.0 or 0.90
/// shows what the array holds at its own beginning. Where two things cannot
/// both be right (one is left over), a [`Remark::Contradiction`] names them and
/// both are here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contents {
    /// What was found, in the order of [`Content`]'s variants: what lies
    /// outermost first.
    pub found: Vec<Content>,
    /// Formats whose magic is there, with numbers that cannot be.
    pub faults: Vec<Fault>,
    /// What does not make any of it wrong, and ought to be told.
    pub remarks: Vec<Remark>,
}

impl Contents {
    /// Nothing known lies there, whole or broken.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.found.is_empty() && self.faults.is_empty()
    }
}
