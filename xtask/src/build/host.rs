//! The host's programs: `iotrace`, and statically linked for other machines.
//!
//! Each way of building has a target folder of its own where its flags differ,
//! so that none throws away what another built.

use std::{path::PathBuf, process::Command};

use anyhow::{Context as _, Result};

use super::object;
use crate::{
    cargo::{self, Executable},
    workspace,
};

/// Cargo's profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    Dev,
    Release,
}

/// Builds `iotrace` with its eBPF programs and returns its path.
pub fn build(profile: Profile) -> Result<PathBuf> {
    object::build()?;
    let mut command = cargo::cargo()?;
    command.args(["build", "--package", "iotrace", "--bin", "iotrace"]);
    if profile == Profile::Release {
        command.arg("--release");
    }
    iotrace(cargo::executables(&mut command)?)
}

/// Builds `iotrace` for any machine of this architecture, whatever its C
/// library, and returns its path.
pub fn build_static() -> Result<PathBuf> {
    object::build()?;
    let mut command = static_cargo("build", "guest")?;
    command.args(["--package", "iotrace", "--bin", "iotrace"]);
    iotrace(cargo::executables(&mut command)?)
}

/// Builds `iotrace` to be handed to others: with optimisations, linked
/// statically, without symbols.
pub fn build_for_packages() -> Result<PathBuf> {
    object::build()?;
    let mut command = static_cargo("build", "release")?;
    command
        .args(["--package", "iotrace", "--bin", "iotrace"])
        .env("CARGO_PROFILE_RELEASE_STRIP", "symbols");
    iotrace(cargo::executables(&mut command)?)
}

/// Builds the program that writes manual pages and completions.
pub fn build_manual() -> Result<PathBuf> {
    let mut command = cargo::cargo()?;
    command.args(["build", "--package", "iotrace", "--example", "manual"]);
    let manual = cargo::executables(&mut command)?
        .into_iter()
        .find(|executable| executable.kind == "example");
    Ok(manual.context("cargo built no example `manual`")?.path)
}

/// The integration tests that need a kernel.
pub const KERNEL_TESTS: [&str; 2] = ["load_shapes", "behaviour"];

/// Builds [`KERNEL_TESTS`], and `iotrace` with what they are built with: its
/// path is first. A build of `iotrace` alone asks other features of the crates
/// they share and would compile all of those anew. The tests expect to be run in
/// their package's folder where there is one.
pub fn build_static_tests() -> Result<(PathBuf, Vec<Executable>)> {
    object::build()?;
    let mut command = static_cargo("test", "guest")?;
    command.args(["--package", "iotrace", "--no-run"]);
    command.args(KERNEL_TESTS.map(|name| format!("--test={name}")));
    let built = cargo::executables(&mut command)?;
    let (tests, others) = built
        .into_iter()
        .partition(|executable| executable.kind == "test");
    Ok((iotrace(others)?, tests))
}

/// Cargo for a build with no shared library. The target is named
/// although it is the host's: only then do the flags leave build scripts and
/// procedural macros alone, which must be shared libraries.
fn static_cargo(subcommand: &str, profile: &str) -> Result<Command> {
    let mut command = cargo::cargo()?;
    command
        .args([subcommand, "--profile", profile, "--target"])
        .arg(format!("{}-unknown-linux-gnu", std::env::consts::ARCH))
        .arg("--target-dir")
        .arg(workspace::target_dir()?.join("static"))
        .env("CARGO_ENCODED_RUSTFLAGS", "-Ctarget-feature=+crt-static");
    Ok(command)
}

fn iotrace(executables: Vec<Executable>) -> Result<PathBuf> {
    let found = executables
        .into_iter()
        .find(|executable| executable.kind == "bin" && executable.name == "iotrace");
    Ok(found.context("cargo built no `iotrace`")?.path)
}
