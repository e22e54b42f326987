//! Which devices hold a device's bytes, and where there its first byte would
//! be: partitions, loop devices, mirrors, the segments of a mapped device.
//!
//! Pure. Must not know stripes, nor read files or tables.

use super::device::{Device, Kind, MdArray, Topology};
use crate::{
    dm::{Segment, Target},
    units::{Bytes, DevId},
};

/// A part of a device: where on `device` the first byte of all would lie if
/// everything lay as this part does; may be before its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) device: DevId,
    pub(crate) first_bytes: i128,
    /// Bytes keep their order only within pieces of this length, each of which
    /// lies at a multiple of it. `None`: throughout.
    pub(crate) grain: Option<Bytes>,
}

/// Where the parts of a device lie.
pub(crate) struct Parts {
    /// `partition`, `loop`, `md`, `bcache`, or the targets' names.
    pub(crate) by: String,
    /// Or why it is not known.
    pub(crate) lie: Result<Vec<Part>, String>,
}

impl Part {
    const fn whole(device: DevId, first_bytes: i128) -> Self {
        Self {
            device,
            first_bytes,
            grain: None,
        }
    }
}

impl Topology {
    /// Where the parts of a device lie, all of whose bytes keep their order;
    /// `None` for one that lies on nothing.
    pub(super) fn parts_in_order(&self, device: &Device) -> Option<Parts> {
        let mut parts = self.parts(device)?;
        let rearranged = |parts: &Vec<Part>| parts.iter().any(|part| part.grain.is_some());
        if parts.lie.as_ref().is_ok_and(rearranged) {
            let array = device.md.as_ref().map(|md| md.level.as_str());
            let target = device.dm_table.iter().flatten().find_map(rearranging);
            let by = array.or(target).unwrap_or(&parts.by);
            parts.lie = Err(format!("{by} does not keep bytes in their order"));
        }
        Some(parts)
    }

    /// Where the parts of a device lie; `None` for one that lies on nothing.
    pub(crate) fn parts(&self, device: &Device) -> Option<Parts> {
        let one = |by: &str, device: DevId, start: Bytes| Parts {
            by: by.to_owned(),
            lie: Ok(vec![Part::whole(device, start.0.into())]),
        };
        if let Some(partition) = device.partition {
            return Some(one("partition", partition.disk, partition.start.bytes()));
        }
        if let Some(place) = device.loop_on {
            return Some(one("loop", place.device, place.start.bytes()));
        }
        if let Some(place) = device.bcache_on {
            return Some(one("bcache", place.device, place.start.bytes()));
        }
        if device.members.is_empty() {
            return None;
        }
        if let Some(md) = &device.md {
            return Some(Parts {
                by: "md".to_owned(),
                lie: of_array(md),
            });
        }
        if let Some(table) = &device.dm_table {
            return Some(self.of_table(table));
        }
        let (by, why) = match device.kind {
            Kind::Dm => ("dm", "its table cannot be read"),
            Kind::Loop => ("loop", "no whole sector"),
            Kind::Bcache => ("bcache", "its superblock was not read"),
            _ => ("other", "sysfs does not tell where it begins"),
        };
        Some(Parts {
            by: by.to_owned(),
            lie: Err(why.to_owned()),
        })
    }

    fn of_table(&self, table: &[Segment]) -> Parts {
        let mut names: Vec<&str> = table.iter().map(|segment| segment.target.name()).collect();
        names.dedup();
        let lie = table.iter().map(|segment| {
            let parts = self.of_target(&segment.target);
            let name = segment.target.name();
            let parts =
                parts.ok_or_else(|| format!("{name} does not keep bytes in their order"))?;
            let start = i128::from(segment.start.bytes().0);
            Ok(parts.into_iter().map(move |part| Part {
                first_bytes: part.first_bytes - start,
                ..part
            }))
        });
        Parts {
            by: names.join("+"),
            lie: lie
                .collect::<Result<Vec<_>, String>>()
                .map(|parts| parts.into_iter().flatten().collect()),
        }
    }

    /// `None` where the target's bytes lie in no order that is known.
    fn of_target(&self, target: &Target) -> Option<Vec<Part>> {
        match target {
            Target::Striped { chunk, stripes } if stripes.len() > 1 => {
                let part = |place: &crate::dm::Place| Part {
                    grain: Some(chunk.bytes()),
                    ..Part::whole(place.device, place.start.bytes().0.into())
                };
                Some(stripes.iter().map(part).collect())
            }
            Target::Thin { pool, .. } => Some(vec![Part {
                grain: Some(self.pool_block(*pool)?),
                ..Part::whole(*pool, 0)
            }]),
            _ => {
                let places = target.in_order();
                let parts = places
                    .iter()
                    .map(|place| Part::whole(place.device, place.start.bytes().0.into()));
                (!places.is_empty()).then(|| parts.collect())
            }
        }
    }

    /// The block that a pool gives to its volumes.
    fn pool_block(&self, pool: DevId) -> Option<Bytes> {
        let table = self.devices.get(&pool)?.dm_table.as_deref()?;
        match &table.first()?.target {
            Target::ThinPool { block, .. } => Some(block.bytes()),
            _ => None,
        }
    }
}

/// The name of a target that keeps the order only within pieces.
fn rearranging(segment: &Segment) -> Option<&str> {
    segment
        .target
        .in_order()
        .is_empty()
        .then(|| segment.target.name())
}

/// A mirror's members all hold the array's bytes in their order; other levels
/// keep it within a chunk, or follow each other.
fn of_array(md: &MdArray) -> Result<Vec<Part>, String> {
    let unknown = || format!("{} does not keep bytes in their order", md.level);
    let mut slots: Vec<_> = md
        .components
        .iter()
        .filter(|part| part.slot.is_some())
        .collect();
    slots.sort_by_key(|part| part.slot);
    let grain = match md.level.as_str() {
        "raid1" | "linear" => None,
        "raid0" | "raid4" | "raid5" | "raid6" | "raid10" => {
            let chunk = md.chunk.ok_or_else(unknown)?;
            Some(
                md.chunk_before
                    .map_or(chunk, |before| common(chunk, before)),
            )
        }
        _ => return Err(unknown()),
    };
    let mut before = Some(0);
    let parts = slots.iter().map(|part| {
        let first = i128::from(part.data_offset?.bytes().0) - before?;
        if md.level == "linear" {
            let size = part.data_size.map(|size| i128::from(size.0));
            before = before.zip(size).map(|(before, size)| before + size);
        }
        Some(Part {
            grain,
            ..Part::whole(part.device?, first)
        })
    });
    let parts: Option<Vec<Part>> = parts.collect();
    parts.filter(|parts| !parts.is_empty()).ok_or_else(unknown)
}

/// The greatest length that divides both.
const fn common(one: Bytes, other: Bytes) -> Bytes {
    let (mut one, mut other) = (one.0, other.0);
    while other != 0 {
        (one, other) = (other, one % other);
    }
    Bytes(one)
}

#[cfg(test)]
#[path = "parts_tests.rs"]
mod tests;
