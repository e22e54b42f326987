//! Data that have to be as they were, and a file system that is in use.

use std::{
    fs::{self, File, OpenOptions},
    io::Write as _,
    path::{Path, PathBuf},
    process::Command,
};

use crate::harness::{
    device::Device,
    lab::Lab,
    process::{finished, run},
};

/// Writes so many bytes from the start on, no eight of them like any others.
pub(super) fn write(path: &Path, bytes: u64) {
    let mut file = open(path);
    let words =
        (0..bytes / 8).flat_map(|word: u64| word.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
    file.write_all(&words.collect::<Vec<u8>>()).expect("data");
    file.sync_all().expect("data on disk");
}

/// The checksum of the first bytes, as they lie on the disk.
pub(super) fn checksum(path: &Path, bytes: u64) -> String {
    fs::write("/proc/sys/vm/drop_caches", "3").expect("caches to be dropped");
    let command = format!("head -c {bytes} {} | sha256sum", path.display());
    run("sh", &["-c", &command])
}

/// Copies the first bytes from one to the other.
pub(super) fn copy(from: &Path, to: &Path, bytes: u64) {
    let mut all = fs::read(from).expect("data");
    all.truncate(usize::try_from(bytes).expect("a length"));
    let mut file = open(to);
    file.write_all(&all).expect("data");
    file.sync_all().expect("data on disk");
}

fn open(path: &Path) -> File {
    let mut options = OpenOptions::new();
    // What is there already may be a device.
    let options = options.write(true).create(true).truncate(false);
    options
        .open(path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A file system in use; no more when dropped.
pub(super) struct Mounted {
    at: PathBuf,
}

impl Mounted {
    pub(super) fn new(device: &Device, lab: &Lab) -> Self {
        let at = lab.path("mounted");
        fs::create_dir_all(&at).expect("a folder");
        run("mount", &[&device.node_text(), &at.display().to_string()]);
        Self { at }
    }

    pub(super) fn file(&self) -> PathBuf {
        self.at.join("file")
    }

    /// As the kernel shows it.
    pub(super) fn options(&self) -> Vec<String> {
        let mounts = fs::read_to_string("/proc/self/mounts").expect("mounts");
        let at = self.at.display().to_string();
        let line = mounts
            .lines()
            .find(|line| line.split(' ').nth(1) == Some(&at));
        let line = line.unwrap_or_else(|| panic!("nothing on {at}: {mounts}"));
        let options = line.split(' ').nth(3).expect("options");
        options.split(',').map(str::to_owned).collect()
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // A repair may have done it already.
        finished(Command::new("umount").arg(&self.at));
    }
}
