//! Which boundaries a device has: from its limits, its array and its
//! components to a [`Geometry`]. Pure; modulo any number.
//!
//! Must not read files, and must not guess a boundary from `io_min` or
//! `io_opt`: those pass upward through every layer, so a linear volume on an
//! array shows the same as a striped one, and an array of odd members shows a
//! least common multiple. That is why a dm device has the chunk of its table and
//! no other.

use tracer_ebpf::{bins::remainder_shift, classify};

use super::device::{AlignmentOffset, Geometry, Limits, MdArray};
use crate::units::{Bytes, Sectors};

/// What a component contributes to its array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Component {
    pub physical_block: Option<Bytes>,
    /// Of the component itself: a partition's counts from its own start.
    pub alignment_offset: Option<Bytes>,
    /// Where the array's data begins on it.
    pub data_offset: Option<Sectors>,
    /// How much of it holds the array's data; the component's own size where
    /// that is not known.
    pub data_size: Option<Bytes>,
}

/// Geometry of a device that is no partition. `md` and `components` are those
/// of an array.
#[must_use]
pub fn of_whole(limits: &Limits, md: Option<&MdArray>, components: &[Component]) -> Geometry {
    let members_physical = components.iter().filter_map(|c| c.physical_block).max();
    // Of members that disagree the larger is to be trusted, as the kernel does.
    let physical_block = limits.physical_block.max(members_physical);
    let (chunk, data_disks) = md.map_or((None, None), |md| striping(md, components));
    Geometry {
        logical_block: limits.logical_block,
        physical_block,
        alignment_offset: alignment(limits, physical_block, components),
        chunk,
        data_disks,
        stripe: stripe(chunk, data_disks),
        ..Geometry::default()
    }
}

/// A device's own chunk and data disks, whatever lies below.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Striping {
    pub chunk: Option<Bytes>,
    pub data_disks: Option<u32>,
}

impl Striping {
    /// `geometry` with this striping, where there is one.
    #[must_use]
    pub fn of(self, geometry: Geometry) -> Geometry {
        if self.chunk.is_none() {
            return geometry;
        }
        Geometry {
            chunk: self.chunk,
            data_disks: self.data_disks,
            stripe: stripe(self.chunk, self.data_disks),
            ..geometry
        }
    }
}

/// Geometry of a partition that starts at `start` on a disk of geometry
/// `disk`: the disk's boundaries, seen from the partition's first byte.
#[must_use]
pub fn of_partition(disk: &Geometry, start: Sectors) -> Geometry {
    let alignment_offset = match (disk.alignment_offset, disk.physical_block) {
        (Some(a), Some(p)) => Some(Bytes(distance(start.bytes().0, a.0, p.0))),
        _ => None,
    };
    let geometry = Geometry {
        alignment_offset,
        ..*disk
    };
    Geometry {
        phase: phase(&geometry, start),
        ..geometry
    }
}

/// First position in a partition at `start` that lies on a boundary of its
/// disk: the stripe, else the chunk, else the physical block.
#[must_use]
pub fn phase(geometry: &Geometry, start: Sectors) -> Option<Bytes> {
    match geometry.stripe.or(geometry.chunk) {
        Some(width) => Some(Bytes(distance(start.bytes().0, geometry.origin.0, width.0))),
        None => geometry.alignment_offset,
    }
}

/// Alignment offset of a device at `start` on its disk, if its physical block
/// were `physical`: the disk's grid begins where it did. `None` where that is
/// not known.
#[must_use]
pub fn regrid(geometry: &Geometry, start: Sectors, physical: Bytes) -> Option<Bytes> {
    let on_disk = match (geometry.physical_block, geometry.alignment_offset) {
        (Some(p), Some(a)) => add_modulo(a.0, start.bytes().0, p.0),
        (Some(_), None) => return None,
        (None, _) => 0,
    };
    Some(Bytes(distance(start.bytes().0, on_disk, physical.0)))
}

/// What the classifier needs for positions on the *whole disk*, where the
/// device of geometry `geometry` starts at `start` (0 for the disk itself).
#[must_use]
pub fn classifier(geometry: &Geometry, start: Sectors) -> classify::Geometry {
    let bytes = |value: Option<Bytes>| value.map_or(0, |value| value.0);
    let (physical_bytes, alignment_offset_bytes) =
        match (geometry.physical_block, geometry.alignment_offset) {
            (Some(p), Some(a)) => (p.0, add_modulo(a.0, start.bytes().0, p.0)),
            _ => (0, 0),
        };
    classify::Geometry {
        physical_bytes,
        alignment_offset_bytes,
        chunk_bytes: bytes(geometry.chunk),
        stripe_bytes: bytes(geometry.stripe),
        boundary_bytes: bytes(geometry.boundary),
        origin_bytes: geometry.origin.0,
        remainder_shift: remainder_shift(
            physical_bytes,
            geometry.logical_block.map_or(512, |block| block.0),
        ),
    }
}

/// chunk × data disks.
#[must_use]
pub fn stripe(chunk: Option<Bytes>, data_disks: Option<u32>) -> Option<Bytes> {
    let bytes = chunk?.0.checked_mul(u64::from(data_disks?))?;
    (bytes > 0).then_some(Bytes(bytes))
}

/// Data disks of an array of `raid_disks`; `None` for a level, or a number of
/// disks, that has no stripe. `layout` is md's own number (raid10 only).
#[must_use]
pub fn data_disks(level: &str, raid_disks: u32, layout: Option<i64>) -> Option<u32> {
    let data = match level {
        "raid0" => raid_disks,
        "raid4" | "raid5" => raid_disks.checked_sub(1)?,
        "raid6" => raid_disks.checked_sub(2)?,
        "raid10" => {
            let copies = Raid10Copies::from_layout(layout?)?;
            if copies.total() > raid_disks || !raid_disks.is_multiple_of(copies.near) {
                return None;
            }
            raid_disks / copies.near
        }
        _ => return None,
    };
    (data > 0).then_some(data)
}

/// How often raid10 keeps a chunk: side by side, and far away or one row on.
struct Raid10Copies {
    near: u32,
    far: u32,
}

impl Raid10Copies {
    /// Decodes md's number: near in bits 0–7, far in bits 8–15
    /// (drivers/md/raid10.c, `setup_geo`); bit 16 tells "offset" from "far".
    fn from_layout(layout: i64) -> Option<Self> {
        let bits = u32::try_from(layout).ok()?;
        let copies = Self {
            near: bits & 0xff,
            far: (bits >> 8) & 0xff,
        };
        (copies.near > 0 && copies.far > 0).then_some(copies)
    }

    const fn total(&self) -> u32 {
        self.near * self.far
    }
}

/// Chunk and data disks that hold for the whole array.
fn striping(md: &MdArray, components: &[Component]) -> (Option<Bytes>, Option<u32>) {
    if !matches!(
        md.level.as_str(),
        "raid0" | "raid4" | "raid5" | "raid6" | "raid10"
    ) {
        return (None, None);
    }
    let chunk = md
        .chunk
        .filter(|chunk| md.chunk_before.is_none_or(|before| before == *chunk));
    let data = |disks: Option<u32>, layout| data_disks(&md.level, disks?, layout);
    let now = data(md.raid_disks, md.layout);
    let before = data(
        md.raid_disks_before.or(md.raid_disks),
        md.layout_before.or(md.layout),
    );
    let one_width = now == before && (md.level != "raid0" || one_zone(md, components));
    (chunk, now.filter(|_| one_width))
}

/// Whether a raid0 has one zone, so that one stripe width holds throughout:
/// all components are equally long, in whole chunks (raid0.c,
/// `create_strip_zones`). Not known counts as no.
fn one_zone(md: &MdArray, components: &[Component]) -> bool {
    let (Some(chunk), Some(disks)) = (md.chunk, md.raid_disks) else {
        return false;
    };
    let mut chunks = components
        .iter()
        .map(|component| component.data_size.and_then(|s| s.0.checked_div(chunk.0)));
    let Some(Some(first)) = chunks.next() else {
        return false;
    };
    components.len() == disks as usize && chunks.all(|others| others == Some(first))
}

/// The alignment offset, less than the physical block.
fn alignment(
    limits: &Limits,
    physical_block: Option<Bytes>,
    components: &[Component],
) -> Option<Bytes> {
    let p = physical_block?;
    if limits.physical_block.is_some_and(|reported| reported < p) {
        // What the kernel reports is for the smaller block.
        return components_alignment(p, components);
    }
    match limits.alignment_offset {
        Some(AlignmentOffset::Bytes(a)) => Some(Bytes(a.0.checked_rem(p.0)?)),
        Some(AlignmentOffset::Inconsistent) => components_alignment(p, components),
        // A kernel without the attribute reports no shift.
        None => Some(Bytes(0)),
    }
}

/// The real offset where the kernel only says "inconsistent", as it does for a
/// mere mismatch of chunks too: where the components' data begin, against
/// their own physical blocks. A chunk is a multiple of the block, so position
/// s of the array lies at data offset + s, modulo the block, on any component.
/// Components of smaller blocks have no say. `None` where components
/// disagree, or one is not known.
fn components_alignment(p: Bytes, components: &[Component]) -> Option<Bytes> {
    let of_this_block = components
        .iter()
        .filter(|component| component.physical_block.is_none_or(|own| own == p));
    let mut offsets = of_this_block.map(|component| {
        component.physical_block?;
        let a = component.alignment_offset?;
        Some(distance(component.data_offset?.bytes().0, a.0, p.0))
    });
    let first = offsets.next()??;
    offsets
        .all(|other| other == Some(first))
        .then_some(Bytes(first))
}

/// (to − from) mod `width`: bytes from `from` to the next position congruent
/// to `to`. 0 where `width` is 0.
fn distance(from: u64, to: u64, width: u64) -> u64 {
    let difference = i128::from(to) - i128::from(from);
    difference
        .checked_rem_euclid(i128::from(width))
        .and_then(|rest| u64::try_from(rest).ok())
        .unwrap_or(0)
}

fn add_modulo(a: u64, b: u64, width: u64) -> u64 {
    (u128::from(a) + u128::from(b))
        .checked_rem(u128::from(width))
        .and_then(|rest| u64::try_from(rest).ok())
        .unwrap_or(0)
}

#[cfg(test)]
#[path = "geometry_tests.rs"]
mod tests;
