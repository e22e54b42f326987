//! Everything that is looked at of a machine's storage, of one moment: its
//! devices, what their superblocks say, what is mounted.
//!
//! Must not read a device or a file, know the live source, or judge what a
//! geometry is worth.

pub mod capture;
pub mod hints;
pub mod look;
pub mod mounted;
pub mod phase;
pub mod place;
#[cfg(test)]
pub(crate) mod testing;
pub mod tree;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    dm::Place,
    superblock::{BcacheRole, Content, Contents},
    sysfs::{
        Topology,
        device::{Device, Kind},
        mounts::{Mount, Mounts},
        swaps::{SwapArea, Swaps},
    },
    units::{DevId, Sectors},
};

/// The storage of one machine, at one moment.
#[derive(Clone, Debug, Default)]
pub struct Stack {
    pub topology: Topology,
    /// What lies on each device that may hold something, or why that is not
    /// known. A device without an entry holds nothing that is looked for.
    pub contents: BTreeMap<DevId, Result<Contents, Unread>>,
    pub mounts: Mounts,
    pub swaps: Swaps,
    /// What could not be had at all, each in a sentence: tables of mapped
    /// devices, mounts, swap areas.
    pub missing: Vec<String>,
}

/// Why a device was not looked into.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Unread {
    #[error("no permission to read it")]
    NoPermission,
    #[error("the device is gone")]
    Gone,
    #[error("{0} is suspended, a read would wait")]
    Suspended(String),
    #[error("{0} is not active")]
    Inactive(String),
    #[error("{0}")]
    Failed(String),
}

impl Stack {
    /// What lies on `device`; `None` where nothing does, or it is not known.
    #[must_use]
    pub fn contents_of(&self, device: DevId) -> Option<&Contents> {
        self.contents.get(&device)?.as_ref().ok()
    }

    /// Lays bcache's devices on their backing devices, as far as superblocks
    /// tell, and derives geometry anew.
    pub fn lay_bcache(&mut self) {
        let of_kind = |kind| move |device: &&Device| device.kind == kind;
        let devices = self.topology.devices.values().filter(of_kind(Kind::Bcache));
        let places: Vec<(DevId, Place)> = devices
            .filter_map(|device| {
                let backing = |id: &DevId| Some((*id, self.bcache_data(*id)?));
                let (on, start) = device.members.iter().find_map(backing)?;
                Some((device.id, Place { device: on, start }))
            })
            .collect();
        for (id, place) in &places {
            self.topology.lay_bcache(*id, *place);
        }
        if !places.is_empty() {
            self.topology.derive();
        }
    }

    /// Where a backing device's data begin.
    fn bcache_data(&self, device: DevId) -> Option<Sectors> {
        let found = &self.contents_of(device)?.found;
        found.iter().find_map(|content| match content {
            Content::Bcache(bcache) => match bcache.role {
                BcacheRole::Backing { data_offset } => Some(data_offset),
                BcacheRole::Cache { .. } => None,
            },
            _ => None,
        })
    }

    /// The mounts of what lies on `device`, each place once. A file system of
    /// several devices is found on the one it was mounted from.
    #[must_use]
    pub fn mounts_of(&self, device: DevId) -> Vec<&Mount> {
        let mut found: Vec<&Mount> = Vec::new();
        for mount in self.mounts.iter() {
            let is = mount.device == device
                // An anonymous number, as btrfs has.
                || mount.device.major == 0
                    && self.topology.by_node(&mount.source) == Some(device);
            if is && found.iter().all(|known| known.point != mount.point) {
                found.push(mount);
            }
        }
        found
    }

    /// The swap area that `device` is in use as.
    #[must_use]
    pub fn swap_on(&self, device: DevId) -> Option<&SwapArea> {
        let mut areas = self.swaps.iter().filter(|area| !area.is_file);
        areas.find(|area| self.topology.by_node(&area.path) == Some(device))
    }
}
