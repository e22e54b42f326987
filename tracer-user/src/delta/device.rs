//! The figures of each device to be shown: its own row and those of its
//! partitions, with what is known about it.
//!
//! Must not decide what is good or bad about them.

use std::{collections::BTreeMap, time::Duration};

use schemars::JsonSchema;
use serde::Serialize;
use tracer_ebpf::cells::{
    EMPTY_BIOS, FLUSH, FUA_BIOS, NOT_TOLD, OTHER, PASSTHROUGH, PREFLUSH_BIOS, REQUEUED_UNISSUED,
    SPLITS, ZERO_LENGTH, ZONE_APPEND, ZONE_APPEND_BYTES, detail,
};

use super::{
    Boundary, Fills, Histograms, Latency, Octaves, Op, Rates, Scope,
    counts::{self, Counts},
    estimate::{self, RaidEstimate},
    histogram::LatencyBins,
    origin::{self, OriginCounts, OriginFigures, OriginsBetween},
    raid::{self, RaidFigures},
    select::{self, Place},
};
use crate::{
    snapshot::{RowKey, Snapshot, Unknown},
    sysfs::{
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
    /// Of an md array: as md prints it.
    pub md_level: Option<String>,
    /// Of a partition: its disk's name.
    pub disk: Option<String>,
    /// Of a disk: the partition that most of its misaligned writes came
    /// through, if any did.
    pub misaligned_through: Option<Through>,
    /// Names of the devices it is made of.
    pub members: Vec<String>,
    pub geometry: Geometry,
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
        let written = self.written_bytes();
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

/// What a device is, before its counters.
struct About<'a> {
    id: DevId,
    name: &'a str,
    device: Option<&'a Device>,
    disk: Option<String>,
    members: Vec<String>,
    depth: usize,
}

impl<'a> About<'a> {
    fn known(device: &'a Device, place: Place, topology: &Topology) -> Self {
        let name = |id: &DevId| Some(topology.devices.get(id)?.name.clone());
        Self {
            id: device.id,
            name: &device.name,
            device: Some(device),
            disk: device.partition.and_then(|partition| name(&partition.disk)),
            members: device.members.iter().filter_map(name).collect(),
            depth: place.depth,
        }
    }

    fn unknown(key: &'a RowKey) -> Self {
        Self {
            id: key.device,
            name: &key.name,
            device: None,
            disk: None,
            members: Vec::new(),
            depth: 0,
        }
    }

    fn figures(
        self,
        counts: &Counts,
        unknown: Unknown,
        scope: &Scope<'_>,
        length: Duration,
    ) -> DeviceFigures {
        let cells = &*counts.cells;
        let detail = counts.detail.as_deref();
        let geometry = self
            .device
            .map(|device| device.geometry)
            .unwrap_or_default();
        let mut read = Op::read(cells, &geometry);
        let mut write = Op::write(cells, &geometry);
        let timed = detail.filter(|_| !unknown.latency);
        let both = timed.map(|detail| set_latencies(&mut read, &mut write, detail));
        let kind = self.device.map(|device| device.kind);
        DeviceFigures {
            id: self.id,
            name: self.name.to_owned(),
            kind,
            dm_name: self.device.and_then(|device| device.dm_name.clone()),
            md_level: self
                .device
                .and_then(|device| Some(device.md.as_ref()?.level.clone())),
            disk: self.disk,
            misaligned_through: None,
            members: self.members,
            geometry,
            starts: self
                .device
                .map(|device| device.start_checks.clone())
                .unwrap_or_default(),
            page_cache_block: self.device.and_then(Device::page_cache_block),
            notes: self
                .device
                .map(|device| device.notes.clone())
                .unwrap_or_default(),
            depth: self.depth,
            asked: scope.asked.contains(&self.id),
            active: counts.active(),
            idle_pseudo: !counts.ever_active
                && matches!(kind, Some(Kind::Loop | Kind::Ram | Kind::Zram | Kind::Nbd)),
            rates: Rates::new(&read, &write, both, length),
            read,
            write,
            write_zeroes: (!unknown.operations).then(|| Op::write_zeroes(cells, &geometry)),
            discard: Op::discard(cells, &geometry),
            secure_erase: Op::secure_erase(cells, &geometry),
            zone_append: (!unknown.operations).then(|| ZoneAppend {
                requests: cells[ZONE_APPEND],
                bytes: cells[ZONE_APPEND_BYTES],
            }),
            flush: flush(counts, unknown),
            other: other(counts, unknown),
            requeued: counts.requeued.filter(|_| !unknown.requeues),
            put_back_unissued: (!unknown.requeues).then(|| cells[REQUEUED_UNISSUED]),
            splits: cells[SPLITS],
            histograms: detail.map(|detail| Histograms::new(detail, &geometry)),
            timings: timed.map(Timings::new),
            boundary: detail.and_then(|detail| Boundary::new(detail, &geometry)),
            fills: detail.filter(|_| !unknown.callers).map(Fills::new),
            raid: None,
            raid_estimate: None,
            origin: None,
        }
    }
}

impl Timings {
    fn new(cells: &[u64; detail::CELLS]) -> Self {
        let device = LatencyBins::new(cells, detail::DEVICE_TIME).octaves();
        let kept = device
            .iter()
            .flat_map(|one| one.bins)
            .any(|count| count != 0);
        Self {
            awaited: LatencyBins::new(cells, detail::AWAIT).octaves(),
            device: kept.then_some(device),
        }
    }
}

fn flush(counts: &Counts, unknown: Unknown) -> Flush {
    let told = |cell: usize| (!unknown.flush_bios).then(|| counts.cells[cell]);
    Flush {
        requests: counts.cells[FLUSH],
        empty_bios: told(EMPTY_BIOS),
        fua_bios: told(FUA_BIOS),
        preflush_bios: told(PREFLUSH_BIOS),
    }
}

fn other(counts: &Counts, unknown: Unknown) -> Other {
    Other {
        passthrough: (!unknown.operations).then(|| counts.cells[PASSTHROUGH]),
        management: counts.cells[OTHER],
        not_told: counts.cells[NOT_TOLD],
        zero_length: counts.cells[ZERO_LENGTH],
    }
}

/// Fills in the latencies of both and returns their await together.
fn set_latencies(read: &mut Op, write: &mut Op, cells: &[u64; detail::CELLS]) -> Latency {
    let awaits = LatencyBins::new(cells, detail::AWAIT);
    read.latency_seconds = Some(awaits.read());
    write.latency_seconds = Some(awaits.write());
    // A queue that does not keep the time of issue gives none: not 0.
    let device = LatencyBins::new(cells, detail::DEVICE_TIME);
    let if_kept = |latency: Latency| (latency.count() != 0).then_some(latency);
    read.device_latency_seconds = if_kept(device.read());
    write.device_latency_seconds = if_kept(device.write());
    awaits.both()
}
