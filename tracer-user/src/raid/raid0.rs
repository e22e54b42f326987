//! Where md raid0 keeps a sector, and whose sector lies on a member: zones of
//! members of different lengths, both layouts, any chunk.
//!
//! Must not guess: where the two layouts differ and none is given, there is no
//! array, as in md itself.
//!
//! After `create_strip_zones`, `find_zone` and `map_sector` of
//! drivers/md/raid0.c.

use std::num::NonZeroU32;

use super::place::{ArraySector, MAX_MEMBERS, MemberSector, Place, Slot};
use crate::units::Sectors;

/// Which member a zone begins with. The same in the first zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Raid0Layout {
    /// Chunks are dealt out by their number in the array (before Linux 3.14).
    Original,
    /// By their number in the zone (`RAID0_ALT_MULTIZONE_LAYOUT`).
    Alternate,
}

impl Raid0Layout {
    /// From `md/layout`; `None` where md was not told, or shows no layout.
    #[must_use]
    pub const fn from_md(layout: i64) -> Option<Self> {
        match layout {
            1 => Some(Self::Original),
            2 => Some(Self::Alternate),
            _ => None,
        }
    }
}

/// Why attributes make no raid0 array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Raid0Error {
    #[error("a chunk of {} sectors", .0.0)]
    Chunk(Sectors),
    #[error("{0} members")]
    Disks(usize),
    #[error("members hold no chunk, or more sectors than 64 bits can count")]
    Members,
    #[error("members of different lengths, and the layout is not known")]
    LayoutUnknown,
}

/// A raid0 array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raid0 {
    chunk: NonZeroU32,
    layout: Raid0Layout,
    /// In the order of the array; none is empty.
    zones: Vec<Zone>,
}

/// A part of the array that lies on the same members throughout. All numbers
/// count chunks.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Zone {
    start: u64,
    end: u64,
    member_start: u64,
    member_end: u64,
    /// Slots, ascending; never empty.
    members: Vec<u32>,
}

impl Raid0 {
    /// From the chunk, the length of each member's data by slot
    /// (`md/dev-*/size`), and the layout where it is known.
    pub fn new(
        chunk: Sectors,
        members: &[Sectors],
        layout: Option<Raid0Layout>,
    ) -> Result<Self, Raid0Error> {
        let disks = u32::try_from(members.len()).unwrap_or(u32::MAX);
        if !(1..=MAX_MEMBERS).contains(&disks) {
            return Err(Raid0Error::Disks(members.len()));
        }
        let sectors = u32::try_from(chunk.0).ok().and_then(NonZeroU32::new);
        let chunk = sectors.ok_or(Raid0Error::Chunk(chunk))?;
        // What is left of a member after its last whole chunk is not used.
        let chunks: Vec<u64> = members
            .iter()
            .map(|len| len.0 / u64::from(chunk.get()))
            .collect();
        let zones = zones(&chunks);
        let end = zones.as_ref().and_then(|zones| Some(zones.last()?.end));
        // The end in sectors must be countable too.
        end.and_then(|end| end.checked_mul(u64::from(chunk.get())))
            .ok_or(Raid0Error::Members)?;
        let zones = zones.ok_or(Raid0Error::Members)?;
        let layouts_differ = zones.iter().skip(1).any(|zone| zone.members.len() > 1);
        let layout = match layout {
            Some(layout) => layout,
            None if layouts_differ => return Err(Raid0Error::LayoutUnknown),
            None => Raid0Layout::Original,
        };
        Ok(Self {
            chunk,
            layout,
            zones,
        })
    }

    /// Length of all zones. md itself shows less where the chunk is no power
    /// of two: `raid0_size` masks each member's length as if it were one.
    #[must_use]
    pub fn size(&self) -> Sectors {
        let end = self.zones.last().map_or(0, |zone| zone.end);
        Sectors(end * self.chunk())
    }

    /// Where a sector of the array lies; `None` beyond its end.
    #[must_use]
    pub fn locate(&self, sector: ArraySector) -> Option<Place> {
        let number = sector.0 / self.chunk();
        let zone = self.zones.iter().find(|zone| number < zone.end)?;
        let in_zone = number - zone.start;
        let dealt = match self.layout {
            Raid0Layout::Original => number,
            Raid0Layout::Alternate => in_zone,
        };
        let nth = usize::try_from(dealt % zone.width()).ok()?;
        Some(Place {
            slot: Slot(*zone.members.get(nth)?),
            sector: MemberSector(
                (zone.member_start + in_zone / zone.width()) * self.chunk()
                    + sector.0 % self.chunk(),
            ),
        })
    }

    /// The sector of the array that lies at `place`; `None` where none does.
    #[must_use]
    pub fn content(&self, place: Place) -> Option<ArraySector> {
        let row = place.sector.0 / self.chunk();
        let zone = self.zones.iter().find(|zone| row < zone.member_end)?;
        let nth = zone.members.binary_search(&place.slot.0).ok()? as u64;
        // The member that the zone's first chunk lies on.
        let first = match self.layout {
            Raid0Layout::Original => zone.start % zone.width(),
            Raid0Layout::Alternate => 0,
        };
        let in_row = (nth + zone.width() - first) % zone.width();
        let number = zone.start + (row - zone.member_start) * zone.width() + in_row;
        Some(ArraySector(
            number * self.chunk() + place.sector.0 % self.chunk(),
        ))
    }

    fn chunk(&self) -> u64 {
        u64::from(self.chunk.get())
    }
}

impl Zone {
    fn width(&self) -> u64 {
        self.members.len() as u64
    }
}

/// Zones of members of so many chunks. `None` where they are more than can be
/// counted.
fn zones(chunks: &[u64]) -> Option<Vec<Zone>> {
    let mut ends = chunks.to_vec();
    ends.sort_unstable();
    ends.dedup();
    let mut zones: Vec<Zone> = Vec::new();
    // md makes a zone of no length of members without a chunk; nothing lies
    // there.
    for member_end in ends.into_iter().filter(|end| *end > 0) {
        let (start, member_start) = zones.last().map_or((0, 0), |z| (z.end, z.member_end));
        let members: Vec<u32> = (0..)
            .zip(chunks)
            .filter(|(_, len)| **len > member_start)
            .map(|(slot, _)| slot)
            .collect();
        let len = (member_end - member_start).checked_mul(members.len() as u64)?;
        zones.push(Zone {
            start,
            end: start.checked_add(len)?,
            member_start,
            member_end,
            members,
        });
    }
    Some(zones)
}

#[cfg(test)]
#[path = "raid0_tests.rs"]
mod tests;
