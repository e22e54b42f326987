//! Where the heads of an array's members go: by the layout, and as iotrace saw
//! it.

use std::collections::BTreeMap;

use iotrace::{
    raid::{ArraySector, Raid10},
    units::Sectors,
};
use serde_json::{Value, json};

use crate::harness::{device::Device, md::Array, tracer::row};

/// Of every read and write: no longer than a chunk, so that none is cut, and one
/// after the other, so that none is merged.
pub(super) const IO_BYTES: u64 = 4096;

/// What one member did in one kind of work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Counted {
    pub(super) read_bytes: u64,
    pub(super) write_bytes: u64,
    /// Requests by the power of two that their distance from the end of the one
    /// before is not above; 1 where there is none.
    pub(super) seeks: BTreeMap<u64, u64>,
}

/// The same by the layout, with every distance.
#[derive(Clone, Debug, Default)]
pub(super) struct Head {
    read_bytes: u64,
    write_bytes: u64,
    distances_bytes: Vec<u64>,
}

impl Head {
    pub(super) fn counted(&self) -> Counted {
        let mut seeks = BTreeMap::new();
        for distance in &self.distances_bytes {
            *seeks.entry(distance.next_power_of_two()).or_insert(0) += 1;
        }
        Counted {
            read_bytes: self.read_bytes,
            write_bytes: self.write_bytes,
            seeks,
        }
    }

    /// Without the way to the first, which begins where other work ended.
    pub(super) fn to_json(&self) -> Value {
        let distances = self.distances_bytes.iter().skip(1);
        let seeks: Vec<u64> = distances.copied().filter(|bytes| *bytes != 0).collect();
        json!({
            "bytes": self.read_bytes + self.write_bytes,
            "seeks": seeks.len(),
            "seek_bytes": seeks.iter().sum::<u64>(),
        })
    }
}

/// Of all members, by their slot.
pub(super) struct Heads {
    pub(super) writing: Vec<Head>,
    pub(super) reading: Vec<Head>,
}

impl Heads {
    /// Of so many bytes written, and then read, from the begin of the array on:
    /// writes go to all copies, and a lone reader gets the first one (of two
    /// that are as near, or the one with the lower sector: `read_balance`,
    /// drivers/md/raid10.c).
    pub(super) fn new(array: &Array, bytes: u64) -> Self {
        let layout = layout(array);
        let starts: Vec<u64> = array
            .members()
            .iter()
            .map(|member| start(array, member))
            .collect();
        let mut ends = vec![0; starts.len()];
        let mut work = |write: bool| {
            let mut heads = vec![Head::default(); starts.len()];
            for sector in (0..bytes / 512).step_by(IO_BYTES as usize / 512) {
                let copies = layout.copies(ArraySector(sector)).expect("in the array");
                for place in copies.take(if write { 2 } else { 1 }) {
                    let slot = place.slot.0 as usize;
                    let at = (starts[slot] + place.sector.0) * 512;
                    let (head, end) = (&mut heads[slot], &mut ends[slot]);
                    head.distances_bytes.push(at.abs_diff(*end));
                    *end = at + IO_BYTES;
                    *if write {
                        &mut head.write_bytes
                    } else {
                        &mut head.read_bytes
                    } += IO_BYTES;
                }
            }
            heads
        };
        Self {
            writing: work(true),
            reading: work(false),
        }
    }
}

fn layout(array: &Array) -> Raid10 {
    let device = array.device();
    let disks = u32::try_from(device.number("md/raid_disks")).expect("a number");
    let number = i64::try_from(device.number("md/layout")).expect("a number");
    let chunk = Sectors(device.number("md/chunk_size") / 512);
    let component = Sectors(device.number("md/component_size") * 2);
    Raid10::new(number, disks, chunk, component).expect("an array")
}

/// Where its data begins, in sectors.
fn start(array: &Array, member: &Device) -> u64 {
    array
        .device()
        .number(&format!("md/dev-{}/offset", member.name()))
}

/// In these intervals.
pub(super) fn seen(lines: &[Value], member: &Device) -> Counted {
    let mut counted = Counted::default();
    for line in lines {
        let row = row(line, member.name());
        let row = row.unwrap_or_else(|| panic!("no {} in {line}", member.name()));
        let number = |value: &Value| value.as_u64().expect("a number");
        counted.read_bytes += number(&row["read"]["bytes"]);
        counted.write_bytes += number(&row["write"]["bytes"]);
        let bins = row["histograms"]["seek_bytes"].as_array().expect("seeks");
        for bin in bins {
            *counted.seeks.entry(number(&bin["le"])).or_insert(0) += number(&bin["requests"]);
        }
    }
    counted
}
