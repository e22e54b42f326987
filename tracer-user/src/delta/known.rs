//! Every device seen so far: a device that goes away keeps its name and
//! geometry for the summary.
//!
//! Must not read a device.

use std::collections::BTreeSet;

use crate::{
    sysfs::device::{Device, MdArray, Topology},
    units::DevId,
};

/// The devices of now, and those that were.
#[derive(Clone, Debug, Default)]
pub struct Known {
    topology: Topology,
    gone: BTreeSet<DevId>,
}

impl Known {
    /// Takes over the devices of now. A number that came back under another
    /// name is the new device.
    pub fn update(&mut self, now: &Topology) {
        self.gone = self
            .topology
            .devices
            .keys()
            .filter(|id| !now.devices.contains_key(id))
            .copied()
            .collect();
        self.topology
            .devices
            .extend(now.devices.iter().map(|(&id, device)| (id, device.clone())));
    }

    /// As [`Self::update`], but an array that is stopped, and about to be gone
    /// or assembled again, stays the array that it was.
    pub fn update_but_arrays(&mut self, now: &Topology) {
        let stopped = |id: &DevId, device: &Device| {
            let running = |md: &MdArray| !md.level.is_empty();
            let now = now.devices.get(id)?;
            let same = now.name == device.name && !now.md.as_ref().is_some_and(running);
            let before = device.md.as_ref().filter(|md| same && running(md));
            before.map(|md| (*id, md.clone()))
        };
        let known = self.topology.devices.iter();
        let arrays: Vec<(DevId, MdArray)> = known
            .filter_map(|(id, device)| stopped(id, device))
            .collect();
        self.update(now);
        for (id, md) in arrays {
            if let Some(device) = self.topology.devices.get_mut(&id) {
                device.md = Some(md);
            }
        }
    }

    /// All devices, those that are gone among them.
    #[must_use]
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The device is not there any more.
    #[must_use]
    pub fn is_gone(&self, device: DevId) -> bool {
        self.gone.contains(&device)
    }
}

impl From<&Topology> for Known {
    fn from(topology: &Topology) -> Self {
        Self {
            topology: topology.clone(),
            gone: BTreeSet::new(),
        }
    }
}
