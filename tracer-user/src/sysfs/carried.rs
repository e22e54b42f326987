//! Where the chunks of an array lie on what is below it: its members, and the
//! partitions' disks and volumes below those.
//!
//! Pure. Must not read files or tables.

use std::collections::BTreeSet;

use super::device::{Device, Topology};
use crate::units::{Bytes, DevId};

/// The chunks of one array, on a device below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Carried {
    /// The kernel's name of the array.
    pub array: String,
    pub chunk: Bytes,
    /// The first position of the device where a chunk of the array begins, and
    /// how far into a chunk the device begins: each is the other from 0, modulo
    /// the chunk. `None` where the chunks lie at no one place.
    pub phase: Option<Bytes>,
    pub offset: Option<Bytes>,
}

impl Carried {
    /// `first`: any position where a chunk begins.
    fn new(array: &str, chunk: Bytes, first: Option<i128>) -> Self {
        let width = i128::from(chunk.0);
        let modulo = |position: i128| {
            let rest = position.checked_rem_euclid(width)?;
            u64::try_from(rest).ok().map(Bytes)
        };
        Self {
            array: array.to_owned(),
            chunk,
            phase: first.and_then(modulo),
            offset: first.and_then(|first| modulo(-first)),
        }
    }
}

impl Topology {
    /// Fills in what every device below an array carries. Geometry must be
    /// derived.
    pub(super) fn derive_carried(&mut self) {
        for device in self.devices.values_mut() {
            device.carries.clear();
        }
        for (id, carried) in self.all_carried() {
            if let Some(device) = self.devices.get_mut(&id) {
                add(&mut device.carries, carried);
            }
        }
    }

    fn all_carried(&self) -> Vec<(DevId, Carried)> {
        let mut found = Vec::new();
        for array in self.devices.values() {
            let (Some(md), Some(chunk)) = (&array.md, array.geometry.chunk) else {
                continue;
            };
            let members = md.components.iter().filter(|part| part.slot.is_some());
            let mut places: BTreeSet<Place> = members
                .filter_map(|part| {
                    let first = part.data_offset.map(|start| start.bytes().0.into());
                    Some((part.device?, first))
                })
                .collect();
            for _ in 0..MOST_LAYERS {
                let carried = |&(on, first)| (on, Carried::new(&array.name, chunk, first));
                found.extend(places.iter().map(carried));
                places = self.below_all(&places, chunk);
            }
        }
        found
    }

    /// The same chunks one layer further down.
    fn below_all(&self, places: &BTreeSet<Place>, chunk: Bytes) -> BTreeSet<Place> {
        let lower = places.iter().filter_map(|&(on, first)| {
            let device = self.devices.get(&on)?;
            let below = below(device).into_iter();
            Some(below.map(move |(below, start)| {
                let first = first.map(|first: i128| first + start);
                let first = first.and_then(|first| first.checked_rem_euclid(chunk.0.into()));
                (below, first)
            }))
        });
        lower.flatten().collect()
    }
}

/// Deeper than any stack.
const MOST_LAYERS: usize = 32;

/// A device, and a position on it where a chunk begins.
type Place = (DevId, Option<i128>);

/// What a device lies on, and where there its first byte would be.
fn below(device: &Device) -> Vec<(DevId, i128)> {
    if let Some(partition) = device.partition {
        let start = partition.start.bytes().0;
        return vec![(partition.disk, start.into())];
    }
    if let Some(place) = device.loop_on.or(device.bcache_on) {
        return vec![(place.device, place.start.bytes().0.into())];
    }
    // An array has chunks, or copies, of its own.
    if device.md.is_some() {
        return Vec::new();
    }
    let segments = device.dm_table.iter().flatten();
    let places = segments.flat_map(|segment| {
        let start = i128::from(segment.start.bytes().0);
        let places = segment.target.in_order().into_iter();
        places.map(move |place| {
            let there = i128::from(place.start.bytes().0) - start;
            (place.device, there)
        })
    });
    places.collect()
}

/// One entry an array: parts that disagree lie at no one place.
fn add(carries: &mut Vec<Carried>, carried: Carried) {
    let known = carries
        .iter_mut()
        .find(|known| known.array == carried.array);
    match known {
        Some(known) if *known != carried => {
            known.phase = None;
            known.offset = None;
        }
        Some(_) => {}
        None => carries.push(carried),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        dm::{Segment, Target},
        report::testing::{by_name, device, partition, topology},
        sysfs::device::{MdArray, MdComponent},
        units::Sectors,
    };

    const KIB: u64 = 1 << 10;

    fn component(device: DevId, slot: Option<u32>, data_offset: u64) -> MdComponent {
        MdComponent {
            device: Some(device),
            slot,
            data_offset: Some(Sectors(data_offset)),
            ..MdComponent::default()
        }
    }

    fn array(name: &str, minor: u32, components: Vec<MdComponent>) -> Device {
        let mut array = device(name, 9, minor);
        array.md = Some(MdArray {
            level: "raid5".to_owned(),
            raid_disks: Some(3),
            chunk: Some(Bytes(64 * KIB)),
            components,
            ..MdArray::default()
        });
        array
    }

    #[test]
    fn chunks_on_partitions_volumes_and_disks() {
        let (sda, sdb, sdc) = (
            device("sda", 8, 0),
            device("sdb", 8, 16),
            device("sdc", 8, 32),
        );
        let sda1 = partition("sda1", 8, 1, sda.id, 63);
        let sdb1 = partition("sdb1", 8, 17, sdb.id, 2048);
        let sdb2 = partition("sdb2", 8, 18, sdb.id, 1 << 20);
        let mut lv = device("dm-0", 253, 0);
        lv.members = vec![sdc.id];
        lv.dm_table = Some(vec![Segment {
            start: Sectors(0),
            len: Sectors(1 << 16),
            target: Target::parse("linear", "8:32 2080"),
        }]);
        let first = array(
            "md1",
            1,
            vec![
                component(sda1.id, Some(0), 2048),
                component(sdb1.id, Some(1), 2048),
                component(lv.id, Some(2), 2056),
            ],
        );
        let second = array(
            "md2",
            2,
            vec![
                component(sdb2.id, Some(0), 2049),
                component(sda.id, None, 1),
            ],
        );
        let mut all = topology([sda, sdb, sdc, sda1, sdb1, sdb2, lv, first, second]);
        all.derive();
        let carries = |name: &str| -> Vec<(&str, Option<u64>, Option<u64>)> {
            let carries = &by_name(&all, name).carries;
            let entry = |one: &Carried| (one.phase.map(|b| b.0), one.offset.map(|b| b.0));
            carries
                .iter()
                .map(|one| (one.array.as_str(), entry(one).0, entry(one).1))
                .collect()
        };
        assert_eq!(carries("sda1"), [("md1", Some(0), Some(0))]);
        assert_eq!(carries("sda"), [("md1", Some(63 * 512), Some(65 * 512))]);
        assert_eq!(carries("dm-0"), [("md1", Some(8 * 512), Some(120 * 512))]);
        assert_eq!(carries("sdc"), [("md1", Some(40 * 512), Some(88 * 512))]);
        assert_eq!(
            carries("sdb"),
            [
                ("md1", Some(0), Some(0)),
                ("md2", Some(512), Some(127 * 512))
            ]
        );
        assert_eq!(carries("md1"), []);
    }

    #[test]
    fn parts_of_one_array_that_disagree() {
        let sda = device("sda", 8, 0);
        let parts = [63, 2048]
            .map(|start| partition(&format!("sda{start}"), 8, start as u32, sda.id, start));
        let components = parts
            .iter()
            .zip(0..)
            .map(|(part, slot)| component(part.id, Some(slot), 0));
        let md = array("md1", 1, components.collect());
        let mut all = topology([sda, md].into_iter().chain(parts));
        all.derive();
        let carries = &by_name(&all, "sda").carries;
        assert_eq!(
            (carries.len(), carries[0].phase, carries[0].offset),
            (1, None, None)
        );
    }
}
