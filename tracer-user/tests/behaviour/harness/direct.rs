//! Reads and writes past the page cache, one after another.

use std::{fs::File, ops::Range, os::unix::fs::FileExt as _};

use super::{device::Device, ioctl};

/// Longest of the tests' requests.
const MAX_BYTES: usize = 8 << 20;
/// What direct IO asks of a buffer, on any disk here.
const ALIGNMENT: usize = 4096;

/// A device opened past the page cache.
pub(crate) struct Direct {
    node: File,
    buffer: Vec<u8>,
}

impl Direct {
    pub(crate) fn open(device: &Device) -> Self {
        Self {
            node: ioctl::open_direct(&device.node()),
            buffer: vec![0xa5; MAX_BYTES + ALIGNMENT],
        }
    }

    /// So many bytes of the buffer, from an aligned one on.
    fn aligned(&self, len: usize) -> Range<usize> {
        let start = self.buffer.as_ptr().align_offset(ALIGNMENT);
        start..start + len
    }

    /// Writes `count` times `len` bytes one after another, from `start` on.
    pub(crate) fn write(&self, start: u64, len: usize, count: u64) {
        let bytes = &self.buffer[self.aligned(len)];
        for index in 0..count {
            let at = start + index * len as u64;
            self.node.write_all_at(bytes, at).expect("a write");
        }
    }

    /// Reads them.
    pub(crate) fn read(&mut self, start: u64, len: usize, count: u64) {
        let range = self.aligned(len);
        for index in 0..count {
            let at = start + index * len as u64;
            let bytes = &mut self.buffer[range.clone()];
            self.node.read_exact_at(bytes, at).expect("a read");
        }
    }
}
