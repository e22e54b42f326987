//! The system calls on block devices that std has no name for.

use std::{
    fs::{File, OpenOptions},
    io,
    os::{fd::AsRawFd as _, unix::fs::OpenOptionsExt as _},
    path::Path,
};

const BLKDISCARD: libc::Ioctl = 0x1277;
const BLKFLSBUF: libc::Ioctl = 0x1261;

/// Opens a device past the page cache, for reading and writing.
pub(crate) fn open_direct(path: &Path) -> File {
    OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_DIRECT)
        .open(path)
        .unwrap_or_else(|error| panic!("opening {}: {error}", path.display()))
}

/// An ioctl whose argument is a number or nothing.
pub(crate) fn number(file: &File, request: libc::Ioctl, value: libc::c_ulong) -> io::Result<i32> {
    // SAFETY: the caller picks a request that takes no pointer.
    done(unsafe { libc::ioctl(file.as_raw_fd(), request, value) })
}

/// An ioctl that reads and writes a `T`.
pub(crate) fn record<T>(file: &File, request: libc::Ioctl, value: &mut T) -> io::Result<i32> {
    // SAFETY: the caller picks a request whose argument is laid out as `T`,
    // which lives for the call.
    done(unsafe { libc::ioctl(file.as_raw_fd(), request, std::ptr::from_mut(value)) })
}

fn done(result: libc::c_int) -> io::Result<i32> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(result)
}

/// Writes back what the page cache holds of a device, and drops it.
pub(crate) fn flush_buffers(file: &File) -> io::Result<()> {
    number(file, BLKFLSBUF, 0).map(drop)
}

/// Discards `[start, start + bytes)` of a device.
pub(crate) fn discard(file: &File, start: u64, bytes: u64) -> io::Result<()> {
    record(file, BLKDISCARD, &mut [start, bytes]).map(drop)
}

/// Has zeroes written to `[start, start + bytes)` by the device's command for
/// it, and by nothing else: where the command fails, this fails.
pub(crate) fn zero_out(file: &File, start: i64, bytes: i64) -> io::Result<()> {
    let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    // SAFETY: takes a descriptor and numbers.
    done(unsafe { libc::fallocate(file.as_raw_fd(), mode, start, bytes) }).map(drop)
}
