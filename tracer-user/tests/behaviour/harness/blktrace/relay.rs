//! One disk traced as the program `blktrace` does it, without the program: it
//! would have to be waited for.

use std::{
    ffi::c_char,
    fs::{self, File},
    path::{Path, PathBuf},
};

use crate::harness::{device::Device, ioctl, lab::Lab};

// linux/fs.h
const BLKTRACESETUP: libc::Ioctl = 0xc048_1273;
const BLKTRACESTART: libc::Ioctl = 0x1274;
const BLKTRACESTOP: libc::Ioctl = 0x1275;
const BLKTRACETEARDOWN: libc::Ioctl = 0x1276;

/// For each CPU enough for some 80,000 records: nothing is read before the end.
const BUFFER_BYTES: u32 = 512 * 1024;
const BUFFERS: u32 = 8;

/// `struct blk_user_trace_setup`.
#[repr(C)]
struct Setup {
    name: [c_char; 32],
    act_mask: u16,
    buf_size: u32,
    buf_nr: u32,
    start_lba: u64,
    end_lba: u64,
    pid: u32,
}

const _: () = assert!(size_of::<Setup>() == 72);

pub(crate) struct Relay {
    disk: File,
    name: String,
    /// Where the kernel puts the records, a file for each CPU.
    records: PathBuf,
}

impl Relay {
    pub(super) fn start(disk: &Device) -> Self {
        let node = File::open(disk.node()).expect("the traced disk");
        let mut setup = Setup {
            name: [0; 32],
            act_mask: u16::MAX,
            buf_size: BUFFER_BYTES,
            buf_nr: BUFFERS,
            start_lba: 0,
            end_lba: u64::MAX,
            pid: 0,
        };
        ioctl::record(&node, BLKTRACESETUP, &mut setup).expect("BLKTRACESETUP");
        ioctl::number(&node, BLKTRACESTART, 0).expect("BLKTRACESTART");
        Self {
            disk: node,
            name: disk.name().to_owned(),
            records: Path::new("/sys/kernel/debug/block").join(disk.name()),
        }
    }

    /// A locked-down kernel makes the files and refuses to open them.
    pub(super) fn can_be_read(&self) -> bool {
        File::open(self.records.join("trace0")).is_ok()
    }

    /// Nothing more is recorded.
    pub(super) fn pause(&self) {
        ioctl::number(&self.disk, BLKTRACESTOP, 0).expect("BLKTRACESTOP");
    }

    /// The disk's name and its lines.
    pub(super) fn stop(self, lab: &Lab) -> (String, String) {
        let dropped = fs::read_to_string(self.records.join("dropped")).expect("dropped");
        assert_eq!(dropped.trim(), "0", "records dropped by blktrace");
        let folder = lab.path("");
        let records = self.copy_records(&folder);
        let folder = folder.to_string_lossy();
        let args = ["-i", &self.name, "-D", &folder];
        let lines = super::lines(&args, Path::new("/dev/null"), records);
        let text = lines.into_iter().map(|(_, line)| line).collect();
        (self.name.clone(), text)
    }

    /// Copies the records to where blkparse looks for them; how many.
    fn copy_records(&self, folder: &Path) -> usize {
        let mut found = 0;
        for cpu in 0.. {
            let from = self.records.join(format!("trace{cpu}"));
            if !from.exists() {
                assert!(cpu > 0, "no records in {}", self.records.display());
                break;
            }
            let records = fs::read(from).expect("the records of a CPU");
            found += super::count(&records);
            let to = folder.join(format!("{}.blktrace.{cpu}", self.name));
            fs::write(to, records).expect("a copy of the records");
        }
        found
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        // The first fails where it is stopped already; a test that failed must
        // not leave the disk traced.
        let _ = ioctl::number(&self.disk, BLKTRACESTOP, 0);
        let _ = ioctl::number(&self.disk, BLKTRACETEARDOWN, 0);
    }
}
