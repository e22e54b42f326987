//! From the arrays there are to the components that the programs watch.
//!
//! Pure. Must not read sysfs or maps.

use std::collections::HashSet;

use tracer_ebpf::origin::{
    Level,
    abi::{Component, MAX_REGIONS},
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

/// Every component of every array in `asked`; of all arrays where that is
/// `None`.
pub(super) fn watched(
    topology: &Topology,
    asked: Option<&HashSet<DevId>>,
    by_range: bool,
) -> Vec<Watched> {
    let arrays = topology
        .devices
        .values()
        .filter(|device| asked.is_none_or(|asked| asked.contains(&device.id)))
        .filter_map(|device| Some((device, device.md.as_ref()?)));
    arrays
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
