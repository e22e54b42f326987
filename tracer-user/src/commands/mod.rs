//! What each subcommand does, from its options to its exit.
//!
//! Must not parse arguments. The only room for `anyhow`: here errors meet the
//! person who reads them.

pub mod live;
pub mod schema;

use std::io;

/// Whoever read the output has gone: nothing is wrong, and nobody to tell.
#[must_use]
pub fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}
