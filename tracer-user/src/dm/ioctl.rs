//! Asks the kernel for the table of a mapped device.
//!
//! Must not give a line any meaning. What was read may hold a key, so every
//! buffer is wiped before it is given back.

use std::{
    ffi::c_void,
    fs::File,
    hint::black_box,
    io,
    os::fd::{AsFd, BorrowedFd},
    path::{Path, PathBuf},
};

use rustix::ioctl::{Ioctl, IoctlOutput, Opcode, opcode};

use super::{
    answer::{self, HEADER_BYTES},
    target::Segment,
};
use crate::{
    privileges::{self, Need},
    units::DevId,
};

/// `DM_TABLE_STATUS`, include/uapi/linux/dm-ioctl.h.
const TABLE_STATUS: Opcode = opcode::read_write::<[u8; HEADER_BYTES]>(0xfd, 12);
/// Enough for some hundred segments.
const FIRST_BYTES: usize = 16 << 10;
/// A table that does not fit is not read.
const MOST_BYTES: usize = 16 << 20;

/// A table cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum DmError {
    #[error("cannot open {}", path.display())]
    Open {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("the table of {device} cannot be read")]
    Table {
        device: DevId,
        #[source]
        source: io::Error,
    },
    #[error("the table of {0} is not understood")]
    Answer(DevId),
}

/// device-mapper's own device node.
#[derive(Debug)]
pub struct Control(File);

impl Control {
    /// Where udev and devtmpfs put it.
    pub const PATH: &'static str = "/dev/mapper/control";

    /// Opens the node. Reading is enough: the kernel asks for `CAP_SYS_ADMIN`
    /// at every call instead (`ctl_ioctl`, drivers/md/dm-ioctl.c).
    ///
    /// # Errors
    /// Where there is none, or this process may not.
    pub fn open(path: &Path) -> Result<Self, DmError> {
        let _raised = privileges::raise(Need::KernelFiles);
        let file = File::open(path).map_err(|source| DmError::Open {
            path: path.to_owned(),
            source,
        })?;
        Ok(Self(file))
    }

    /// The active table of `device`.
    ///
    /// # Errors
    /// Without `CAP_SYS_ADMIN`, or where the device is gone.
    pub fn table(&self, device: DevId) -> Result<Vec<Segment>, DmError> {
        let _raised = privileges::raise(Need::MappedDevices);
        let mut len = FIRST_BYTES;
        loop {
            let request = answer::request(device, len).ok_or(DmError::Answer(device))?;
            let mut buffer = Wiped(request);
            ask(self.0.as_fd(), &mut buffer).map_err(|source| DmError::Table { device, source })?;
            if !answer::is_full(&buffer.0) {
                return answer::segments(&buffer.0).ok_or(DmError::Answer(device));
            }
            if len >= MOST_BYTES {
                return Err(DmError::Answer(device));
            }
            len *= 2;
        }
    }
}

/// A buffer that holds nothing any more once it is given back.
struct Wiped(Vec<u8>);

impl Drop for Wiped {
    fn drop(&mut self) {
        self.0.fill(0);
        // Seen by somebody, so that the zeroes are written.
        black_box(&mut self.0);
    }
}

/// The call, with its buffer: header and room for the answer.
struct TableStatus<'a>(&'a mut Wiped);

// SAFETY: the kernel reads the header in the buffer (`copy_params`,
// drivers/md/dm-ioctl.c) and writes at most `data_size` bytes, which
// `answer::request` sets to the buffer's length; all of it is plain bytes.
unsafe impl Ioctl for TableStatus<'_> {
    type Output = ();

    const IS_MUTATING: bool = true;

    fn opcode(&self) -> Opcode {
        TABLE_STATUS
    }

    fn as_ptr(&mut self) -> *mut c_void {
        self.0.0.as_mut_ptr().cast()
    }

    unsafe fn output_from_ptr(_: IoctlOutput, _: *mut c_void) -> rustix::io::Result<()> {
        Ok(())
    }
}

fn ask(control: BorrowedFd<'_>, buffer: &mut Wiped) -> io::Result<()> {
    // SAFETY: see `TableStatus`; a file that is not device-mapper's knows no
    // such call and refuses it.
    unsafe { rustix::ioctl::ioctl(control, TableStatus(buffer)) }.map_err(io::Error::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_call_has_the_kernels_number() {
        assert_eq!(TABLE_STATUS, 0xc138_fd0c);
    }

    #[test]
    fn what_is_no_control_node_says_so() {
        let device = DevId {
            major: 253,
            minor: 0,
        };
        let refused = Control::open(Path::new("/dev/null")).unwrap().table(device);
        let error = refused.unwrap_err();
        assert_eq!(error.to_string(), "the table of 253:0 cannot be read");
        assert!(Control::open(Path::new("/nonexistent")).is_err());
    }
}
