//! Partition tables: MBR (block/partitions/msdos.h) and GPT
//! (block/partitions/efi.h). Little-endian.
//!
//! Must not read. Logical partitions inside an extended one are not followed:
//! sysfs has their places, and the table is asked only for what it is and for
//! the types of the first four.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::units::{Bytes, Sectors};

/// A partition table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartitionTable {
    pub kind: TableKind,
    /// Used entries, in their order in the table.
    pub partitions: Vec<Partition>,
}

/// What kind of table it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TableKind {
    /// Of MBR's: its numbers are logical blocks of the device; 512 bytes are
    /// taken for one unless the reader was told another.
    Mbr { signature: u32 },
    Gpt {
        disk: Uuid,
        /// The logical block it was written with: its header lies in the second.
        block_size: Bytes,
        first_usable: Sectors,
        last_usable: Sectors,
    },
}

/// An entry of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Partition {
    /// As in the kernel's names, from 1.
    pub number: u32,
    pub start: Sectors,
    pub length: Sectors,
    pub kind: PartitionKind,
    /// GPT's name; empty elsewhere.
    pub name: String,
}

/// What an entry is said to be for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartitionKind {
    Mbr(u8),
    Gpt(Uuid),
}
