//! Where md raid4/5/6 keeps a sector of the array, where its parity, and what
//! lies on a member's sector.
//!
//! Must not guess: a layout number that md does not know is an error. Knows no
//! sizes (whether a sector is inside the array is the caller's to know) and no
//! reshape (an array being reshaped has two layouts at once).
//!
//! After `raid5_compute_sector` and `raid5_compute_blocknr` of
//! drivers/md/raid5.c. Their many cases are all combinations of three choices:
//! how P moves from stripe to stripe, where Q lies, and whether data begin at
//! slot 0 or behind the parity.

use super::{
    place::{ArraySector, MemberSector, Place, Slot},
    shape::{ParityLevel, ParityShape, ShapeError},
};
use crate::units::Sectors;

/// Why attributes make no raid4/5/6 array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Raid456Error {
    #[error(transparent)]
    Shape(#[from] ShapeError),
    #[error("{level} has no layout {layout}")]
    Layout { level: ParityLevel, layout: i64 },
}

/// Where a sector of the array lies, and the parity of its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Located {
    pub data: Place,
    /// Parity lies on the same sector of these members.
    pub p: Slot,
    /// raid6 only.
    pub q: Option<Slot>,
}

/// What lies on a member's sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    Data(ArraySector),
    P,
    Q,
}

/// A raid4/5/6 array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raid456 {
    shape: ParityShape,
    layout: Layout,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layout {
    p: Walk,
    q: Option<QPlace>,
    data: Order,
    /// How many stripes ahead of stripe 0 the walk of P begins.
    ahead: u64,
}

/// How P moves from one stripe to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Walk {
    /// From the last slot down.
    Left,
    /// From slot 0 up.
    Right,
    StaysFirst,
    StaysLast,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum QPlace {
    AfterP,
    BeforeP,
    /// On the last slot; the other slots are a raid5.
    LastSlot,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// Upward from slot 0, over parity ("asymmetric").
    FromSlot0,
    /// Upward from the slot behind the parity, round the end ("symmetric").
    BehindParity,
}

/// Slots of one stripe's parity.
struct Parity {
    p: u32,
    q: Option<u32>,
}

impl Raid456 {
    /// From md's attributes; `layout` is md's own number (`ALGORITHM_*` of
    /// drivers/md/raid5.h), without meaning for raid4.
    pub fn new(
        level: ParityLevel,
        layout: i64,
        raid_disks: u32,
        chunk: Sectors,
    ) -> Result<Self, Raid456Error> {
        let of_level = match level {
            // Its layout is not looked at: P is on the last slot, as in
            // `ALGORITHM_PARITY_N`.
            ParityLevel::Raid4 => Layout::of_raid5(5),
            ParityLevel::Raid5 => Layout::of_raid5(layout),
            ParityLevel::Raid6 => Layout::of_raid6(layout),
        };
        Ok(Self {
            shape: ParityShape::new(level, raid_disks, chunk)?,
            layout: of_level.ok_or(Raid456Error::Layout { level, layout })?,
        })
    }

    #[must_use]
    pub const fn shape(&self) -> &ParityShape {
        &self.shape
    }

    /// Where a sector of the array lies.
    #[must_use]
    pub fn locate(&self, sector: ArraySector) -> Located {
        let chunk_sectors = self.shape.chunk().sectors().0;
        let data_disks = u64::from(self.shape.data_disks());
        let chunk_number = sector.0 / chunk_sectors;
        let stripe = chunk_number / data_disks;
        // Less than the number of members.
        let index = (chunk_number % data_disks) as u32;
        let parity = self.parity(stripe);
        Located {
            data: Place {
                slot: Slot(self.data_slot(index, &parity)),
                sector: MemberSector(stripe * chunk_sectors + sector.0 % chunk_sectors),
            },
            p: Slot(parity.p),
            q: parity.q.map(Slot),
        }
    }

    /// What lies on a member's sector; `None` for a slot the array does not
    /// have, and beyond what 64 bits can count.
    #[must_use]
    pub fn content(&self, place: Place) -> Option<Content> {
        let slot = place.slot.0;
        if slot >= self.shape.raid_disks() {
            return None;
        }
        let chunk_sectors = self.shape.chunk().sectors().0;
        let stripe = place.sector.0 / chunk_sectors;
        let parity = self.parity(stripe);
        if slot == parity.p {
            return Some(Content::P);
        }
        if Some(slot) == parity.q {
            return Some(Content::Q);
        }
        stripe
            .checked_mul(u64::from(self.shape.data_disks()))?
            .checked_add(u64::from(self.data_index(slot, &parity)))?
            .checked_mul(chunk_sectors)?
            .checked_add(place.sector.0 % chunk_sectors)
            .map(|sector| Content::Data(ArraySector(sector)))
    }

    /// Slots that take part in the walk of P.
    fn ring(&self) -> u32 {
        match self.layout.q {
            Some(QPlace::LastSlot) => self.shape.raid_disks() - 1,
            _ => self.shape.raid_disks(),
        }
    }

    fn parity(&self, stripe: u64) -> Parity {
        let (ring, disks) = (self.ring(), self.shape.raid_disks());
        // Less than the ring.
        let turn = (stripe.wrapping_add(self.layout.ahead) % u64::from(ring)) as u32;
        let p = match self.layout.p {
            Walk::Left => ring - 1 - turn,
            Walk::Right => turn,
            Walk::StaysFirst => 0,
            Walk::StaysLast => ring - 1,
        };
        let q = self.layout.q.map(|q| match q {
            QPlace::AfterP => (p + 1) % disks,
            QPlace::BeforeP => (p + disks - 1) % disks,
            QPlace::LastSlot => disks - 1,
        });
        Parity { p, q }
    }

    /// Distance of the first data from P, where data lie behind the parity.
    fn behind(&self) -> u32 {
        match self.layout.q {
            Some(QPlace::AfterP) => 2,
            _ => 1,
        }
    }

    fn data_slot(&self, index: u32, parity: &Parity) -> u32 {
        match self.layout.data {
            Order::FromSlot0 => {
                let q = parity.q.unwrap_or(u32::MAX);
                let over = |slot, parity| if slot >= parity { slot + 1 } else { slot };
                over(over(index, parity.p.min(q)), parity.p.max(q))
            }
            Order::BehindParity => (parity.p + self.behind() + index) % self.ring(),
        }
    }

    /// The reverse of [`Self::data_slot`], for a slot that holds data.
    fn data_index(&self, slot: u32, parity: &Parity) -> u32 {
        match self.layout.data {
            Order::FromSlot0 => {
                let below =
                    u32::from(parity.p < slot) + u32::from(parity.q.is_some_and(|q| q < slot));
                slot - below
            }
            // Two rings are added so that nothing falls below 0.
            Order::BehindParity => {
                (slot + 2 * self.ring() - parity.p - self.behind()) % self.ring()
            }
        }
    }
}

impl Layout {
    const fn new(p: Walk, q: Option<QPlace>, data: Order) -> Self {
        Self {
            p,
            q,
            data,
            ahead: 0,
        }
    }

    const fn of_raid5(number: i64) -> Option<Self> {
        let (p, data) = match number {
            0 => (Walk::Left, Order::FromSlot0),
            1 => (Walk::Right, Order::FromSlot0),
            2 => (Walk::Left, Order::BehindParity),
            3 => (Walk::Right, Order::BehindParity),
            4 => (Walk::StaysFirst, Order::FromSlot0),
            5 => (Walk::StaysLast, Order::FromSlot0),
            _ => return None,
        };
        Some(Self::new(p, None, data))
    }

    fn of_raid6(number: i64) -> Option<Self> {
        let with_q = |layout: Self, q| Self {
            q: Some(q),
            ..layout
        };
        match number {
            0..=4 => Some(with_q(Self::of_raid5(number)?, QPlace::AfterP)),
            5 => Some(with_q(Self::of_raid5(5)?, QPlace::LastSlot)),
            // 8 to 10 are DDF's. 8 differs from 1 only in the order of blocks
            // that Q is computed in.
            8 => Some(with_q(Self::of_raid5(1)?, QPlace::AfterP)),
            9 => Some(Self {
                ahead: 1,
                ..with_q(Self::of_raid5(0)?, QPlace::AfterP)
            }),
            10 => Some(with_q(Self::of_raid5(2)?, QPlace::BeforeP)),
            // The raid5 layouts 0 to 4 with Q on one more member, as left by a
            // reshape from raid5.
            16..=20 => Some(with_q(Self::of_raid5(number - 16)?, QPlace::LastSlot)),
            _ => None,
        }
    }
}

#[cfg(test)]
#[path = "raid456_tests.rs"]
mod tests;
