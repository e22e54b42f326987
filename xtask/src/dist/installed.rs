//! The package, installed in a guest: it starts, is asked, holds no more than
//! it should, and is gone after its removal.
//!
//! Must not build it.

use std::{fs, path::Path};

use anyhow::{Result, ensure};

use crate::vm;

/// The middle of the kernels that are supported.
const KERNEL: &str = "6.1";
const BOOT: &str = include_str!("boot.sh");
const INSTALLED: &str = include_str!("installed.sh");

pub(super) fn test(package: &Path) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let files = [
        folder.path().join("iotrace.deb"),
        folder.path().join("installed.sh"),
        vm::debian_root::archive()?,
    ];
    fs::copy(package, &files[0])?;
    fs::write(&files[1], INSTALLED)?;
    let status = vm::run_in_guest(KERNEL, &files, BOOT)?;
    ensure!(
        status == 0,
        "the package failed in its guest, exit status {status}"
    );
    Ok(())
}
