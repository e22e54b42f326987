//! What the subcommands do, apart from the reading of their arguments.
//!
//! Must not parse command lines, and must not write anywhere but to the
//! writer handed in.

pub mod live;
pub mod probe;
