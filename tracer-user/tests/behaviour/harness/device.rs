//! A block device by its kernel name, and what sysfs says about it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::wait;

/// A whole disk or a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Device {
    name: String,
    /// The disk, where this is a partition.
    disk: Option<String>,
}

impl Device {
    /// The disk `name`, as soon as its node is there.
    pub(crate) fn disk(name: &str) -> Self {
        let device = Self {
            name: name.into(),
            disk: None,
        };
        device.wait_for_node();
        device
    }

    pub(crate) fn partition(disk: &str, name: &str) -> Self {
        let device = Self {
            name: name.into(),
            disk: Some(disk.into()),
        };
        device.wait_for_node();
        device
    }

    fn wait_for_node(&self) {
        wait::until_true(&format!("{}", self.node().display()), || {
            self.node().exists() && self.sysfs().join("stat").exists()
        });
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn node(&self) -> PathBuf {
        Path::new("/dev").join(&self.name)
    }

    /// The node as text, for command lines.
    pub(crate) fn node_text(&self) -> String {
        format!("/dev/{}", self.name)
    }

    /// The device that the kernel's block layer sees: the disk.
    pub(crate) fn whole(&self) -> Self {
        Self {
            name: self.disk.clone().unwrap_or_else(|| self.name.clone()),
            disk: None,
        }
    }

    pub(crate) fn is_partition(&self) -> bool {
        self.disk.is_some()
    }

    pub(crate) fn sysfs(&self) -> PathBuf {
        let block = Path::new("/sys/block");
        match &self.disk {
            Some(disk) => block.join(disk).join(&self.name),
            None => block.join(&self.name),
        }
    }

    /// A file below the device's folder; of the disk for queue files.
    pub(crate) fn read(&self, file: &str) -> Option<String> {
        let folder = if file.starts_with("queue/") {
            self.whole().sysfs()
        } else {
            self.sysfs()
        };
        let text = fs::read_to_string(folder.join(file)).ok()?;
        Some(text.trim().to_owned())
    }

    pub(crate) fn number(&self, file: &str) -> u64 {
        let text = self.read(file).unwrap_or_default();
        text.parse()
            .unwrap_or_else(|_| panic!("{}: {file} is {text:?}", self.name))
    }

    pub(crate) fn write(&self, file: &str, value: &str) {
        let path = self.sysfs().join(file);
        fs::write(&path, value)
            .unwrap_or_else(|error| panic!("{value:?} to {}: {error}", path.display()));
    }

    pub(crate) fn sectors(&self) -> u64 {
        self.number("size")
    }

    /// Whether the device is fed requests (else bios only: md, dm, zram).
    pub(crate) fn has_requests(&self) -> bool {
        self.whole().sysfs().join("mq").exists()
    }
}
