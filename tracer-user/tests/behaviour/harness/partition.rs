//! A partition told to the kernel by ioctl: no table is written, so that this
//! machine's kernel needs no reader of tables either.

use std::{ffi::c_void, fs::File, ops::Deref, ptr};

use super::{device::Device, ioctl};

// linux/blkpg.h
const BLKPG: libc::Ioctl = 0x1269;
const BLKPG_ADD_PARTITION: i32 = 1;
const BLKPG_DEL_PARTITION: i32 = 2;

/// `struct blkpg_partition`, in bytes.
#[repr(C)]
struct Range {
    start: i64,
    length: i64,
    number: i32,
    names: [u8; 128],
}

/// `struct blkpg_ioctl_arg`.
#[repr(C)]
struct Argument {
    op: i32,
    flags: i32,
    data_len: i32,
    data: *mut c_void,
}

/// A partition of a disk; deleted when dropped.
pub(crate) struct Partition {
    disk: Device,
    number: i32,
    device: Device,
}

impl Partition {
    /// The first, of `[start, start + sectors)`.
    pub(crate) fn create(disk: &Device, start: i64, sectors: i64) -> Self {
        Self::numbered(disk, 1, start, sectors)
    }

    /// The one of this number.
    pub(crate) fn numbered(disk: &Device, number: i32, start: i64, sectors: i64) -> Self {
        let node = File::open(disk.node()).expect("the disk to partition");
        change(&node, BLKPG_ADD_PARTITION, (number, start, sectors)).expect("BLKPG_ADD_PARTITION");
        let digit_last = disk.name().ends_with(|last: char| last.is_ascii_digit());
        let p = if digit_last { "p" } else { "" };
        let name = format!("{}{p}{number}", disk.name());
        Self {
            disk: disk.clone(),
            number,
            device: Device::partition(disk.name(), &name),
        }
    }
}

impl Deref for Partition {
    type Target = Device;

    fn deref(&self) -> &Device {
        &self.device
    }
}

impl Drop for Partition {
    fn drop(&mut self) {
        if let Ok(node) = File::open(self.disk.node()) {
            // Busy only after a test that failed.
            let _ = change(&node, BLKPG_DEL_PARTITION, (self.number, 0, 0));
        }
    }
}

fn change(disk: &File, op: i32, (number, start, sectors): (i32, i64, i64)) -> std::io::Result<()> {
    let mut range = Range {
        start: start * 512,
        length: sectors * 512,
        number,
        names: [0; 128],
    };
    let mut argument = Argument {
        op,
        flags: 0,
        data_len: i32::try_from(size_of::<Range>()).expect("a small struct"),
        data: ptr::from_mut(&mut range).cast(),
    };
    ioctl::record(disk, BLKPG, &mut argument).map(drop)
}
