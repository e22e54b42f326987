//! iotrace: finds misaligned block IO and read-modify-write, and says why.
//!
//! One way through: facts → plan → attach → source → snapshot → delta → views.

pub mod cli;
pub mod commands;
pub mod delta;
pub mod dm;
pub mod doctor;
pub mod export;
pub mod facts;
pub mod geometry_spec;
pub mod plan;
pub mod privileges;
pub mod raid;
pub mod report;
pub mod serve;
pub mod size;
pub mod snapshot;
pub mod source;
pub mod stack;
pub mod superblock;
pub mod sysfs;
pub mod units;
