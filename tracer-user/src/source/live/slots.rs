//! Keeps the kernel's slots in step with the devices there are: announces
//! new ones, names those the programs met first, moves geometry, and frees
//! the slots of devices that are gone.
//!
//! A device keeps its row (its number and name) over re-plug and re-assembly;
//! what a freed slot had counted stays in [`Slots::retired`]. Must not read
//! sysfs or counters' meaning.

use std::collections::{BTreeMap, HashSet};

use tracer_ebpf::abi::{
    FLAG_REQUEST_BASED, OVERFLOW_SLOT, Place, Ranges, SlotOwner, SlotState, UNKNOWN_PLACE,
};

use super::{
    assigned::{Assigned, disk_name},
    counted::Counted,
    maps::{Maps, MapsError},
    place,
    processes::Entry,
};
use crate::{
    snapshot::RowKey,
    source::MapUse,
    sysfs::device::{Device, Kind, Topology},
    units::{DevId, Sectors},
};

/// Which slot belongs to which device.
pub(super) struct Slots {
    assigned: BTreeMap<u32, Assigned>,
    /// Slots made by the programs whose owner is not known to sysfs yet.
    unnamed: BTreeMap<u32, SlotOwner>,
    /// Those of them that have been looked for once.
    met: HashSet<u32>,
    /// Slots that the programs do not know of yet.
    fresh: Vec<(u32, u32)>,
    capacity: u32,
    free_details: Vec<u32>,
    slots_made: u64,
    pub(super) retired: BTreeMap<RowKey, Counted>,
    /// What processes did in slots that were freed.
    freed_processes: Vec<(DevId, Entry)>,
}

impl Slots {
    /// Slots 1 up to `capacity`, and `details` histograms, all free.
    pub(super) fn new(maps: &mut Maps, capacity: u32, details: u32) -> Result<Self, MapsError> {
        for slot in OVERFLOW_SLOT + 1..capacity {
            maps.push_free(slot)?;
        }
        Ok(Self {
            assigned: BTreeMap::new(),
            unnamed: BTreeMap::new(),
            met: HashSet::new(),
            fresh: Vec::new(),
            capacity,
            free_details: (0..details).rev().collect(),
            slots_made: 0,
            retired: BTreeMap::new(),
            freed_processes: Vec::new(),
        })
    }

    /// Slots that count for a row, in use now.
    pub(super) fn assigned(&self) -> impl Iterator<Item = (u32, &Assigned)> {
        self.assigned
            .iter()
            .map(|(slot, assigned)| (*slot, assigned))
    }

    /// How many slots and histograms are in use, and how many there are.
    pub(super) fn uses(&self) -> Vec<MapUse> {
        let slots = self.assigned.len() + self.unnamed.len();
        let assigned = self.assigned.values();
        let details = assigned.filter(|one| one.detail.is_some()).count();
        vec![
            MapUse {
                name: "slots",
                used: slots as u64,
                // Slot 0 is for what finds none.
                capacity: u64::from(self.capacity.saturating_sub(1)),
            },
            MapUse {
                name: "histograms",
                used: details as u64,
                capacity: (details + self.free_details.len()) as u64,
            },
        ]
    }

    /// The device that a slot belongs to.
    pub(super) fn device_of(&self, slot: u32) -> Option<DevId> {
        self.assigned.get(&slot).map(|assigned| assigned.key.device)
    }

    /// What processes did in slots that were freed since the last call.
    pub(super) fn take_freed_processes(&mut self) -> Vec<(DevId, Entry)> {
        std::mem::take(&mut self.freed_processes)
    }

    /// The programs have made slots that have not been looked up yet.
    pub(super) fn made_since(&self, maps: &Maps) -> Result<bool, MapsError> {
        Ok(maps.lost()?.slots_made != self.slots_made || !self.unnamed.is_empty())
    }

    /// Brings the slots in step with `topology`. Histograms go to the devices
    /// in `wanted`, or to all while there are some, where it is `None`.
    pub(super) fn follow(
        &mut self,
        maps: &mut Maps,
        topology: &Topology,
        wanted: Option<&HashSet<DevId>>,
    ) -> Result<(), MapsError> {
        self.find_owners(maps)?;
        for device in topology.devices.values() {
            self.announce(maps, device)?;
        }
        self.name_rest(topology);
        for slot in self.by_interest(topology) {
            self.place(maps, topology, wanted, slot)?;
        }
        self.publish(maps)?;
        self.retire(maps, topology)
    }

    /// Looks up the owners of the slots that the programs made.
    fn find_owners(&mut self, maps: &mut Maps) -> Result<(), MapsError> {
        let slots_made = maps.lost()?.slots_made;
        if slots_made == self.slots_made {
            return Ok(());
        }
        self.slots_made = slots_made;
        for slot in OVERFLOW_SLOT + 1..self.capacity {
            if self.assigned.contains_key(&slot) {
                continue;
            }
            let owner = maps.owner(slot)?;
            if owner.dev != 0 {
                self.unnamed.insert(slot, owner);
            }
        }
        Ok(())
    }

    /// Gives a device a slot unless it has one, and takes over those that the
    /// programs made for it.
    fn announce(&mut self, maps: &mut Maps, device: &Device) -> Result<(), MapsError> {
        let dev = device.id.to_kernel();
        let key = RowKey {
            device: device.id,
            name: device.name.clone(),
        };
        let made: Vec<u32> = self
            .unnamed
            .iter()
            .filter(|(_, owner)| owner.dev == dev)
            .map(|(slot, _)| *slot)
            .collect();
        for slot in made {
            if let Some(owner) = self.unnamed.remove(&slot) {
                self.assign(slot, key.clone(), device, owner);
            }
        }
        let flags = if device.request_based {
            FLAG_REQUEST_BASED
        } else {
            0
        };
        if let Some(slot) = maps.slot(dev)? {
            return self.renew(maps, device, slot, flags);
        }
        let Some(slot) = maps.pop_free()? else {
            return Ok(());
        };
        let id = device.diskseq.unwrap_or(0);
        let owner = SlotOwner {
            dev,
            flags,
            id,
            disk_name: [0; 32],
        };
        maps.set_state(
            slot,
            SlotState {
                id,
                place: UNKNOWN_PLACE,
                flags,
            },
        )?;
        maps.set_owner(slot, owner)?;
        self.assign(slot, key, device, owner);
        // Places before the first event can be counted: see `place`.
        self.fresh.push((dev, slot));
        Ok(())
    }

    /// Lets the programs see the slots whose places are written now.
    fn publish(&mut self, maps: &mut Maps) -> Result<(), MapsError> {
        for (dev, slot) in std::mem::take(&mut self.fresh) {
            if !maps.announce(dev, slot)? {
                // The programs were first: theirs is found at the next look.
                self.assigned.remove(&slot);
                maps.set_owner(slot, SlotOwner::default())?;
                maps.push_free(slot)?;
            }
        }
        Ok(())
    }

    /// The slot of a device we know: its diskseq or its kind may have changed
    /// under the same number (a loop device set up anew).
    fn renew(
        &mut self,
        maps: &mut Maps,
        device: &Device,
        slot: u32,
        flags: u32,
    ) -> Result<(), MapsError> {
        if let Some(assigned) = self.assigned.get_mut(&slot) {
            assigned.gone = false;
        }
        let state = maps.state(slot)?;
        let id = device.diskseq.unwrap_or(state.id);
        if state.id == id && state.flags == flags {
            return Ok(());
        }
        maps.set_state(slot, SlotState { id, flags, ..state })
    }

    fn assign(&mut self, slot: u32, key: RowKey, device: &Device, owner: SlotOwner) {
        let disk = device.partition.map(|partition| partition.disk);
        self.assigned.insert(slot, Assigned::new(key, disk, owner));
    }

    /// Slots of devices that sysfs gives no number (the paths below an NVMe
    /// multipath head), known by their gendisk's name; and of devices that
    /// were gone before anybody looked.
    fn name_rest(&mut self, topology: &Topology) {
        for (slot, owner) in std::mem::take(&mut self.unnamed) {
            let hidden = disk_name(&owner)
                .filter(|name| topology.hidden.iter().any(|hidden| hidden.name == *name));
            let seen_before = !self.met.insert(slot);
            let id = DevId::from_kernel(owner.dev);
            let name = match hidden {
                Some(name) => name,
                // Not in sysfs at the second look either.
                None if seen_before => disk_name(&owner).unwrap_or_else(|| id.to_string()),
                None => {
                    self.unnamed.insert(slot, owner);
                    continue;
                }
            };
            self.met.remove(&slot);
            self.assigned.insert(
                slot,
                Assigned::new(RowKey { device: id, name }, None, owner),
            );
        }
    }

    /// Moves a slot's geometry, histograms and partitions to what they are now.
    fn place(
        &mut self,
        maps: &mut Maps,
        topology: &Topology,
        wanted: Option<&HashSet<DevId>>,
        slot: u32,
    ) -> Result<(), MapsError> {
        let disk_slot = self.disk_slot(slot);
        let ranges = self.ranges(topology, slot);
        let Some(assigned) = self.assigned.get_mut(&slot) else {
            return Ok(());
        };
        let Some(geometry) = place::geometry(topology, &assigned.key) else {
            return Ok(());
        };
        if assigned.detail.is_none()
            && wanted.is_none_or(|wanted| wanted.contains(&assigned.key.device))
        {
            assigned.detail = self.free_details.pop();
        }
        let detail = assigned.detail.map_or(0, |index| index + 1);
        let place = Place {
            geometry,
            detail,
            disk_slot,
        };
        if assigned.place.is_none_or(|(_, current)| current != place) {
            let index = match assigned.place {
                Some((index, _)) if index == first_place(slot) => index + 1,
                _ => first_place(slot),
            };
            maps.set_place(slot, index, place)?;
            assigned.place = Some((index, place));
        }
        if ranges.is_some() && assigned.ranges != ranges {
            maps.set_partitions(slot, ranges.unwrap_or_default())?;
            assigned.ranges = ranges;
        }
        Ok(())
    }

    /// The slots in use, those first that a person would want histograms of.
    fn by_interest(&self, topology: &Topology) -> Vec<u32> {
        let mut slots: Vec<u32> = self.assigned.keys().copied().collect();
        slots.sort_by_key(|slot| {
            let key = self.assigned.get(slot).map(|assigned| assigned.key.device);
            let device = key.and_then(|id| topology.devices.get(&id));
            device.is_none_or(|device| {
                let memory = matches!(device.kind, Kind::Loop | Kind::Ram | Kind::Zram);
                memory || device.size == Some(Sectors(0))
            })
        });
        slots
    }

    fn disk_slot(&self, slot: u32) -> u32 {
        let disk = self.assigned.get(&slot).and_then(|assigned| assigned.disk);
        let Some(disk) = disk else { return slot };
        self.slot_of(disk).unwrap_or(slot)
    }

    fn slot_of(&self, device: DevId) -> Option<u32> {
        self.assigned
            .iter()
            .find(|(_, assigned)| assigned.key.device == device && !assigned.gone)
            .map(|(slot, _)| *slot)
    }

    /// The partitions of a whole disk, for programs that go by range.
    fn ranges(&self, topology: &Topology, slot: u32) -> Option<Ranges> {
        let assigned = self.assigned.get(&slot)?;
        let whole = assigned.disk.is_none();
        whole.then(|| place::ranges(topology, assigned.key.device, |id| self.slot_of(id)))
    }

    /// Frees the slots of devices that have been gone for two looks in a row,
    /// so that nothing under way still counts in them.
    fn retire(&mut self, maps: &mut Maps, topology: &Topology) -> Result<(), MapsError> {
        let mut freed = Vec::new();
        for (slot, assigned) in &mut self.assigned {
            let dev = assigned.owner.dev;
            let current = maps.slot(dev)? == Some(*slot);
            if current && place::is_there(topology, &assigned.key) {
                assigned.gone = false;
            } else if !assigned.gone {
                assigned.gone = true;
            } else {
                freed.push((*slot, current));
            }
        }
        for (slot, current) in freed {
            self.free(maps, slot, current)?;
        }
        Ok(())
    }

    fn free(&mut self, maps: &mut Maps, slot: u32, current: bool) -> Result<(), MapsError> {
        let Some(assigned) = self.assigned.remove(&slot) else {
            return Ok(());
        };
        if current {
            maps.remove_device(assigned.owner.dev)?;
        }
        self.free_processes(maps, slot, assigned.key.device)?;
        let cells = maps.cells(slot)?;
        let detail = assigned
            .detail
            .map(|index| maps.detail(index))
            .transpose()?;
        let retired = self.retired.entry(assigned.key);
        retired
            .or_insert_with(|| Counted::nothing(assigned.disk))
            .add(&cells, detail);
        maps.set_state(slot, SlotState::default())?;
        maps.set_owner(slot, SlotOwner::default())?;
        maps.clear(slot)?;
        if let Some(index) = assigned.detail {
            maps.clear_detail(index)?;
            self.free_details.push(index);
        }
        maps.push_free(slot)
    }

    /// Takes the processes' entries of a slot, before it is another device's.
    fn free_processes(
        &mut self,
        maps: &mut Maps,
        slot: u32,
        device: DevId,
    ) -> Result<(), MapsError> {
        for entry in maps.processes()? {
            if entry.0.slot == slot {
                maps.remove_process(&entry.0)?;
                self.freed_processes.push((device, entry));
            }
        }
        Ok(())
    }
}

/// A slot has two places of its own and points at one; the other is written
/// when its geometry changes. 0 is [`UNKNOWN_PLACE`].
const fn first_place(slot: u32) -> u32 {
    1 + 2 * slot
}

/// Entries that `PLACES` needs for so many slots.
pub(super) const fn places_for(slots: u32) -> u32 {
    first_place(slots)
}
