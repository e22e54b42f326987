//! Device-mapper: what the table of a mapped device says, target by target.
//!
//! [`ioctl`] asks the kernel, `answer` takes its answer apart, [`target`] gives
//! each line its meaning. Must not decide what a table is worth for alignment,
//! and must never let a key out of a line: not into a value, not into an error.

mod answer;
pub mod ioctl;
mod raid;
pub mod target;

pub use ioctl::{Control, DmError};
pub use raid::RaidTarget;
pub use target::{Place, Segment, Target};
