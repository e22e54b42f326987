//! Device-mapper devices, from tables.

use std::{
    io::Write as _,
    process::{Command, Stdio},
};

use super::{
    device::Device,
    process::{finished, run},
    wait,
};

/// A device-mapper device; removed when dropped.
pub(crate) struct Mapped {
    name: String,
    device: Device,
}

impl Mapped {
    /// `dmsetup create NAME` with a table.
    pub(crate) fn create(name: &str, table: &str) -> Self {
        // The table may hold a key, so it is not put on the command line.
        let mut dmsetup = Command::new("dmsetup")
            .args(["create", name, "--noudevsync"])
            .stdin(Stdio::piped())
            .spawn()
            .expect("dmsetup");
        let mut stdin = dmsetup.stdin.take().expect("a pipe");
        stdin.write_all(table.as_bytes()).expect("dmsetup to read");
        drop(stdin);
        let status = dmsetup.wait().expect("dmsetup to end");
        assert!(status.success(), "dmsetup create {name}: {status}");
        let minor = run(
            "dmsetup",
            &["info", "--columns", "--noheadings", "-o", "minor", name],
        );
        Self {
            name: name.into(),
            device: Device::disk(&format!("dm-{}", minor.trim())),
        }
    }

    pub(crate) fn device(&self) -> Device {
        self.device.clone()
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        wait::until_true("the mapped device to be removed", || {
            !self.device.sysfs().exists()
                || finished(Command::new("dmsetup").args(["remove", "--noudevsync", &self.name]))
                    .status
                    .success()
        });
    }
}
