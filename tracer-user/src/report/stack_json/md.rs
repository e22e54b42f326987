//! The keys of an array.
//!
//! Must not compute.

use schemars::JsonSchema;
use serde::Serialize;

use super::{device::bytes, name};
use crate::sysfs::{
    Topology,
    device::{MdArray, MdComponent},
};

/// An array. null: its level has none, or it is not known.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Md<'a> {
    level: &'a str,
    layout: Option<i64>,
    chunk_bytes: Option<u64>,
    raid_disks: Option<u32>,
    degraded: Option<u32>,
    metadata_version: Option<&'a str>,
    bitmap: Option<Bitmap>,
    stripe_cache_rows: Option<u32>,
    rmw_level: Option<u32>,
    array_state: Option<&'a str>,
    sync_action: Option<&'a str>,
    sync_done_sectors: Option<u64>,
    sync_all_sectors: Option<u64>,
    /// What a reshape is changing. null: none is running.
    reshape: Option<Reshape>,
    components: Vec<Component<'a>>,
}

/// Of a write-intent bitmap.
#[derive(Debug, Serialize, JsonSchema)]
struct Bitmap {
    /// From the superblock; negative: before it.
    offset_sectors: i64,
    chunk_bytes: u64,
}

/// What was; the array's own keys have what will be.
#[derive(Debug, Serialize, JsonSchema)]
struct Reshape {
    position_sectors: Option<u64>,
    raid_disks_before: Option<u32>,
    layout_before: Option<i64>,
    chunk_bytes_before: Option<u64>,
}

/// A component of an array.
#[derive(Debug, Serialize, JsonSchema)]
struct Component<'a> {
    device: &'a str,
    /// null: a spare, or a journal.
    slot: Option<u32>,
    state: &'a [String],
    data_offset_sectors: Option<u64>,
    data_size_bytes: Option<u64>,
}

impl<'a> Md<'a> {
    pub(super) fn new(topology: &'a Topology, md: &'a MdArray) -> Self {
        Self {
            level: &md.level,
            layout: md.layout,
            chunk_bytes: bytes(md.chunk),
            raid_disks: md.raid_disks,
            degraded: md.degraded,
            metadata_version: md.metadata_version.as_deref(),
            bitmap: md.bitmap.map(|bitmap| Bitmap {
                offset_sectors: bitmap.location_sectors,
                chunk_bytes: bitmap.chunk.0,
            }),
            stripe_cache_rows: md.stripe_cache_rows,
            rmw_level: md.rmw_level,
            array_state: md.array_state.as_deref(),
            sync_action: md.sync_action.as_deref(),
            sync_done_sectors: md.sync_completed.map(|(done, _)| done.0),
            sync_all_sectors: md.sync_completed.map(|(_, all)| all.0),
            reshape: md.reshaping.then(|| Reshape {
                position_sectors: md.reshape_position.map(|position| position.0),
                raid_disks_before: md.raid_disks_before,
                layout_before: md.layout_before,
                chunk_bytes_before: bytes(md.chunk_before),
            }),
            components: md
                .components
                .iter()
                .map(|part| Component::new(topology, part))
                .collect(),
        }
    }
}

impl<'a> Component<'a> {
    fn new(topology: &'a Topology, part: &'a MdComponent) -> Self {
        Self {
            device: part.device.map_or(&part.name, |id| name(topology, id)),
            slot: part.slot,
            state: &part.state,
            data_offset_sectors: part.data_offset.map(|offset| offset.0),
            data_size_bytes: bytes(part.data_size),
        }
    }
}
