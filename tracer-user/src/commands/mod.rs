//! What the subcommands do, apart from the reading of their arguments.
//!
//! Must not parse command lines. The only room for `anyhow`: here errors meet
//! the person who reads them.

pub mod live;
pub mod open;
pub mod probe;
pub mod run;
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
