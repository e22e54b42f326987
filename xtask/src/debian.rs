//! Programs that come from the distribution: looked for, and installed with
//! `apt-get` where they are missing.
//!
//! Elsewhere than on Debian and its kin it only says what is missing. Must
//! not know what a package is wanted for.

use std::{io, process::Command};

use anyhow::{Result, bail};

use crate::process;

/// A package, and how to tell that what it brings is there, however it came.
#[derive(Clone, Copy, Debug)]
pub struct Package {
    /// Debian's name.
    pub name: &'static str,
    proof: Proof,
}

#[derive(Clone, Copy, Debug)]
enum Proof {
    /// A program on `PATH` or in the administrators' folders.
    Command(&'static str),
    /// Nothing but the package itself will do.
    Installed,
}

impl Package {
    /// A package that is there when `command` is.
    pub const fn command(name: &'static str, command: &'static str) -> Self {
        Self {
            name,
            proof: Proof::Command(command),
        }
    }

    /// A package that must itself be installed.
    pub const fn installed(name: &'static str) -> Self {
        Self {
            name,
            proof: Proof::Installed,
        }
    }

    fn is_there(&self) -> bool {
        match self.proof {
            Proof::Command(command) => process::find(command).is_some(),
            Proof::Installed => is_installed(self.name),
        }
    }

    /// What is missed, for where packages have other names.
    fn describe(&self) -> String {
        match self.proof {
            Proof::Command(command) => format!("{} (`{command}`)", self.name),
            Proof::Installed => self.name.to_owned(),
        }
    }
}

/// Sees to it that all of `packages` are there.
pub fn ensure(packages: &[Package]) -> Result<()> {
    let missing = missing(packages);
    if missing.is_empty() {
        return Ok(());
    }
    if process::find("apt-get").is_none() {
        bail!(
            "missing here: {}. There is no apt-get to install them with: \
             install them with your distribution's tools",
            list(&missing, Package::describe)
        );
    }
    eprintln!(
        "xtask: installing with apt-get: {}",
        list(&missing, |package| package.name.to_owned())
    );
    install(&missing)?;
    let still = self::missing(packages);
    if !still.is_empty() {
        bail!(
            "installed, but still not found: {}",
            list(&still, Package::describe)
        );
    }
    Ok(())
}

fn missing(packages: &[Package]) -> Vec<Package> {
    let mut missing = packages.to_vec();
    missing.retain(|package| !package.is_there());
    missing
}

fn list(packages: &[Package], name: impl Fn(&Package) -> String) -> String {
    packages.iter().map(name).collect::<Vec<_>>().join(", ")
}

/// Installs; reads the package lists anew first where a package is not known,
/// and afterwards where the known version has gone from the mirror.
fn install(packages: &[Package]) -> Result<()> {
    if packages.iter().all(|package| is_known(package.name)) {
        match process::run(&mut install_command(packages)?) {
            Ok(()) => return Ok(()),
            Err(error) => eprintln!("xtask: {error}; reading the package lists anew"),
        }
    }
    process::run(apt_get()?.args(["-q", "update"]))?;
    process::run(&mut install_command(packages)?)
}

fn install_command(packages: &[Package]) -> Result<Command> {
    let mut command = apt_get()?;
    command
        // Nothing that somebody chose is removed for our sake.
        .args(["-q", "install", "--yes", "--no-remove"])
        .arg("--no-install-recommends")
        .args(packages.iter().map(|package| package.name));
    Ok(command)
}

/// `apt-get` that never asks, and leaves standard output to what was asked
/// for. The variable goes through `env`, because `sudo`
/// does not pass ours on.
fn apt_get() -> Result<Command> {
    let mut command = process::as_root("env")?;
    command
        .args(["DEBIAN_FRONTEND=noninteractive", "apt-get"])
        .stdout(io::stderr());
    Ok(command)
}

/// Whether apt's lists have the package. Without lists apt knows none.
fn is_known(package: &str) -> bool {
    process::succeeds(Command::new("apt-cache").args(["show", "--quiet", package]))
}

fn is_installed(package: &str) -> bool {
    let mut query = Command::new("dpkg-query");
    query.args(["--show", "--showformat=${db:Status-Status}", package]);
    process::output(&mut query).is_ok_and(|status| status == "installed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_not_found_is_missing() {
        let packages = [
            Package::command("dash", "sh"),
            Package::command("nothing", "no-such-program"),
            Package::installed("no-such-package"),
        ];
        let names: Vec<_> = missing(&packages).iter().map(|p| p.name).collect();
        assert_eq!(names, ["nothing", "no-such-package"]);
    }
}
