//! Which slot an IO is counted in: found by `dev_t`, checked by what is never
//! reused (diskseq, else the gendisk's address), made on first sight.
//!
//! A device that user space has not announced gets a slot here and is counted
//! at once, its class unknown until user space has read its geometry. Entries
//! of `DEVICES` change only when the device behind a `dev_t` does.
//! Must not classify or count IO.

use tracer_ebpf::abi::{
    ABSENT, FLAG_KIND_UNKNOWN, FLAG_REQUEST_BASED, OVERFLOW_SLOT, Place, SlotOwner, lost,
};

use crate::{
    maps::{self, DEVICES, FREE_SLOTS, NO_EXIST, OWNERS, PARTITIONS, State},
    read::{Kernel, Ptr, Room, layout},
};

/// A slot that was looked up; a second look-up would cost as much again.
#[derive(Clone, Copy)]
pub(crate) struct Slot {
    pub(crate) index: u32,
    state: State,
}

impl Slot {
    #[inline(always)]
    pub(crate) fn of(index: u32) -> Option<Self> {
        let state = State::of(index)?;
        Some(Self { index, state })
    }

    #[inline(always)]
    pub(crate) fn flags(self) -> u32 {
        self.state.flags()
    }

    #[inline(always)]
    pub(crate) fn place(self) -> Option<&'static Place> {
        self.state.place()
    }
}

/// `dev_t` of a partition or disk, and the disk, from its `block_device`.
#[inline(always)]
pub(crate) fn bdev<K: Kernel>(bdev: Ptr) -> Option<(u32, Ptr)> {
    // Since 6.9 these words hold both; before, each is read by itself.
    let mut room = Room::<5>::new();
    let bdev = K::window(&mut room, bdev, layout!(bdev_disk))?;
    let dev = K::at(&bdev, layout!(bdev_dev))?;
    Some((dev, K::follow(&bdev, layout!(bdev_disk))?))
}

/// `dev_t` of a whole disk.
#[inline(always)]
pub(crate) fn disk_dev<K: Kernel>(disk: Ptr) -> Option<u32> {
    let major: u32 = K::load(disk, layout!(disk_major))?;
    let minor: u32 = K::load(disk, layout!(disk_first_minor))?;
    Some(major << 20 | minor)
}

/// What is never reused of a disk: its diskseq, or its address.
#[inline(always)]
fn disk_id<K: Kernel>(disk: Ptr) -> Option<u64> {
    if layout!(disk_diskseq) == ABSENT {
        Some(disk.address())
    } else {
        K::load(disk, layout!(disk_diskseq))
    }
}

/// The slot of the device `dev` on `disk`; made if it has none.
#[inline(always)]
pub(crate) fn of_disk<K: Kernel>(dev: u32, disk: Ptr, flags: u32) -> Option<Slot> {
    let id = disk_id::<K>(disk)?;
    if let Some(index) = maps::slot(dev) {
        let slot = Slot::of(index)?;
        let known = slot.state.id();
        if known == id {
            return Some(slot);
        }
        if known == 0 {
            slot.state.set_id(id);
            return Some(slot);
        }
    }
    Slot::of(first_sight(dev, disk, flags, id))
}

/// The slot of a device whose disk has not been seen before. Apart, to keep
/// what happens once a device out of the way of what happens at every event.
#[inline(never)]
fn first_sight(dev: u32, disk: Ptr, flags: u32, id: u64) -> u32 {
    let mut owner = SlotOwner {
        dev,
        flags,
        id,
        disk_name: [0; 32],
    };
    disk.copy_bytes(layout!(disk_name), &mut owner.disk_name);
    make(&owner)
}

/// The slot of a device of which the event tells the number only.
#[inline(always)]
pub(crate) fn of_number(dev: u32, flags: u32) -> Option<Slot> {
    let index = match maps::slot(dev) {
        Some(index) => index,
        None => make(&SlotOwner {
            dev,
            flags,
            id: 0,
            disk_name: [0; 32],
        }),
    };
    Slot::of(index)
}

/// Takes a free slot for a device seen for the first time.
#[inline(never)]
fn make(owner: &SlotOwner) -> u32 {
    let Ok(Some(slot)) = FREE_SLOTS.pop() else {
        maps::count_lost(lost::NO_SLOT);
        return OVERFLOW_SLOT;
    };
    if let Some(state) = State::of(slot) {
        state.start(owner.id, owner.flags);
    }
    let _ = OWNERS.set(slot, owner, 0);
    maps::count_slot_made();
    // Replace the entry of another device, but not one that another CPU has
    // just made for this one.
    let replace = maps::slot(owner.dev).is_some();
    if DEVICES
        .insert(owner.dev, slot, if replace { 0 } else { NO_EXIST })
        .is_ok()
    {
        if replace {
            maps::forget_front(owner.dev);
        }
        return slot;
    }
    let _ = OWNERS.set(slot, SlotOwner::default(), 0);
    let _ = FREE_SLOTS.push(slot, 0);
    match maps::slot(owner.dev) {
        Some(theirs) => theirs,
        None => {
            maps::count_lost(lost::NO_SLOT);
            OVERFLOW_SLOT
        }
    }
}

/// The slot of the partition that holds `start_sector`, by the table that user
/// space filled; the disk's own where none does. For kernels and tracepoints
/// that do not tell the partition.
#[inline(always)]
pub(crate) fn partition_by_range(disk: Slot, start_sector: u64, len_bytes: u64) -> Option<Slot> {
    let index = range(disk.index, start_sector, len_bytes);
    if index == disk.index {
        Some(disk)
    } else {
        Slot::of(index)
    }
}

/// Apart: newer kernels tell the partition and never come here.
#[inline(never)]
fn range(disk_slot: u32, start_sector: u64, len_bytes: u64) -> u32 {
    if len_bytes == 0 {
        return disk_slot;
    }
    let Some(ranges) = PARTITIONS.get(disk_slot) else {
        return disk_slot;
    };
    for range in &ranges.range {
        if range.len_sectors == 0 {
            break;
        }
        if start_sector.wrapping_sub(range.start_sector) < range.len_sectors {
            return range.slot;
        }
    }
    disk_slot
}

/// Flags of a device whose queue has, or has not, blk-mq operations.
#[inline(always)]
pub(crate) fn kind_flags(request_based: bool) -> u32 {
    if request_based { FLAG_REQUEST_BASED } else { 0 }
}

/// Flags of a device that a classic bio event names: the record cannot tell.
pub(crate) const UNTOLD_KIND: u32 = FLAG_KIND_UNKNOWN;
