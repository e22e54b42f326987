//! Everything that is looked at of a machine's storage, of one moment: its
//! devices, what their superblocks say, what is mounted.
//!
//! Must not read a device or a file, know the live source, or judge what a
//! geometry is worth.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    superblock::Contents,
    sysfs::{Topology, mounts::Mounts},
    units::DevId,
};

/// The storage of one machine, at one moment.
#[derive(Clone, Debug, Default)]
pub struct Stack {
    pub topology: Topology,
    /// What lies on each device that may hold something, or why that is not
    /// known. A device without an entry holds nothing that is looked for.
    pub contents: BTreeMap<DevId, Result<Contents, Unread>>,
    pub mounts: Mounts,
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
    /// A read would wait until it is resumed.
    #[error("the mapped device is suspended")]
    Suspended,
    #[error("the array is not active")]
    Inactive,
    /// A tree of attributes alone was read.
    #[error("another machine's: the device is not here")]
    Elsewhere,
    #[error("{0}")]
    Failed(String),
}

impl Stack {
    /// What lies on `device`; `None` where nothing does, or it is not known.
    #[must_use]
    pub fn contents_of(&self, device: DevId) -> Option<&Contents> {
        self.contents.get(&device)?.as_ref().ok()
    }
}
