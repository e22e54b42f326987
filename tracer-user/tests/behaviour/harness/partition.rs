//! One MBR partition, written by hand: no partitioning program would begin it
//! at sector 63 without an argument.

use std::{fs::OpenOptions, io::Write as _};

use super::{
    device::Device,
    ioctl::{self, BLKRRPART},
    wait,
};

/// Makes `disk` hold one partition of `[start, start + sectors)`.
pub(crate) fn create(disk: &Device, start: u32, sectors: u32) -> Device {
    let mut table = [0u8; 512];
    let entry = &mut table[446..462];
    entry[4] = 0x83;
    entry[8..12].copy_from_slice(&start.to_le_bytes());
    entry[12..16].copy_from_slice(&sectors.to_le_bytes());
    table[510..].copy_from_slice(&[0x55, 0xaa]);

    let mut node = OpenOptions::new()
        .read(true)
        .write(true)
        .open(disk.node())
        .expect("the disk to partition");
    node.write_all(&table).expect("a partition table");
    node.sync_all().expect("a partition table on the disk");
    // Busy while somebody else looks at the disk.
    wait::until_true("the partition table to be read", || {
        ioctl::number(&node, BLKRRPART, 0).is_ok()
    });
    let digit_last = disk.name().ends_with(|last: char| last.is_ascii_digit());
    let p = if digit_last { "p" } else { "" };
    Device::partition(disk.name(), &format!("{}{p}1", disk.name()))
}
