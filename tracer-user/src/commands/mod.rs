//! What the subcommands do, apart from the reading of their arguments.
//!
//! Must not parse command lines. The only room for `anyhow`: here errors meet
//! the person who reads them.

mod bpf_log;
pub mod live;
pub mod open;
pub mod probe;
pub mod run;
pub mod schema;

use std::{
    io::{self, Write as _},
    os::fd::{BorrowedFd, OwnedFd},
};

use tokio::io::{Interest, unix::AsyncFd};

/// Says something on standard error. Nobody can be told where that is closed
/// or full.
fn tell(message: &str) {
    let _ = writeln!(io::stderr(), "iotrace: {message}");
}

/// Waits on a descriptor of our own for another's, which stays free to be used.
#[expect(
    deprecated,
    reason = "unsound only for a type that gives its descriptor up, which an OwnedFd cannot; \
              what replaces it is unsafe"
)]
fn until_readable(fd: BorrowedFd<'_>) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(fd.try_clone_to_owned()?, Interest::READABLE)
}

/// Whoever read the output has gone: nothing is wrong, and nobody to tell.
#[must_use]
pub fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}
