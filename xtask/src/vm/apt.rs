//! apt with lists, sources and a cache of its own: packages of any suite,
//! without touching the machine's.
//!
//! Must not know which packages are wanted, nor from where.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail};

use super::cache;
use crate::process;

/// One such apt, in a folder of the cache.
pub(super) struct PrivateApt {
    root: PathBuf,
}

impl PrivateApt {
    /// An apt named `name` that reads `sources`, the text of a `sources.list`;
    /// without them what this machine reads.
    pub(super) fn new(name: &str, sources: Option<&str>) -> Result<Self> {
        if process::find("apt-get").is_none() {
            bail!(
                "there is no apt-get here: unpack a kernel package by hand and give its folder \
                 with --kernel PATH"
            );
        }
        let root = cache::folder("apt")?.join(name);
        for dir in ["lists/partial", "cache/archives/partial"] {
            fs::create_dir_all(root.join(dir))?;
        }
        if let Some(sources) = sources {
            cache::write(&root.join("sources.list"), sources)?;
        }
        // As if nothing were installed: what this machine has is no answer to
        // what a suite offers.
        cache::write(&root.join("status"), "")?;
        cache::write(
            &root.join("apt.conf"),
            &configuration(&root, sources.is_some()),
        )?;
        Ok(Self { root })
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        // Read after the machine's configuration, and so above it.
        command.arg("-c").arg(self.root.join("apt.conf"));
        command.env("LC_ALL", "C");
        command
    }

    /// Reads the package lists.
    pub(super) fn update(&self) -> Result<()> {
        let updated = process::output(self.command("apt-get").args(["-q", "update"]));
        if let Err(error) = updated {
            let hint = if error.to_string().contains("NO_PUBKEY") {
                "reading the package lists: Debian's keyring here is too old for this suite, \
                 upgrade the package debian-archive-keyring"
            } else {
                "reading the package lists"
            };
            return Err(error.context(hint));
        }
        Ok(())
    }

    /// `format` for every package list, as apt's own manual describes it.
    pub(super) fn index_targets(&self, format: &str) -> Result<String> {
        index_targets(self.command("apt-get"), format)
    }

    /// The names of `package` and all it depends on, directly or not.
    pub(super) fn dependencies(&self, package: &str) -> Result<Vec<String>> {
        let depends = process::output(self.command("apt-cache").args([
            "depends",
            "--recurse",
            "--no-recommends",
            "--no-suggests",
            "--no-conflicts",
            "--no-breaks",
            "--no-replaces",
            "--no-enhances",
            package,
        ]))?;
        Ok(parse_depends(&depends))
    }

    /// Unpacks the newest of each of `packages` below `into`.
    pub(super) fn unpack(&self, packages: &[String], into: &Path) -> Result<()> {
        let downloads = tempfile::tempdir_in(&self.root)?;
        process::output(
            self.command("apt-get")
                .current_dir(downloads.path())
                .arg("download")
                .args(packages),
        )
        .context("downloading the packages")?;
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
}

/// [`PrivateApt::index_targets`] of the machine's apt, or of another.
pub(super) fn index_targets(mut apt_get: Command, format: &str) -> Result<String> {
    process::output(apt_get.args(["indextargets", "--format", format, "Created-By: Packages"]))
}

fn configuration(root: &Path, own_sources: bool) -> String {
    let root = root.display();
    let mut text = format!(
        "Dir::State \"{root}\";\n\
         Dir::State::Lists \"{root}/lists\";\n\
         Dir::State::Status \"{root}/status\";\n\
         Dir::Cache \"{root}/cache\";\n"
    );
    if own_sources {
        text += &format!(
            "Dir::Etc::SourceList \"{root}/sources.list\";\n\
             Dir::Etc::SourceParts \"/dev/null\";\n\
             Dir::Etc::Preferences \"/dev/null\";\n\
             Dir::Etc::PreferencesParts \"/dev/null\";\n"
        );
        // A suite that can't be read must not pass for one without updates.
        text += "APT::Update::Error-Mode \"any\";\n";
    }
    // As root apt would download as a user who can't enter our folders.
    text += "APT::Sandbox::User \"root\";\n";
    // No translations and no icons; the hooks of the machine are for its lists.
    text += "Acquire::Languages \"none\";\n\
             Acquire::IndexTargets::deb::DEP-11::DefaultEnabled \"false\";\n\
             Acquire::Retries \"3\";\n\
             #clear APT::Update::Pre-Invoke;\n\
             #clear APT::Update::Post-Invoke;\n\
             #clear APT::Update::Post-Invoke-Success;\n";
    text
}

/// The package names in what `apt-cache depends` prints: on a line of their
/// own, with what each depends on indented below it.
fn parse_depends(depends: &str) -> Vec<String> {
    depends
        .lines()
        .filter(|line| !line.starts_with([' ', '|', '<']))
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_on_lines_of_their_own() {
        let depends = "\
linux-image-cloud-amd64
  Depends: linux-image-7.2.13+deb14-cloud-amd64
linux-image-7.2.13+deb14-cloud-amd64
 |Depends: dracut
  Depends: <linux-initramfs-tool>
    dracut
<linux-initramfs-tool>
dracut
";
        assert_eq!(
            parse_depends(depends),
            [
                "linux-image-cloud-amd64",
                "linux-image-7.2.13+deb14-cloud-amd64",
                "dracut"
            ]
        );
    }
}
