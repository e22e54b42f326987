//! md arrays.

use std::process::Command;

use super::{
    device::Device,
    direct::Direct,
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
        // "Not meaningful" for a level without redundancy.
        let clean: &[&str] = if matches!(level, "0" | "linear") {
            &[]
        } else {
            &["--assume-clean"]
        };
        Self::make(name, level, chunk, members, &[clean, more].concat())
    }

    /// The same after its first resync: a journal cannot be without one.
    pub(crate) fn synchronized(
        name: &str,
        level: &str,
        chunk: &str,
        members: &[Device],
        more: &[&str],
    ) -> Self {
        let array = Self::make(name, level, chunk, members, more);
        array.wait_until_idle();
        array
    }

    /// The same without a bitmap, and as if its first resync had just begun and
    /// were held up there.
    pub(crate) fn create_unsynced(
        name: &str,
        level: &str,
        chunk: &str,
        members: &[Device],
    ) -> Self {
        let array = Self::create(name, level, chunk, members);
        array.device.write("md/sync_action", "frozen");
        array.device.write("md/resync_start", "0");
        array
    }

    fn make(name: &str, level: &str, chunk: &str, members: &[Device], more: &[&str]) -> Self {
        let nodes: Vec<String> = members.iter().map(Device::node_text).collect();
        let node = format!("/dev/{name}");
        let count = format!("--raid-devices={}", members.len());
        let (level_arg, chunk_arg) = (format!("--level={level}"), format!("--chunk={chunk}"));
        let mut args = vec!["--create", &node, "--run", &level_arg, &count];
        // "Forbidden" for a level without chunks.
        if level != "1" {
            args.push(&chunk_arg);
        }
        args.extend(more);
        args.extend(nodes.iter().map(String::as_str));
        run("mdadm", &args);
        let device = Device::disk(name);
        if has_bitmap(&device) {
            // Bits are taken back a second after they are not needed, not five.
            device.write("md/bitmap/time_base", "1");
        }
        Self {
            device,
            members: members.to_vec(),
        }
    }

    pub(crate) fn device(&self) -> Device {
        self.device.clone()
    }

    pub(crate) fn members(&self) -> &[Device] {
        &self.members
    }

    /// Marks the array as written to, for good: md has no reason to write to
    /// its superblocks any more.
    pub(crate) fn keep_active(&self) {
        self.device.write("md/safe_mode_delay", "0");
        self.wait_until_idle();
        Direct::open(&self.device).write(0, 4096, 1);
        let state = self.device.read("md/array_state");
        assert_eq!(state.as_deref(), Some("active"));
    }

    /// Starts a check, which stands back for nobody.
    pub(crate) fn start_check(&self) {
        // In KiB a second.
        self.device.write("md/sync_speed_min", "200000");
        self.device.write("md/sync_action", "check");
    }

    /// Waits until md has nothing of its own to do: no resync, and the array
    /// marked clean where it ever will be, which writes to every member.
    pub(crate) fn wait_until_idle(&self) {
        let read = |file: &str| self.device.read(file);
        let idle = || {
            let idle = |action: Option<String>| {
                action.is_none_or(|action| action == "idle" || action == "frozen")
            };
            idle(read("md/sync_action")) && self.is_clean_or_asked()
        };
        wait::until_or(
            "md to be idle",
            || idle().then_some(()),
            || {
                let files = [
                    "sync_action",
                    "array_state",
                    "sync_completed",
                    "safe_mode_delay",
                ];
                let states = files.map(|file| (file, read(&format!("md/{file}"))));
                let all = std::fs::read_to_string("/proc/mdstat").unwrap_or_default();
                format!(" ({}: {states:?})\n{all}", self.device.name())
            },
        );
    }

    /// Whether md has marked it clean or never will; else it is asked to. By
    /// itself it looks once, some 200 ms after the last write, and where that
    /// came to nothing (seen on 7.2) not before the next write.
    fn is_clean_or_asked(&self) -> bool {
        let delay = self.device.read("md/safe_mode_delay");
        let Some(delay) = delay.filter(|delay| delay != "0.000") else {
            return true;
        };
        if self.device.read("md/array_state").as_deref() != Some("active") {
            return true;
        }
        // A shorter delay makes it look at once: `safe_delay_store`, md.c.
        self.device.write("md/safe_mode_delay", "0.1");
        self.device.write("md/safe_mode_delay", &delay);
        false
    }

    /// Waits, after [`Self::wait_until_idle`], until the bitmap on the members
    /// says that nothing is being written: md takes bits back seconds after the
    /// last write, and a wait for silence ends before. While a member is failed
    /// the bits stay, for when it comes back.
    pub(crate) fn wait_until_bitmap_is_written(&self) {
        let degraded = self.device.read("md/degraded");
        if !has_bitmap(&self.device) || degraded.is_none_or(|degraded| degraded != "0") {
            return;
        }
        // A page of it goes to all members at once.
        let Some(member) = self.members.last() else {
            return;
        };
        wait::until_true("no dirty bit in the bitmap", || {
            let shown = run("mdadm", &["-X", &member.node_text()]);
            let bits = shown.lines().find(|line| line.contains(" dirty"));
            let bits = bits.unwrap_or_else(|| panic!("no bits in {shown}"));
            bits.contains(", 0 dirty")
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

    /// Stops it and assembles it again.
    pub(crate) fn assemble_again(&self) {
        let node = self.device.node_text();
        let nodes: Vec<String> = self.members.iter().map(Device::node_text).collect();
        self.stop_it(&node);
        let mut args = vec!["--assemble", "--run", node.as_str()];
        args.extend(nodes.iter().map(String::as_str));
        run("mdadm", &args);
        self.wait_until_idle();
    }

    fn stop_it(&self, node: &str) {
        wait::until_true("the array to stop", || {
            !self.device.sysfs().join("md").exists()
                || finished(Command::new("mdadm").args(["--stop", node]))
                    .status
                    .success()
        });
    }

    /// Stops it and forgets it ever was.
    pub(crate) fn stop(self) {
        drop(self);
    }
}

impl Drop for Array {
    fn drop(&mut self) {
        self.stop_it(&self.device.node_text());
        for member in &self.members {
            // Fails where the member is gone already.
            finished(Command::new("mdadm").args(["--zero-superblock", &member.node_text()]));
        }
    }
}

/// On the members, not in a file.
fn has_bitmap(device: &Device) -> bool {
    let place = device.read("md/bitmap/location");
    place.is_some_and(|place| place != "none" && place != "file")
}
