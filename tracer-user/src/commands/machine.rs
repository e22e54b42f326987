//! The storage of one machine, of this or of another, as the command line names
//! it: what every command that looks at devices begins with.
//!
//! Must not count, and must not show anything.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use anyhow::Context as _;

use crate::{
    cli::{DeviceArgs, StackSource},
    dm::{Control, DmError, Segment},
    geometry_spec, privileges,
    stack::{Stack, capture::Folder, look::look},
    sysfs::{
        Lookup, Selection, SysRoot, Topology, geometry_override::Override, mounts::Mounts,
        swaps::Swaps,
    },
    units::DevId,
};

/// Which machine is looked at.
pub(super) enum Place {
    /// This one.
    Here,
    /// Another: a folder has what was read of it.
    Elsewhere(Box<Folder>),
}

impl Place {
    /// By `--sysfs` and `--from`, of which at most one is given.
    ///
    /// # Errors
    /// Where one is not what it should be.
    pub(super) fn new(sysfs: Option<&Path>, capture: Option<&Path>) -> anyhow::Result<Self> {
        let _raised = privileges::raise_for_named_files();
        let folder = match (sysfs, capture) {
            (Some(dir), _) => Folder::open(dir).context("--sysfs")?,
            (None, Some(file)) => Folder::unpack(file).context("--from")?,
            (None, None) => return Ok(Self::Here),
        };
        Ok(Self::Elsewhere(Box::new(folder)))
    }

    /// Where its attributes lie.
    pub(super) fn sys(&self) -> SysRoot {
        match self {
            Self::Here => SysRoot::default(),
            Self::Elsewhere(folder) => folder.sys.clone(),
        }
    }
}

/// The tables of mapped devices, from the first on.
#[derive(Default)]
pub(super) struct Tables {
    /// Another machine's: those that were captured.
    elsewhere: Option<BTreeMap<DevId, Vec<Segment>>>,
    control: Option<Control>,
    /// Why the last one could not be read.
    refused: Option<DmError>,
}

impl Tables {
    fn new(place: &Place) -> Self {
        Self {
            elsewhere: match place {
                Place::Here => None,
                Place::Elsewhere(folder) => Some(folder.tables.clone()),
            },
            ..Self::default()
        }
    }

    pub(super) fn read(&mut self, device: DevId) -> Option<Vec<Segment>> {
        if let Some(captured) = &self.elsewhere {
            return captured.get(&device).cloned();
        }
        let table = self.control().and_then(|control| control.table(device));
        table.map_err(|error| self.refused = Some(error)).ok()
    }

    fn control(&mut self) -> Result<&Control, DmError> {
        let control = match self.control.take() {
            Some(control) => control,
            None => Control::open(Path::new(Control::PATH))?,
        };
        Ok(self.control.insert(control))
    }

    /// What is not known for want of a table, and why.
    pub(super) fn not_told(&self) -> Option<String> {
        let error = anyhow::Chain::new(self.refused.as_ref()?).map(ToString::to_string);
        Some(format!(
            "where mapped devices lie on what is below them (needs CAP_SYS_ADMIN and \
             CAP_DAC_READ_SEARCH): {}",
            error.collect::<Vec<_>>().join(": ")
        ))
    }
}

/// The whole storage of the machine that the command line names, and what of it
/// was asked for.
pub(super) struct OpenedStack {
    pub(super) stack: Stack,
    pub(super) selection: Selection,
    pub(super) place: Place,
}

impl OpenedStack {
    /// Reads it.
    ///
    /// # Errors
    /// As [`Place::new`] and [`Machine::read`].
    pub(super) fn open(args: &StackSource) -> anyhow::Result<Self> {
        let place = Place::new(args.sysfs.as_deref(), args.from.as_deref())?;
        let machine = Machine::read(&args.named, &place)?;
        let (stack, selection) = machine.into_stack(&place);
        Ok(Self {
            stack,
            selection,
            place,
        })
    }
}

/// The devices of one machine, as the command line names them.
pub(super) struct Machine {
    pub(super) sys: SysRoot,
    pub(super) topology: Topology,
    pub(super) tables: Tables,
    pub(super) overrides: BTreeMap<DevId, Override>,
    pub(super) selection: Selection,
    pub(super) mounts: Mounts,
    /// What could not be read, each in a sentence.
    missing: Vec<String>,
}

impl Machine {
    /// Reads what is at `place`, and looks up what was `named`.
    ///
    /// # Errors
    /// Where there are no devices, and for a name or a geometry that fits none.
    pub(super) fn read(named: &DeviceArgs, place: &Place) -> anyhow::Result<Self> {
        let _raised = privileges::raise_for_named_files();
        let sys = place.sys();
        let mut tables = Tables::new(place);
        let mut topology = Topology::read_with(&sys, |device| tables.read(device))
            .context("cannot list block devices")?;
        let (mounts, missing) = match place {
            Place::Here => {
                let path = Path::new("/proc/self/mountinfo");
                let read = Mounts::read(path);
                let mounts = read.with_context(|| format!("cannot read {}", path.display()))?;
                (mounts, Vec::new())
            }
            Place::Elsewhere(folder) => (folder.mounts.clone(), folder.missing.clone()),
        };
        let dev = Path::new("/dev");
        let lookup = Lookup {
            topology: &topology,
            sys: &sys,
            dev,
            mounts: &mounts,
        };
        let overrides = geometry_spec::overrides(&named.geometry, &lookup).context("--geometry")?;
        let selection = lookup.select(&named.devices).context("--dev")?;
        topology.set_overrides(&overrides).context("--geometry")?;
        Ok(Self {
            sys,
            topology,
            tables,
            overrides,
            selection,
            mounts,
            missing,
        })
    }

    /// Looks into the devices too: at those selected with all around them, or
    /// at all.
    pub(super) fn into_stack(self, place: &Place) -> (Stack, Selection) {
        let mut missing = self.missing;
        missing.extend(self.tables.not_told());
        let (contents, swaps) = match place {
            Place::Here => {
                let asked: BTreeSet<DevId> = match self.selection.asked.as_slice() {
                    [] => self.topology.devices.keys().copied().collect(),
                    _ => self.selection.all().collect(),
                };
                let swaps = Swaps::read(Path::new("/proc/swaps")).unwrap_or_else(|error| {
                    missing.push(format!("swap areas: cannot read /proc/swaps: {error}"));
                    Swaps::default()
                });
                (look(&self.topology, &asked, Path::new("/dev")), swaps)
            }
            Place::Elsewhere(folder) => (folder.contents.clone(), folder.swaps.clone()),
        };
        let mut stack = Stack {
            topology: self.topology,
            contents,
            mounts: self.mounts,
            swaps,
            missing,
        };
        stack.lay_bcache();
        (stack, self.selection)
    }
}
