//! From a row to the boundaries that the programs classify its IO by.
//!
//! Pure. Must not read sysfs or maps.

use tracer_ebpf::classify;

use crate::{
    snapshot::RowKey,
    sysfs::{device::Topology, geometry::classifier},
    units::Sectors,
};

/// Boundaries for the positions that events carry, which count from the start
/// of the whole disk; `None` for a device that is not there.
pub(super) fn geometry(topology: &Topology, key: &RowKey) -> Option<classify::Geometry> {
    if let Some(device) = topology.devices.get(&key.device) {
        let start = device
            .partition
            .map_or(Sectors(0), |partition| partition.start);
        return (device.name == key.name).then(|| classifier(&device.geometry, start));
    }
    let hidden = topology
        .hidden
        .iter()
        .find(|hidden| hidden.name == key.name)?;
    Some(classifier(&hidden.geometry, Sectors(0)))
}

/// Whether the device of a row is there.
pub(super) fn is_there(topology: &Topology, key: &RowKey) -> bool {
    topology
        .devices
        .get(&key.device)
        .is_some_and(|device| device.name == key.name)
        || topology.hidden.iter().any(|hidden| hidden.name == key.name)
}
