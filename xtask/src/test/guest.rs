//! The tests that run in guests: the same programs as on this kernel, linked
//! statically, with nothing left out.
//!
//! Must not know how a guest is made.

use std::{fs, path::PathBuf};

use anyhow::{Context as _, Result, ensure};

use crate::{build::host, vm, workspace};

/// The tests that need a kernel.
const TESTS: [&str; 2] = ["load_shapes", "behaviour"];

/// Kernels whose tracepoints can be preempted: another task's events on that
/// CPU are skipped meanwhile and counted in `lost_events`. Under emulation that
/// happens now and then; a run that lost something is told and not compared.
const PREEMPTIBLE: [&str; 1] = ["sid"];

/// iotrace and its tests, under the names that the guest knows them by.
pub fn payload() -> Result<Vec<PathBuf>> {
    let dir = workspace::target_dir()?.join("guest");
    fs::create_dir_all(&dir).with_context(|| format!("creating {}", dir.display()))?;
    let mut programs = vec![("iotrace", host::build_static()?)];
    let built = host::build_static_tests()?;
    for name in TESTS {
        let test = built.iter().find(|test| test.name == name);
        let test = test.with_context(|| format!("cargo built no test {name}"))?;
        programs.push((name, test.path.clone()));
    }
    programs
        .into_iter()
        .map(|(name, from)| {
            let to = dir.join(name);
            fs::copy(&from, &to)
                .with_context(|| format!("copying {} to {}", from.display(), to.display()))?;
            Ok(to)
        })
        .collect()
}

/// Runs them in a guest with this kernel of the matrix.
pub fn tests(kernel: &str, payload: &[PathBuf]) -> Result<()> {
    let options = "--include-ignored --test-threads=1";
    let command = TESTS.map(|test| format!("{test} {options}")).join(" && ");
    let mut variables = "export IOTRACE_REQUIRE=guest IOTRACE_BIN=/bin/iotrace".to_owned();
    if PREEMPTIBLE.contains(&kernel) {
        variables.push_str(" IOTRACE_PREEMPTIBLE=1");
    }
    let status = vm::run_in_guest(kernel, payload, &format!("{variables}; {command}"))?;
    ensure!(
        status == 0,
        "tests failed in the guest, exit status {status}"
    );
    Ok(())
}
