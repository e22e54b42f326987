//! Reads pieces of a block device or a file, past the page cache.
//!
//! Must not write, and must not know a format.
//!
//! XFS, md and LVM write their superblocks with bios of their own
//! (`xfs_buf_submit`, fs/xfs/xfs_buf.c; `md_super_write`, drivers/md/md.c), not
//! through the block device's page cache. A buffered read gives what somebody
//! read before, for as long as the device is in use (seen with a member of an
//! array: 0 events where the disk has 20). So pieces are read with `O_DIRECT`,
//! before which the kernel writes back what is dirty there and no more.
//! ext4 is the other way round: its superblock is a buffer of that page cache
//! (`sb_bread`, fs/ext4/super.c), newer than the disk while it is mounted; it is
//! read a second time through the cache. A read-only open sends no uevent when
//! it is closed.

use std::{
    fs::{File, OpenOptions},
    io::{self, Seek, SeekFrom},
    os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use crate::{
    privileges,
    units::{Bytes, SECTOR_BYTES},
};

/// `O_DIRECT` wants places, lengths and memory to be multiples of the logical
/// block; most are no larger than this.
const DIRECT_BYTES: u64 = 4096;
/// A larger logical block is not believed.
const MOST_BLOCK_BYTES: u32 = 64 << 10;

/// A device cannot be looked into.
#[derive(Debug, thiserror::Error)]
pub enum SuperblockError {
    #[error("cannot open {}", path.display())]
    Open {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{} is neither a block device nor a file", .0.display())]
    NoDevice(PathBuf),
    #[error("cannot read its beginning")]
    Read(#[source] io::Error),
}

/// Something with superblocks in it.
pub trait ReadAt {
    /// Length of the whole.
    fn size(&self) -> Bytes;

    /// The unit that an MBR counts in.
    fn logical_block(&self) -> Bytes {
        Bytes(SECTOR_BYTES)
    }

    /// Fills `buffer` from `offset` bytes, as the medium holds it; says how far
    /// it came, which is less only at the end.
    ///
    /// # Errors
    /// Those of the device.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;

    /// The same as the page cache holds it.
    ///
    /// # Errors
    /// Those of the device.
    fn read_cached_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.read_at(offset, buffer)
    }
}

/// The bytes themselves.
impl ReadAt for [u8] {
    fn size(&self) -> Bytes {
        Bytes(self.len() as u64)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let begin = usize::try_from(offset).unwrap_or(usize::MAX);
        let rest = self.get(begin..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }
}

/// An open block device, or a file that holds an image of one.
#[derive(Debug)]
pub struct BlockFile {
    cached: File,
    /// `None`: the file system it lies on has no `O_DIRECT`.
    direct: Option<File>,
    size: u64,
    logical_block: u64,
}

impl BlockFile {
    /// Opens for reading only.
    ///
    /// # Errors
    /// Where this process may not, where there is none, or where it is
    /// something else.
    pub fn open(path: &Path) -> Result<Self, SuperblockError> {
        let failed = |source| SuperblockError::Open {
            path: path.to_owned(),
            source,
        };
        // Who may not read the device is not let read it through this program.
        let _raised = privileges::raise_for_named_files();
        let mut cached = open(path, 0).map_err(failed)?;
        let kind = cached.metadata().map_err(failed)?.file_type();
        if !kind.is_block_device() && !kind.is_file() {
            return Err(SuperblockError::NoDevice(path.to_owned()));
        }
        let size = cached.seek(SeekFrom::End(0)).map_err(failed)?;
        let told = rustix::fs::ioctl_blksszget(&cached)
            .ok()
            .filter(|block| block.is_power_of_two() && *block <= MOST_BLOCK_BYTES);
        // Whatever the read-ahead of the device: a superblock is small.
        let _ = rustix::fs::fadvise(&cached, 0, None, rustix::fs::Advice::Random);
        Ok(Self {
            direct: open(path, libc::O_DIRECT).ok(),
            cached,
            size,
            logical_block: told.map_or(SECTOR_BYTES, u64::from).max(SECTOR_BYTES),
        })
    }
}

/// `O_NONBLOCK`, so that neither a fifo nor an empty drive is waited for.
fn open(path: &Path, flags: i32) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | flags)
        .open(path)
}

impl ReadAt for BlockFile {
    fn size(&self) -> Bytes {
        Bytes(self.size)
    }

    fn logical_block(&self) -> Bytes {
        Bytes(self.logical_block)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let unit = self.logical_block.max(DIRECT_BYTES);
        match &self.direct {
            Some(direct) => match read_aligned(direct, unit, offset, buffer) {
                Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
                    self.read_cached_at(offset, buffer)
                }
                other => other,
            },
            None => self.read_cached_at(offset, buffer),
        }
    }

    fn read_cached_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        read_all(&self.cached, offset, buffer)
    }
}

/// Reads whole units around what is asked for into memory that is aligned.
fn read_aligned(file: &File, unit: u64, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
    let begin = offset - offset % unit;
    let ahead = usize::try_from(offset - begin).map_err(io::Error::other)?;
    let unit = usize::try_from(unit).map_err(io::Error::other)?;
    let len = (ahead + buffer.len()).next_multiple_of(unit);
    let mut memory = vec![0; len + unit];
    let skip = memory.as_ptr().align_offset(unit).min(unit);
    let aligned = &mut memory[skip..skip + len];
    let count = read_all(file, begin, aligned)?;
    let count = count.saturating_sub(ahead).min(buffer.len());
    buffer[..count].copy_from_slice(&aligned[ahead..ahead + count]);
    // It may hold what a key is wrapped in.
    memory.fill(0);
    Ok(count)
}

fn read_all(file: &File, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
    let mut count = 0;
    while count < buffer.len() {
        match file.read_at(&mut buffer[count..], offset + count as u64) {
            Ok(0) => break,
            Ok(more) => count += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(count)
}
