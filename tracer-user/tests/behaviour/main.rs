//! Behaviour on a live kernel: real devices, real IO, the real program.
//!
//! What a test expects never comes from iotrace's own code: it comes from the
//! kernel's books (`/sys/block/*/stat`), from the kernel's other tracer
//! (blktrace, read by `expect.awk`), or is written out by hand.
//!
//! Run as root. Tests that need md, dm or scsi_debug are `#[ignore]`d, so that
//! a run without them shows what it left out; a guest that has everything runs
//! them too:
//!
//! ```text
//! behaviour --include-ignored --test-threads=1
//! ```
//!
//! `IOTRACE_REQUIRE=host` makes a missing need of the other tests a failure
//! (`guest`: of all tests). `IOTRACE_BIN` names the program, where it isn't
//! the one cargo built.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking, in its helpers as well"
)]

mod arrays;
mod bad_input;
mod case;
mod disks;
mod endings;
mod fills;
mod follow;
mod harness;
mod mapped;
mod oracle;
mod origins;
mod partitions;
mod processes;
mod prometheus;
mod raid10;
mod refused;
mod repair;
mod serve;
mod stack;
