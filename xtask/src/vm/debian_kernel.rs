//! Debian's kernel packages, from the mirror this machine is set up with.
//!
//! No address is known here. Signatures are checked against Debian's own
//! keyring. Must not know where kernels are kept.

use std::path::Path;

use anyhow::{Context as _, Result, bail};

use super::{apt::PrivateApt, sites::Sites};
use crate::debian::{self, Package};

/// Debian's smaller build for virtual machines: the same source and the same
/// md, dm and block options, a third of the size.
const PACKAGE: &str = "linux-image-cloud-amd64";
const FLAVOUR: &str = "-cloud-amd64";

/// The keyring of the package `debian-archive-keyring`, under its newer and
/// its older name.
const KEYRINGS: [&str; 2] = [
    "/usr/share/keyrings/debian-archive-keyring.pgp",
    "/usr/share/keyrings/debian-archive-keyring.gpg",
];

/// Unpacks the newest kernel of `suites` (a suite and its security updates)
/// below `into`.
pub(super) fn unpack(suites: &[&str], into: &Path) -> Result<()> {
    let sources = Sites::of_this_machine()?.sources(suites, keyring()?);
    let apt = PrivateApt::new(suites[0], Some(&sources))?;
    eprintln!(
        "xtask: looking for the newest kernel of {}",
        suites.join(" and ")
    );
    apt.update()?;
    let mut packages = apt.dependencies(PACKAGE)?;
    packages.retain(|name| has_files(name));
    if packages.is_empty() {
        bail!("no package that {PACKAGE} depends on has an image");
    }
    eprintln!("xtask: downloading {}", packages.join(", "));
    apt.unpack(&packages, into)
}

/// Whether a package [`PACKAGE`] depends on is an image, or a part of one
/// where it is split over several: those have the version in their name.
fn has_files(package: &str) -> bool {
    package
        .strip_prefix("linux-")
        .and_then(|name| name.strip_suffix(FLAVOUR))
        .is_some_and(|name| name.contains(|c: char| c.is_ascii_digit()))
}

fn keyring() -> Result<&'static str> {
    let find = || KEYRINGS.into_iter().find(|file| Path::new(file).exists());
    if let Some(keyring) = find() {
        return Ok(keyring);
    }
    debian::ensure(&[Package::installed("debian-archive-keyring")])?;
    find().context("debian-archive-keyring is installed but has no keyring where it should be")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_with_files_have_a_version_in_their_name() {
        assert!(has_files("linux-image-5.10.0-46-cloud-amd64"));
        assert!(has_files("linux-modules-7.2.13+deb14-cloud-amd64"));
        assert!(!has_files(PACKAGE));
        assert!(!has_files("linux-base-cloud-amd64"));
        assert!(!has_files("linux-base"));
        assert!(!has_files("initramfs-tools"));
    }
}
