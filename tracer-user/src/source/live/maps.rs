//! The object's maps under their types. The only module of user space that
//! holds `unsafe`: the promise that the shared values are plain data.
//!
//! Must not decide what is counted.

use aya::{
    Ebpf, Pod,
    maps::{Array, HashMap, MapData, MapError, PerCpuArray, Queue},
};
use tracer_ebpf::{
    abi::{
        Config, Layout, Place, ProcessCells, ProcessKey, Ranges, SlotOwner, SlotState, front_index,
        lost,
    },
    cells::{CELLS, HOT_CELLS, SHARED_CELLS, detail},
    origin::abi::{Component, MdLayout},
};

/// A shared value, under a name of this crate's own so that it may be [`Pod`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub(super) struct Shared<T>(pub(super) T);

macro_rules! plain {
    ($($type:ty)*) => {$(
        // SAFETY: `repr(C)`, integers only, no padding (asserted in
        // `tracer_ebpf::abi`): any bytes are a value.
        unsafe impl Pod for Shared<$type> {}
    )*};
}
plain!(MdLayout Component Layout Config SlotState SlotOwner Place Ranges ProcessKey ProcessCells);

/// `BPF_NOEXIST` of linux/bpf.h.
const NO_EXIST: u64 = 1;

/// Words of `SharedBlock`: cells, requeued cells, requeues, last end.
const SHARED_WORDS: usize = SHARED_CELLS + CELLS + 2;
/// Words of `Lost`: cells, slots made.
const LOST_WORDS: usize = lost::CELLS + 1;

/// A map is missing from the object, or is not what it should be.
#[derive(Debug, thiserror::Error)]
pub enum MapsError {
    #[error(
        "the eBPF object has no map {0}: object and program do not belong together, rebuild both with `cargo xtask build`"
    )]
    Missing(&'static str),
    #[error("map {name}: {source}")]
    Map {
        name: &'static str,
        source: MapError,
    },
}

/// Every map, taken out of the object.
pub(super) struct Maps {
    devices: HashMap<MapData, u32, u32>,
    front: Array<MapData, u64>,
    slots: Array<MapData, Shared<SlotState>>,
    free_slots: Queue<MapData, u32>,
    owners: Array<MapData, Shared<SlotOwner>>,
    places: Array<MapData, Shared<Place>>,
    partitions: Array<MapData, Shared<Ranges>>,
    hot: PerCpuArray<MapData, [u64; HOT_CELLS]>,
    shared: Array<MapData, [u64; SHARED_WORDS]>,
    detail: PerCpuArray<MapData, [u64; detail::CELLS]>,
    processes: HashMap<MapData, Shared<ProcessKey>, Shared<ProcessCells>>,
    lost: PerCpuArray<MapData, [u64; LOST_WORDS]>,
    cpus: usize,
}

/// A slot's cells, as the kernel keeps them.
pub(super) struct SlotCells {
    /// What was issued less what was put back, by cell.
    pub(super) cells: Box<[i64; CELLS]>,
    pub(super) requeues: u64,
}

/// The object's own count of what went wrong.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LostCells {
    pub(super) lost: u64,
    pub(super) slots_made: u64,
}

pub(super) fn take<T>(ebpf: &mut Ebpf, name: &'static str) -> Result<T, MapsError>
where
    T: TryFrom<aya::maps::Map, Error = MapError>,
{
    let map = ebpf.take_map(name).ok_or(MapsError::Missing(name))?;
    named(name, T::try_from(map))
}

/// Names the map in an error of it.
pub(super) fn named<T>(name: &'static str, result: Result<T, MapError>) -> Result<T, MapsError> {
    result.map_err(|source| MapsError::Map { name, source })
}

impl Maps {
    pub(super) fn take(ebpf: &mut Ebpf) -> Result<Self, MapsError> {
        Ok(Self {
            devices: take(ebpf, "DEVICES")?,
            front: take(ebpf, "FRONT")?,
            slots: take(ebpf, "SLOTS")?,
            free_slots: take(ebpf, "FREE_SLOTS")?,
            owners: take(ebpf, "OWNERS")?,
            places: take(ebpf, "PLACES")?,
            partitions: take(ebpf, "PARTITIONS")?,
            hot: take(ebpf, "HOT")?,
            shared: take(ebpf, "SHARED")?,
            detail: take(ebpf, "DETAIL")?,
            processes: take(ebpf, "PROCESSES")?,
            lost: take(ebpf, "LOST")?,
            cpus: aya::util::nr_cpus().map_or(1, |cpus| cpus),
        })
    }

    pub(super) fn push_free(&mut self, slot: u32) -> Result<(), MapsError> {
        named("FREE_SLOTS", self.free_slots.push(slot, 0))
    }

    /// A slot that belongs to no device; `None` when all are in use.
    pub(super) fn pop_free(&mut self) -> Result<Option<u32>, MapsError> {
        match self.free_slots.pop(0) {
            Ok(slot) => Ok(Some(slot)),
            Err(MapError::ElementNotFound) => Ok(None),
            Err(source) => Err(MapsError::Map {
                name: "FREE_SLOTS",
                source,
            }),
        }
    }

    /// The slot that events of a device are counted in.
    pub(super) fn slot(&self, dev: u32) -> Result<Option<u32>, MapsError> {
        match self.devices.get(&dev, 0) {
            Ok(slot) => Ok(Some(slot)),
            Err(MapError::KeyNotFound) => Ok(None),
            Err(source) => Err(MapsError::Map {
                name: "DEVICES",
                source,
            }),
        }
    }

    /// Gives a device that has none a slot; false if the programs have just
    /// given it one.
    pub(super) fn announce(&mut self, dev: u32, slot: u32) -> Result<bool, MapsError> {
        match self.devices.insert(dev, slot, NO_EXIST) {
            Ok(()) => Ok(true),
            Err(MapError::SyscallError(error))
                if error.io_error.raw_os_error() == Some(libc::EEXIST) =>
            {
                Ok(false)
            }
            Err(source) => Err(MapsError::Map {
                name: "DEVICES",
                source,
            }),
        }
    }

    pub(super) fn remove_device(&mut self, dev: u32) -> Result<(), MapsError> {
        match self.devices.remove(&dev) {
            Ok(()) | Err(MapError::KeyNotFound) => {}
            Err(source) => {
                return Err(MapsError::Map {
                    name: "DEVICES",
                    source,
                });
            }
        }
        named("FRONT", self.front.set(front_index(dev), 0, 0))
    }

    pub(super) fn state(&self, slot: u32) -> Result<SlotState, MapsError> {
        named("SLOTS", self.slots.get(&slot, 0)).map(|state| state.0)
    }

    pub(super) fn set_state(&mut self, slot: u32, state: SlotState) -> Result<(), MapsError> {
        named("SLOTS", self.slots.set(slot, Shared(state), 0))
    }

    pub(super) fn owner(&self, slot: u32) -> Result<SlotOwner, MapsError> {
        named("OWNERS", self.owners.get(&slot, 0)).map(|owner| owner.0)
    }

    pub(super) fn set_owner(&mut self, slot: u32, owner: SlotOwner) -> Result<(), MapsError> {
        named("OWNERS", self.owners.set(slot, Shared(owner), 0))
    }

    /// Writes a place that no slot points at yet, and points a slot at it.
    pub(super) fn set_place(
        &mut self,
        slot: u32,
        index: u32,
        place: Place,
    ) -> Result<(), MapsError> {
        named("PLACES", self.places.set(index, Shared(place), 0))?;
        let state = self.state(slot)?;
        self.set_state(
            slot,
            SlotState {
                place: index,
                ..state
            },
        )
    }

    pub(super) fn set_partitions(&mut self, slot: u32, ranges: Ranges) -> Result<(), MapsError> {
        named("PARTITIONS", self.partitions.set(slot, Shared(ranges), 0))
    }

    /// Reads a slot's cells.
    pub(super) fn cells(&self, slot: u32) -> Result<SlotCells, MapsError> {
        let hot = named("HOT", self.hot.get(&slot, 0))?;
        let shared = named("SHARED", self.shared.get(&slot, 0))?;
        let mut cells = Box::new([0i64; CELLS]);
        for cpu in hot.iter() {
            for (sum, cell) in cells.iter_mut().zip(cpu) {
                *sum = sum.wrapping_add_unsigned(*cell);
            }
        }
        let (rare, rest) = shared.split_at(SHARED_CELLS);
        for (sum, cell) in cells.iter_mut().skip(HOT_CELLS).zip(rare) {
            *sum = sum.wrapping_add_unsigned(*cell);
        }
        let (requeued, rest) = rest.split_at(CELLS);
        for (sum, cell) in cells.iter_mut().zip(requeued) {
            *sum = sum.wrapping_sub_unsigned(*cell);
        }
        Ok(SlotCells {
            cells,
            requeues: rest.first().copied().unwrap_or(0),
        })
    }

    /// Zeroes the cells of a slot whose device is gone.
    pub(super) fn clear(&mut self, slot: u32) -> Result<(), MapsError> {
        let zeroes = aya::maps::PerCpuValues::try_from(vec![[0; HOT_CELLS]; self.cpus]).map_err(
            |error| MapsError::Map {
                name: "HOT",
                source: error.into(),
            },
        )?;
        named("HOT", self.hot.set(slot, zeroes, 0))?;
        named("SHARED", self.shared.set(slot, [0; SHARED_WORDS], 0))
    }

    /// Reads the histograms at `index`, summed over the CPUs.
    pub(super) fn detail(&self, index: u32) -> Result<Box<[u64; detail::CELLS]>, MapsError> {
        let values = named("DETAIL", self.detail.get(&index, 0))?;
        let mut sums = Box::new([0u64; detail::CELLS]);
        for cpu in values.iter() {
            for (sum, cell) in sums.iter_mut().zip(cpu) {
                *sum = sum.wrapping_add(*cell);
            }
        }
        for sum in sums.iter_mut() {
            // Below 0 while a request is put back and not issued again yet.
            *sum = if i64::try_from(*sum).is_ok() { *sum } else { 0 };
        }
        Ok(sums)
    }

    /// Zeroes the histograms at `index`.
    pub(super) fn clear_detail(&mut self, index: u32) -> Result<(), MapsError> {
        let zeroes = aya::maps::PerCpuValues::try_from(vec![[0; detail::CELLS]; self.cpus])
            .map_err(|error| MapsError::Map {
                name: "DETAIL",
                source: error.into(),
            })?;
        named("DETAIL", self.detail.set(index, zeroes, 0))
    }

    pub(super) fn processes(&self) -> Result<Vec<(ProcessKey, ProcessCells)>, MapsError> {
        self.processes
            .iter()
            .map(|entry| named("PROCESSES", entry).map(|(key, cells)| (key.0, cells.0)))
            .collect()
    }

    /// What a process has done, if it has an entry.
    pub(super) fn process(&self, key: &ProcessKey) -> Result<Option<ProcessCells>, MapsError> {
        match self.processes.get(&Shared(*key), 0) {
            Ok(cells) => Ok(Some(cells.0)),
            Err(MapError::KeyNotFound) => Ok(None),
            Err(source) => Err(MapsError::Map {
                name: "PROCESSES",
                source,
            }),
        }
    }

    pub(super) fn remove_process(&mut self, key: &ProcessKey) -> Result<(), MapsError> {
        match self.processes.remove(&Shared(*key)) {
            Ok(()) | Err(MapError::KeyNotFound) => Ok(()),
            Err(source) => Err(MapsError::Map {
                name: "PROCESSES",
                source,
            }),
        }
    }

    pub(super) fn lost(&self) -> Result<LostCells, MapsError> {
        lost_cells(&self.lost)
    }
}

/// Sums the map `LOST` of one copy of the object.
pub(super) fn lost_cells(
    map: &PerCpuArray<MapData, [u64; LOST_WORDS]>,
) -> Result<LostCells, MapsError> {
    let values = named("LOST", map.get(&0, 0))?;
    let mut sums = LostCells::default();
    for cpu in values.iter() {
        let (cells, made) = cpu.split_at(lost::CELLS);
        sums.lost += cells.iter().sum::<u64>();
        sums.slots_made += made.iter().sum::<u64>();
    }
    Ok(sums)
}
