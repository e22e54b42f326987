//! From a row to the boundaries that the programs classify its IO by.
//!
//! Pure. Must not read sysfs or maps.

use tracer_ebpf::{
    abi::{Range, Ranges},
    classify,
};

use crate::{
    snapshot::RowKey,
    sysfs::{device::Topology, geometry::classifier},
    units::{DevId, Sectors},
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

/// The partitions of a whole disk with their slots. More than the table holds
/// are counted as the whole disk's own.
pub(super) fn ranges(
    topology: &Topology,
    disk: DevId,
    slot_of: impl Fn(DevId) -> Option<u32>,
) -> Ranges {
    let partitions = topology.devices.values().filter_map(|device| {
        let partition = device
            .partition
            .filter(|partition| partition.disk == disk)?;
        Some(Range {
            start_sector: partition.start.0,
            len_sectors: device.size.map_or(0, |size| size.0),
            slot: slot_of(device.id)?,
            _pad: 0,
        })
    });
    let mut ranges = Ranges::default();
    for (range, partition) in ranges.range.iter_mut().zip(partitions) {
        *range = partition;
    }
    ranges
}
