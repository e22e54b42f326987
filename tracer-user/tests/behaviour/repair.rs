//! Stacks built wrong, for real: `iotrace doctor` finds it, the commands that it
//! prints are run as they stand, it finds nothing any more, and the data are as
//! they were.
//!
//! What only a new one cures is marked so: it is built anew as doctor says, and
//! the data are put back.

mod arrays;
mod checkup;
mod data;
mod ext4;
mod healthy;
mod luks;
mod partition;
mod plain;
mod volumes;
mod xfs;

use crate::harness::{device::Device, lab::Lab, loopdev::Loop};

const MIB: u64 = 1 << 20;

/// Disks of 512-byte blocks that take no more memory than is written to them.
fn disks(lab: &Lab, count: usize, mib: u64) -> (Vec<Loop>, Vec<Device>) {
    let loops: Vec<Loop> = (0..count).map(|_| Loop::new(lab, mib * MIB)).collect();
    let devices = loops.iter().map(Loop::device).collect();
    (loops, devices)
}
