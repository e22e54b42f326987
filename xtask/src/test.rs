//! `cargo xtask test`: everything that has to hold, one step after another,
//! up to the first that fails.
//!
//! Must not hide what a step prints: people and CI read it.

pub mod guest;

use std::{path::PathBuf, time::Instant};

use anyhow::{Context as _, Result};

use crate::{
    build::object,
    cargo::{self, Executable},
    debian::{self, Package},
    dist, process, vm,
};

/// What the tests on this kernel use beside iotrace.
const TOOLS: [Package; 4] = [
    Package::command("fio", "fio"),
    Package::command("blktrace", "blktrace"),
    Package::command("prometheus", "promtool"),
    Package::command("chromium", "chromium"),
];

/// Of property tests; set for programs that cargo starts, by `.cargo/config.toml`.
const SEED: &str = "PROPTEST_RNG_SEED";

/// Runs all tests: style, unit and property tests, the eBPF programs on this
/// kernel, and on guests with other kernels.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Leave out the guests.
    #[arg(long)]
    quick: bool,
}

pub fn run(args: &Args) -> Result<()> {
    let mut steps = Steps::default();
    steps.step("formatting", formatting)?;
    steps.step("eBPF object", object::build)?;
    steps.step("clippy", clippy)?;
    steps.step("clippy on the eBPF programs", object::clippy)?;
    steps.step("unit and property tests", unit_tests)?;
    steps.step("tests on this kernel", kernel_tests)?;
    if args.quick {
        steps.left_out("tests on guests (--quick)");
    } else {
        let payload = steps.step("programs for the guests", guest::payload)?;
        let name = format!("tests in guests with Linux {}", vm::MATRIX.join(", "));
        steps.step(&name, || guest::all_tests(&payload))?;
        steps.step("package, installed in a guest", || installed(&payload))?;
    }
    steps.summary();
    Ok(())
}

/// What was done so far.
#[derive(Default)]
struct Steps {
    done: Vec<String>,
    left_out: Vec<&'static str>,
}

impl Steps {
    fn step<T>(&mut self, name: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
        eprintln!("\n== {name}");
        let begin = Instant::now();
        let made = work().with_context(|| format!("failed at: {name}"))?;
        self.done.push(format!("{name} ({:.0?})", begin.elapsed()));
        Ok(made)
    }

    fn left_out(&mut self, name: &'static str) {
        self.left_out.push(name);
    }

    fn summary(&self) {
        eprintln!("\n== all passed: {}", self.done.join(", "));
        if !self.left_out.is_empty() {
            eprintln!("== left out: {}", self.left_out.join(", "));
        }
    }
}

fn formatting() -> Result<()> {
    process::run(cargo::cargo()?.args(["fmt", "--all", "--check"]))
}

fn clippy() -> Result<()> {
    process::run(cargo::cargo()?.args([
        "clippy",
        "--workspace",
        "--all-targets",
        "--",
        "--deny=warnings",
    ]))
}

fn unit_tests() -> Result<()> {
    process::run(cargo::cargo()?.args(["test", "--workspace", "--lib", "--bins"]))?;
    process::run(cargo::cargo()?.args(["test", "--workspace", "--doc"]))
}

/// The integration tests: they load programs and make devices, so they run
/// as root and one after another.
fn kernel_tests() -> Result<()> {
    debian::ensure(&TOOLS)?;
    let mut build = cargo::cargo()?;
    build.args(["test", "--workspace", "--no-run"]);
    for test in cargo::executables(&mut build)? {
        if test.kind == "test" {
            run_as_root(&test)?;
        }
    }
    Ok(())
}

/// With the program that the guests have run: optimised a little, not as much as
/// the one that is handed out.
fn installed(payload: &[PathBuf]) -> Result<()> {
    dist::test(payload.first().context("a program for the guests")?)
}

fn run_as_root(test: &Executable) -> Result<()> {
    // Through `env`, because `sudo` does not pass variables on. Without this
    // one, a test that cannot run here is skipped; here that is a failure.
    let mut command = process::as_root("env")?;
    command.arg("IOTRACE_REQUIRE=1");
    if let Ok(seed) = std::env::var(SEED) {
        command.arg(format!("{SEED}={seed}"));
    }
    command
        .arg(&test.path)
        .arg("--test-threads=1")
        .current_dir(&test.package_dir);
    process::run(&mut command)
}
