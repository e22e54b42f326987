//! Disks that the kernel makes of memory, with the geometry and the faults
//! asked for.

use std::{fs, path::Path, process::Command};

use super::{
    device::Device,
    process::{finished, run},
    wait,
};

const DRIVER: &str = "/sys/bus/pseudo/drivers/scsi_debug";

/// The loaded module; unloaded when dropped.
pub(crate) struct ScsiDebug(());

impl ScsiDebug {
    /// Loads the module with one disk. Requests are answered at once unless a
    /// parameter says otherwise.
    pub(crate) fn load(parameters: &[&str]) -> Self {
        unload();
        let mut args = vec!["scsi_debug", "per_host_store=1", "delay=0"];
        args.extend(parameters);
        run("modprobe", &args);
        let module = Self(());
        module.wait_for(1);
        module
    }

    /// Adds disks of the same kind.
    pub(crate) fn add(&self, disks: usize) {
        let there = names().len();
        self.set("add_host", &disks.to_string());
        self.wait_for(there + disks);
    }

    /// A parameter that can be set while the disks are in use.
    pub(crate) fn set(&self, parameter: &str, value: &str) {
        let path = Path::new(DRIVER).join(parameter);
        fs::write(&path, value)
            .unwrap_or_else(|error| panic!("{value} to {}: {error}", path.display()));
    }

    /// All disks, the first one first.
    pub(crate) fn disks(&self) -> Vec<Device> {
        names().iter().map(|name| Device::disk(name)).collect()
    }

    pub(crate) fn disk(&self) -> Device {
        self.disks().remove(0)
    }

    fn wait_for(&self, disks: usize) {
        wait::until_true(&format!("{disks} scsi_debug disks"), || {
            names().len() == disks
        });
        // A disk is there before its driver has read all of it: until then it
        // may set its limits anew. This waits for the driver.
        for disk in self.disks() {
            disk.write("device/rescan", "1");
        }
    }
}

impl Drop for ScsiDebug {
    fn drop(&mut self) {
        unload();
    }
}

/// Refused for as long as somebody still has a disk open.
fn unload() {
    wait::until_true("scsi_debug to unload", || {
        !Path::new("/sys/module/scsi_debug").exists()
            || finished(Command::new("modprobe").args(["-r", "scsi_debug"]))
                .status
                .success()
    });
}

/// Kernel names, in the order of their hosts.
fn names() -> Vec<String> {
    let mut found: Vec<(u32, String)> = children(Path::new(DRIVER), "adapter")
        .iter()
        .flat_map(|adapter| children(adapter, "host"))
        .flat_map(|host| children(&host, "target"))
        .flat_map(|target| children(&target, ""))
        .flat_map(|unit| children(&unit.join("block"), "sd"))
        .map(|disk| {
            let name = disk.file_name().expect("a name").to_string_lossy();
            let host = disk
                .iter()
                .find_map(|part| part.to_str()?.strip_prefix("host")?.parse().ok())
                .expect("a host");
            (host, name.into_owned())
        })
        .collect();
    found.sort();
    found.into_iter().map(|(_, name)| name).collect()
}

fn children(folder: &Path, prefix: &str) -> Vec<std::path::PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let starts = entry.file_name().to_str()?.starts_with(prefix);
            starts.then(|| entry.path())
        })
        .collect()
}
