//! The maps of the programs on md's components.
//!
//! Must not decide what is counted.

use aya::{
    Ebpf,
    maps::{Array, HashMap, MapData, MapError, PerCpuArray},
};
use tracer_ebpf::{
    abi::{front_entry, front_index, lost},
    origin::{
        EndIo,
        abi::{CELLS, Component},
    },
};

use super::super::maps::{MapsError, Shared, lost_cells, named, take};

pub(super) struct OriginMaps {
    index: HashMap<MapData, u32, u32>,
    front: Array<MapData, u64>,
    components: Array<MapData, Shared<Component>>,
    cells: PerCpuArray<MapData, [u64; CELLS]>,
    end_io: HashMap<MapData, u64, u32>,
    lost: PerCpuArray<MapData, [u64; lost::CELLS + 1]>,
}

impl OriginMaps {
    pub(super) fn take(ebpf: &mut Ebpf) -> Result<Self, MapsError> {
        Ok(Self {
            index: take(ebpf, "COMPONENT_INDEX")?,
            front: take(ebpf, "COMPONENT_FRONT")?,
            components: take(ebpf, "COMPONENTS")?,
            cells: take(ebpf, "COMPONENT_CELLS")?,
            end_io: take(ebpf, "END_IO")?,
            lost: take(ebpf, "LOST")?,
        })
    }

    /// Tells the programs what functions mean; forgets all others.
    pub(super) fn set_end_functions(
        &mut self,
        functions: &[(u64, EndIo)],
    ) -> Result<(), MapsError> {
        let known: Vec<u64> = self.end_io.keys().filter_map(Result::ok).collect();
        for address in known {
            if !functions.iter().any(|(wanted, _)| *wanted == address) {
                named("END_IO", absent_is_fine(self.end_io.remove(&address)))?;
            }
        }
        for (address, end_io) in functions {
            named("END_IO", self.end_io.insert(address, *end_io as u32, 0))?;
        }
        Ok(())
    }

    pub(super) fn set_component(
        &mut self,
        index: u32,
        component: Component,
    ) -> Result<(), MapsError> {
        named(
            "COMPONENTS",
            self.components.set(index, Shared(component), 0),
        )
    }

    /// From now on what reaches `dev` counts for the component at `index`.
    pub(super) fn announce(&mut self, dev: u32, index: u32) -> Result<(), MapsError> {
        named("COMPONENT_INDEX", self.index.insert(dev, index, 0))?;
        let entry = front_entry(dev, index);
        named(
            "COMPONENT_FRONT",
            self.front.set(front_index(dev), entry, 0),
        )
    }

    /// From now on nothing of `dev` is counted. Another device's entry in the
    /// same place is found by hash as long as the place is not empty.
    pub(super) fn forget(&mut self, dev: u32, others: &[u32]) -> Result<(), MapsError> {
        named("COMPONENT_INDEX", absent_is_fine(self.index.remove(&dev)))?;
        let shares = others
            .iter()
            .any(|other| front_index(*other) == front_index(dev));
        // Of no device: whoever falls there is looked up by hash.
        let entry = if shares { u64::MAX } else { 0 };
        named(
            "COMPONENT_FRONT",
            self.front.set(front_index(dev), entry, 0),
        )
    }

    /// A component's cells, summed over the CPUs.
    pub(super) fn cells(&self, index: u32) -> Result<Box<[u64; CELLS]>, MapsError> {
        let values = named("COMPONENT_CELLS", self.cells.get(&index, 0))?;
        let mut sums = Box::new([0u64; CELLS]);
        for cpu in values.iter() {
            for (sum, cell) in sums.iter_mut().zip(cpu) {
                *sum = sum.wrapping_add(*cell);
            }
        }
        Ok(sums)
    }

    /// What these programs could not count.
    pub(super) fn lost(&self) -> Result<u64, MapsError> {
        Ok(lost_cells(&self.lost)?.lost)
    }
}

fn absent_is_fine(result: Result<(), MapError>) -> Result<(), MapError> {
    match result {
        Err(MapError::KeyNotFound) => Ok(()),
        other => other,
    }
}
