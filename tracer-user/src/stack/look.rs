//! Looks into the devices that may hold something.
//!
//! Must not wait: a read from a suspended mapped device, or from an array that
//! is held, ends only when somebody lets it go. Such a device, and all that
//! lies on it, is left out with a word.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    os::unix::fs::{FileTypeExt as _, MetadataExt as _},
    path::Path,
};

use super::Unread;
use crate::{
    superblock::{self, Contents, SuperblockError},
    sysfs::{
        Topology,
        device::{Device, Kind},
    },
    units::DevId,
};

/// What each of `devices` holds; those that can hold nothing are left out.
#[must_use]
pub fn look(
    topology: &Topology,
    devices: &BTreeSet<DevId>,
    dev: &Path,
) -> BTreeMap<DevId, Result<Contents, Unread>> {
    let listed = devices.iter().filter_map(|id| topology.devices.get(id));
    listed
        .filter(|device| may_hold(device))
        .map(|device| (device.id, look_into(topology, device, dev)))
        .collect()
}

/// Optical drives, floppies and what else has no driver we know wait for a
/// medium; a length of 0 is no medium at all.
fn may_hold(device: &Device) -> bool {
    device.kind != Kind::Other && device.size.is_none_or(|size| size.0 > 0)
}

fn look_into(topology: &Topology, device: &Device, dev: &Path) -> Result<Contents, Unread> {
    if let Some(held) = held(topology, device.id) {
        return Err(held);
    }
    let node = dev.join(&device.name);
    // Another device may have the name by now.
    let metadata = fs::metadata(&node).map_err(|error| of_io(&error))?;
    let same =
        metadata.file_type().is_block_device() && DevId::from_rdev(metadata.rdev()) == device.id;
    if !same {
        return Err(Unread::Gone);
    }
    superblock::read(&node).map_err(|error| match error {
        SuperblockError::Open { source, .. } | SuperblockError::Read(source) => of_io(&source),
        SuperblockError::NoDevice(_) => Unread::Gone,
    })
}

/// Why a read from the device would wait or fail: of itself, or of anything
/// below it.
fn held(topology: &Topology, device: DevId) -> Option<Unread> {
    let around = topology.around(vec![device]);
    let mut below = around.asked.iter().chain(&around.below);
    below.find_map(|id| {
        let device = topology.devices.get(id)?;
        if device.dm_suspended == Some(true) {
            return Some(Unread::Suspended(device.name.clone()));
        }
        let state = device.md.as_ref()?.array_state.as_deref()?;
        let quiet = matches!(state, "clear" | "inactive" | "suspended");
        quiet.then(|| Unread::Inactive(device.name.clone()))
    })
}

fn of_io(error: &io::Error) -> Unread {
    match (error.kind(), error.raw_os_error()) {
        (io::ErrorKind::PermissionDenied, _) => Unread::NoPermission,
        (io::ErrorKind::NotFound, _) | (_, Some(libc::ENXIO | libc::ENODEV)) => Unread::Gone,
        _ => Unread::Failed(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        report::testing::{device, partition, topology},
        sysfs::device::MdArray,
        units::Sectors,
    };

    fn looked(topology: &Topology, dev: &Path) -> BTreeMap<String, Result<Contents, Unread>> {
        let all = topology.devices.keys().copied().collect();
        let name = |id: &DevId| topology.devices[id].name.clone();
        let looked = look(topology, &all, dev);
        looked
            .into_iter()
            .map(|(id, what)| (name(&id), what))
            .collect()
    }

    #[test]
    fn nothing_that_is_held_is_read() {
        let sda = device("sda", 8, 0);
        let mut held = device("dm-0", 253, 0);
        held.members = vec![sda.id];
        held.dm_suspended = Some(true);
        let mut above = device("dm-1", 253, 1);
        above.members = vec![held.id];
        let part = partition("dm-1p1", 259, 0, above.id, 2048);
        let mut array = device("md0", 9, 0);
        array.md = Some(MdArray {
            array_state: Some("inactive".to_owned()),
            ..MdArray::default()
        });
        let mut empty = device("sdb", 8, 16);
        empty.size = Some(Sectors(0));
        let mut drive = device("sr0", 11, 0);
        drive.kind = Kind::Other;
        let all = topology([sda, held, above, part, array, empty, drive]);
        let dev = tempfile::tempdir().unwrap();
        let suspended = Err(Unread::Suspended("dm-0".to_owned()));
        assert_eq!(
            looked(&all, dev.path()),
            BTreeMap::from([
                ("sda".to_owned(), Err(Unread::Gone)),
                ("dm-0".to_owned(), suspended.clone()),
                ("dm-1".to_owned(), suspended.clone()),
                ("dm-1p1".to_owned(), suspended),
                ("md0".to_owned(), Err(Unread::Inactive("md0".to_owned()))),
            ])
        );
    }

    #[test]
    fn another_file_of_the_name_is_not_the_device() {
        let dev = tempfile::tempdir().unwrap();
        fs::write(dev.path().join("sda"), [0; 4096]).unwrap();
        let all = topology([device("sda", 8, 0)]);
        assert_eq!(looked(&all, dev.path())["sda"], Err(Unread::Gone));
    }
}
