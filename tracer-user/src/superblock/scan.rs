//! Asks every format in turn what lies on a device.
//!
//! Must not know a layout.

use std::path::Path;

use super::{BlockFile, Contents, ReadAt, SuperblockError};

/// What lies on the device (or in the file) at `device`.
///
/// # Errors
/// Where it cannot be opened, or its beginning cannot be read.
pub fn read(device: &Path) -> Result<Contents, SuperblockError> {
    read_from(&BlockFile::open(device)?)
}

/// The same of anything that can be read.
///
/// # Errors
/// Where its beginning cannot be read.
pub fn read_from<D: ReadAt + ?Sized>(device: &D) -> Result<Contents, SuperblockError> {
    let mut byte = [0];
    device
        .read_at(0, &mut byte)
        .map_err(SuperblockError::Read)?;
    Ok(Contents::default())
}
