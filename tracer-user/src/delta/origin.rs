//! Why md read and wrote: of one component, and of an array all its components
//! together.
//!
//! Must not know how a reason was found, and must not format text.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use tracer_ebpf::origin::{
    Cause, Origin, RowKind,
    abi::{CAUSES, CELLS, ROWS, origin_cell},
};

use crate::snapshot::{OriginKey, RowKey, Snapshot};

/// What was added to the cells of one component, or of several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OriginCounts(Box<[u64; CELLS]>);

/// Which of an origin's three cells.
#[derive(Clone, Copy)]
enum Of {
    Bios,
    Bytes,
    Misaligned,
}

/// Reads of a component by their reason; the parts add up to all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReadOrigins {
    /// Somebody read from the array.
    pub user: u64,
    /// Old data and old parity, because a write did not fill its row.
    pub rmw: u64,
    /// The other data of the row, because a write did not fill it.
    pub rcw: u64,
    /// The rest of a 4 KiB block that a write covered partly.
    pub partial_block: u64,
    /// In rows with a failed member.
    pub degraded: u64,
    /// Resync, recovery, check, repair and reshape.
    pub sync: u64,
    /// md's own books.
    pub metadata: u64,
    /// After a read that failed.
    pub retry: u64,
    /// None of md's: somebody read the component itself.
    pub direct: u64,
    /// md's, and why could not be told.
    pub unattributed: u64,
}

/// Writes of a component by their reason; the parts add up to all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WriteOrigins {
    /// What was written to the array, with the copies that the level keeps.
    pub data: u64,
    pub parity: u64,
    /// Resync, recovery, repair and reshape.
    pub sync: u64,
    /// Superblock, bitmap and md's other books.
    pub metadata: u64,
    /// Blocks that could not be read, written anew.
    pub retry: u64,
    /// None of md's: somebody wrote to the component itself.
    pub direct: u64,
    /// md's, and why could not be told.
    pub unattributed: u64,
}

/// Bytes of `sync`, by what ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SyncParts {
    pub resync: u64,
    pub recover: u64,
    pub check: u64,
    pub repair: u64,
    pub reshape: u64,
    /// What ran could not be told.
    pub not_told: u64,
}

/// Bytes of `metadata`, by the book.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MetadataParts {
    pub superblock: u64,
    pub bitmap: u64,
    pub bad_blocks: u64,
    /// Partial parity log.
    pub ppl: u64,
    /// Write journal.
    pub journal: u64,
    /// At a place that sysfs does not name, such as the bad block log's.
    pub elsewhere: u64,
}

/// Bytes of `user` reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct UserReadParts {
    /// Past the stripe cache.
    pub direct: u64,
    /// Through the stripe cache.
    pub cached: u64,
}

/// Bytes of `rmw`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RmwParts {
    pub data: u64,
    pub parity: u64,
}

/// Why a component was read and written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OriginFigures {
    pub read_bytes: ReadOrigins,
    /// Bios that md queued.
    pub read_bios: ReadOrigins,
    /// Of the bios, those not aligned to the physical block.
    pub read_misaligned: ReadOrigins,
    pub write_bytes: WriteOrigins,
    /// Bios that md queued.
    pub write_bios: WriteOrigins,
    /// Of the bios, those not aligned to the physical block.
    pub write_misaligned: WriteOrigins,
    pub read_user_bytes: UserReadParts,
    pub read_rmw_bytes: RmwParts,
    pub read_sync_bytes: SyncParts,
    pub write_sync_bytes: SyncParts,
    pub read_metadata_bytes: MetadataParts,
    pub write_metadata_bytes: MetadataParts,
}

/// Rows of raid4/5/6 that were written, by how their parity was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Rows {
    /// Every data block was written whole: nothing to be read.
    pub full: u64,
    pub rmw: u64,
    pub rcw: u64,
}

impl Rows {
    /// Each kind with its name.
    #[must_use]
    pub const fn by_kind(&self) -> [(&'static str, u64); 3] {
        [("full", self.full), ("rmw", self.rmw), ("rcw", self.rcw)]
    }
}

impl OriginCounts {
    fn none() -> Self {
        Self(Box::new([0; CELLS]))
    }

    fn add_growth(&mut self, before: Option<&[u64; CELLS]>, after: &[u64; CELLS]) {
        for (index, sum) in self.0.iter_mut().enumerate() {
            let before = before.and_then(|cells| cells.get(index)).copied();
            let after = after.get(index).copied().unwrap_or(0);
            *sum += after.saturating_sub(before.unwrap_or(0));
        }
    }

    fn cell(&self, index: usize) -> u64 {
        self.0.get(index).copied().unwrap_or(0)
    }

    fn get(&self, origin: Origin, of: Of) -> u64 {
        self.cell(
            origin_cell(origin)
                + match of {
                    Of::Bios => 0,
                    Of::Bytes => 1,
                    Of::Misaligned => 2,
                },
        )
    }

    fn reads(&self, of: Of) -> ReadOrigins {
        let get = |origin| self.get(origin, of);
        let sync = self.read_sync(of);
        let metadata = self.read_metadata(of);
        ReadOrigins {
            user: get(Origin::UserDirect) + get(Origin::UserCached),
            rmw: get(Origin::RmwData) + get(Origin::RmwParity),
            rcw: get(Origin::Rcw),
            partial_block: get(Origin::PartialBlock),
            degraded: get(Origin::Degraded),
            sync: sync.sum(),
            metadata: metadata.sum(),
            retry: get(Origin::ReadRetry),
            direct: get(Origin::ReadDirect),
            unattributed: get(Origin::ReadUnattributed),
        }
    }

    fn writes(&self, of: Of) -> WriteOrigins {
        let get = |origin| self.get(origin, of);
        WriteOrigins {
            data: get(Origin::Data),
            parity: get(Origin::Parity),
            sync: self.write_sync(of).sum(),
            metadata: self.write_metadata(of).sum(),
            retry: get(Origin::WriteRetry),
            direct: get(Origin::WriteDirect),
            unattributed: get(Origin::WriteUnattributed),
        }
    }

    fn read_sync(&self, of: Of) -> SyncParts {
        SyncParts {
            resync: self.get(Origin::ReadResync, of),
            recover: self.get(Origin::ReadRecover, of),
            check: self.get(Origin::ReadCheck, of),
            repair: self.get(Origin::ReadRepair, of),
            reshape: self.get(Origin::ReadReshape, of),
            not_told: self.get(Origin::ReadSync, of),
        }
    }

    fn write_sync(&self, of: Of) -> SyncParts {
        SyncParts {
            resync: self.get(Origin::WriteResync, of),
            recover: self.get(Origin::WriteRecover, of),
            check: self.get(Origin::WriteCheck, of),
            repair: self.get(Origin::WriteRepair, of),
            reshape: self.get(Origin::WriteReshape, of),
            not_told: self.get(Origin::WriteSync, of),
        }
    }

    fn read_metadata(&self, of: Of) -> MetadataParts {
        MetadataParts {
            superblock: self.get(Origin::ReadSuperblock, of),
            bitmap: self.get(Origin::ReadBitmap, of),
            bad_blocks: self.get(Origin::ReadBadBlocks, of),
            ppl: self.get(Origin::ReadPpl, of),
            journal: self.get(Origin::ReadJournal, of),
            elsewhere: self.get(Origin::ReadMetadata, of),
        }
    }

    fn write_metadata(&self, of: Of) -> MetadataParts {
        MetadataParts {
            superblock: self.get(Origin::WriteSuperblock, of),
            bitmap: self.get(Origin::WriteBitmap, of),
            bad_blocks: self.get(Origin::WriteBadBlocks, of),
            ppl: self.get(Origin::WritePpl, of),
            journal: self.get(Origin::WriteJournal, of),
            elsewhere: self.get(Origin::WriteMetadata, of),
        }
    }

    pub(super) fn figures(&self) -> OriginFigures {
        let bytes = |origin| self.get(origin, Of::Bytes);
        OriginFigures {
            read_bytes: self.reads(Of::Bytes),
            read_bios: self.reads(Of::Bios),
            read_misaligned: self.reads(Of::Misaligned),
            write_bytes: self.writes(Of::Bytes),
            write_bios: self.writes(Of::Bios),
            write_misaligned: self.writes(Of::Misaligned),
            read_user_bytes: UserReadParts {
                direct: bytes(Origin::UserDirect),
                cached: bytes(Origin::UserCached),
            },
            read_rmw_bytes: RmwParts {
                data: bytes(Origin::RmwData),
                parity: bytes(Origin::RmwParity),
            },
            read_sync_bytes: self.read_sync(Of::Bytes),
            write_sync_bytes: self.write_sync(Of::Bytes),
            read_metadata_bytes: self.read_metadata(Of::Bytes),
            write_metadata_bytes: self.write_metadata(Of::Bytes),
        }
    }

    pub(super) fn rows(&self) -> Rows {
        let row = |kind: RowKind| self.cell(ROWS + kind as usize);
        Rows {
            full: row(RowKind::Full),
            rmw: row(RowKind::Rmw),
            rcw: row(RowKind::Rcw),
        }
    }

    /// Pre-read bytes of one cause.
    pub(super) fn cause_bytes(&self, cause: Cause) -> u64 {
        self.cell(CAUSES + cause as usize)
    }
}

impl SyncParts {
    const fn sum(&self) -> u64 {
        self.resync + self.recover + self.check + self.repair + self.reshape + self.not_told
    }
}

impl MetadataParts {
    const fn sum(&self) -> u64 {
        self.superblock + self.bitmap + self.bad_blocks + self.ppl + self.journal + self.elsewhere
    }
}

impl ReadOrigins {
    /// Each reason with its name.
    #[must_use]
    pub const fn by_name(&self) -> [(&'static str, u64); 10] {
        [
            ("user", self.user),
            ("rmw", self.rmw),
            ("rcw", self.rcw),
            ("partial_block", self.partial_block),
            ("degraded", self.degraded),
            ("sync", self.sync),
            ("metadata", self.metadata),
            ("retry", self.retry),
            ("direct", self.direct),
            ("unattributed", self.unattributed),
        ]
    }

    /// All of them.
    #[must_use]
    pub const fn sum(&self) -> u64 {
        self.preread()
            + self.user
            + self.degraded
            + self.sync
            + self.metadata
            + self.retry
            + self.direct
            + self.unattributed
    }

    /// Read because a write did not fill its row.
    #[must_use]
    pub const fn preread(&self) -> u64 {
        self.rmw + self.rcw + self.partial_block
    }
}

impl WriteOrigins {
    /// Each reason with its name.
    #[must_use]
    pub const fn by_name(&self) -> [(&'static str, u64); 7] {
        [
            ("data", self.data),
            ("parity", self.parity),
            ("sync", self.sync),
            ("metadata", self.metadata),
            ("retry", self.retry),
            ("direct", self.direct),
            ("unattributed", self.unattributed),
        ]
    }

    /// All of them.
    #[must_use]
    pub const fn sum(&self) -> u64 {
        self.data
            + self.parity
            + self.sync
            + self.metadata
            + self.retry
            + self.direct
            + self.unattributed
    }
}

/// What happened to components and arrays from one reading to another.
#[derive(Debug, Default)]
pub(super) struct OriginsBetween {
    pub(super) components: BTreeMap<RowKey, OriginCounts>,
    pub(super) arrays: BTreeMap<RowKey, OriginCounts>,
    /// Rows of raid4/5/6 were looked into.
    pub(super) rows: bool,
}

/// `None` where origins are not told, or there is no array.
pub(super) fn between(before: &Snapshot, after: &Snapshot) -> Option<OriginsBetween> {
    let after = after.origins.as_ref()?;
    let before = before.origins.as_ref();
    let mut sums = OriginsBetween {
        rows: after.rows,
        ..OriginsBetween::default()
    };
    for (key, cells) in &after.components {
        let OriginKey { array, component } = key;
        let old = before.and_then(|before| before.components.get(key));
        for (map, row) in [(&mut sums.components, component), (&mut sums.arrays, array)] {
            map.entry(row.clone())
                .or_insert_with(OriginCounts::none)
                .add_growth(old.map(|cells| &**cells), cells);
        }
    }
    Some(sums)
}
