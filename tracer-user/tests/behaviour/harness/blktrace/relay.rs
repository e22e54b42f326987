//! One disk traced as the program `blktrace` does it, without the program: it
//! would have to be waited for.

use std::{
    ffi::c_char,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use crate::harness::{device::Device, ioctl, lab::Lab};

// linux/fs.h
const BLKTRACESETUP: libc::Ioctl = 0xc048_1273;
const BLKTRACESETUP2: libc::Ioctl = 0xc0c0_128e;
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

/// `struct blk_user_trace_setup2`.
#[repr(C)]
struct Setup2 {
    name: [c_char; 64],
    act_mask: u64,
    buf_size: u32,
    buf_nr: u32,
    start_lba: u64,
    end_lba: u64,
    pid: u32,
    flags: u32,
    reserved: [u64; 11],
}

const _: () = assert!(size_of::<Setup2>() == 192);

pub(crate) struct Relay {
    disk: File,
    /// The records have version 8.
    wide: bool,
    name: String,
    /// Where the kernel puts the records, a file for each CPU.
    records: PathBuf,
}

impl Relay {
    pub(super) fn start(disk: &Device) -> Self {
        let node = File::open(disk.node()).expect("the traced disk");
        let wide = set_up_wide(&node).is_ok();
        if !wide {
            set_up(&node).expect("BLKTRACESETUP");
        }
        ioctl::number(&node, BLKTRACESTART, 0).expect("BLKTRACESTART");
        Self {
            disk: node,
            wide,
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
            let mut records = fs::read(from).expect("the records of a CPU");
            if self.wide {
                records = narrow(&records);
            }
            found += super::count(&records);
            let to = folder.join(format!("{}.blktrace.{cpu}", self.name));
            fs::write(to, records).expect("a copy of the records");
        }
        found
    }
}

/// Records of version 8. Linux 7 leaves requests that carry FUA out of a trace
/// of version 7, and older kernels know no other.
fn set_up_wide(disk: &File) -> io::Result<i32> {
    let mut setup = Setup2 {
        name: [0; 64],
        act_mask: u64::MAX,
        buf_size: BUFFER_BYTES,
        buf_nr: BUFFERS,
        start_lba: 0,
        end_lba: u64::MAX,
        pid: 0,
        flags: 0,
        reserved: [0; 11],
    };
    ioctl::record(disk, BLKTRACESETUP2, &mut setup)
}

fn set_up(disk: &File) -> io::Result<i32> {
    let mut setup = Setup {
        name: [0; 32],
        act_mask: u16::MAX,
        buf_size: BUFFER_BYTES,
        buf_nr: BUFFERS,
        start_lba: 0,
        end_lba: u64::MAX,
        pid: 0,
    };
    ioctl::record(disk, BLKTRACESETUP, &mut setup)
}

/// Records of version 8 as those of version 7, the only ones that blkparse
/// before 1.4 can read: the same fields, the action without its upper half.
fn narrow(mut wide: &[u8]) -> Vec<u8> {
    const BYTES: usize = 64;
    let mut narrow = Vec::with_capacity(wide.len());
    while !wide.is_empty() {
        assert_eq!(wide[0], 8, "the version of a record");
        let (record, rest) = wide.split_at(BYTES);
        let pdu_len = u16::from_le_bytes([record[50], record[51]]);
        let (pdu, rest) = rest.split_at(pdu_len.into());
        narrow.extend_from_slice(&super::MAGIC);
        // Sequence, time, sector, bytes.
        narrow.extend_from_slice(&record[4..28]);
        // The action, which came after the process.
        narrow.extend_from_slice(&record[32..36]);
        narrow.extend_from_slice(&record[28..32]);
        // Device, CPU, error, and the length of what follows.
        narrow.extend_from_slice(&record[40..52]);
        narrow.extend_from_slice(pdu);
        wide = rest;
    }
    narrow
}

impl Drop for Relay {
    fn drop(&mut self) {
        // The first fails where it is stopped already; a test that failed must
        // not leave the disk traced.
        let _ = ioctl::number(&self.disk, BLKTRACESTOP, 0);
        let _ = ioctl::number(&self.disk, BLKTRACETEARDOWN, 0);
    }
}
