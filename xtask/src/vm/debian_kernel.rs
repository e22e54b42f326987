//! Debian's kernel packages, from the mirror this machine is set up with.
//!
//! No address is known here. Signatures are checked against Debian's own
//! keyring. Must not know where kernels are kept.

use std::{path::Path, process::Command};

use anyhow::{Context as _, Result, bail};

use super::apt::{self, PrivateApt};
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

/// Where this machine gets Debian from.
#[derive(Debug, PartialEq)]
struct Sites {
    main: String,
    security: Option<String>,
}

impl Sites {
    /// What is asked of apt, which reads its configuration whatever its format.
    const FORMAT: &str = "$(ORIGIN)|$(LABEL)|$(SITE)";

    fn of_this_machine() -> Result<Self> {
        let targets = apt::index_targets(Command::new("apt-get"), Self::FORMAT)?;
        if let Some(sites) = Self::parse(&targets) {
            return Ok(sites);
        }
        // apt tells nothing about lists it has not read, as in a new container.
        let apt = PrivateApt::new("this-machine", None)?;
        apt.update()?;
        Self::parse(&apt.index_targets(Self::FORMAT)?).context(
            "this machine's apt configuration has no Debian suite, so there is no mirror to \
             take a kernel from: add one, or give an unpacked kernel package with --kernel PATH",
        )
    }

    fn parse(targets: &str) -> Option<Self> {
        let (mut main, mut security) = (None, None);
        for target in targets.lines() {
            let Some((label, site)) = target
                .strip_prefix("Debian|")
                .and_then(|target| target.split_once('|'))
            else {
                continue;
            };
            match label {
                "Debian" => main = main.or(Some(site.to_owned())),
                "Debian-Security" => security = security.or(Some(site.to_owned())),
                _ => {}
            }
        }
        Some(Self {
            main: main?,
            security,
        })
    }

    /// A `sources.list` for `suites`.
    fn sources(&self, suites: &[&str], keyring: &str) -> String {
        let mut lines = String::new();
        for suite in suites {
            let site = if suite.ends_with("-security") {
                self.security.as_ref()
            } else {
                Some(&self.main)
            };
            match site {
                Some(site) => {
                    lines += &format!("deb [arch=amd64 signed-by={keyring}] {site} {suite} main\n");
                }
                None => eprintln!(
                    "xtask: this machine's apt configuration has no security suite: {suite} is \
                     left out"
                ),
            }
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TARGETS: &str = "\
Third|Third|http://third.invalid/apt
$(ORIGIN)|$(LABEL)|http://unread.invalid/debian
Debian|Debian|http://first.invalid/debian
Debian|Debian Backports|http://other.invalid/debian
Debian|Debian-Security|http://second.invalid/security
";

    #[test]
    fn sites_are_those_of_debian() {
        let sites = Sites::parse(TARGETS).unwrap();
        assert_eq!(sites.main, "http://first.invalid/debian");
        let sources = sites.sources(&["sid", "trixie-security"], "/k.gpg");
        assert_eq!(
            sources,
            "deb [arch=amd64 signed-by=/k.gpg] http://first.invalid/debian sid main\n\
             deb [arch=amd64 signed-by=/k.gpg] http://second.invalid/security trixie-security main\n"
        );
    }

    #[test]
    fn a_machine_may_have_no_security_suite_or_no_debian() {
        let sites = Sites::parse("Debian|Debian|mirror+file:/etc/apt/m.list\n").unwrap();
        let sources = sites.sources(&["trixie", "trixie-security"], "/k");
        assert_eq!(
            sources,
            "deb [arch=amd64 signed-by=/k] mirror+file:/etc/apt/m.list trixie main\n"
        );
        assert_eq!(Sites::parse("Ubuntu|Ubuntu|http://u.invalid\n"), None);
    }

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
