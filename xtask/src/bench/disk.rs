//! A disk to write to: a loop device on a file in memory.
//!
//! Nothing of it outlives this program, however that ends: the file is
//! unlinked and the device told to go at its last close as soon as both exist.

use std::{
    fs::File,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result};

use crate::process;

/// Small enough to stay in memory.
const SIZE_BYTES: u64 = 256 << 20;

/// Where files are kept in memory, on every distribution.
const MEMORY: &str = "/dev/shm";

/// A loop device; gone when dropped.
pub struct Disk {
    device: PathBuf,
    /// Keeps the device.
    _open: File,
}

impl Disk {
    pub fn new() -> Result<Self> {
        let dir = Path::new(MEMORY);
        let file = if dir.is_dir() {
            tempfile::NamedTempFile::new_in(dir)
        } else {
            tempfile::NamedTempFile::new()
        };
        let file = file.context("a file for a loop device")?;
        file.as_file().set_len(SIZE_BYTES)?;
        let device = process::output(losetup()?.args(["--find", "--show"]).arg(file.path()))
            .context("setting up a loop device")?;
        let device = PathBuf::from(device.trim_end());
        let open = File::open(&device);
        // While it is open this only marks it to go at the last close.
        process::output(losetup()?.arg("--detach").arg(&device))?;
        Ok(Self {
            _open: open.with_context(|| format!("opening {}", device.display()))?,
            device,
        })
    }

    pub fn device(&self) -> &Path {
        &self.device
    }
}

fn losetup() -> Result<Command> {
    let losetup = process::find("losetup").context("no `losetup` here (util-linux)")?;
    Ok(Command::new(losetup))
}
