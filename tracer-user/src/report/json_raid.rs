//! The keys of an array in the JSON output.
//!
//! Must not compute: it renames what is in [`DeviceFigures`].

use schemars::JsonSchema;
use serde::Serialize;

use super::{explain, json_chain::Layer};
use crate::{
    delta::{
        Causes, DeviceFigures, MainCause, PrereadShares, RaidEstimate, RaidFigures, Rows,
        StripeShares,
    },
    sysfs::stripe_cache::StripeCache,
};

/// What an array made of what was asked of it.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Raid<'a> {
    /// As md names it.
    level: &'a str,
    raid_disks: Option<u32>,
    degraded: Option<u32>,
    /// As md names it: while it is not `idle`, figures are not typical.
    sync_action: Option<&'a str>,
    /// `estimated`: the components' bios could not be looked into. Pre-reads are
    /// then what the components were read beyond what users read, and what
    /// cannot be told is null.
    #[schemars(extend("enum" = ["measured", "estimated"]))]
    source: &'static str,
    user_read_bytes: u64,
    user_write_bytes: u64,
    /// Of what was read: out of write calls. null: cannot be told.
    write_fill_bytes: Option<u64>,
    /// Of what was read: out of page faults. null: cannot be told.
    fault_read_bytes: Option<u64>,
    /// Read because a write did not fill its row.
    preread_bytes: PrereadBytes,
    data_write_bytes: Option<u64>,
    parity_write_bytes: Option<u64>,
    metadata_write_bytes: Option<u64>,
    metadata_writes: Option<u64>,
    /// To each write to the array. null: nothing was written, or it cannot be
    /// told.
    metadata_writes_per_write: Option<f64>,
    sync_read_bytes: Option<u64>,
    sync_write_bytes: Option<u64>,
    degraded_read_bytes: Option<u64>,
    /// IO to components that is none of md's.
    direct_read_bytes: Option<u64>,
    direct_write_bytes: Option<u64>,
    /// md's, and why could not be told.
    unattributed_read_bytes: Option<u64>,
    unattributed_write_bytes: Option<u64>,
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
    /// Share of the rows written that writes filled. null: none was written, or
    /// no level with parity.
    full_row_share: Option<f64>,
    rmw_row_share: Option<f64>,
    rcw_row_share: Option<f64>,
    /// Of what was pre-read. null: nothing was.
    preread_shares: Option<PrereadShares>,
    /// Of the writes, as they arrived. null: there were none, or the array has
    /// no stripe.
    arrived_stripe_shares: Option<StripeShares>,
    /// null: no level with parity.
    cause: Option<Cause<'a>>,
    /// At the end of the interval; in a summary the fullest of all readings.
    /// null: no level with parity.
    stripe_cache: Option<StripeCache>,
}

/// The parts add up to all pre-reads.
#[derive(Debug, Serialize, JsonSchema)]
struct PrereadBytes {
    rmw: Option<u64>,
    rcw: Option<u64>,
    partial_block: Option<u64>,
    /// Of an estimate: of any kind.
    not_told: u64,
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
    /// The same for a person, with what to do. null: there were no pre-reads.
    sentence: Option<String>,
}

impl<'a> Raid<'a> {
    /// `None` for a device that is no array, or of whose members nothing is known.
    pub(super) fn new(device: &'a DeviceFigures) -> Option<Self> {
        let measured = device.raid.as_ref();
        let measured = measured.map(|raid| Self::measured(device, raid));
        measured.or_else(|| device.raid_estimate.as_ref().map(Self::from))
    }

    fn measured(device: &DeviceFigures, raid: &'a RaidFigures) -> Self {
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
            preread_bytes: PrereadBytes {
                rmw: Some(raid.preread.rmw),
                rcw: Some(raid.preread.rcw),
                partial_block: Some(raid.preread.partial_block),
                not_told: 0,
            },
            data_write_bytes: Some(raid.data_write_bytes),
            parity_write_bytes: Some(raid.parity_write_bytes),
            metadata_write_bytes: Some(raid.metadata_write_bytes),
            metadata_writes: Some(raid.metadata_writes),
            metadata_writes_per_write: raid.ratios.metadata_writes,
            sync_read_bytes: Some(raid.sync_read_bytes),
            sync_write_bytes: Some(raid.sync_write_bytes),
            degraded_read_bytes: Some(raid.degraded_read_bytes),
            direct_read_bytes: Some(raid.direct_read_bytes),
            direct_write_bytes: Some(raid.direct_write_bytes),
            unattributed_read_bytes: Some(raid.unattributed_read_bytes),
            unattributed_write_bytes: Some(raid.unattributed_write_bytes),
            preread_ratio: raid.ratios.preread,
            reads_on_write: raid.ratios.reads_on_write,
            write_amplification: raid.ratios.write_amplification,
            write_amplification_minimum: raid.ratios.write_amplification_minimum,
            rows: raid.rows,
            full_row_share: raid.ratios.rows.map(|rows| rows.full),
            rmw_row_share: raid.ratios.rows.map(|rows| rows.rmw),
            rcw_row_share: raid.ratios.rows.map(|rows| rows.rcw),
            preread_shares: raid.ratios.prereads,
            arrived_stripe_shares: raid.arrived,
            cause: raid.causes.map(|causes| Cause {
                main: causes.main().map(|(main, _)| main),
                bytes: causes,
                layers: raid.shifts().iter().map(Layer::from).collect(),
                sentence: (raid.preread.sum() != 0)
                    .then(|| explain::raid::prereads(device))
                    .flatten()
                    .map(|finding| finding.text),
            }),
            stripe_cache: raid.stripe_cache,
        }
    }
}

impl<'a> From<&'a RaidEstimate> for Raid<'a> {
    fn from(raid: &'a RaidEstimate) -> Self {
        Self {
            level: &raid.level,
            raid_disks: raid.raid_disks,
            // An array where either is otherwise has no estimate.
            degraded: Some(0),
            sync_action: Some("idle"),
            source: "estimated",
            user_read_bytes: raid.user_read_bytes,
            user_write_bytes: raid.user_write_bytes,
            write_fill_bytes: raid.fills.map(|fills| fills.write_fill_bytes),
            fault_read_bytes: raid.fills.map(|fills| fills.fault_bytes),
            preread_bytes: PrereadBytes {
                rmw: None,
                rcw: None,
                partial_block: None,
                not_told: raid.preread_bytes,
            },
            data_write_bytes: None,
            parity_write_bytes: None,
            metadata_write_bytes: None,
            metadata_writes: None,
            metadata_writes_per_write: None,
            sync_read_bytes: None,
            sync_write_bytes: None,
            degraded_read_bytes: None,
            direct_read_bytes: None,
            direct_write_bytes: None,
            unattributed_read_bytes: None,
            unattributed_write_bytes: None,
            preread_ratio: raid.preread_ratio,
            reads_on_write: raid.reads_on_write,
            write_amplification: raid.write_amplification,
            write_amplification_minimum: raid.write_amplification_minimum,
            rows: None,
            full_row_share: None,
            rmw_row_share: None,
            rcw_row_share: None,
            preread_shares: None,
            arrived_stripe_shares: raid.arrived,
            cause: None,
            stripe_cache: None,
        }
    }
}
