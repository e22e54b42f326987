//! The tests that run in guests: the same programs as on this kernel, linked
//! statically, with nothing left out.
//!
//! Must not know how a guest is made.

use std::{
    fs,
    num::NonZero,
    path::PathBuf,
    sync::{Mutex, PoisonError},
    thread,
    time::Instant,
};

use anyhow::{Context as _, Result, ensure};

use crate::{build::host, vm, workspace};

/// Kernels whose tracepoints can be preempted: another task's events on that
/// CPU are skipped meanwhile and counted in `lost_events`. Under emulation that
/// happens now and then; a run that lost something is told and not compared.
const PREEMPTIBLE: [&str; 1] = ["sid"];

/// Kernels between the oldest and the newest. All of md is tried on them, and a
/// device of each kind; what is the same on the oldest and the newest is left to
/// these: programs attached by raw tracepoint (the verifier sees half of their
/// shapes here, too), devices that come and go, more geometries, every length of
/// a write, remedies, and what hardly asks the kernel.
const BETWEEN: [&str; 2] = ["6.1", "6.12"];
const TRIED_BETWEEN: &str = " IOTRACE_WAYS=btf,tracepoint";
const LEFT_OUT_BETWEEN: [&str; 12] = [
    "bad_input::",
    "endings::",
    "oracle::",
    "follow::",
    "disks::a_4kn_disk",
    "disks::a_shifted_512e_disk",
    "disks::a_loop_device_with_a_geometry_of_ones_own",
    "disks::intervals_add_up_to_the_summary",
    "mapped::a_loop_device_on_a_mapped_one",
    "mapped::dm_crypt",
    "origins::every_write",
    "repair::",
];

/// iotrace, which is the first, and its tests, under the names that the guest
/// knows them by.
pub fn payload() -> Result<Vec<PathBuf>> {
    let dir = workspace::target_dir()?.join("guest");
    fs::create_dir_all(&dir).with_context(|| format!("creating {}", dir.display()))?;
    let (iotrace, built) = host::build_static_tests()?;
    let mut programs = vec![("iotrace", iotrace)];
    for name in host::KERNEL_TESTS {
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

/// Runs them in guests with all kernels of the matrix, as many at a time as
/// there are processors: a guest keeps little more than one busy.
pub fn all_tests(payload: &[PathBuf]) -> Result<()> {
    for kernel in vm::MATRIX {
        vm::prepare(kernel).with_context(|| format!("a guest with Linux {kernel}"))?;
    }
    let at_a_time = thread::available_parallelism().map_or(1, NonZero::get);
    // What takes longest is not left for the end.
    let mut kernels = vm::MATRIX;
    kernels.sort_by_key(|kernel| BETWEEN.contains(kernel));
    let queue = Mutex::new(kernels.iter());
    let failures = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..at_a_time.min(vm::MATRIX.len()) {
            scope.spawn(|| {
                while let Some(kernel) = next(&queue) {
                    let begin = Instant::now();
                    let ended = tests(kernel, payload);
                    eprintln!("{kernel:>4} | ended after {:.0?}", begin.elapsed());
                    if let Err(error) = ended {
                        keep(&failures, format!("Linux {kernel}: {error:#}"));
                    }
                }
            });
        }
    });
    let failures = failures
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    ensure!(failures.is_empty(), "{}", failures.join("; "));
    Ok(())
}

fn next(queue: &Mutex<std::slice::Iter<'_, &'static str>>) -> Option<&'static str> {
    let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
    queue.next().copied()
}

fn keep(failures: &Mutex<Vec<String>>, failure: String) {
    let mut failures = failures.lock().unwrap_or_else(PoisonError::into_inner);
    failures.push(failure);
}

/// In a guest with this kernel.
fn tests(kernel: &'static str, payload: &[PathBuf]) -> Result<()> {
    let mut options = "--include-ignored --test-threads=1".to_owned();
    let mut variables = "export IOTRACE_REQUIRE=guest IOTRACE_BIN=/bin/iotrace".to_owned();
    if BETWEEN.contains(&kernel) {
        options.extend(LEFT_OUT_BETWEEN.map(|name| format!(" --skip {name}")));
        variables.push_str(TRIED_BETWEEN);
    }
    if PREEMPTIBLE.contains(&kernel) {
        variables.push_str(" IOTRACE_PREEMPTIBLE=1");
    }
    let command = host::KERNEL_TESTS
        .map(|test| format!("{test} {options}"))
        .join(" && ");
    let command = format!("{variables}; {command}");
    let status = vm::run_in_guest_beside_others(kernel, payload, &command)?;
    ensure!(
        status == 0,
        "tests failed in the guest, exit status {status}"
    );
    Ok(())
}
