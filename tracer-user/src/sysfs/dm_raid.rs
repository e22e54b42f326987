//! Arrays under device-mapper: they have no `md/` in sysfs, their table tells
//! what they are.
//!
//! Must not read a table.

use std::collections::BTreeMap;

use super::device::{Device, MdArray, MdComponent, Topology};
use crate::{
    dm::{RaidTarget, Target},
    units::{DevId, Sectors},
};

impl Topology {
    /// Gives every mapped device whose table is one array the [`MdArray`] it is.
    pub(super) fn name_dm_arrays(&mut self) {
        let names: BTreeMap<DevId, String> = self
            .devices
            .values()
            .map(|device| (device.id, device.name.clone()))
            .collect();
        for device in self.devices.values_mut() {
            if let Some(raid) = raid(device) {
                device.md = Some(array(raid, &names));
            }
        }
    }
}

fn raid(device: &Device) -> Option<&RaidTarget> {
    match device.dm_table.as_deref()? {
        [only] => match &only.target {
            Target::Raid(raid) => Some(raid),
            _ => None,
        },
        _ => None,
    }
}

/// What the table does not tell (whether it is degraded, what it synchronizes)
/// stays `None`.
fn array(raid: &RaidTarget, names: &BTreeMap<DevId, String>) -> MdArray {
    let component = |device: DevId| MdComponent {
        name: names.get(&device).cloned().unwrap_or_default(),
        device: Some(device),
        ..MdComponent::default()
    };
    let legs = (0..).zip(&raid.legs);
    let data = legs.filter_map(|(slot, leg)| {
        Some(MdComponent {
            slot: Some(slot),
            data_offset: Some(raid.data_offset),
            ..component(leg.data?)
        })
    });
    let books = raid.legs.iter().filter_map(|leg| {
        Some(MdComponent {
            books_only: true,
            ..component(leg.metadata?)
        })
    });
    MdArray {
        level: raid.level.clone(),
        raid_disks: u32::try_from(raid.legs.len()).ok(),
        layout: raid.layout,
        chunk: raid.chunk.map(Sectors::bytes),
        components: data.chain(books).collect(),
        ..MdArray::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        dm::Segment,
        report::testing::{device, topology},
        units::Bytes,
    };

    #[test]
    fn an_array_of_lvms() {
        let legs = [
            device("dm-0", 253, 0),
            device("dm-1", 253, 1),
            device("sda", 8, 0),
        ];
        let mut lv = device("dm-9", 253, 9);
        let line = "raid5_ls 3 128 region_size 1024 3 253:0 253:1 - 8:0 - -";
        lv.dm_table = Some(vec![Segment {
            start: Sectors(0),
            len: Sectors(1 << 20),
            target: Target::parse("raid", line),
        }]);
        let mut all = topology(legs.into_iter().chain([lv]));
        all.name_dm_arrays();
        all.derive();
        let lv = all.by_name("dm-9").unwrap();
        let md = lv.md.as_ref().unwrap();
        assert_eq!((md.level.as_str(), md.raid_disks), ("raid5", Some(3)));
        let geometry = lv.geometry;
        assert_eq!(
            (geometry.chunk, geometry.data_disks, geometry.stripe),
            (Some(Bytes(65536)), Some(2), Some(Bytes(131_072)))
        );
        let components: Vec<_> = md
            .components
            .iter()
            .map(|part| (part.name.as_str(), part.slot, part.books_only))
            .collect();
        assert_eq!(
            components,
            [
                ("dm-1", Some(0), false),
                ("sda", Some(1), false),
                ("dm-0", None, true)
            ]
        );
    }
}
