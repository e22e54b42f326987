//! LVM, as a guest has it: its `lvm.conf` knows that there is no udev.

use std::process::Command;

use super::{
    device::Device,
    process::{finished, run},
};

/// Runs one of LVM's commands; what it printed.
pub(crate) fn lvm(args: &[&str]) -> String {
    run("lvm", args)
}

/// A volume group on one device; gone when dropped.
pub(crate) struct Group {
    name: &'static str,
    on: Device,
}

impl Group {
    pub(crate) fn create(name: &'static str, on: &Device) -> Self {
        Self::create_with(name, on, &[])
    }

    /// The same with more options for `pvcreate`.
    pub(crate) fn create_with(name: &'static str, on: &Device, more: &[&str]) -> Self {
        let node = on.node_text();
        lvm(&[&["pvcreate", "-q", "-y", &node], more].concat());
        lvm(&["vgcreate", "-q", name, &node]);
        let on = on.clone();
        Self { name, on }
    }

    pub(crate) fn volume(&self, name: &str, mib: u32) -> Device {
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
            let _ = finished(Command::new("lvm").args(args));
        }
    }
}
