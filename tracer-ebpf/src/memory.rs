//! How much kernel memory the maps take, and how many slots are made.
//!
//! Must not make maps.

use crate::abi::{FRONT_ENTRIES, HotBlock, Place, Ranges, SharedBlock, SlotOwner, SlotState};

/// Kernel memory for `devices` devices on `cpus` possible CPUs, in bytes: the
/// maps that grow with the number of devices.
#[must_use]
pub const fn kernel_memory_bytes(devices: u64, cpus: u64) -> u64 {
    let slots = slot_capacity(devices);
    let hot = slots * cpus * size_of::<HotBlock>() as u64;
    let shared = slots * size_of::<SharedBlock>() as u64;
    let owners = slots * (size_of::<SlotOwner>() + size_of::<Ranges>()) as u64;
    let states = slots * size_of::<SlotState>() as u64 + FRONT_ENTRIES as u64 * 8;
    let places = 2 * slots * size_of::<Place>() as u64;
    // htab element: 48 bytes of header, key and value rounded up to 8; two
    // buckets of 16 bytes an element at most.
    let devices = slots * (48 + 8 + 8 + 32);
    hot + shared + owners + states + places + devices
}

/// Slots made for `devices` devices that exist at the start: room for an
/// eighth more, and 64, to come while iotrace runs.
#[must_use]
pub const fn slot_capacity(devices: u64) -> u64 {
    devices + devices / 8 + 64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DESIGN bar: 2,000 devices on 128 CPUs under 256 MiB.
    #[test]
    fn two_thousand_devices_on_128_cpus_fit_256_mib() {
        let bytes = kernel_memory_bytes(2000, 128);
        assert!(bytes < 256 << 20, "{} MiB", bytes >> 20);
    }
}
