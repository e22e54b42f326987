//! The Debian package: what dpkg is to know of the files.
//!
//! Must not know which files they are.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result};

use super::{VERSION, tree};
use crate::{process, workspace};

const SCRIPTS: [&str; 3] = ["postinst", "prerm", "postrm"];

/// Makes a package in `dist` of what lies below `root`.
pub(super) fn build(root: &Path, dist: &Path, time: &str) -> Result<PathBuf> {
    let control = root.join("DEBIAN");
    let architecture = process::output(Command::new("dpkg").arg("--print-architecture"))?;
    let architecture = architecture.trim();
    let files = tree::files(root)?;
    fs::create_dir(&control)?;
    fs::set_permissions(&control, fs::Permissions::from_mode(0o755))?;
    describe(&control, root, &files, architecture)?;
    let package = dist.join(format!("iotrace_{VERSION}_{architecture}.deb"));
    let mut dpkg = Command::new("dpkg-deb");
    dpkg.args(["--root-owner-group", "-Zxz", "--build"])
        .arg(root)
        .arg(&package)
        .env("SOURCE_DATE_EPOCH", time)
        .stdout(std::io::stderr());
    process::run(&mut dpkg)?;
    fs::remove_dir_all(&control)?;
    Ok(package)
}

fn describe(control: &Path, root: &Path, files: &[PathBuf], architecture: &str) -> Result<()> {
    let sources = workspace::root()?.join("deploy/debian");
    let text = fs::read_to_string(sources.join("control")).context("deploy/debian/control")?;
    let text = text
        .replace("@VERSION@", VERSION)
        .replace("@ARCHITECTURE@", architecture)
        .replace("@KIBIBYTES@", &kibibytes(root, files)?.to_string());
    fs::write(control.join("control"), text)?;
    let settings = files.iter().filter(|file| file.starts_with("etc"));
    let settings: String = settings
        .map(|file| format!("/{}\n", file.display()))
        .collect();
    fs::write(control.join("conffiles"), settings)?;
    let mut md5sum = Command::new("md5sum");
    let sums = process::output(md5sum.current_dir(root).args(files))?;
    fs::write(control.join("md5sums"), sums)?;
    for script in SCRIPTS {
        let installed = control.join(script);
        fs::copy(sources.join(script), &installed)?;
        fs::set_permissions(&installed, fs::Permissions::from_mode(0o755))?;
    }
    Ok(())
}

fn kibibytes(root: &Path, files: &[PathBuf]) -> Result<u64> {
    let mut sum = 0;
    for file in files {
        sum += root.join(file).metadata()?.len().div_ceil(1024);
    }
    Ok(sum)
}
