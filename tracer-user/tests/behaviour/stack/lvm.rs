//! LVM, in a guest without udev.

use std::process::Command;

use crate::harness::{
    device::Device,
    process::{finished, run},
};

/// No udev is there to be waited for, and no other configuration.
const CONFIG: &str = "activation { udev_sync=0 udev_rules=0 } global { event_activation=0 } \
                      devices { use_devicesfile=0 scan_lvs=0 }";

/// Runs one of LVM's commands; what it printed.
pub(super) fn lvm(args: &[&str]) -> String {
    let (command, rest) = args.split_first().expect("a command");
    run("lvm", &[&[*command, "--config", CONFIG], rest].concat())
}

/// A volume group; gone when dropped.
pub(super) struct Group {
    name: &'static str,
    on: Device,
}

impl Group {
    pub(super) fn create(name: &'static str, on: &Device) -> Self {
        let node = on.node_text();
        lvm(&["pvcreate", "-q", "-y", &node]);
        lvm(&["vgcreate", "-q", name, &node]);
        let on = on.clone();
        Self { name, on }
    }

    pub(super) fn volume(&self, name: &str, mib: u32) -> Device {
        let size = format!("{mib}m");
        lvm(&[
            "lvcreate", "-q", "-y", "-W", "n", "-Z", "n", "-n", name, "-L", &size, self.name,
        ]);
        let mapped = format!("{}-{name}", self.name);
        let args = ["info", "--columns", "--noheadings", "-o", "minor", &mapped];
        Device::disk(&format!("dm-{}", run("dmsetup", &args).trim()))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // After a test that failed something may still hold them.
        let node = self.on.node_text();
        for args in [["vgremove", "-ffy", self.name], ["pvremove", "-ffy", &node]] {
            let [command, how, what] = args;
            let args = [command, "--config", CONFIG, how, what];
            let _ = finished(Command::new("lvm").args(args));
        }
    }
}
