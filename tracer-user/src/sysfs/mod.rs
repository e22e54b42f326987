//! What the machine's block devices are, read below an injected root.
//!
//! The only room besides [`crate::facts`] that reads files. Must not know
//! eBPF, counters or output.

pub mod device;
