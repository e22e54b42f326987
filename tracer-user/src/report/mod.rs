//! What people and programs see of an [`Interval`](crate::delta::Interval).
//!
//! Views never compute: whatever is divided or summed up is in
//! [`crate::delta`]. Only what writes to its own output lives here.

pub mod columns;
pub mod explain;
pub mod findings;
pub mod format;
pub mod json;
mod json_chain;
mod json_raid;
mod layers;
pub mod plain;
mod reasons;
mod schema;
pub mod stack;
pub mod stack_json;
pub mod tui;

#[cfg(test)]
pub(crate) mod testing;

use std::io;

use crate::delta::Interval;

/// Shows intervals as they come, and the summary of all at the end.
pub trait Report {
    /// Shows one interval.
    ///
    /// # Errors
    /// When the output cannot be written any more.
    fn interval(&mut self, interval: &Interval) -> io::Result<()>;

    /// Shows the summary, after which nothing follows.
    ///
    /// # Errors
    /// When the output cannot be written any more.
    fn summary(&mut self, summary: &Interval) -> io::Result<()>;
}
