//! A machine of very many disks that needs no privilege: a copy of its sysfs,
//! and a list of its IO.

use std::{fmt::Write as _, process::Command};

use tempfile::TempDir;

#[path = "tree.rs"]
mod tree;

/// Disks with a partition each, and as many writes to each.
pub(crate) struct Machine {
    sysfs: TempDir,
    events: tempfile::NamedTempFile,
}

impl Machine {
    pub(crate) fn new(disks: u64, writes: u64) -> Self {
        let mut text = String::new();
        for disk in 0..disks {
            let block = format!("block/sd{disk}");
            let _ = write!(
                text,
                "{block}/dev = 8:{minor}\n{block}/size = 1048576\n{block}/diskseq = {disk}\n\
                 {block}/mq/\n{block}/alignment_offset = 0\n\
                 {block}/queue/logical_block_size = 512\n\
                 {block}/queue/physical_block_size = 4096\n\
                 {block}/queue/minimum_io_size = 4096\n{block}/queue/optimal_io_size = 0\n\
                 {block}/queue/rotational = 1\n\
                 {block}/sd{disk}p1/partition = 1\n{block}/sd{disk}p1/dev = 8:{partition}\n\
                 {block}/sd{disk}p1/start = 63\n{block}/sd{disk}p1/size = 1000000\n\
                 {block}/sd{disk}p1/alignment_offset = 512\n",
                minor = disk * 16,
                partition = disk * 16 + 1,
            );
        }
        let mut events = String::new();
        for n in 0..disks * writes {
            let _ = writeln!(events, "sd{}p1 write {} 4096", n % disks, n / disks * 4096);
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), events).unwrap();
        Self {
            sysfs: tree::expand(&text).unwrap(),
            events: file,
        }
    }

    /// Has `iotrace` count this machine's events.
    pub(crate) fn count(&self, iotrace: &mut Command) {
        iotrace.arg("--sysfs").arg(self.sysfs.path());
        iotrace.arg("--events").arg(self.events.path());
    }
}
