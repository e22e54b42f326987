//! Why md reads and writes its components: a second copy of the object, made
//! for the modules of md that are loaded, beside the one that counts.
//!
//! A component that leaves its array, or whose array changes, gets a new place;
//! what it had counted stays in `retired`. Must not decide what a bio's reason
//! is.

mod components;
mod maps;

use std::collections::{BTreeMap, HashSet};

use aya::Ebpf;
use tracer_ebpf::{
    abi::Layout,
    origin::abi::{CELLS, Component, ComponentCells},
};

use self::{
    components::{Watched, row_disks, watched},
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
    source::{MapUse, RunningProgram},
    sysfs::device::Topology,
    units::DevId,
};

/// Places for components that change while we run; their cells are made with
/// the map, for every CPU.
const SPARE: usize = 16;
/// Kernel memory that cells may take where no device was named: with it, 2,000
/// devices and their histograms stay below 256 MiB on 128 CPUs.
const BUDGET_BYTES: usize = 7 << 20;

/// How many components may be watched, and places made for `components`. All
/// that were asked for; else as many as the budget allows.
fn places(components: usize, asked: bool, cpus: usize) -> (usize, u32) {
    let each = size_of::<ComponentCells>() * cpus.max(1);
    let most = if asked {
        usize::MAX
    } else {
        (BUDGET_BYTES / each).saturating_sub(SPARE + 1).max(1)
    };
    // Place 0 is none.
    let places = u32::try_from(components.min(most) + SPARE + 1).unwrap_or(u32::MAX);
    (most, places)
}

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
    /// Components that are watched at most.
    most: usize,
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
        asked: Option<&HashSet<DevId>>,
        mut plan: MdPlan,
        layout: &Layout,
        queue: &EventPlan,
    ) -> Result<Self, OriginsError> {
        let components = watched(topology, asked, plan.layout.by_range != 0).len();
        let cpus = aya::util::nr_cpus().unwrap_or(1);
        let (most, capacity) = places(components, asked.is_some(), cpus);
        if most < components {
            plan.missing.push(format!(
                "{most} of {components} are watched, to save memory: name an array with --dev"
            ));
        }
        plan.layout.row_disks = row_disks(topology, asked);
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
                        most,
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
    /// for those that came, or for their rows, and a new copy is to be started.
    pub(super) fn follow(
        &mut self,
        topology: &Topology,
        asked: Option<&HashSet<DevId>>,
    ) -> Result<bool, OriginsError> {
        if row_disks(topology, asked) > self.plan.layout.row_disks {
            return Ok(false);
        }
        let by_range = self.plan.layout.by_range != 0;
        let mut wanted = watched(topology, asked, by_range);
        wanted.truncate(self.most);
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

    /// The programs that run.
    pub(super) fn programs(&self) -> Vec<RunningProgram> {
        let events = [
            Some(Event::BlockBioQueue),
            self.remap.then_some(Event::BlockBioRemap),
        ];
        let running = |event: Event| {
            let name = program(event, self.kind);
            RunningProgram {
                facts: attach::facts_of(&self.ebpf, &name).unwrap_or_default(),
                name,
                event: event.name(),
                kind: self.kind,
            }
        };
        events.into_iter().flatten().map(running).collect()
    }

    /// How many places of components have been given away, and how many there
    /// are; when none is left, a new copy is made.
    pub(super) fn uses(&self) -> MapUse {
        MapUse {
            name: "components",
            used: u64::from(self.next.saturating_sub(1)),
            capacity: u64::from(self.capacity.saturating_sub(1)),
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::live::Sizes;
    use tracer_ebpf::{abi::kernel_memory_bytes, cells::detail};

    #[test]
    fn two_thousand_devices_on_128_cpus_fit_256_mib_with_all_of_it() {
        let (watched, places) = places(2000, false, 128);
        assert!((16..2000).contains(&watched), "{watched}");
        let cells = u64::from(places) * (size_of::<ComponentCells>() * 128) as u64;
        let histograms = u64::from(Sizes::new(2000, None, 128).details);
        let histograms = histograms * (detail::CELLS * 8 * 128) as u64;
        let all = kernel_memory_bytes(2000, 128) + histograms + cells;
        assert!(all < 256 << 20, "{} MiB", all >> 20);
    }

    #[test]
    fn all_that_were_asked_for_are_watched() {
        assert_eq!(places(2000, true, 128), (usize::MAX, 2017));
        assert_eq!(places(9, false, 2).1, 26);
        assert_eq!(places(9, false, 100_000).0, 1);
    }
}
