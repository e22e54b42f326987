//! `iotrace stack --format json`: one object, its keys a contract, described by
//! [`schema`].
//!
//! Must not compute: it renames what is in a [`Stack`] and its [`Tree`].

mod contents;
mod device;
mod md;

use std::io::{self, Write};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::{
    report::schema::schema_of,
    stack::{Stack, phase, tree::Tree},
    sysfs::Topology,
    units::DevId,
};

/// What `iotrace stack --format json` prints: the storage as it was built. No
/// serial number and no uuid is in it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "iotrace stack")]
struct Whole<'a> {
    /// What could not be read at all, each in a sentence.
    missing: Vec<&'a str>,
    /// From what is on top down to the disks, each once.
    devices: Vec<device::Device<'a>>,
}

/// Where something lies against one boundary of one layer.
#[derive(Debug, Serialize, JsonSchema)]
struct Against<'a> {
    /// The layer whose boundary it is.
    device: &'a str,
    /// `told`: by `--geometry DEV=boundary:...`.
    #[schemars(extend("enum" = ["physical_block", "chunk", "stripe", "told"]))]
    boundary: &'static str,
    width_bytes: u64,
    /// How far past a boundary it begins. null: at no one place.
    offset_bytes: Option<u64>,
    /// Its first position that lies on a boundary.
    phase_bytes: Option<u64>,
    /// null: it has one place.
    no_place: Option<&'a str>,
}

impl<'a> Against<'a> {
    fn new(topology: &'a Topology, against: &'a phase::Against) -> Self {
        Self {
            device: name(topology, against.layer),
            boundary: match against.boundary {
                phase::Boundary::PhysicalBlock => "physical_block",
                phase::Boundary::Chunk => "chunk",
                phase::Boundary::Stripe => "stripe",
                phase::Boundary::Told => "told",
            },
            width_bytes: against.width.0,
            offset_bytes: against.offset.as_ref().ok().map(|offset| offset.0),
            phase_bytes: against.phase().map(|phase| phase.0),
            no_place: against.offset.as_ref().err().map(|why| &**why),
        }
    }
}

/// The kernel's name; nothing for a device that is not listed.
fn name(topology: &Topology, id: DevId) -> &str {
    topology
        .devices
        .get(&id)
        .map_or("", |device| device.name.as_str())
}

/// The schema of what is printed.
#[must_use]
pub fn schema() -> Value {
    schema_of::<Whole<'_>>()
}

/// Prints it, in one line.
///
/// # Errors
/// Where `out` cannot be written.
pub fn print(stack: &Stack, tree: &Tree, out: &mut impl Write) -> io::Result<()> {
    let order = tree.in_order();
    // What is inside each device is worked out first: the objects refer to it.
    let inside = contents::inside(stack, tree, &order);
    let devices = order.iter().filter_map(|id| {
        let device = stack.topology.devices.get(id)?;
        Some(device::Device::new(stack, tree, device, inside.get(id)))
    });
    let whole = Whole {
        missing: stack.missing.iter().map(String::as_str).collect(),
        devices: devices.collect(),
    };
    serde_json::to_writer(&mut *out, &whole)?;
    out.write_all(b"\n")
}

#[cfg(test)]
#[path = "../stack_json_tests.rs"]
mod tests;
