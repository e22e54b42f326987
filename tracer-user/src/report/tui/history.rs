//! The last few minutes of each device, for its sparkline.
//!
//! Must not grow: points are bounded, and devices that are gone are dropped.

use std::collections::{BTreeMap, VecDeque};

use crate::{
    delta::{DeviceFigures, Interval},
    units::DevId,
};

/// Intervals that are kept of a device.
pub const POINTS: usize = 120;

/// A device under one name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeviceKey {
    pub id: DevId,
    pub name: String,
}

impl From<&DeviceFigures> for DeviceKey {
    fn from(device: &DeviceFigures) -> Self {
        Self {
            id: device.id,
            name: device.name.clone(),
        }
    }
}

/// One interval of one device, in whole requests per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    pub requests_per_second: u64,
    pub misaligned_per_second: u64,
}

/// Past intervals by device.
#[derive(Clone, Debug, Default)]
pub struct History(BTreeMap<DeviceKey, VecDeque<Point>>);

impl History {
    /// Adds an interval; devices that are not in it are forgotten.
    pub fn add(&mut self, interval: &Interval) {
        let mut old = std::mem::take(&mut self.0);
        for device in &interval.devices {
            let key = DeviceKey::from(device);
            let mut points = old.remove(&key).unwrap_or_default();
            if points.len() >= POINTS {
                points.pop_front();
            }
            points.push_back(Point::new(device));
            self.0.insert(key, points);
        }
    }

    /// The points of a device, oldest first.
    pub fn of(&self, device: &DeviceFigures) -> impl Iterator<Item = Point> {
        self.0
            .get(&DeviceKey::from(device))
            .into_iter()
            .flatten()
            .copied()
    }
}

impl Point {
    fn new(device: &DeviceFigures) -> Self {
        // A float to integer cast saturates; a rate is never below 0.
        let whole = |rate: Option<f64>| rate.unwrap_or(0.0).round() as u64;
        Self {
            requests_per_second: whole(device.rates.requests_per_second()),
            misaligned_per_second: whole(device.rates.misaligned_per_second),
        }
    }
}
