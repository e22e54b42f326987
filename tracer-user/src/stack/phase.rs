//! Where every layer lies against the physical blocks, chunks and stripes of
//! every layer below it.
//!
//! A place is carried upward from each layer that has a boundary, part by part:
//! what lies `first` bytes into a device begins `offset + first` past a boundary
//! of it. Where bytes keep their order only within pieces (of an array, of a
//! thin pool) a boundary is carried on if it divides a piece, and else there is
//! no one place.
//!
//! Pure; modulo any number. Must not judge a place.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    sysfs::{
        Topology,
        device::{Device, Geometry},
        parts::{Part, Parts},
    },
    units::{Bytes, DevId},
};

/// Of all devices together; a machine of 2,000 disks has some 20,000. Beyond it
/// nothing is carried on, so that no tree of attributes can ask for all memory.
const MOST_PLACES: usize = 1 << 20;

/// What a layer divides itself into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Boundary {
    PhysicalBlock,
    Chunk,
    Stripe,
    /// What the user said (`--geometry DEV=boundary:...`).
    Told,
}

/// Where something lies against one boundary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Against {
    /// The layer whose boundary it is.
    pub layer: DevId,
    pub boundary: Boundary,
    /// Never 0.
    pub width: Bytes,
    /// How far past a boundary it begins; less than the width. `Err`: why
    /// nowhere.
    pub offset: Result<Bytes, Arc<str>>,
}

/// Where a device's first byte lies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// Against its own boundaries: for what lies on it.
    pub own: Vec<Against>,
    /// Against those of every layer below, the nearest first.
    pub below: Vec<Against>,
}

impl Against {
    /// The first position that lies on a boundary: (−offset) modulo the width.
    #[must_use]
    pub fn phase(&self) -> Option<Bytes> {
        let offset = self.offset.as_ref().ok()?.0;
        let rest = self.width.0.checked_sub(offset)?;
        Some(Bytes(rest.checked_rem(self.width.0)?))
    }

    /// It begins with one.
    #[must_use]
    pub fn is_aligned(&self) -> bool {
        self.offset == Ok(Bytes(0))
    }

    /// The same for what begins `first` bytes further on.
    fn moved(&self, first: i128) -> Self {
        let moved = |offset: &Bytes| {
            let there = (i128::from(offset.0) + first).checked_rem_euclid(self.width.0.into());
            let bytes = there.and_then(|bytes| u64::try_from(bytes).ok());
            bytes.map(Bytes).ok_or_else(|| Arc::from("out of range"))
        };
        Self {
            offset: self.offset.as_ref().map_err(Arc::clone).and_then(moved),
            ..self.clone()
        }
    }
}

impl Places {
    /// Where what begins `start` into the device lies: against the device's own
    /// boundaries, and those of every layer below.
    #[must_use]
    pub fn inside(&self, start: Bytes) -> Vec<Against> {
        let all = self.own.iter().chain(&self.below);
        all.map(|against| against.moved(start.0.into())).collect()
    }
}

/// The places of all devices.
#[must_use]
pub fn places(topology: &Topology) -> BTreeMap<DevId, Places> {
    let mut known: BTreeMap<DevId, Places> = BTreeMap::new();
    let mut left = MOST_PLACES;
    for id in topology.bottom_up() {
        let Some(device) = topology.devices.get(&id) else {
            continue;
        };
        let own = own(topology, device);
        let mut below = below(topology, device, &known);
        below.truncate(left.saturating_sub(own.len()));
        left = left.saturating_sub(own.len() + below.len());
        known.insert(id, Places { own, below });
    }
    known
}

/// What the device itself is divided into. A partition has its disk's
/// boundaries, unless the user gave it others.
fn own(topology: &Topology, device: &Device) -> Vec<Against> {
    let geometry = &device.geometry;
    let disk = device.partition.and_then(|partition| {
        let disk = topology.devices.get(&partition.disk)?.geometry;
        Some((disk, partition.start.bytes()))
    });
    let start = disk.map_or(0, |(_, start)| i128::from(start.0));
    let origin = i128::from(geometry.origin.0);
    let others = |of: fn(&Geometry) -> Option<Bytes>| {
        let width = of(geometry).filter(|width| width.0 > 0)?;
        let same = disk
            .is_some_and(|(disk, _)| (of(&disk), disk.origin) == (Some(width), geometry.origin));
        (!same).then_some(width)
    };
    let stripes = [
        (Boundary::Chunk, others(|geometry| geometry.chunk)),
        (Boundary::Stripe, others(|geometry| geometry.stripe)),
        (Boundary::Told, others(|geometry| geometry.boundary)),
    ];
    let blocks = blocks(device, disk.map(|(disk, _)| disk));
    let stripes = stripes.into_iter().filter_map(|(boundary, width)| {
        let begin = Against {
            layer: device.id,
            boundary,
            width: width?,
            offset: Ok(Bytes(0)),
        };
        Some(begin.moved(start - origin))
    });
    blocks.into_iter().chain(stripes).collect()
}

/// Physical blocks, the first of which begins at the alignment offset.
fn blocks(device: &Device, disk: Option<Geometry>) -> Option<Against> {
    let geometry = &device.geometry;
    if disk.is_some_and(|disk| disk.physical_block == geometry.physical_block) {
        return None;
    }
    let width = geometry.physical_block.filter(|width| width.0 > 0)?;
    let begin = Against {
        layer: device.id,
        boundary: Boundary::PhysicalBlock,
        width,
        offset: Ok(Bytes(0)),
    };
    Some(match geometry.alignment_offset {
        Some(first) => begin.moved(-i128::from(first.0)),
        None => Against {
            offset: Err(Arc::from("where its blocks begin is not known")),
            ..begin
        },
    })
}

fn below(topology: &Topology, device: &Device, known: &BTreeMap<DevId, Places>) -> Vec<Against> {
    let Some(Parts { lie, .. }) = topology.parts(device) else {
        return Vec::new();
    };
    let mut found = Found::default();
    match lie {
        Ok(parts) => {
            for part in parts {
                let places = known.get(&part.device);
                for against in places.iter().flat_map(|p| p.own.iter().chain(&p.below)) {
                    found.add(through(&part, against));
                }
            }
        }
        Err(why) => {
            let why: Arc<str> = Arc::from(why);
            for member in &device.members {
                let places = known.get(member);
                for against in places.iter().flat_map(|p| p.own.iter().chain(&p.below)) {
                    found.add(Against {
                        offset: Err(Arc::clone(&why)),
                        ..against.clone()
                    });
                }
            }
        }
    }
    found.list
}

/// Where the device lies against a boundary of what this part of it lies on.
fn through(part: &Part, against: &Against) -> Against {
    let divides = |grain: Bytes| grain.0.is_multiple_of(against.width.0);
    if part.grain.is_none_or(divides) {
        against.moved(part.first_bytes)
    } else {
        Against {
            offset: Err(Arc::from("the layers between rearrange smaller pieces")),
            ..against.clone()
        }
    }
}

/// One entry a boundary: parts that disagree lie at no one place in it.
#[derive(Default)]
struct Found {
    list: Vec<Against>,
    at: BTreeMap<(DevId, Boundary), usize>,
}

impl Found {
    fn add(&mut self, against: Against) {
        let key = (against.layer, against.boundary);
        let known = self.at.get(&key).and_then(|at| self.list.get_mut(*at));
        match known {
            Some(known) if *known != against => {
                known.offset = Err(Arc::from("its parts lie at different places"));
            }
            Some(_) => {}
            None => {
                self.at.insert(key, self.list.len());
                self.list.push(against);
            }
        }
    }
}

#[cfg(test)]
#[path = "phase_tests.rs"]
mod tests;
