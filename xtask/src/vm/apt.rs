//! Debian's kernel packages, fetched with the machine's apt but without
//! touching its package lists: a private set of lists per suite.
//!
//! The mirror is the one this machine is set up with; no address is known
//! here. Signatures are checked against Debian's own keyring. Must not know
//! where kernels are kept.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail};

use super::cache;
use crate::{
    debian::{self, Package},
    process,
};

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

/// Names under which the machine's own configuration may have Debian. Other
/// distributions and third parties don't use them for a component `main`
/// with Debian's signature.
const DEBIAN_SUITES: [&str; 10] = [
    "bullseye",
    "bookworm",
    "trixie",
    "forky",
    "sid",
    "unstable",
    "testing",
    "stable",
    "oldstable",
    "oldoldstable",
];

/// Unpacks the newest kernel of `suites` (a suite and its security updates)
/// below `into`.
pub(super) fn unpack_kernel(suites: &[&str], into: &Path) -> Result<()> {
    let apt = PrivateApt::new(suites)?;
    eprintln!(
        "xtask: looking for the newest kernel of {}",
        suites.join(" and ")
    );
    apt.update()?;
    let packages = apt.kernel_packages()?;
    eprintln!("xtask: downloading {}", packages.join(", "));
    let downloads = tempfile::tempdir_in(&apt.root)?;
    process::output(
        apt.command("apt-get")
            .current_dir(downloads.path())
            .arg("download")
            .args(&packages),
    )?;
    for file in fs::read_dir(downloads.path())? {
        process::output(
            Command::new("dpkg-deb")
                .arg("--extract")
                .arg(file?.path())
                .arg(into),
        )?;
    }
    Ok(())
}

/// apt with lists, sources and cache of its own.
struct PrivateApt {
    root: PathBuf,
}

impl PrivateApt {
    fn new(suites: &[&str]) -> Result<Self> {
        if process::find("apt-get").is_none() {
            bail!(
                "there is no apt-get here: unpack a kernel package by hand and give its \
                 folder with --kernel PATH"
            );
        }
        let root = cache::folder("apt")?.join(suites[0]);
        for dir in ["lists/partial", "cache/archives/partial"] {
            fs::create_dir_all(root.join(dir))?;
        }
        let sources = Sites::of_this_machine()?.sources(suites, keyring()?);
        cache::write(&root.join("sources.list"), &sources)?;
        // As if nothing were installed: what this machine has is no answer to
        // what a suite offers.
        cache::write(&root.join("status"), "")?;
        Ok(Self { root })
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let mut option = |name: &str, path: &Path| {
            let mut value = OsString::from(format!("{name}="));
            value.push(path);
            command.arg("-o").arg(value);
        };
        let nothing = Path::new("/dev/null");
        option("Dir::Etc::SourceList", &self.root.join("sources.list"));
        option("Dir::Etc::SourceParts", nothing);
        option("Dir::Etc::Preferences", nothing);
        option("Dir::Etc::PreferencesParts", nothing);
        option("Dir::State", &self.root);
        option("Dir::State::Lists", &self.root.join("lists"));
        option("Dir::State::Status", &self.root.join("status"));
        option("Dir::Cache", &self.root.join("cache"));
        // As root apt would download as a user who can't enter our folders.
        command.args(["-o", "APT::Sandbox::User=root"]);
        // No translations, no icons, no hooks of the machine's configuration.
        command.args(["-o", "Acquire::Languages=none"]);
        command.args([
            "-o",
            "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false",
        ]);
        command.args(["-o", "Acquire::Retries=3"]);
        command.env("LC_ALL", "C");
        command
    }

    fn update(&self) -> Result<()> {
        // A suite that can't be read must not pass for one without updates.
        process::output(self.command("apt-get").args([
            "-q",
            "-o",
            "APT::Update::Error-Mode=any",
            "update",
        ]))
        .context(
            "reading the package lists. NO_PUBKEY below means that Debian's keyring here is too \
             old for this suite: upgrade the package debian-archive-keyring",
        )?;
        Ok(())
    }

    /// The newest image and, where its files are split over several packages,
    /// all of them.
    fn kernel_packages(&self) -> Result<Vec<String>> {
        let depends = process::output(self.command("apt-cache").args([
            "depends",
            "--recurse",
            "--no-recommends",
            "--no-suggests",
            "--no-conflicts",
            "--no-breaks",
            "--no-replaces",
            "--no-enhances",
            PACKAGE,
        ]))?;
        let packages = versioned_packages(&depends);
        if packages.is_empty() {
            bail!("the suite has no package {PACKAGE} that brings an image");
        }
        Ok(packages)
    }
}

/// Of what `PACKAGE` depends on, the packages that have a version in their
/// name: they have the files.
fn versioned_packages(depends: &str) -> Vec<String> {
    let is_versioned = |name: &str| {
        name.strip_prefix("linux-")
            .and_then(|name| name.strip_suffix(FLAVOUR))
            .is_some_and(|name| name.contains(|c: char| c.is_ascii_digit()))
    };
    depends
        .lines()
        .filter(|line| !line.starts_with([' ', '|', '<']) && is_versioned(line))
        .map(str::to_owned)
        .collect()
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
    /// As apt itself reads its configuration, whatever its format.
    fn of_this_machine() -> Result<Self> {
        let targets = process::output(Command::new("apt-get").args([
            "indextargets",
            "--format",
            "$(SITE) $(RELEASE) $(COMPONENT) $(ORIGIN)",
            "Created-By: Packages",
        ]))?;
        Self::parse(&targets).context(
            "this machine's apt configuration has no Debian suite, so there is no mirror to \
             take a kernel from: add one, or give an unpacked kernel package with --kernel PATH",
        )
    }

    fn parse(targets: &str) -> Option<Self> {
        let (mut main, mut security) = (None, None);
        for target in targets.lines() {
            let mut words = target.split(' ');
            let (Some(site), Some(release), Some("main"), Some(origin)) =
                (words.next(), words.next(), words.next(), words.next())
            else {
                continue;
            };
            // Unknown, and so left as it was, until lists have been read.
            if origin != "Debian" && origin != "$(ORIGIN)" {
                continue;
            }
            let (suite, part) = release.split_once('-').unwrap_or((release, ""));
            let site = site.to_owned();
            match part {
                _ if !DEBIAN_SUITES.contains(&suite) => {}
                "security" => security = security.or(Some(site)),
                "" | "updates" | "backports" => main = main.or(Some(site)),
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
http://third.invalid/apt stable main Third
http://third.invalid/pg bookworm-pgdg main $(ORIGIN)
http://first.invalid/debian bookworm main Debian
http://first.invalid/debian bookworm-updates main Debian
http://second.invalid/security bookworm-security main Debian
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
    fn before_lists_are_read_the_origin_is_unknown() {
        let sites = Sites::parse("mirror+file:/etc/apt/m.list sid main $(ORIGIN)\n").unwrap();
        assert_eq!(sites.main, "mirror+file:/etc/apt/m.list");
        assert_eq!(sites.security, None);
        assert_eq!(Sites::parse("http://u.invalid noble main Ubuntu\n"), None);
    }

    #[test]
    fn packages_with_files_have_a_version_in_their_name() {
        let depends = "\
linux-image-cloud-amd64
  Depends: linux-image-7.2.13+deb14-cloud-amd64
linux-image-7.2.13+deb14-cloud-amd64
 |Depends: dracut
linux-base
linux-base-cloud-amd64
linux-modules-7.2.13+deb14-cloud-amd64
kmod
";
        assert_eq!(
            versioned_packages(depends),
            [
                "linux-image-7.2.13+deb14-cloud-amd64",
                "linux-modules-7.2.13+deb14-cloud-amd64"
            ]
        );
    }
}
