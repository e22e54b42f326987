//! md arrays.

use std::process::Command;

use super::{
    device::Device,
    lab::Lab,
    process::{finished, run},
    wait,
};

/// A running array; stopped when dropped, its members wiped.
pub(crate) struct Array {
    device: Device,
    members: Vec<Device>,
}

impl Array {
    /// `mdadm --create`, without a bitmap and without a first resync: neither
    /// may write behind a test's back.
    pub(crate) fn create(name: &str, level: &str, chunk: &str, members: &[Device]) -> Self {
        // "Cannot" for a level without redundancy.
        let more: &[&str] = if level == "0" {
            &[]
        } else {
            &["--bitmap=none"]
        };
        Self::create_with(name, level, chunk, members, more)
    }

    /// The same with more options.
    pub(crate) fn create_with(
        name: &str,
        level: &str,
        chunk: &str,
        members: &[Device],
        more: &[&str],
    ) -> Self {
        let nodes: Vec<String> = members.iter().map(Device::node_text).collect();
        let node = format!("/dev/{name}");
        let count = format!("--raid-devices={}", members.len());
        let (level_arg, chunk_arg) = (format!("--level={level}"), format!("--chunk={chunk}"));
        let mut args = vec!["--create", &node, "--run", &level_arg, &chunk_arg, &count];
        if level != "0" {
            args.push("--assume-clean");
        }
        args.extend(more);
        args.extend(nodes.iter().map(String::as_str));
        run("mdadm", &args);
        Self {
            device: Device::disk(name),
            members: members.to_vec(),
        }
    }

    pub(crate) fn device(&self) -> Device {
        self.device.clone()
    }

    /// Waits until md has nothing of its own to do: no resync, and the array
    /// marked clean, which writes to every member.
    pub(crate) fn wait_until_idle(&self) {
        wait::until_true("md to be idle", || {
            let idle = |action: Option<String>| action.is_none_or(|action| action == "idle");
            let clean = |state: Option<String>| state.is_none_or(|state| state != "active");
            idle(self.device.read("md/sync_action")) && clean(self.device.read("md/array_state"))
        });
    }

    /// Adds a disk and reshapes the array over all of `disks`; returns when
    /// that is done.
    pub(crate) fn grow(&self, disk: &Device, disks: usize, lab: &Lab) {
        let node = self.device.node_text();
        run("mdadm", &["--add", &node, &disk.node_text()]);
        let count = format!("--raid-devices={disks}");
        let backup = format!("--backup-file={}", lab.path("backup").display());
        let mut mdadm = Command::new("mdadm")
            .args(["--grow", &node, &count, &backup])
            .spawn()
            .expect("mdadm");
        wait::until_true("the reshape to end", || {
            // "5 (4)" until it has.
            self.device.read("md/raid_disks") == Some(disks.to_string())
                && self.device.read("md/sync_action").as_deref() == Some("idle")
        });
        // On 5.10 mdadm goes on waiting for a reshape that was over too soon.
        let _ = mdadm.kill();
        mdadm.wait().expect("mdadm to end");
    }

    /// Stops it and forgets it ever was.
    pub(crate) fn stop(self) {
        drop(self);
    }
}

impl Drop for Array {
    fn drop(&mut self) {
        let node = self.device.node_text();
        wait::until_true("the array to stop", || {
            !self.device.sysfs().join("md").exists()
                || finished(Command::new("mdadm").args(["--stop", &node]))
                    .status
                    .success()
        });
        for member in &self.members {
            // Fails where the member is gone already.
            finished(Command::new("mdadm").args(["--zero-superblock", &member.node_text()]));
        }
    }
}
