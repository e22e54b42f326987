//! Where md raid10 keeps the copies of a sector, and whose copy lies on a
//! member's sector: near, far and offset layouts, with or without far sets.
//!
//! Must not guess: a layout md refuses is an error, and so is one that md would
//! run but that puts two sectors of the array on one place. Knows no reshape.
//!
//! After `setup_geo`, `calc_sectors`, `__raid10_find_phys` and
//! `raid10_find_virt` of drivers/md/raid10.c.

use std::num::NonZeroU32;

use super::{
    place::{ArraySector, MAX_MEMBERS, MemberSector, Place, Slot},
    shape::Chunk,
};
use crate::units::Sectors;

/// Where the far copies of a chunk lie on their members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FarCopies {
    /// In a section of their own, further down all members.
    Apart,
    /// In the next row ("offset").
    NextRow,
}

/// Among which members far copies go round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FarSets {
    /// All of them.
    One,
    /// Sets of members ÷ far copies: the "improved" layout that was a mistake
    /// and may put two copies on one member.
    Mistaken,
    /// Sets of as many members as there are copies.
    OfCopies,
}

/// What md's layout number says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raid10Layout {
    near: NonZeroU32,
    far: NonZeroU32,
    far_copies: FarCopies,
    far_sets: FarSets,
}

impl Raid10Layout {
    /// Decodes `md/layout`: near copies in bits 0–7, far copies in bits 8–15,
    /// bit 16 offset, bits 17–18 far sets. `None` for a number md refuses
    /// whatever the members.
    #[must_use]
    pub fn from_md(layout: i64) -> Option<Self> {
        let bits = u32::try_from(layout).ok()?;
        let layout = Self {
            near: NonZeroU32::new(bits & 0xff)?,
            far: NonZeroU32::new(bits >> 8 & 0xff)?,
            far_copies: if bits & 1 << 16 == 0 {
                FarCopies::Apart
            } else {
                FarCopies::NextRow
            },
            far_sets: match bits >> 17 {
                0 => FarSets::One,
                1 => FarSets::Mistaken,
                2 => FarSets::OfCopies,
                _ => return None,
            },
        };
        (layout.copies().get() >= 2).then_some(layout)
    }

    /// How often each sector is kept.
    #[must_use]
    pub const fn copies(&self) -> NonZeroU32 {
        // Both factors are below 256.
        self.near.saturating_mul(self.far)
    }

    #[must_use]
    pub const fn near(&self) -> NonZeroU32 {
        self.near
    }

    #[must_use]
    pub const fn far(&self) -> NonZeroU32 {
        self.far
    }

    #[must_use]
    pub const fn far_copies(&self) -> FarCopies {
        self.far_copies
    }

    #[must_use]
    pub const fn far_sets(&self) -> FarSets {
        self.far_sets
    }
}

/// Why attributes make no raid10 array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Raid10Error {
    #[error("raid10 has no layout {0:#x}")]
    Layout(i64),
    #[error("{copies} copies on {raid_disks} members")]
    Disks { copies: u32, raid_disks: u32 },
    #[error("a chunk of {} sectors is no power of two of at least 8", .0.0)]
    Chunk(Sectors),
    #[error("members of {} sectors are too short or too long", .0.0)]
    Members(Sectors),
    /// Only possible with near *and* far copies, which mdadm does not create.
    #[error("layout {layout:#x} of {raid_disks} members puts two sectors on one place")]
    Overlap { layout: i64, raid_disks: u32 },
}

/// A raid10 array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raid10 {
    layout: Raid10Layout,
    raid_disks: u32,
    /// Members of a far set; the last set may be larger.
    far_set_disks: u32,
    chunk: Chunk,
    /// Rows of chunks in one section of a member (`FarCopies::Apart`).
    section_rows: u64,
    array_chunks: u64,
}

/// One far set.
struct FarSet {
    first: u32,
    disks: u32,
}

impl Raid10 {
    /// From md's attributes; `component` is `md/component_size`, the part of
    /// each member that the array uses.
    pub fn new(
        layout: i64,
        raid_disks: u32,
        chunk: Sectors,
        component: Sectors,
    ) -> Result<Self, Raid10Error> {
        let number = layout;
        let layout = Raid10Layout::from_md(number).ok_or(Raid10Error::Layout(number))?;
        let copies = layout.copies().get();
        if copies > raid_disks || raid_disks > MAX_MEMBERS {
            return Err(Raid10Error::Disks { copies, raid_disks });
        }
        let chunk = Chunk::new(chunk).ok_or(Raid10Error::Chunk(chunk))?;
        let far_set_disks = match layout.far_sets {
            FarSets::One => raid_disks,
            FarSets::Mistaken => raid_disks / layout.far,
            FarSets::OfCopies => copies,
        };
        // `calc_sectors` comes to the same stride by rounding up once more.
        let section_rows = component.0 / chunk.sectors().0 / u64::from(layout.far.get());
        let array_chunks = section_rows
            .checked_mul(u64::from(raid_disks))
            .map(|chunks| chunks / u64::from(layout.near.get()))
            // Each sector must be countable.
            .filter(|chunks| *chunks > 0 && chunks.checked_mul(chunk.sectors().0).is_some())
            .ok_or(Raid10Error::Members(component))?;
        let array = Self {
            layout,
            raid_disks,
            far_set_disks,
            chunk,
            section_rows,
            array_chunks,
        };
        if array.overlaps() {
            return Err(Raid10Error::Overlap {
                layout: number,
                raid_disks,
            });
        }
        Ok(array)
    }

    #[must_use]
    pub const fn layout(&self) -> &Raid10Layout {
        &self.layout
    }

    /// Length of the array (`raid10_size`).
    #[must_use]
    pub const fn size(&self) -> Sectors {
        Sectors(self.array_chunks * self.chunk.sectors().0)
    }

    /// Whether some sector may have two copies on one member, so that one
    /// failed member can lose data. md only warns of it.
    #[must_use]
    pub const fn copies_share_members(&self) -> bool {
        self.layout.far.get() > 1 && self.far_set_disks < self.layout.copies().get()
    }

    /// All copies of a sector, in md's order: each near copy, followed by its
    /// far copies. `None` beyond the end of the array.
    #[must_use]
    pub fn copies(&self, sector: ArraySector) -> Option<impl Iterator<Item = Place> + '_> {
        let chunk_sectors = self.chunk.sectors().0;
        let chunk_number = sector.0 / chunk_sectors;
        if chunk_number >= self.array_chunks {
            return None;
        }
        let (near, far) = (self.layout.near.get(), self.layout.far.get());
        // Near copies are counted along the rows. Below `section_rows` rows of
        // `raid_disks`, which `new` found to be countable.
        let first = chunk_number * u64::from(near);
        let disks = u64::from(self.raid_disks);
        Some((0..near).flat_map(move |nth| {
            let number = first + u64::from(nth);
            let slot = (number % disks) as u32;
            (0..far).map(move |nth_far| Place {
                slot: self.far_slot(slot, nth_far),
                sector: MemberSector(
                    self.member_row(number / disks, nth_far) * chunk_sectors
                        + sector.0 % chunk_sectors,
                ),
            })
        }))
    }

    /// The sector of which a copy lies at `place`; `None` where none does.
    #[must_use]
    pub fn content(&self, place: Place) -> Option<ArraySector> {
        if place.slot.0 >= self.raid_disks {
            return None;
        }
        let chunk_sectors = self.chunk.sectors().0;
        let member_row = place.sector.0 / chunk_sectors;
        let far = u64::from(self.layout.far.get());
        let (row, nth_far) = match self.layout.far_copies {
            FarCopies::NextRow => (member_row / far, member_row % far),
            FarCopies::Apart => (
                member_row % self.section_rows,
                member_row / self.section_rows,
            ),
        };
        if nth_far >= far {
            return None;
        }
        let slot = self.near_slot(place.slot.0, nth_far as u32);
        let number = row
            .checked_mul(u64::from(self.raid_disks))?
            .checked_add(u64::from(slot))?;
        let chunk_number = number / u64::from(self.layout.near.get());
        if chunk_number >= self.array_chunks {
            return None;
        }
        Some(ArraySector(
            chunk_number * chunk_sectors + place.sector.0 % chunk_sectors,
        ))
    }

    /// Whether md's own arithmetic sends two chunks to one place. Near copies
    /// that run over the end of a row go to the next row of the member, which
    /// with "offset" holds far copies; and where the last far set is enlarged,
    /// `__raid10_find_phys` takes members just before it for its own.
    const fn overlaps(&self) -> bool {
        let (near, far) = (self.layout.near.get(), self.layout.far.get());
        if near == 1 || far == 1 {
            return false;
        }
        let over_the_end = matches!(self.layout.far_copies, FarCopies::NextRow)
            && !self.raid_disks.is_multiple_of(near);
        let enlarged_set = !self.raid_disks.is_multiple_of(self.far_set_disks)
            && self.raid_disks / self.far_set_disks > 1;
        over_the_end || enlarged_set
    }

    fn member_row(&self, row: u64, nth_far: u32) -> u64 {
        match self.layout.far_copies {
            FarCopies::NextRow => row * u64::from(self.layout.far.get()) + u64::from(nth_far),
            FarCopies::Apart => row + u64::from(nth_far) * self.section_rows,
        }
    }

    fn far_set(&self, slot: u32) -> FarSet {
        let last = self.raid_disks / self.far_set_disks - 1;
        let nth = (slot / self.far_set_disks).min(last);
        let first = nth * self.far_set_disks;
        let end = if nth == last {
            self.raid_disks
        } else {
            first + self.far_set_disks
        };
        FarSet {
            first,
            disks: end - first,
        }
    }

    /// Each far copy lies `near` members on, round its set.
    fn far_slot(&self, slot: u32, nth_far: u32) -> Slot {
        let set = self.far_set(slot);
        let ahead = nth_far * self.layout.near.get();
        Slot(set.first + (slot - set.first + ahead) % set.disks)
    }

    fn near_slot(&self, slot: u32, nth_far: u32) -> u32 {
        let set = self.far_set(slot);
        let ahead = nth_far * self.layout.near.get() % set.disks;
        set.first + (slot - set.first + set.disks - ahead) % set.disks
    }
}

#[cfg(test)]
#[path = "raid10_tests.rs"]
mod tests;
