//! Opens what is read: the running kernel, or a list of events.
//!
//! Must not show anything.

use std::collections::HashSet;

use anyhow::{Context as _, bail};
use tracer_ebpf::abi::Config;

use super::{
    machine::{Machine, Place},
    tell,
};
use crate::{
    cli::SourceArgs,
    facts::{KernelFacts, KernelRoot, MdFacts},
    plan::{ProbePlan, Request, md::MdPlan},
    privileges::{self, Need},
    source::{
        Source,
        live::{BpfLog, LiveOptions, LiveSource, MdOptions},
        synthetic::SyntheticSource,
    },
    sysfs::{Topology, cgroups::CgroupPaths, stripe_cache},
    units::DevId,
};

/// A source, and the devices of it that were asked for.
pub struct Opened {
    pub source: Box<dyn Source>,
    pub devices: Vec<DevId>,
    /// What the programs say, with `--bpf-log`.
    pub log: Option<BpfLog>,
}

/// What is to be counted beside what every view shows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extras {
    pub by_process: bool,
    /// The programs' log.
    pub bpf_log: bool,
}

/// Opens the source that the command line asks for.
///
/// # Errors
/// For a device that is not there, a list that cannot be read, or a kernel
/// that lets nothing be counted: with what to do about it.
pub fn open(args: &SourceArgs, extras: Extras) -> anyhow::Result<Opened> {
    let machine = Machine::read(&args.named, &Place::new(args.sysfs.as_deref(), None)?)?;
    let devices = machine.selection.asked.clone();
    if let Some(refused) = machine.tables.not_told() {
        tell(&format!("not told: {refused}"));
    }
    let mut log = None;
    let source: Box<dyn Source> = match &args.events {
        Some(events) => {
            let _raised = privileges::raise_for_named_files();
            Box::new(SyntheticSource::open(machine.topology, events)?)
        }
        None => {
            let mut source = live(args, extras, machine)?;
            log = source.take_log();
            for note in source.origin_notes() {
                tell(&format!("members of arrays: {note}"));
            }
            if let Some(error) = source.no_origins() {
                tell(&format!(
                    "not told: why arrays read and write their members: {error}"
                ));
            }
            for error in source.missing() {
                tell(&format!(
                    "not told: {}: {error}",
                    error.event.lost_without()
                ));
            }
            Box::new(source)
        }
    };
    Ok(Opened {
        source,
        devices,
        log,
    })
}

fn kernel_facts() -> KernelFacts {
    let _raised = privileges::raise(Need::KernelFiles);
    KernelFacts::read(&KernelRoot::default())
}

fn md_options(kernel: KernelFacts) -> MdOptions {
    let root = KernelRoot::default();
    MdOptions {
        modules: Box::new(|| MdFacts::loaded(&KernelRoot::default())),
        plan: Box::new(move || {
            let _raised = privileges::raise(Need::Symbols);
            MdPlan::new(&kernel, &MdFacts::read(&root))
        }),
    }
}

fn live(args: &SourceArgs, extras: Extras, machine: Machine) -> anyhow::Result<LiveSource> {
    let facts = kernel_facts();
    let by_process = extras.by_process;
    let asked = !machine.selection.asked.is_empty();
    // A map entry for each bio under way: only for devices asked for by name.
    let bio_latency = asked
        && machine.selection.all().any(|id| {
            machine
                .topology
                .devices
                .get(&id)
                .is_some_and(|device| !device.request_based)
        });
    let request = Request {
        attach: args.attach.map(Into::into),
        by_process,
        bio_latency,
        bio_remap_needed: true,
    };
    let plan = ProbePlan::new(&facts, &request);
    plan.check()?;
    let config = Config {
        by_process: by_process.into(),
        bio_latency: bio_latency.into(),
        log: extras.bpf_log.into(),
        fills: asked.into(),
    };
    let Machine {
        sys,
        topology: machine_topology,
        overrides,
        selection,
        mounts,
        mut tables,
        ..
    } = machine;
    let arrays = sys.clone();
    let read_topology = Box::new(move || {
        let mut topology = Topology::read_with(&sys, |device| tables.read(device))
            .context("cannot list block devices")?;
        if !overrides.is_empty() {
            topology.set_overrides_that_fit(&overrides);
        }
        Ok(topology)
    });
    let asked = machine_topology.remember(&selection.asked);
    let pick_detailed = Box::new(move |topology: &Topology| {
        (!asked.is_empty()).then(|| {
            topology
                .around(topology.recall(&asked))
                .all()
                .collect::<HashSet<DevId>>()
        })
    });
    let source = LiveSource::start(LiveOptions {
        plan,
        config,
        read_topology,
        read_stripe_caches: Box::new(move |topology| stripe_cache::read(&arrays, topology)),
        pick_detailed,
        cgroups: CgroupPaths::new(&mounts),
        md: md_options(facts),
    })?;
    if source.attached().is_empty() {
        bail!("nothing could be attached");
    }
    Ok(source)
}
