//! The figures of each device to be shown: its own row and those of its
//! partitions, with what is known about it.
//!
//! Must not decide what is good or bad about them.

use std::{collections::BTreeMap, time::Duration};

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Boundary, Fills, Histograms, Octaves, Op, Rates, Scope,
    about::About,
    counts::{self, Counts},
    estimate::{self, RaidEstimate},
    layers,
    origin::{self, OriginCounts, OriginFigures, OriginsBetween},
    raid::{self, RaidFigures, Written},
    select,
};
use crate::{
    snapshot::{RowKey, Snapshot},
    sysfs::{
        carried::Carried,
        chain::Chain,
        device::{Device, Geometry, Kind, Topology},
        start::StartCheck,
    },
    units::{Bytes, DevId},
};

/// One device in one interval.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceFigures {
    pub id: DevId,
    /// The kernel's name.
    pub name: String,
    /// `None` for a device that was gone before anything was known of it.
    pub kind: Option<Kind>,
    /// The name that device-mapper's user gave it.
    pub dm_name: Option<String>,
    /// Of an md array: as md prints it; `striped` of a mapped device that is.
    pub md_level: Option<String>,
    /// Of a partition: its disk's name.
    pub disk: Option<String>,
    /// Of a disk: the partition that most of its misaligned writes came
    /// through, if any did.
    pub misaligned_through: Option<Through>,
    /// Names of the devices it is made of.
    pub members: Vec<String>,
    pub geometry: Geometry,
    /// Where it lies on the stripes of an array below it.
    pub chain: Option<Chain>,
    /// The chunks of arrays above that lie on it.
    pub carries: Vec<Carried>,
    /// Of a partition: its start against each boundary of its disk.
    pub starts: Vec<StartCheck>,
    /// In which the page cache reads and writes the device itself, less than
    /// 4096 where its length is no multiple of that; `None` where that is not
    /// known.
    pub page_cache_block: Option<Bytes>,
    pub notes: Vec<String>,
    /// Steps below the topmost device above it.
    pub depth: usize,
    /// The user named this very device.
    pub asked: bool,
    /// Any IO in the interval.
    pub active: bool,
    /// A loop device or the like that no IO has ever reached: most machines
    /// have many of them.
    pub idle_pseudo: bool,
    pub read: Op,
    pub write: Op,
    /// `None` where the way of counting cannot tell them.
    pub write_zeroes: Option<Op>,
    pub discard: Op,
    pub secure_erase: Op,
    /// `None` where the way of counting cannot tell them.
    pub zone_append: Option<ZoneAppend>,
    pub flush: Flush,
    pub other: Other,
    /// Issued, put back, and to be issued again; counted once.
    pub requeued: Option<u64>,
    /// Put back before they were issued.
    pub put_back_unissued: Option<u64>,
    /// Bios that the block layer cut in two.
    pub splits: u64,
    pub histograms: Option<Histograms>,
    /// `None` where nothing is timed.
    pub timings: Option<Timings>,
    pub boundary: Option<Boundary>,
    /// `None` for a device without histograms, or where callers are not told.
    pub fills: Option<Fills>,
    pub rates: Rates,
    /// Of an md array whose components are watched.
    pub raid: Option<RaidFigures>,
    /// Of a raid4/5/6 array whose components could not be looked into.
    pub raid_estimate: Option<RaidEstimate>,
    /// Of a component that is watched.
    pub origin: Option<OriginFigures>,
}

/// How long requests took: reads aligned, reads misaligned, writes aligned,
/// writes misaligned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timings {
    /// From the making of the request to its completion.
    pub awaited: [Octaves; 4],
    /// From the issue to the device to its completion; `None` where the queue
    /// does not keep the time of issue.
    pub device: Option<[Octaves; 4]>,
}

/// Misaligned writes that came through a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Through {
    /// The partition's name.
    pub partition: String,
    pub writes: u64,
}

/// Zone appends: they have no place until they complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ZoneAppend {
    pub requests: u64,
    pub bytes: u64,
}

/// Flushes, and what asked for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Flush {
    /// Flush requests issued to the device.
    pub requests: u64,
    /// Bios without data that asked for a flush. null: not known.
    pub empty_bios: Option<u64>,
    /// Bios with data to be written through the cache. null: not known.
    pub fua_bios: Option<u64>,
    /// Bios with data that asked for a flush before it. null: not known.
    pub preflush_bios: Option<u64>,
}

/// Requests with no place of their own; the parts add up to the sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Other {
    /// Commands handed through to the drive. null: among `not_told`.
    pub passthrough: Option<u64>,
    /// Zone management and the like.
    pub management: u64,
    /// Write zeroes, zone appends and passthrough, which a classic tracepoint
    /// does not tell apart.
    pub not_told: u64,
    /// Reads, writes and the like of no bytes.
    pub zero_length: u64,
}

impl Other {
    /// All of them.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.passthrough.unwrap_or(0) + self.management + self.not_told + self.zero_length
    }
}

/// The devices of the scope, in the order of the tree.
pub(super) fn devices(
    before: &Snapshot,
    after: &Snapshot,
    scope: &Scope<'_>,
    length: Duration,
) -> Vec<DeviceFigures> {
    let topology = scope.known.topology();
    let mut rows = counts::by_device(before, after);
    let origins = origin::between(before, after).unwrap_or_default();
    let mut figures = Vec::new();
    for place in select::places(scope.asked, topology) {
        let Some(device) = topology.devices.get(&place.device) else {
            continue;
        };
        let key = RowKey {
            device: device.id,
            name: device.name.clone(),
        };
        let counts = rows.remove(&key).unwrap_or_else(Counts::none);
        if counts.active() || !scope.known.is_gone(device.id) {
            let about = About::known(device, place, topology);
            let mut row = about.figures(&counts, after.unknown, scope, length);
            row.set_origins(device, &key, &origins);
            let cache = after.stripe_caches.get(&device.id);
            row.raid = row.raid.map(|raid| raid.with_stripe_cache(cache.copied()));
            figures.push(row);
        }
    }
    estimate::fill_in(&mut figures, topology);
    let nameless = unknown_to(topology, rows, scope);
    figures.extend(
        nameless
            .iter()
            .map(|(key, counts)| About::unknown(key).figures(counts, after.unknown, scope, length)),
    );
    name_partitions(&mut figures);
    layers::name(&mut figures);
    figures
}

impl DeviceFigures {
    /// All that was written, zeroes too.
    pub(super) fn written_bytes(&self) -> u64 {
        let zeroes = self.write_zeroes.as_ref().map_or(0, |zeroes| zeroes.bytes);
        self.write.bytes + zeroes
    }

    /// Fills in why it was read and written, where that is known.
    fn set_origins(&mut self, device: &Device, key: &RowKey, origins: &OriginsBetween) {
        self.origin = origins.components.get(key).map(OriginCounts::figures);
        let zeroes = self.write_zeroes.as_ref();
        let written = Written {
            requests: self.write.requests + zeroes.map_or(0, |zeroes| zeroes.requests),
            bytes: self.written_bytes(),
        };
        let (read, splits) = (&self.read, self.splits);
        // A level with parity whose rows nobody looked into: nothing is said of
        // its pre-reads, which is not that there were none.
        let counts = origins.arrays.get(key);
        let counts = counts.filter(|_| origins.rows || !raid::has_parity(device));
        let raid =
            counts.and_then(|counts| RaidFigures::new(device, counts, read, written, splits));
        let stripe = self.rates.stripe;
        self.raid = raid.map(|raid| raid.with_fills(self.fills).with_arrived(stripe));
    }
}

/// Tells each disk which partition its misaligned writes came through.
fn name_partitions(figures: &mut [DeviceFigures]) {
    let mut most: BTreeMap<String, Through> = BTreeMap::new();
    for partition in figures.iter() {
        let writes = partition.write.physical.misaligned;
        let Some(disk) = partition.disk.as_ref().filter(|_| writes != 0) else {
            continue;
        };
        if most.get(disk).is_none_or(|known| known.writes < writes) {
            let partition = partition.name.clone();
            most.insert(disk.clone(), Through { partition, writes });
        }
    }
    for disk in figures {
        disk.misaligned_through = most.remove(&disk.name);
    }
}

/// Rows of devices that were gone before they were known, if they did
/// anything; only where all devices are shown or this one was asked for.
fn unknown_to(
    topology: &Topology,
    mut rows: BTreeMap<RowKey, Counts>,
    scope: &Scope<'_>,
) -> BTreeMap<RowKey, Counts> {
    let known = |key: &RowKey| {
        let device = topology.devices.get(&key.device);
        device.is_some_and(|device| device.name == key.name)
    };
    rows.retain(|key, counts| {
        let wanted = scope.asked.is_empty() || scope.asked.contains(&key.device);
        wanted && counts.active() && !known(key)
    });
    rows
}
