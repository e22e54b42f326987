//! iotrace: finds misaligned block IO and read-modify-write, and says why.
//!
//! One way through: facts → plan → attach → source → snapshot → delta → views.

pub mod geometry_spec;
pub mod size;
pub mod snapshot;
pub mod source;
pub mod sysfs;
pub mod units;
