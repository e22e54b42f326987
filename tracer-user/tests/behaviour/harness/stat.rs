//! The kernel's own books of a device.

use std::{
    ops::{Add, Sub},
    thread,
    time::Duration,
};

use super::{device::Device, wait};

/// Two equal readings this far apart, with nothing in flight, are rest. Longer
/// than md's 200 ms before it marks an array clean.
const QUIET: Duration = Duration::from_millis(20);
const QUIET_READINGS: u32 = 16;

/// `/sys/block/X/stat`, all 17 fields, in the kernel's order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stat([u64; 17]);

impl Stat {
    pub(crate) fn read(device: &Device) -> Self {
        let text = device.read("stat").expect("stat");
        let mut fields = [0; 17];
        let mut words = text.split_whitespace();
        for field in &mut fields {
            *field = words
                .next()
                .and_then(|word| word.parse().ok())
                .unwrap_or_else(|| panic!("stat of {} is {text:?}", device.name()));
        }
        Self(fields)
    }

    pub(crate) fn reads(&self) -> u64 {
        self.0[0]
    }
    pub(crate) fn read_bytes(&self) -> u64 {
        self.0[2] * 512
    }
    pub(crate) fn writes(&self) -> u64 {
        self.0[4]
    }
    pub(crate) fn written_bytes(&self) -> u64 {
        self.0[6] * 512
    }
    pub(crate) fn in_flight(&self) -> u64 {
        self.0[8]
    }
    pub(crate) fn discards(&self) -> u64 {
        self.0[11]
    }
    pub(crate) fn discarded_bytes(&self) -> u64 {
        self.0[13] * 512
    }
    pub(crate) fn flushes(&self) -> u64 {
        self.0[15]
    }

    /// Without the fields that are times.
    fn counts(&self) -> [u64; 10] {
        let f = &self.0;
        [
            f[0], f[1], f[2], f[4], f[5], f[6], f[11], f[12], f[13], f[15],
        ]
    }
}

/// Of one device in two lives.
impl Add for Stat {
    type Output = Self;

    fn add(self, more: Self) -> Self {
        let mut fields = self.0;
        for (sum, more) in fields.iter_mut().zip(more.0) {
            *sum += more;
        }
        Self(fields)
    }
}

impl Sub for Stat {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        let mut fields = self.0;
        for (now, then) in fields.iter_mut().zip(before.0) {
            *now = now.wrapping_sub(then);
        }
        Self(fields)
    }
}

/// Waits until nothing is in flight on any of the devices and their counters
/// stand still; gives the readings at rest.
pub(crate) fn settle(devices: &[Device]) -> Vec<Stat> {
    let mut last: Vec<Stat> = devices.iter().map(Stat::read).collect();
    let mut equal = 0;
    wait::until("devices at rest", || {
        thread::sleep(QUIET);
        let now: Vec<Stat> = devices.iter().map(Stat::read).collect();
        let quiet = now
            .iter()
            .zip(&last)
            .all(|(now, last)| now.in_flight() == 0 && now.counts() == last.counts());
        equal = if quiet { equal + 1 } else { 0 };
        last = now;
        (equal >= QUIET_READINGS).then(|| last.clone())
    })
}
