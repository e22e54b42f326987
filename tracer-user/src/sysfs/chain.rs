//! Where a device lies on the stripes of the array below it, layer by layer:
//! partition, linear volume, encryption, loop device. What each layer adds is
//! its own; a layer that rearranges its bytes, or lies in parts that disagree,
//! has no place, and neither has what is on top of it.
//!
//! Pure; modulo any number. Must not read files or tables.

use super::{
    device::{Device, Geometry, Topology},
    parts::Part,
};
use crate::units::{Bytes, DevId};

/// The way from an array up to a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    /// The kernel's name of the array: the nearest below that has chunks, be it
    /// md's, device-mapper's, or a disk's that the user said it of.
    pub array: String,
    pub boundary: Boundary,
    /// Of a stripe, or of a chunk.
    pub width: Bytes,
    /// From the one on the array up to the device itself; never empty.
    pub layers: Vec<Layer>,
}

/// What places are held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Boundary {
    Stripe,
    /// Of an array without stripes.
    Chunk,
}

/// A device, and where it lies on the one below.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    pub device: String,
    pub dm_name: Option<String>,
    pub dm_uuid: Option<String>,
    /// `partition`, `loop`, `md`, or the target's name.
    pub by: String,
    /// The device below.
    pub below: String,
    /// Or why it has none.
    pub place: Result<LayerPlace, String>,
}

/// Where a layer begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayerPlace {
    /// On the device below.
    pub start: Bytes,
    /// `start` modulo the width: what this layer alone adds.
    pub own_offset: Bytes,
    /// How far into a stripe of the array it begins, all layers together.
    pub offset: Bytes,
    /// Its first position on a stripe's boundary: (−offset) modulo the width.
    pub phase: Bytes,
    /// The first start on the device below, at or after this one, whose offset
    /// is 0.
    pub next_start: Bytes,
}

impl Layer {
    /// Whether it alone begins inside a stripe of an array below that does not.
    #[must_use]
    pub fn shifts(&self) -> bool {
        self.place
            .as_ref()
            .is_ok_and(|place| place.own_offset.0 != 0)
    }
}

impl Chain {
    /// The device itself.
    #[must_use]
    pub fn top(&self) -> Option<&Layer> {
        self.layers.last()
    }

    /// The phase of the device itself.
    #[must_use]
    pub fn phase(&self) -> Option<Bytes> {
        Some(self.top()?.place.as_ref().ok()?.phase)
    }

    /// The layers that bring the offset of the device, each what it adds; none
    /// where it has no offset.
    #[must_use]
    pub fn brought_by(&self) -> Vec<&Layer> {
        let place = self.top().and_then(|top| top.place.as_ref().ok());
        if place.is_none_or(|place| place.offset.0 == 0) {
            return Vec::new();
        }
        self.layers.iter().filter(|layer| layer.shifts()).collect()
    }
}

/// Where a device's first byte lies on its array: `Err` says why nowhere.
struct Base<'a> {
    array: &'a str,
    boundary: Boundary,
    width: Bytes,
    offset: Result<u64, &'static str>,
    layers: &'a [Layer],
}

impl Topology {
    /// The chain of a device that has no chunks of its own; `None` where
    /// nothing below has any. What it lies on must be derived.
    pub(crate) fn chain(&self, device: &Device) -> Option<Chain> {
        if self.own_grid(device).is_some() {
            return None;
        }
        let parts = self.parts_in_order(device)?;
        let below = match &parts.lie {
            Ok(parts) => parts.iter().map(|part| part.device).collect(),
            Err(_) => device.members.clone(),
        };
        let (first, base) = below
            .iter()
            .find_map(|id| Some((self.devices.get(id)?, self.base(*id)?)))?;
        let place = parts
            .lie
            .and_then(|parts| self.place(&parts, &base).map_err(str::to_owned));
        let mut layers = base.layers.to_vec();
        layers.push(Layer {
            device: device.name.clone(),
            dm_name: device.dm_name.clone(),
            dm_uuid: device.dm_uuid.clone(),
            by: parts.by,
            below: first.name.clone(),
            place,
        });
        Some(Chain {
            array: base.array.to_owned(),
            boundary: base.boundary,
            width: base.width,
            layers,
        })
    }

    /// The one place of all parts.
    fn place(&self, parts: &[Part], base: &Base<'_>) -> Result<LayerPlace, &'static str> {
        let width = i128::from(base.width.0);
        let mut offsets = Vec::new();
        for part in parts {
            let of_part = self.base(part.device);
            let of_part = of_part.filter(|other| {
                (other.array, other.width, other.boundary)
                    == (base.array, base.width, base.boundary)
            });
            let of_part = of_part.ok_or("its parts lie on different devices")?;
            offsets.push((i128::from(of_part.offset?) + part.first_bytes).rem_euclid(width));
        }
        let (part, offset) = parts
            .first()
            .zip(offsets.first())
            .ok_or("it has no parts")?;
        if offsets.iter().any(|other| other != offset) {
            return Err("its parts lie at different places in a stripe");
        }
        let bytes = |value: i128| u64::try_from(value).ok().map(Bytes).ok_or("out of range");
        let phase = (-offset).rem_euclid(width);
        Ok(LayerPlace {
            start: bytes(part.first_bytes)?,
            own_offset: bytes(part.first_bytes.rem_euclid(width))?,
            offset: bytes(*offset)?,
            phase: bytes(phase)?,
            next_start: bytes(part.first_bytes + phase)?,
        })
    }

    /// Where a device's first byte lies on its own chunks, or on an array's.
    fn base(&self, id: DevId) -> Option<Base<'_>> {
        let device = self.devices.get(&id)?;
        if let Some((boundary, width, offset)) = self.own_grid(device) {
            return Some(Base {
                array: &device.name,
                boundary,
                width,
                offset: Ok(offset),
                layers: &[],
            });
        }
        let chain = device.chain.as_ref()?;
        let place = chain.top()?.place.as_ref();
        Some(Base {
            array: &chain.array,
            boundary: chain.boundary,
            width: chain.width,
            offset: place
                .ok()
                .map(|place| place.offset.0)
                .ok_or("what it lies on has no one place"),
            layers: &chain.layers,
        })
    }

    /// A device's own stripes or chunks, and where it begins on them. A
    /// partition has its disk's, unless the user gave it others.
    pub(crate) fn own_grid(&self, device: &Device) -> Option<(Boundary, Bytes, u64)> {
        let geometry = &device.geometry;
        let start = match device.partition {
            None => 0,
            Some(partition) => {
                let disk = self.devices.get(&partition.disk)?.geometry;
                let grid = |of: &Geometry| (of.stripe, of.chunk, of.origin);
                if grid(geometry) == grid(&disk) {
                    return None;
                }
                partition.start.bytes().0
            }
        };
        let stripe = geometry.stripe.map(|width| (Boundary::Stripe, width));
        let chunk = geometry.chunk.map(|width| (Boundary::Chunk, width));
        let (boundary, width) = stripe.or(chunk)?;
        let past = i128::from(start) - i128::from(geometry.origin.0);
        let offset = past.checked_rem_euclid(i128::from(width.0))?;
        Some((boundary, width, u64::try_from(offset).ok()?))
    }
}

#[cfg(test)]
#[path = "chain_tests.rs"]
mod tests;
