//! A machine's storage in one file: what was read of it, to be looked at
//! elsewhere.
//!
//! A capture is a tar archive of a small folder, compressed or not. In it:
//!
//! | file | what |
//! |---|---|
//! | `capture.json` | which iotrace wrote it, and what it could not read |
//! | `sys/block/` | the attributes of block devices that iotrace reads |
//! | `dm.json` | parsed tables of mapped devices |
//! | `superblocks.json` | parsed superblocks |
//! | `mountinfo`, `swaps` | of these devices only |
//!
//! Must not keep a secret: tables and superblocks are kept as they were parsed,
//! and no parser keeps a key; serial numbers and uuids are replaced unless the
//! user asks for them. What is unpacked may be hostile.

pub mod folder;
mod redact;
mod unpack;
mod wanted;
mod write;

pub use folder::{Folder, FolderError};
pub use unpack::UnpackError;
pub use write::{Captured, write};

/// The folder that is in the archive.
const TOP: &str = "iotrace-capture";
const ABOUT: &str = "capture.json";
const SYS: &str = "sys";
const TABLES: &str = "dm.json";
const SUPERBLOCKS: &str = "superblocks.json";
const MOUNTS: &str = "mountinfo";
const SWAPS: &str = "swaps";
/// Goes up when a file's meaning changes.
const FORMAT: u32 = 1;
