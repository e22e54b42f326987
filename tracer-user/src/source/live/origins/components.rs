//! From the arrays there are to the components that the programs watch.
//!
//! Pure. Must not read sysfs or maps.

use std::collections::HashSet;

use tracer_ebpf::origin::{
    Level,
    abi::{Component, MAX_DISKS, MAX_REGIONS},
};

use super::super::place;
use crate::{
    snapshot::{OriginKey, RowKey},
    sysfs::{
        device::{Device, MdArray, Topology},
        md_books::books,
    },
    units::{Bytes, DevId, Sectors},
};

/// A component, and the `dev_t` that its bios carry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Watched {
    pub(super) key: OriginKey,
    /// The kernel's; of the whole disk where components are found by range.
    pub(super) dev: u32,
    pub(super) component: Component,
}

/// The least room for a row: arrays of this size are not loaded for one by one.
const LEAST_ROW_DISKS: u32 = 16;

/// Disks that a row of the arrays in `asked` may have, rounded up: before a
/// reshape or after it.
pub(super) fn row_disks(topology: &Topology, asked: Option<&HashSet<DevId>>) -> u16 {
    let disks = arrays(topology, asked).map(|(_, md)| md.raid_disks.max(md.raid_disks_before));
    let most = disks.flatten().max().unwrap_or(0).max(LEAST_ROW_DISKS);
    let rounded = most.checked_next_power_of_two().unwrap_or(u32::MAX);
    u16::try_from(rounded).map_or(MAX_DISKS, |disks| disks.min(MAX_DISKS))
}

fn arrays<'a>(
    topology: &'a Topology,
    asked: Option<&'a HashSet<DevId>>,
) -> impl Iterator<Item = (&'a Device, &'a MdArray)> {
    topology
        .devices
        .values()
        .filter(move |device| asked.is_none_or(|asked| asked.contains(&device.id)))
        .filter_map(|device| Some((device, device.md.as_ref()?)))
}

/// Every component of every array in `asked`; of all arrays where that is
/// `None`.
pub(super) fn watched(
    topology: &Topology,
    asked: Option<&HashSet<DevId>>,
    by_range: bool,
) -> Vec<Watched> {
    arrays(topology, asked)
        .flat_map(|(array, md)| of_array(topology, array, md, by_range))
        .collect()
}

fn of_array(topology: &Topology, array: &Device, md: &MdArray, by_range: bool) -> Vec<Watched> {
    let Some(level) = level(&md.level) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for component in &md.components {
        let Some(device) = component.device.and_then(|id| topology.devices.get(&id)) else {
            continue;
        };
        let key = RowKey {
            device: device.id,
            name: device.name.clone(),
        };
        let size = device.size.unwrap_or_default();
        let mut regions = [tracer_ebpf::origin::Region::default(); MAX_REGIONS];
        let known = books(md, component, size, array.size);
        for (region, known) in regions.iter_mut().zip(known) {
            *region = known;
        }
        let dev = if by_range {
            topology.whole(device.id)
        } else {
            device.id
        };
        found.push(Watched {
            dev: dev.to_kernel(),
            component: Component {
                geometry: place::geometry(topology, &key).unwrap_or_default(),
                start_sector: device
                    .partition
                    .map_or(Sectors(0), |partition| partition.start)
                    .0,
                len_sectors: size.0,
                stripe_bytes: array.geometry.stripe.unwrap_or(Bytes(0)).0,
                max_bytes: array.limits.max_io.unwrap_or(Bytes(0)).0,
                level: level as u32,
                array_dev: array.id.to_kernel(),
                next: 0,
                cuts_at_stripe: cuts_at_stripe(array).into(),
                regions,
            },
            key: OriginKey {
                component: key,
                array: RowKey {
                    device: array.id,
                    name: array.name.clone(),
                },
            },
        });
    }
    found
}

/// Since 7.0 raid4/5/6 arrays have their stripe as `chunk_sectors`.
fn cuts_at_stripe(array: &Device) -> bool {
    let cut = array.limits.chunk_sectors.map(Sectors::bytes);
    cut.is_some() && cut == array.geometry.stripe
}

/// How md keeps data at this level; `None` for an array that does no IO, or a
/// level that is not known.
fn level(name: &str) -> Option<Level> {
    Some(match name {
        "raid4" | "raid5" | "raid6" => Level::Parity,
        "raid1" => Level::Raid1,
        "raid10" => Level::Raid10,
        "raid0" | "linear" => Level::Plain,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testing::raid_topology;

    fn room_for(disks: Option<u32>, before: Option<u32>) -> u16 {
        let mut topology = raid_topology();
        let mut arrays = topology.devices.values_mut();
        let md = arrays.find_map(|device| device.md.as_mut()).unwrap();
        (md.raid_disks, md.raid_disks_before) = (disks, before);
        row_disks(&topology, None)
    }

    #[test]
    fn a_row_has_room_for_every_array_that_md_allows() {
        assert_eq!(room_for(None, None), 16);
        assert_eq!(room_for(Some(16), None), 16);
        assert_eq!(room_for(Some(17), None), 32);
        assert_eq!(room_for(Some(10), Some(40)), 64);
        assert_eq!(room_for(Some(257), None), 384);
        assert_eq!(room_for(Some(u32::MAX), None), 384);
        assert_eq!(row_disks(&raid_topology(), Some(&HashSet::new())), 16);
    }
}
