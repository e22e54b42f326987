//! A device mapped into memory, as a program does that writes without write
//! calls.

use std::{fs::OpenOptions, os::fd::AsRawFd as _, ptr};

use super::device::Device;

const PAGE: usize = 4096;

/// The first pages of a device; unmapped when dropped.
pub(crate) struct Mapping {
    start: *mut u8,
    len: usize,
}

impl Mapping {
    /// Maps so many pages, to be read one by one, when they are touched.
    pub(crate) fn new(device: &Device, pages: usize) -> Self {
        let node = OpenOptions::new()
            .read(true)
            .write(true)
            .open(device.node())
            .expect("a device to map");
        let len = pages * PAGE;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping of an open file, at no address of its own.
        let start = unsafe {
            libc::mmap(
                ptr::null_mut(),
                len,
                access,
                libc::MAP_SHARED,
                node.as_raw_fd(),
                0,
            )
        };
        assert_ne!(start, libc::MAP_FAILED, "mmap");
        // SAFETY: the mapping just made.
        let advised = unsafe { libc::madvise(start, len, libc::MADV_RANDOM) };
        assert_eq!(advised, 0, "madvise");
        Self {
            start: start.cast(),
            len,
        }
    }

    /// Writes a byte into each page.
    pub(crate) fn touch(&mut self) {
        for at in (0..self.len).step_by(PAGE) {
            // SAFETY: inside the mapping, which nobody else in here knows.
            unsafe { self.start.add(at).write_volatile(0x5a) };
        }
    }

    /// Has the pages written back.
    pub(crate) fn sync(&self) {
        // SAFETY: the mapping is still there.
        let synced = unsafe { libc::msync(self.start.cast(), self.len, libc::MS_SYNC) };
        assert_eq!(synced, 0, "msync");
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: nothing uses the mapping after this.
        unsafe { libc::munmap(self.start.cast(), self.len) };
    }
}
