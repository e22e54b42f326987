//! `cargo xtask dist`: a Debian package and a tarball of the same files.
//!
//! Must not write archives itself: `dpkg-deb` and `tar` do.

mod deb;
mod installed;
mod tree;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result};

use crate::{
    build::host,
    debian::{self, Package},
    process, workspace,
};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What makes the archives.
const TOOLS: [Package; 3] = [
    Package::command("dpkg", "dpkg-deb"),
    Package::command("tar", "tar"),
    Package::command("gzip", "gzip"),
];

/// Builds a Debian package and a tarball: the program, linked statically, its
/// systemd units, manual pages, completions, dashboards and documentation.
/// Prints the paths of both.
#[derive(Debug, clap::Args)]
pub struct Args {}

pub fn run(_args: &Args) -> Result<()> {
    let dist = workspace::target_dir()?.join("dist");
    for archive in pack(&host::build_for_packages()?, &dist)? {
        println!("{}", archive.display());
    }
    Ok(())
}

/// Installs a package of `program` in a guest, asks what it started, and
/// removes it.
pub fn test(program: &Path) -> Result<()> {
    let dist = workspace::target_dir()?.join("dist-tested");
    let [_tarball, package] = pack(program, &dist)?;
    installed::test(&package)
}

/// A tarball and a Debian package in the folder `dist`, which is made anew.
fn pack(program: &Path, dist: &Path) -> Result<[PathBuf; 2]> {
    debian::ensure(&TOOLS)?;
    let manual = host::build_manual()?;
    if dist.exists() {
        fs::remove_dir_all(dist)?;
    }
    let root = dist.join("root");
    tree::lay_out(&root, program, &manual)?;
    let time = source_time()?;
    let tarball = tarball(&root, dist, &time)?;
    Ok([tarball, deb::build(&root, dist, &time)?])
}

/// Seconds since 1970 that files in the archives are said to be of, so that the
/// same source makes the same archive: the last commit's.
fn source_time() -> Result<String> {
    if let Ok(time) = std::env::var("SOURCE_DATE_EPOCH") {
        return Ok(time);
    }
    let mut git = Command::new("git");
    git.current_dir(workspace::root()?)
        .args(["log", "-1", "--format=%ct"]);
    let time = process::output(&mut git).context("or set SOURCE_DATE_EPOCH")?;
    Ok(time.trim().to_owned())
}

/// To be unpacked at `/`, or anywhere.
fn tarball(root: &Path, dist: &Path, time: &str) -> Result<PathBuf> {
    let name = format!("iotrace-{VERSION}-{}-linux", std::env::consts::ARCH);
    let archive = dist.join(format!("{name}.tar.gz"));
    let mut tar = Command::new("tar");
    tar.args(["--create", "--gzip", "--sort=name", "--numeric-owner"])
        .args(["--owner=0", "--group=0"])
        .arg(format!("--mtime=@{time}"))
        .arg(format!("--transform=s,^\\.,{name},"))
        .arg("--file")
        .arg(&archive)
        .arg("--directory")
        .arg(root)
        .arg(".");
    process::run(&mut tar)?;
    Ok(archive)
}
