//! Guests of all kernels, really booted: whether what iotrace's own tests
//! build on works in them, and whether their end is told as it was.
//!
//! Ignored by default: each takes 10 s, the first some 40 s a kernel, the first time also a
//! download. `cargo test -p xtask -- --ignored --test-threads 1`

use super::*;
use crate::process;

const COMMAND: &str = include_str!("guest_test.sh");

/// Where any kernel will do.
const ONE: &str = MATRIX[1];

#[test]
#[ignore = "boots four guests"]
fn devices_and_tools_work_in_every_kernel() {
    for kernel in MATRIX {
        let code = run_in_guest(kernel, &[], COMMAND).unwrap();
        assert_eq!(
            code, 7,
            "Linux {kernel}: the status shown is not the script's last"
        );
    }
}

#[test]
#[ignore = "boots a guest"]
fn a_payload_runs_with_its_libraries() {
    let payload = [process::find("stdbuf").unwrap()];
    let code = run_in_guest(ONE, &payload, "stdbuf --version; exit $((40 + 1))").unwrap();
    assert_eq!(code, 41);
}

#[test]
#[ignore = "boots a guest"]
fn a_panic_is_an_error_with_its_reason() {
    let error = run_in_guest(ONE, &[], "echo c >/proc/sysrq-trigger; sleep 60").unwrap_err();
    let message = format!("{error:#}");
    assert!(
        message.contains("panicked while the command ran"),
        "{message}"
    );
    assert!(message.contains("sysrq triggered crash"), "{message}");
}

#[test]
#[ignore = "boots a guest"]
fn what_a_command_leaves_running_does_not_hold_the_guest() {
    let code = run_in_guest(ONE, &[], "sleep 3000 & exit 3").unwrap();
    assert_eq!(code, 3);
}
