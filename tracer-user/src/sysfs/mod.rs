//! What the machine's block devices are, read below an injected root.
//!
//! The only room besides [`crate::facts`] that reads `/sys` and `/proc`;
//! [`crate::superblock`] reads devices, [`crate::stack`] captures. Must not know
//! eBPF, counters or output.
//!
//! [`root`] reads files, [`read`] and `md` turn them into the model of
//! [`device`]; [`mod@derive`] fills in what follows from it, by the pure functions
//! of [`geometry`], [`chain`], [`carried`], [`start`] and `notes`. Tables of mapped devices are
//! handed in: [`crate::dm`] asks for them.

pub mod carried;
pub mod cgroups;
pub mod chain;
pub mod derive;
pub mod device;
mod dm_raid;
pub mod geometry;
pub mod geometry_override;
mod md;
pub mod md_books;
pub mod mounts;
pub mod notes;
pub(crate) mod parts;
pub mod read;
pub mod resolve;
pub mod root;
pub mod start;
pub mod stripe_cache;
pub mod swaps;
pub mod uevent;

pub use device::Topology;
pub use resolve::{Lookup, ResolveError, Selection};
pub use root::{SysRoot, SysfsError};

#[cfg(test)]
#[path = "../../tests/support/tree.rs"]
pub(crate) mod tree;
