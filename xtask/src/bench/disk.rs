//! What is written to: a loop device on a file in memory, and a file on a real
//! disk.
//!
//! Nothing of them outlives this program, however that ends: the file is
//! unlinked and the device told to go at its last close as soon as both exist.

use std::{
    fs::File,
    io::Write as _,
    os::unix::fs::MetadataExt as _,
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

/// A file on the disk that holds a directory; gone when dropped.
pub struct OnDisk {
    file: tempfile::NamedTempFile,
    /// `MAJOR:MINOR` of the file system's device.
    pub device: String,
}

impl OnDisk {
    /// `None` where the directory's file system has no block device of its
    /// own, as an overlay has none.
    pub fn new(dir: &Path) -> Result<Option<Self>> {
        let file = tempfile::NamedTempFile::new_in(dir)
            .with_context(|| format!("making a file in {}", dir.display()))?;
        let dev = file.as_file().metadata()?.dev();
        let device = format!("{}:{}", rustix::fs::major(dev), rustix::fs::minor(dev));
        if !Path::new("/sys/dev/block").join(&device).exists() {
            return Ok(None);
        }
        // Written once: a hole would be filled while it is measured.
        let zeroes = vec![0; 1 << 20];
        for _ in 0..SIZE_BYTES >> 20 {
            file.as_file().write_all(&zeroes)?;
        }
        file.as_file().sync_all()?;
        Ok(Some(Self { file, device }))
    }

    pub fn path(&self) -> &Path {
        self.file.path()
    }
}

fn losetup() -> Result<Command> {
    let losetup = process::find("losetup").context("no `losetup` here (util-linux)")?;
    Ok(Command::new(losetup))
}
