//! From the name of a device, in any of the ways people write one, to the
//! device; and to what a view of it shows.
//!
//! Must not change the topology.

use std::{
    collections::BTreeSet,
    fs, io,
    os::unix::fs::{FileTypeExt, MetadataExt},
    path::{Path, PathBuf},
};

use super::{
    SysRoot,
    device::{Device, Topology},
    mounts::{Mount, Mounts},
};
use crate::units::DevId;

/// How many near names an error offers.
const NEAREST: usize = 3;

/// Looks up device names in a topology.
#[derive(Clone, Debug)]
pub struct Lookup<'a> {
    pub topology: &'a Topology,
    /// `/sys`, for the devices of a file system that has several.
    pub sys: &'a SysRoot,
    /// `/dev`.
    pub dev: &'a Path,
    pub mounts: &'a Mounts,
}

/// The devices asked for, and what goes with them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// In the order asked, each once.
    pub asked: Vec<DevId>,
    /// Members, and the disks of partitions, from the top down.
    pub below: Vec<DevId>,
    /// Partitions and holders, from the bottom up.
    pub above: Vec<DevId>,
}

/// A name that stands for no block device.
#[derive(Debug, thiserror::Error)]
pub enum ResolveError {
    #[error(
        "no block device {name:?}{} (lsblk lists all)",
        nearest_clause(nearest)
    )]
    NotFound { name: String, nearest: Vec<String> },
    #[error("{name} is a path that the kernel hides below a multipath disk{}", head_clause(head.as_deref()))]
    Hidden { name: String, head: Option<String> },
    #[error("{} is block device {device}, which is not in sysfs", path.display())]
    NotListed { path: PathBuf, device: DevId },
    #[error(
        "{} is neither a block device nor a mount point{}",
        path.display(),
        mount_clause(mount.as_deref())
    )]
    NotADevice {
        path: PathBuf,
        mount: Option<Box<Mount>>,
    },
    #[error(
        "{} is mounted from {:?} ({}), which is no block device",
        mount.point.display(),
        mount.source,
        mount.fs_type
    )]
    NoDeviceBelow { mount: Box<Mount> },
    #[error("cannot read {}", path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

impl Selection {
    /// All of them, each once: above, asked, below.
    pub fn all(&self) -> impl Iterator<Item = DevId> + '_ {
        self.above
            .iter()
            .chain(&self.asked)
            .chain(&self.below)
            .copied()
    }
}

impl Lookup<'_> {
    /// Looks up several names, and finds what a view of them shows.
    ///
    /// # Errors
    /// At the first name that stands for no block device.
    pub fn select<S: AsRef<str>>(&self, names: &[S]) -> Result<Selection, ResolveError> {
        let mut asked = Vec::new();
        for name in names {
            for id in self.resolve(name.as_ref())? {
                if !asked.contains(&id) {
                    asked.push(id);
                }
            }
        }
        Ok(self.topology.around(asked))
    }

    /// The device of one name; several for the mount point of a file system
    /// that spans several.
    ///
    /// # Errors
    /// When the name stands for no block device.
    pub fn resolve(&self, name: &str) -> Result<Vec<DevId>, ResolveError> {
        let name = trim(name);
        if let Some(id) = self.by_name(name) {
            return Ok(vec![id]);
        }
        if let Some(hidden) = self.hidden(name) {
            return Err(hidden);
        }
        if name.starts_with(['/', '.']) {
            return self.by_path(Path::new(name));
        }
        Err(self.not_found(name))
    }

    /// By kernel name, dm name, number, or the usual path of one of them. No
    /// file is touched, so that it works for another machine's sysfs.
    fn by_name(&self, name: &str) -> Option<DevId> {
        if let Ok(id) = name.parse::<DevId>() {
            return self.topology.devices.contains_key(&id).then_some(id);
        }
        let below_dev = Path::new(name).strip_prefix(self.dev).ok();
        let below_dev = below_dev.and_then(Path::to_str);
        let plain = below_dev.unwrap_or(name);
        let mapper = plain.strip_prefix("mapper/").unwrap_or(plain);
        // LVM's /dev/VG/LV: dashes within a name are doubled in dm's.
        let volume = plain
            .split_once('/')
            .map(|(vg, lv)| format!("{}-{}", vg.replace('-', "--"), lv.replace('-', "--")));
        let devices = || self.topology.devices.values();
        devices()
            .find(|device| device.name == plain || device.sysfs_name() == plain)
            .or_else(|| {
                devices().find(|device| {
                    let dm = device.dm_name.as_deref();
                    dm.is_some_and(|dm| dm == mapper || Some(dm) == volume.as_deref())
                })
            })
            .map(|device| device.id)
    }

    /// By a device node, a symbolic link to one, or a mount point.
    fn by_path(&self, path: &Path) -> Result<Vec<DevId>, ResolveError> {
        let real = match fs::canonicalize(path) {
            Ok(real) => real,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // Another machine's, whose folders are not here.
                if let Some(mount) = self.mounts.at(path) {
                    return self.by_mount(mount);
                }
                return Err(self.not_found(&path.display().to_string()));
            }
            Err(source) => {
                return Err(ResolveError::Io {
                    path: path.to_owned(),
                    source,
                });
            }
        };
        let metadata = fs::metadata(&real).map_err(|source| ResolveError::Io {
            path: real.clone(),
            source,
        })?;
        if metadata.file_type().is_block_device() {
            return self.by_number(path, DevId::from_rdev(metadata.rdev()));
        }
        if let Some(id) = real.to_str().and_then(|real| self.by_name(real)) {
            return Ok(vec![id]);
        }
        match self.mounts.at(&real) {
            Some(mount) => self.by_mount(mount),
            None => Err(ResolveError::NotADevice {
                path: path.to_owned(),
                mount: self.mounts.holding(&real).cloned().map(Box::new),
            }),
        }
    }

    fn by_number(&self, path: &Path, device: DevId) -> Result<Vec<DevId>, ResolveError> {
        if self.topology.devices.contains_key(&device) {
            return Ok(vec![device]);
        }
        Err(ResolveError::NotListed {
            path: path.to_owned(),
            device,
        })
    }

    fn by_mount(&self, mount: &Mount) -> Result<Vec<DevId>, ResolveError> {
        if self.topology.devices.contains_key(&mount.device) {
            return Ok(vec![mount.device]);
        }
        // btrfs and the like have a number of their own; ask for the source.
        let source = trim(&mount.source);
        let below = match self.by_name(source) {
            Some(id) => Ok(vec![id]),
            // A source that is the mount point again would never end.
            None if source.starts_with('/') && self.mounts.at(Path::new(source)).is_none() => {
                self.by_path(Path::new(source))
            }
            None => Err(ResolveError::NoDeviceBelow {
                mount: Box::new(mount.clone()),
            }),
        };
        let below = below.map_err(|_any| ResolveError::NoDeviceBelow {
            mount: Box::new(mount.clone()),
        })?;
        Ok(self.btrfs_siblings(&below).unwrap_or(below))
    }

    /// All devices of the btrfs that has `below` as one of its own
    /// (`fs/btrfs/UUID/devices/`).
    fn btrfs_siblings(&self, below: &[DevId]) -> Option<Vec<DevId>> {
        let file_systems = super::root::list(&self.sys.path("fs/btrfs")).ok()?;
        file_systems.iter().find_map(|uuid| {
            let dir = self.sys.path("fs/btrfs").join(uuid).join("devices");
            let names = super::root::list(&dir).ok()?;
            let ids: Vec<DevId> = names.iter().filter_map(|name| self.by_name(name)).collect();
            below.iter().all(|id| ids.contains(id)).then_some(ids)
        })
    }

    fn hidden(&self, name: &str) -> Option<ResolveError> {
        let plain = Path::new(name).strip_prefix(self.dev);
        let plain = plain.ok().and_then(Path::to_str).unwrap_or(name);
        let mut disks = self.topology.hidden.iter();
        let disk = disks.find(|disk| disk.name == plain)?;
        let head = disk.head.and_then(|id| self.topology.devices.get(&id));
        Some(ResolveError::Hidden {
            name: disk.name.clone(),
            head: head.map(|head| head.name.clone()),
        })
    }

    fn not_found(&self, name: &str) -> ResolveError {
        let wanted = Path::new(name)
            .file_name()
            .and_then(|last| last.to_str())
            .unwrap_or(name);
        let devices = self.topology.devices.values();
        let mut near: Vec<(usize, &str)> = devices
            .flat_map(|device| [Some(device.name.as_str()), device.dm_name.as_deref()])
            .flatten()
            .filter_map(|known| Some((unlikeness(wanted, known)?, known)))
            .collect();
        near.sort_unstable();
        ResolveError::NotFound {
            name: name.to_owned(),
            nearest: near
                .into_iter()
                .take(NEAREST)
                .map(|(_, known)| known.to_owned())
                .collect(),
        }
    }
}

impl Topology {
    /// The devices `asked`, with all that lies below and on top of them.
    #[must_use]
    pub fn around(&self, asked: Vec<DevId>) -> Selection {
        let reach = |next: &dyn Fn(&Device) -> Vec<DevId>| {
            let mut seen: BTreeSet<DevId> = asked.iter().copied().collect();
            let mut found = Vec::new();
            let mut queue = asked.clone();
            while !queue.is_empty() {
                let devices = queue.iter().filter_map(|id| self.devices.get(id));
                queue = devices
                    .flat_map(next)
                    .filter(|id| seen.insert(*id))
                    .collect();
                found.extend(&queue);
            }
            found
        };
        let below = reach(&|device| self.directly_below(device));
        let above = reach(&|device| self.directly_above(device))
            .into_iter()
            .filter(|id| !below.contains(id))
            .collect();
        Selection {
            asked,
            below,
            above,
        }
    }

    fn directly_below(&self, device: &Device) -> Vec<DevId> {
        let disk = device.partition.map(|partition| partition.disk);
        disk.into_iter()
            .chain(device.members.iter().copied())
            .collect()
    }

    fn directly_above(&self, device: &Device) -> Vec<DevId> {
        let mut above = self.partitions_of(device.id);
        above.extend(&device.holders);
        above
    }
}

/// Without what does not matter at either end; `/` stays.
fn trim(name: &str) -> &str {
    let name = name.trim();
    match name.trim_end_matches('/') {
        "" => name,
        trimmed => trimmed,
    }
}

/// How many letters to change; `None` for a name too unlike to be offered.
fn unlikeness(wanted: &str, known: &str) -> Option<usize> {
    /// Of 1, at which both are the same; `sdc` and `sda` have 0.82.
    const LIKE_ENOUGH: f64 = 0.7;
    // A volume is often asked for by a part of its name.
    let part = wanted.len() >= 3 && known.contains(wanted);
    (part || strsim::jaro_winkler(wanted, known) >= LIKE_ENOUGH)
        .then(|| strsim::damerau_levenshtein(wanted, known))
}

fn nearest_clause(nearest: &[String]) -> String {
    match nearest {
        [] => String::new(),
        [one] => format!(": nearest is {one}"),
        several => format!(": nearest are {}", several.join(", ")),
    }
}

fn head_clause(head: Option<&str>) -> String {
    head.map_or_else(String::new, |head| format!(": ask for {head}"))
}

fn mount_clause(mount: Option<&Mount>) -> String {
    mount.map_or_else(String::new, |mount| {
        format!(
            "; it lies on {}, mounted from {}",
            mount.point.display(),
            mount.source
        )
    })
}

#[cfg(test)]
#[path = "resolve_tests.rs"]
mod tests;
