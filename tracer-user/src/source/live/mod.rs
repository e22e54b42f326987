//! Counters of the running kernel: programs attached, slots kept in step with
//! the devices, cells read out.
//!
//! The only room that touches aya. Must not decide what to attach (the plan
//! does) or what to show.

mod assigned;
mod attach;
mod counted;
mod log;
mod maps;
mod object;
mod origins;
mod place;
mod processes;
mod read;
pub mod shapes;
mod slots;

use std::{
    collections::{BTreeMap, HashSet},
    os::fd::{AsFd, BorrowedFd},
    time::Instant,
};

use aya::Ebpf;
use tracer_ebpf::abi::Config;

pub use attach::{AttachError, Attached, Refusal};
pub use log::{BpfLog, LogError};
pub use maps::MapsError;
pub use object::{ObjectError, Sizes};
pub use origins::OriginsError;

use self::{maps::Maps, origins::Origins, processes::Processes, slots::Slots};
use crate::{
    plan::{Event, EventPlan, Kind, ProbePlan, md::MdPlan},
    privileges::{self, Need, raise},
    snapshot::Snapshot,
    source::{Inside, RunningProgram, Source},
    sysfs::{
        cgroups::CgroupPaths,
        device::{Device, Topology},
        stripe_cache::StripeCache,
        uevent::UeventListener,
    },
    units::DevId,
};

/// Reads the devices there are now.
pub type ReadTopology = Box<dyn FnMut() -> anyhow::Result<Topology>>;
/// Reads how full the stripe caches of arrays are now.
pub type ReadStripeCaches = Box<dyn Fn(&Topology) -> BTreeMap<DevId, StripeCache>>;
/// Picks the devices that get histograms out of those there are; `None` for
/// all of them.
pub type PickDetailed = Box<dyn Fn(&Topology) -> Option<HashSet<DevId>>>;

/// How md's components are to be watched.
pub struct MdOptions {
    /// Names of md's modules that are loaded.
    pub modules: Box<dyn Fn() -> Vec<&'static str>>,
    /// What is to be done for them, or why nothing can be.
    pub plan: Box<dyn Fn() -> Result<MdPlan, String>>,
}

/// What a live source is to count.
pub struct LiveOptions {
    pub plan: ProbePlan,
    pub config: Config,
    pub read_topology: ReadTopology,
    pub read_stripe_caches: ReadStripeCaches,
    pub pick_detailed: PickDetailed,
    /// Finds the control groups that processes belong to.
    pub cgroups: CgroupPaths,
    pub md: MdOptions,
}

/// Counters of the running kernel. Dropping it detaches every program.
pub struct LiveSource {
    ebpf: Ebpf,
    maps: Maps,
    slots: Slots,
    attached: Vec<Attached>,
    missing: Vec<AttachError>,
    log: Option<BpfLog>,
    plan: ProbePlan,
    /// Reads out of write calls are told.
    fills: bool,
    /// With `--by process`.
    processes: Option<Processes>,
    md: MdOptions,
    /// The modules that `origins` was made for.
    md_modules: Vec<&'static str>,
    /// While there is an array.
    origins: Option<Origins>,
    /// Why there are none though there is an array.
    no_origins: Option<OriginsError>,
    topology: Topology,
    read_topology: ReadTopology,
    read_stripe_caches: ReadStripeCaches,
    pick_detailed: PickDetailed,
    uevents: Option<UeventListener>,
    started: Instant,
    /// Devices come and go without a trace where there are no uevents.
    looked_again: bool,
}

/// The live source cannot start.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    #[error(transparent)]
    Object(#[from] ObjectError),
    #[error(transparent)]
    Maps(#[from] MapsError),
    #[error(transparent)]
    Log(#[from] LogError),
    #[error(transparent)]
    Attach(#[from] AttachError),
    #[error("listing block devices: {0}")]
    Topology(anyhow::Error),
}

impl LiveSource {
    /// Makes the maps, announces every device there is, then attaches.
    ///
    /// # Errors
    /// When the kernel refuses the maps, or an event without which nothing
    /// can be counted.
    pub fn start(options: LiveOptions) -> Result<Self, LiveError> {
        let LiveOptions {
            plan,
            config,
            mut read_topology,
            read_stripe_caches,
            pick_detailed,
            cgroups,
            md,
        } = options;
        // Listening before looking: nothing that changes in between is missed.
        let uevents = UeventListener::new().ok();
        let topology = read_topology().map_err(LiveError::Topology)?;
        let wanted = pick_detailed(&topology);
        let _raised = raise(Need::Programs);
        let cpus = aya::util::nr_cpus().unwrap_or(1);
        let sizes = Sizes::new(
            topology.devices.len(),
            wanted.as_ref().map(HashSet::len),
            cpus,
        );
        let mut ebpf = object::open(&plan.layout, &config, sizes)?;
        let mut maps = Maps::take(&mut ebpf)?;
        let log = (config.log != 0)
            .then(|| BpfLog::take(&mut ebpf))
            .transpose()?;
        let mut slots = Slots::new(&mut maps, sizes.slots, sizes.details)?;
        slots.follow(&mut maps, &topology, wanted.as_ref())?;
        let processes =
            (config.by_process != 0).then(|| Processes::new(object::PROCESS_CAPACITY, cgroups));
        let mut source = Self {
            ebpf,
            maps,
            slots,
            attached: Vec::new(),
            missing: Vec::new(),
            log,
            plan,
            fills: config.fills != 0,
            processes,
            md,
            md_modules: Vec::new(),
            origins: None,
            no_origins: None,
            topology,
            read_topology,
            read_stripe_caches,
            pick_detailed,
            uevents,
            started: Instant::now(),
            looked_again: false,
        };
        let _held_meanwhile = attach::kernel_btf();
        source.follow_origins();
        source.attach_planned()?;
        source.started = Instant::now();
        privileges::started();
        Ok(source)
    }

    /// The programs that run.
    #[must_use]
    pub fn attached(&self) -> &[Attached] {
        &self.attached
    }

    /// The events that were planned and could not be attached.
    #[must_use]
    pub fn missing(&self) -> &[AttachError] {
        &self.missing
    }

    /// Why nobody can say why arrays read and write their components, where
    /// there are arrays.
    #[must_use]
    pub fn no_origins(&self) -> Option<&OriginsError> {
        self.no_origins.as_ref()
    }

    /// What of an array's IO cannot be told apart, or how sure it is.
    #[must_use]
    pub fn origin_notes(&self) -> &[String] {
        self.origins.as_ref().map_or(&[], |origins| origins.notes())
    }

    /// Hands out the log, once, if it was asked for.
    pub fn take_log(&mut self) -> Option<BpfLog> {
        self.log.take()
    }

    fn attach_planned(&mut self) -> Result<(), LiveError> {
        for planned in attachments(&self.plan) {
            if planned.event == Event::BlockBioRemap && !remap_needed(&self.topology) {
                continue;
            }
            self.attach(&planned)?;
        }
        Ok(())
    }

    fn attach(&mut self, planned: &EventPlan) -> Result<(), LiveError> {
        let _raised = raise(Need::Programs);
        match attach::attach(&mut self.ebpf, planned) {
            Ok(attached) => self.attached.push(attached),
            Err(error) if planned.event.is_mandatory() => return Err(error.into()),
            Err(error) => self.missing.push(error),
        }
        Ok(())
    }

    /// Watches the components of the arrays there are. What fails is kept to be
    /// told: everything else is counted all the same.
    fn follow_origins(&mut self) {
        let arrays = self.topology.devices.values();
        if self.origins.is_none() && !arrays.into_iter().any(|device| device.md.is_some()) {
            return;
        }
        let modules = (self.md.modules)();
        // What failed for these modules fails again.
        if self.no_origins.is_some() && self.md_modules == modules {
            return;
        }
        match self.try_follow_origins(modules) {
            Ok(()) => self.no_origins = None,
            Err(error) => {
                self.no_origins = Some(error);
                self.origins = None;
            }
        }
    }

    fn try_follow_origins(&mut self, modules: Vec<&'static str>) -> Result<(), OriginsError> {
        let same = self.md_modules == modules;
        let asked = (self.pick_detailed)(&self.topology);
        if let Some(origins) = self.origins.as_mut().filter(|_| same)
            && origins.follow(&self.topology, asked.as_ref())?
        {
            return self.attach_member_remap();
        }
        self.md_modules = modules;
        let plan = (self.md.plan)().map_err(OriginsError::Plan)?;
        let queue = self.plan.events.iter();
        let Some(queue) = queue
            .into_iter()
            .find(|plan| plan.event == Event::BlockBioQueue)
        else {
            return Ok(());
        };
        let _raised = raise(Need::Programs);
        let mut origins = Origins::start(
            &self.topology,
            asked.as_ref(),
            plan,
            &self.plan.layout,
            queue,
        )?;
        if let Some(before) = self.origins.take() {
            origins.go_on_from(before.into_counted()?);
        }
        origins.follow(&self.topology, asked.as_ref())?;
        self.origins = Some(origins);
        self.attach_member_remap()
    }

    fn attach_member_remap(&mut self) -> Result<(), OriginsError> {
        let _raised = raise(Need::Programs);
        match &mut self.origins {
            Some(origins) if remap_needed(&self.topology) => origins.attach_remap(),
            _ => Ok(()),
        }
    }

    /// An array that hands its own bios down may come while we run.
    fn attach_remap_if_needed(&mut self) -> Result<(), LiveError> {
        let event = Event::BlockBioRemap;
        let there = self.attached.iter().any(|attached| attached.event == event)
            || self.missing.iter().any(|error| error.event == event);
        if there || !remap_needed(&self.topology) {
            return Ok(());
        }
        let planned = attachments(&self.plan)
            .into_iter()
            .find(|planned| planned.event == event);
        match planned {
            Some(planned) => self.attach(&planned),
            None => Ok(()),
        }
    }
}

impl Source for LiveSource {
    fn snapshot(&mut self) -> anyhow::Result<Snapshot> {
        let _raised = raise(Need::Maps);
        read::snapshot(self)
    }

    fn refresh(&mut self) -> anyhow::Result<bool> {
        let told = match &mut self.uevents {
            Some(uevents) => uevents.block_changed()?,
            None => true,
        };
        let topology = (self.read_topology)()?;
        let changed = topology != self.topology;
        let _raised = raise(Need::Maps);
        let made = self.slots.made_since(&self.maps)?;
        if told || changed || made || self.looked_again {
            self.topology = topology;
            let wanted = (self.pick_detailed)(&self.topology);
            self.slots
                .follow(&mut self.maps, &self.topology, wanted.as_ref())?;
            self.follow_origins();
            self.attach_remap_if_needed()?;
            // Once more at the next call: a slot is freed at the second look.
            self.looked_again = told || changed || made;
        }
        Ok(changed)
    }

    fn topology(&self) -> &Topology {
        &self.topology
    }

    fn wake(&self) -> Option<BorrowedFd<'_>> {
        self.uevents.as_ref().map(AsFd::as_fd)
    }

    fn finished(&self) -> bool {
        false
    }

    fn describe(&self) -> String {
        let mut kinds: Vec<Kind> = self.attached.iter().map(|attached| attached.kind).collect();
        kinds.sort_unstable();
        kinds.dedup();
        let kinds: Vec<String> = kinds.iter().map(ToString::to_string).collect();
        format!(
            "live, {} programs by {}",
            self.attached.len(),
            kinds.join(" and ")
        )
    }

    fn inside(&self) -> Inside {
        let _raised = raise(Need::KernelFiles);
        let mut programs: Vec<RunningProgram> = self
            .attached
            .iter()
            .map(|attached| RunningProgram {
                name: attached.event.program(attached.kind),
                event: attached.event.name(),
                kind: attached.kind,
                facts: attach::program_facts(&self.ebpf, attached).unwrap_or_default(),
            })
            .collect();
        let mut maps = self.slots.uses();
        if let Some(origins) = &self.origins {
            programs.extend(origins.programs());
            maps.push(origins.uses());
        }
        Inside { programs, maps }
    }
}

/// What the plan wants attached.
fn attachments(plan: &ProbePlan) -> Vec<EventPlan> {
    let wanted = plan.events.iter().filter(|plan| plan.not_wanted.is_none());
    let mut wanted: Vec<EventPlan> = wanted.cloned().collect();
    // What takes a count back, or times what was counted, is there first.
    wanted.sort_by_key(|planned| planned.event.is_mandatory());
    wanted
}

/// raid0 before 5.14 and linear before 6.12 send the bio itself on, which is
/// then not queued a second time (KERNEL: drivers/md/raid0.c, md-linear.c).
fn remap_needed(topology: &Topology) -> bool {
    let level = |device: &Device| {
        device
            .md
            .as_ref()
            .is_some_and(|md| matches!(md.level.as_str(), "raid0" | "linear"))
    };
    topology.devices.values().any(level)
}
