//! A small Debian with systemd, as an archive: for what needs a whole system
//! in a guest rather than programs.
//!
//! Must not know what is done in it.

use std::{path::PathBuf, process::Command};

use anyhow::{Context as _, Result};

use super::{cache, sites::Sites};
use crate::{
    debian::{self, Package},
    process,
};

const TOOLS: [Package; 1] = [Package::command("debootstrap", "debootstrap")];

/// What it has beside the least that dpkg works in.
const INCLUDE: &str = "systemd-sysv";

/// The archive; made when needed, of this machine's release of Debian.
pub fn archive() -> Result<PathBuf> {
    debian::ensure(&TOOLS)?;
    let release = codename()?;
    let stamp = format!("{release} {INCLUDE}");
    cache::file("debian-root.tar", &stamp, |archive| {
        eprintln!("xtask: making a Debian for guests");
        let root = tempfile::tempdir()?;
        let mut debootstrap = process::as_root("debootstrap")?;
        debootstrap
            .args(["--variant=minbase", "--include", INCLUDE, &release])
            .arg(root.path())
            .arg(Sites::of_this_machine()?.main);
        process::output(&mut debootstrap)?;
        let mut tar = process::as_root("tar")?;
        tar.args(["--create", "--numeric-owner", "--exclude=./var/cache/apt/*"])
            .args(["--exclude=./var/lib/apt/lists/*", "--directory"])
            .arg(root.path())
            .arg(".")
            .stdout(archive.try_clone()?);
        process::run(&mut tar)
    })
}

/// As in `bookworm`.
fn codename() -> Result<String> {
    let mut shell = Command::new("sh");
    let line = ". /etc/os-release && echo \"$VERSION_CODENAME\"";
    let name = process::output(shell.args(["-c", line])).context("/etc/os-release")?;
    Ok(name.trim().to_owned())
}
