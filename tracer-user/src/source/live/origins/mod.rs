//! Why md reads and writes its components: a second copy of the object, made
//! for the modules of md that are loaded, beside the one that counts.
//!
//! A component that leaves its array, or whose array changes, gets a new place;
//! what it had counted stays in `retired`. Must not decide what a bio's reason
//! is.

mod components;
mod maps;

use std::collections::BTreeMap;

use aya::Ebpf;
use tracer_ebpf::{
    abi::Layout,
    origin::abi::{CELLS, Component},
};

use self::{
    components::{Watched, watched},
    maps::OriginMaps,
};
use super::{
    MapsError, attach,
    object::{self, ObjectError},
};
use crate::{
    plan::{
        Event, EventPlan, Kind,
        md::{MdPlan, Rows},
    },
    snapshot::{OriginCells, OriginKey},
    sysfs::device::Topology,
};

/// Places for components that change while we run; their cells are made with
/// the map, for every CPU.
const SPARE: usize = 32;

/// Origins cannot be told.
#[derive(Debug, thiserror::Error)]
pub enum OriginsError {
    #[error("{0}")]
    Plan(String),
    #[error(transparent)]
    Object(#[from] ObjectError),
    #[error(transparent)]
    Maps(#[from] MapsError),
    #[error("{0}")]
    Attach(String),
}

/// Programs on md's components.
pub(super) struct Origins {
    ebpf: Ebpf,
    maps: OriginMaps,
    plan: MdPlan,
    kind: Kind,
    remap: bool,
    capacity: u32,
    assigned: BTreeMap<u32, Watched>,
    next: u32,
    retired: BTreeMap<OriginKey, OriginCells>,
}

impl Origins {
    /// Loads and attaches the programs, with room for the components there
    /// are; nothing is watched yet.
    pub(super) fn start(
        topology: &Topology,
        plan: MdPlan,
        layout: &Layout,
        queue: &EventPlan,
    ) -> Result<Self, OriginsError> {
        let components = watched(topology, plan.layout.by_range != 0).len();
        let capacity = u32::try_from(2 * components + SPARE).unwrap_or(u32::MAX);
        let mut ebpf = object::open_for_md(layout, &plan.layout, capacity)?;
        let mut maps = OriginMaps::take(&mut ebpf)?;
        maps.set_end_functions(&plan.end_functions)?;
        let kinds = queue
            .candidates
            .iter()
            .map(|candidate| candidate.kind)
            .filter(|kind| *kind != Kind::Tracepoint);
        let mut refused = Vec::new();
        for kind in kinds {
            match attach::attach_named(&mut ebpf, &program(queue.event, kind), queue.event) {
                Ok(()) => {
                    return Ok(Self {
                        ebpf,
                        maps,
                        plan,
                        kind,
                        remap: false,
                        capacity,
                        assigned: BTreeMap::new(),
                        next: 1,
                        retired: BTreeMap::new(),
                    });
                }
                Err(why) => refused.push(format!("by {kind}: {why}")),
            }
        }
        if refused.is_empty() {
            refused.push("a classic tracepoint's record does not tell why a bio was sent".into());
        }
        Err(OriginsError::Attach(refused.join("; ")))
    }

    /// Bios that are sent on without a queue event of their own are seen too.
    pub(super) fn attach_remap(&mut self) -> Result<(), OriginsError> {
        if self.remap {
            return Ok(());
        }
        let name = program(Event::BlockBioRemap, self.kind);
        attach::attach_named(&mut self.ebpf, &name, Event::BlockBioRemap)
            .map_err(OriginsError::Attach)?;
        self.remap = true;
        Ok(())
    }

    /// What could not be had, for a person.
    pub(super) fn notes(&self) -> &[String] {
        &self.plan.missing
    }

    pub(super) fn rows(&self) -> Rows {
        self.plan.rows
    }

    /// Watches the components that there are now; false where no room is left
    /// for those that came, and a new copy is to be started.
    pub(super) fn follow(&mut self, topology: &Topology) -> Result<bool, OriginsError> {
        let by_range = self.plan.layout.by_range != 0;
        let mut wanted = watched(topology, by_range);
        let mut kept = BTreeMap::new();
        for (index, assigned) in std::mem::take(&mut self.assigned) {
            let same = |one: &Watched| {
                let component = Component {
                    next: assigned.component.next,
                    ..one.component
                };
                one.key == assigned.key
                    && one.dev == assigned.dev
                    && component == assigned.component
            };
            if let Some(position) = wanted.iter().position(same) {
                wanted.swap_remove(position);
                kept.insert(index, assigned);
            } else {
                self.retire(index, assigned)?;
            }
        }
        self.assigned = kept;
        let room = self.capacity - self.next;
        let fits = u32::try_from(wanted.len()).is_ok_and(|wanted| wanted <= room);
        if fits {
            for watched in wanted {
                self.assigned.insert(self.next, watched);
                self.next += 1;
            }
        }
        self.publish()?;
        Ok(fits)
    }

    /// What a component has counted stays; its place is not used again.
    fn retire(&mut self, index: u32, watched: Watched) -> Result<(), OriginsError> {
        let others: Vec<u32> = self.assigned.values().map(|other| other.dev).collect();
        self.maps.forget(watched.dev, &others)?;
        add(&mut self.retired, watched.key, &*self.maps.cells(index)?);
        Ok(())
    }

    /// Links the components of one disk, and announces the first of each.
    fn publish(&mut self) -> Result<(), OriginsError> {
        let mut first: BTreeMap<u32, u32> = BTreeMap::new();
        for (index, watched) in self.assigned.iter_mut().rev() {
            watched.component.next = first.insert(watched.dev, *index).unwrap_or(0);
            self.maps.set_component(*index, watched.component)?;
        }
        for (dev, index) in first {
            self.maps.announce(dev, index)?;
        }
        Ok(())
    }

    /// Every component's cells.
    pub(super) fn read(&self) -> Result<BTreeMap<OriginKey, OriginCells>, MapsError> {
        let mut rows = self.retired.clone();
        for (index, watched) in &self.assigned {
            add(&mut rows, watched.key.clone(), &*self.maps.cells(*index)?);
        }
        Ok(rows)
    }

    /// Moves what was counted so far out, to go on in a new copy.
    pub(super) fn into_counted(self) -> Result<BTreeMap<OriginKey, OriginCells>, MapsError> {
        self.read()
    }

    /// Goes on counting from here.
    pub(super) fn go_on_from(&mut self, counted: BTreeMap<OriginKey, OriginCells>) {
        for (key, cells) in counted {
            add(&mut self.retired, key, &cells);
        }
    }

    pub(super) fn lost_by_maps(&self) -> Result<u64, MapsError> {
        self.maps.lost()
    }

    /// Runs that the kernel skipped; `None` where it does not say.
    pub(super) fn recursion_misses(&self) -> Option<u64> {
        let mut misses = attach::facts_of(&self.ebpf, &program(Event::BlockBioQueue, self.kind))?
            .recursion_misses?;
        if self.remap {
            misses += attach::facts_of(&self.ebpf, &program(Event::BlockBioRemap, self.kind))?
                .recursion_misses?;
        }
        Some(misses)
    }
}

/// The program on components of an event that is attached this way.
pub(super) fn program(event: Event, kind: Kind) -> String {
    format!(
        "member_{}",
        event.program(kind).trim_start_matches("block_")
    )
}

fn add(rows: &mut BTreeMap<OriginKey, OriginCells>, key: OriginKey, cells: &[u64; CELLS]) {
    let sums = rows.entry(key).or_insert_with(|| Box::new([0; CELLS]));
    for (sum, cell) in sums.iter_mut().zip(cells) {
        *sum = sum.wrapping_add(*cell);
    }
}
