//! The keys of an array in the JSON output.
//!
//! Must not compute: it renames what is in [`RaidFigures`].

use schemars::JsonSchema;
use serde::Serialize;

use super::json_chain::Layer;
use crate::delta::{Causes, MainCause, Preread, RaidFigures, Rows};

/// What an array made of what was asked of it.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Raid<'a> {
    /// As md names it.
    level: &'a str,
    raid_disks: Option<u32>,
    degraded: Option<u32>,
    /// As md names it: while it is not `idle`, figures are not typical.
    sync_action: Option<&'a str>,
    #[schemars(extend("enum" = ["measured", "estimated"]))]
    source: &'static str,
    user_read_bytes: u64,
    user_write_bytes: u64,
    /// Of what was read: out of write calls. null: cannot be told.
    write_fill_bytes: Option<u64>,
    /// Of what was read: out of page faults. null: cannot be told.
    fault_read_bytes: Option<u64>,
    /// Read because a write did not fill its row.
    preread_bytes: Preread,
    data_write_bytes: u64,
    parity_write_bytes: u64,
    metadata_write_bytes: u64,
    metadata_writes: u64,
    sync_read_bytes: u64,
    sync_write_bytes: u64,
    degraded_read_bytes: u64,
    /// IO to components that is none of md's.
    direct_read_bytes: u64,
    direct_write_bytes: u64,
    /// md's, and why could not be told.
    unattributed_read_bytes: u64,
    unattributed_write_bytes: u64,
    /// Pre-read to user written. null: nothing was written.
    preread_ratio: Option<f64>,
    /// Pre-read to what md wrote, synchronization apart. null: it wrote
    /// nothing.
    reads_on_write: Option<f64>,
    /// What md wrote, synchronization apart, to user written.
    write_amplification: Option<f64>,
    /// The least that the level allows.
    write_amplification_minimum: Option<f64>,
    /// Rows of 4 KiB a member that were written, by how their parity was made.
    /// null: no level with parity.
    rows: Option<Rows>,
    /// Share of the rows that writes filled.
    full_row_share: Option<f64>,
    /// null: no level with parity.
    cause: Option<Cause<'a>>,
}

/// Why there were pre-reads.
#[derive(Debug, Serialize, JsonSchema)]
struct Cause<'a> {
    /// The cause of the most bytes. null: there were no pre-reads.
    main: Option<MainCause>,
    /// Pre-read bytes by cause.
    bytes: Causes,
    /// The layers above the array that begin inside a stripe, from the lowest
    /// up, where that is the main cause; empty: it is not, or none does.
    layers: Vec<Layer<'a>>,
}

impl<'a> From<&'a RaidFigures> for Raid<'a> {
    fn from(raid: &'a RaidFigures) -> Self {
        Self {
            level: &raid.level,
            raid_disks: raid.raid_disks,
            degraded: raid.degraded,
            sync_action: raid.sync_action.as_deref(),
            source: "measured",
            user_read_bytes: raid.user_read_bytes,
            user_write_bytes: raid.user_write_bytes,
            write_fill_bytes: raid.fills.map(|fills| fills.write_fill_bytes),
            fault_read_bytes: raid.fills.map(|fills| fills.fault_bytes),
            preread_bytes: raid.preread,
            data_write_bytes: raid.data_write_bytes,
            parity_write_bytes: raid.parity_write_bytes,
            metadata_write_bytes: raid.metadata_write_bytes,
            metadata_writes: raid.metadata_writes,
            sync_read_bytes: raid.sync_read_bytes,
            sync_write_bytes: raid.sync_write_bytes,
            degraded_read_bytes: raid.degraded_read_bytes,
            direct_read_bytes: raid.direct_read_bytes,
            direct_write_bytes: raid.direct_write_bytes,
            unattributed_read_bytes: raid.unattributed_read_bytes,
            unattributed_write_bytes: raid.unattributed_write_bytes,
            preread_ratio: raid.ratios.preread,
            reads_on_write: raid.ratios.reads_on_write,
            write_amplification: raid.ratios.write_amplification,
            write_amplification_minimum: raid.ratios.write_amplification_minimum,
            rows: raid.rows,
            full_row_share: raid.ratios.full_rows,
            cause: raid.causes.map(|causes| Cause {
                main: causes.main().map(|(main, _)| main),
                bytes: causes,
                layers: raid.shifts().iter().map(Layer::from).collect(),
            }),
        }
    }
}
