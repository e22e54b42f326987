//! One device's figures, from what is known about it and its counters.
//!
//! Must not look at other devices, or at what is inside an array.

use std::time::Duration;

use tracer_ebpf::cells::{
    EMPTY_BIOS, FLUSH, FUA_BIOS, NOT_TOLD, OTHER, PASSTHROUGH, PREFLUSH_BIOS, REQUEUED_UNISSUED,
    SPLITS, ZERO_LENGTH, ZONE_APPEND, ZONE_APPEND_BYTES, detail,
};

use super::{
    Boundary, DeviceFigures, Fills, Flush, Histograms, Latency, Op, Other, Rates, Scope, Timings,
    ZoneAppend, counts::Counts, histogram::LatencyBins, select::Place,
};
use crate::{
    dm::Target,
    snapshot::{RowKey, Unknown},
    sysfs::device::{Device, Kind, Topology},
    units::DevId,
};

/// What a device is, before its counters.
pub(super) struct About<'a> {
    id: DevId,
    name: &'a str,
    device: Option<&'a Device>,
    disk: Option<String>,
    members: Vec<String>,
    depth: usize,
}

impl<'a> About<'a> {
    pub(super) fn known(device: &'a Device, place: Place, topology: &Topology) -> Self {
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

    pub(super) fn unknown(key: &'a RowKey) -> Self {
        Self {
            id: key.device,
            name: &key.name,
            device: None,
            disk: None,
            members: Vec::new(),
            depth: 0,
        }
    }

    pub(super) fn figures(
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
            md_level: self.device.and_then(level),
            disk: self.disk,
            misaligned_through: None,
            members: self.members,
            geometry,
            chain: self.device.and_then(|device| device.chain.clone()),
            carries: self
                .device
                .map(|device| device.carries.clone())
                .unwrap_or_default(),
            starts: self
                .device
                .map(|device| device.start_checks.clone())
                .unwrap_or_default(),
            page_cache_block: self.device.and_then(Device::page_cache_block),
            notes: self
                .device
                .map(|device| device.notes.iter().map(|note| note.text.clone()).collect())
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

fn level(device: &Device) -> Option<String> {
    if let Some(md) = &device.md {
        return Some(md.level.clone());
    }
    match device.dm_table.as_deref()? {
        [only] => match &only.target {
            Target::Striped { .. } => Some(only.target.name().to_owned()),
            _ => None,
        },
        _ => None,
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
