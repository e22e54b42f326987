//! From a device's geometry to the boundaries that the programs classify by.
//!
//! Pure. Must not read sysfs or maps.

use tracer_ebpf::{bins, classify};

use crate::{
    snapshot::RowKey,
    sysfs::device::{Device, Topology},
    units::Bytes,
};

/// The device of a row, if it is there.
pub(super) fn device<'a>(topology: &'a Topology, key: &RowKey) -> Option<&'a Device> {
    topology.devices.get(&key.device).filter(|device| device.name == key.name)
}

/// A device that is there although sysfs gives it no number.
pub(super) fn hidden(topology: &Topology, key: &RowKey) -> bool {
    topology.hidden.contains(&key.name)
}

/// Boundaries for the positions that events carry: those of the whole disk,
/// on which a partition's IO is classified too. What the user said of a
/// partition alone counts from its own start.
pub(super) fn geometry(topology: &Topology, device: &Device) -> classify::Geometry {
    let disk = device
        .partition
        .and_then(|partition| topology.devices.get(&partition.disk))
        .unwrap_or(device);
    let of = |value: Option<Bytes>| value.map_or(0, |bytes| bytes.0);
    let g = &disk.geometry;
    let physical_bytes = of(g.physical_block);
    let logical_bytes = g.logical_block.map_or(512, |bytes| bytes.0);
    classify::Geometry {
        physical_bytes,
        alignment_offset_bytes: of(g.alignment_offset),
        chunk_bytes: of(g.chunk),
        stripe_bytes: of(g.stripe),
        boundary_bytes: of(g.boundary),
        origin_bytes: 0,
        remainder_shift: bins::remainder_shift(physical_bytes, logical_bytes),
    }
}
