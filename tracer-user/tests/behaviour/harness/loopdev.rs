//! A loop device on a file of the lab.

use std::{
    fs::{File, OpenOptions},
    os::fd::AsRawFd as _,
    path::Path,
};

use super::{device::Device, ioctl, lab::Lab};

// linux/loop.h
const LOOP_CLR_FD: libc::Ioctl = 0x4c01;
const LOOP_CONFIGURE: libc::Ioctl = 0x4c0a;
const LOOP_CTL_ADD: libc::Ioctl = 0x4c80;
const LOOP_CTL_REMOVE: libc::Ioctl = 0x4c81;
const LOOP_CTL_GET_FREE: libc::Ioctl = 0x4c82;
const LO_FLAGS_PARTSCAN: u32 = 8;

/// `struct loop_config`, its `struct loop_info64` unfolded.
#[repr(C)]
struct Config {
    fd: u32,
    block_size: u32,
    devices_and_offset: [u64; 5],
    numbers_and_flags: [u32; 4],
    names_and_key: [u8; 64 + 64 + 32],
    init: [u64; 2],
    reserved: [u64; 8],
}

const _: () = assert!(size_of::<Config>() == 8 + 232 + 64);

/// Detached when dropped.
pub(crate) struct Loop {
    device: Device,
    /// Open, or the kernel would hand the number to somebody else.
    node: Option<File>,
    /// The number was made for this device, and goes with it.
    own_number: Option<i32>,
}

impl Loop {
    /// A loop device over a new sparse file.
    pub(crate) fn new(lab: &Lab, bytes: u64) -> Self {
        let free = free_number();
        let file = lab.sparse_file(&format!("loop{free}"), bytes);
        Self::attach(free, &open(&file))
    }

    /// A loop device over a device.
    pub(crate) fn over(device: &Device) -> Self {
        Self::attach(free_number(), &open(&device.node()))
    }

    /// `/dev/loopNUMBER` over a file, with the partitions it holds.
    fn attach(number: i32, backing: &File) -> Self {
        let name = format!("loop{number}");
        let node = open(&Path::new("/dev").join(&name));
        let mut config = Config {
            fd: u32::try_from(backing.as_raw_fd()).expect("a descriptor"),
            block_size: 512,
            devices_and_offset: [0; 5],
            numbers_and_flags: [0, 0, 0, LO_FLAGS_PARTSCAN],
            names_and_key: [0; 160],
            init: [0; 2],
            reserved: [0; 8],
        };
        ioctl::record(&node, LOOP_CONFIGURE, &mut config).expect("LOOP_CONFIGURE");
        Self {
            device: Device::disk(&name),
            node: Some(node),
            own_number: None,
        }
    }

    /// The same with a number that no loop device has had: the kernel keeps a
    /// node's page cache, and whom its pages are charged to, over detaching.
    pub(crate) fn never_used(lab: &Lab, bytes: u64) -> Self {
        let control = File::open("/dev/loop-control").expect("/dev/loop-control");
        let free = |number: &i32| !Path::new(&format!("/sys/block/loop{number}")).exists();
        let number = (64..256).find(free).expect("an unused loop number");
        let ordinal = libc::c_ulong::try_from(number).expect("a number");
        ioctl::number(&control, LOOP_CTL_ADD, ordinal).expect("LOOP_CTL_ADD");
        let file = lab.sparse_file(&format!("loop{number}"), bytes);
        let mut made = Self::attach(number, &open(&file));
        made.own_number = Some(number);
        made
    }

    /// Detaches and attaches the same number over another file.
    pub(crate) fn reattach(&mut self, lab: &Lab, bytes: u64) {
        let number = self.device.name().trim_start_matches("loop");
        let number = number.parse().expect("a loop number");
        let file = lab.sparse_file(&format!("again{number}"), bytes);
        self.detach();
        super::wait::until_true("the loop device to let go", || {
            self.device.read("loop/backing_file").is_none()
        });
        *self = Self::attach(number, &open(&file));
    }

    /// The kernel lets go of the file when the last one closes the node.
    fn detach(&mut self) {
        if let Some(node) = self.node.take() {
            let _ = ioctl::number(&node, LOOP_CLR_FD, 0);
        }
    }

    pub(crate) fn device(&self) -> Device {
        self.device.clone()
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        self.detach();
        if let Some(number) = self.own_number {
            let control = File::open("/dev/loop-control").expect("/dev/loop-control");
            let ordinal = libc::c_ulong::try_from(number).expect("a number");
            // A failed test may still have it open.
            let _ = ioctl::number(&control, LOOP_CTL_REMOVE, ordinal);
        }
    }
}

fn open(path: &Path) -> File {
    OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn free_number() -> i32 {
    let control = File::open("/dev/loop-control").expect("/dev/loop-control");
    ioctl::number(&control, LOOP_CTL_GET_FREE, 0).expect("LOOP_CTL_GET_FREE")
}
