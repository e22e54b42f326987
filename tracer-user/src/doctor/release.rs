//! What has to let go of a device before something below it is changed, from the
//! top down.
//!
//! Must not decide whether it has to.

use std::path::Path;

use super::{
    Remedy, Step,
    patient::{Patient, node, quoted},
};
use crate::sysfs::{device::Device, mounts::Mount};

/// Deeper than any stack.
const MOST_LAYERS: usize = 32;
const RESCUE: &str =
    "the system runs from it: do all of this from a rescue system, where it is not mounted";

/// Commands that unmount everything on a device, itself too.
pub(super) fn unmounted(patient: &Patient<'_>, device: &Device) -> Vec<Step> {
    let mut commands = Vec::new();
    climb(patient, device, MOST_LAYERS, &mut |device, _| {
        commands.extend(off(patient, device));
    });
    commands
}

/// Commands that unmount everything, and stop every layer above.
pub(super) fn released(patient: &Patient<'_>, device: &Device) -> Vec<Step> {
    let mut commands = Vec::new();
    climb(patient, device, MOST_LAYERS, &mut |device, is_above| {
        commands.extend(off(patient, device));
        if is_above {
            commands.extend(stop(device).map(|command| Step {
                command,
                warning: None,
            }));
        }
    });
    commands
}

impl Remedy {
    /// After these commands.
    pub(super) fn after(mut self, steps: Vec<Step>) -> Self {
        self.steps.extend(steps);
        self
    }
}

/// Visits what lies on a device before the device itself, each once.
fn climb(
    patient: &Patient<'_>,
    device: &Device,
    left: usize,
    visit: &mut impl FnMut(&Device, bool),
) {
    let mut seen = Vec::new();
    above(patient, device, left, &mut seen);
    for device in &seen {
        visit(device, true);
    }
    visit(device, false);
}

fn above<'a>(patient: &Patient<'a>, device: &Device, left: usize, seen: &mut Vec<&'a Device>) {
    if left == 0 {
        return;
    }
    let partitions = patient.stack.topology.partitions_of(device.id);
    let partitions = partitions.into_iter().filter_map(|id| patient.device(id));
    for higher in patient.on_top(device).into_iter().chain(partitions) {
        if seen.iter().all(|known| known.id != higher.id) {
            above(patient, higher, left - 1, seen);
            seen.push(higher);
        }
    }
}

fn off(patient: &Patient<'_>, device: &Device) -> Option<Step> {
    if let Some(mount) = patient.mount(device) {
        return Some(Step {
            command: format!("umount {}", node(device)),
            warning: is_system(mount).then(|| RESCUE.to_owned()),
        });
    }
    patient.stack.swap_on(device.id).map(|_| Step {
        command: format!("swapoff {}", node(device)),
        warning: None,
    })
}

/// Never let go of while the machine runs from it.
fn is_system(mount: &Mount) -> bool {
    let of_system = ["/", "/usr", "/var"];
    of_system
        .iter()
        .any(|point| mount.point == Path::new(point))
}

/// What to know before it is unmounted.
pub(super) fn meanwhile(mount: &Mount) -> &'static str {
    if is_system(mount) {
        RESCUE
    } else {
        "nothing may use it meanwhile"
    }
}

fn stop(device: &Device) -> Option<String> {
    if let Some(name) = &device.dm_name {
        let uuid = device.dm_uuid.as_deref().unwrap_or_default();
        return Some(if uuid.starts_with("LVM-") {
            format!("lvchange -an {}", node(device))
        } else if uuid.starts_with("CRYPT-") {
            format!("cryptsetup close {}", quoted(name))
        } else {
            format!("dmsetup remove {}", quoted(name))
        });
    }
    if device.md.is_some() {
        return Some(format!("mdadm --stop {}", node(device)));
    }
    device
        .loop_on
        .map(|_| format!("losetup --detach {}", node(device)))
}
