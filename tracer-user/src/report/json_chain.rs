//! The keys of a device's chain in the JSON output: where each layer lies on
//! the stripes of the array below it, and the chunks of arrays above on it.
//!
//! Must not compute: it renames what is in [`chain`] and [`carried`].

use schemars::JsonSchema;
use serde::Serialize;

use crate::sysfs::{carried, chain};

/// The way from the array up to the device.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Chain<'a> {
    /// The nearest device below that has stripes or chunks of its own.
    array: &'a str,
    /// `chunk`: the array has no stripes.
    #[schemars(extend("enum" = ["stripe", "chunk"]))]
    boundary: &'static str,
    boundary_bytes: u64,
    /// From the one that lies on the array up to the device itself.
    layers: Vec<Layer<'a>>,
}

/// A device, and where it lies on the one below. All places are null where it
/// has no one place: `no_place` says why.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Layer<'a> {
    device: &'a str,
    dm_name: Option<&'a str>,
    /// `partition`, `loop`, `md`, `bcache`, or the names of a table's targets;
    /// `dm` where that cannot be read.
    by: &'a str,
    /// The device below.
    below: &'a str,
    /// Where it begins on the device below.
    start_bytes: Option<u64>,
    /// What this layer adds: its start modulo the boundary.
    own_offset_bytes: Option<u64>,
    /// How far past a boundary of the array it begins, all layers together.
    offset_bytes: Option<u64>,
    /// Its first position on a boundary of the array.
    phase_bytes: Option<u64>,
    /// The first start on the device below, at or after this one, that lies on
    /// a boundary of the array.
    next_start_bytes: Option<u64>,
    /// null: it has one.
    no_place: Option<&'a str>,
}

/// The chunks of an array above, on this device. null: they lie at no one place.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Carried<'a> {
    array: &'a str,
    chunk_bytes: u64,
    /// How far into a chunk of the array the device begins.
    offset_bytes: Option<u64>,
    /// The first position on the device where a chunk of the array begins.
    phase_bytes: Option<u64>,
}

impl<'a> From<&'a carried::Carried> for Carried<'a> {
    fn from(carried: &'a carried::Carried) -> Self {
        Self {
            array: &carried.array,
            chunk_bytes: carried.chunk.0,
            offset_bytes: carried.offset.map(|bytes| bytes.0),
            phase_bytes: carried.phase.map(|bytes| bytes.0),
        }
    }
}

impl<'a> From<&'a chain::Chain> for Chain<'a> {
    fn from(chain: &'a chain::Chain) -> Self {
        Self {
            array: &chain.array,
            boundary: match chain.boundary {
                chain::Boundary::Stripe => "stripe",
                chain::Boundary::Chunk => "chunk",
            },
            boundary_bytes: chain.width.0,
            layers: chain.layers.iter().map(Layer::from).collect(),
        }
    }
}

impl<'a> From<&'a chain::Layer> for Layer<'a> {
    fn from(layer: &'a chain::Layer) -> Self {
        let place = layer.place.as_ref().ok();
        Self {
            device: &layer.device,
            dm_name: layer.dm_name.as_deref(),
            by: &layer.by,
            below: &layer.below,
            start_bytes: place.map(|place| place.start.0),
            own_offset_bytes: place.map(|place| place.own_offset.0),
            offset_bytes: place.map(|place| place.offset.0),
            phase_bytes: place.map(|place| place.phase.0),
            next_start_bytes: place.map(|place| place.next_start.0),
            no_place: layer.place.as_ref().err().map(String::as_str),
        }
    }
}
