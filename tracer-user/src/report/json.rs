//! The JSON output: one object a line, its keys a contract, described by the
//! schema of [`schema`].
//!
//! Must not compute: it renames what is in an [`Interval`].

use std::io::{self, Write};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::{
    Report,
    explain::{Finding, findings},
    json_chain::{Carried, Chain},
    json_raid::Raid,
    schema::schema_of,
};
use crate::{
    delta::{
        Boundary, DeviceFigures, Fills, Flush, Histograms, Interval, Op, OriginFigures, Other,
        ProcessFigures, ProcessRead, ProcessWrite, Rates, ZoneAppend,
    },
    sysfs::{
        device::{Geometry, Kind},
        start::{Against, StartCheck},
    },
};

/// One line of `iotrace --format json`: what happened in one interval, or in
/// the whole run.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "iotrace live line")]
pub struct Line<'a> {
    /// End of the interval, RFC 3339.
    #[schemars(extend("format" = "date-time"))]
    time: String,
    interval_seconds: f64,
    /// The last line: it covers the whole run.
    summary: bool,
    /// Events that were not, or not fully, counted. null: the kernel cannot
    /// say.
    lost_events: Option<u64>,
    lost: LostParts,
    /// How it was counted.
    attach: &'a str,
    devices: Vec<Device<'a>>,
    /// Only with `--by process`; most written bytes first.
    #[serde(skip_serializing_if = "Option::is_none")]
    processes: Option<Vec<Process<'a>>>,
}

/// The parts of `lost_events`. null: the kernel cannot say.
#[derive(Debug, Serialize, JsonSchema)]
struct LostParts {
    /// Full maps, and kernel memory that could not be read.
    maps: Option<u64>,
    /// Runs of a program that the kernel skipped because it was running
    /// already on that CPU.
    recursion: Option<u64>,
}

/// One device. No device's figures are contained in another's, save that a
/// disk's hold those of its partitions.
#[derive(Debug, Serialize, JsonSchema)]
struct Device<'a> {
    /// The kernel's name.
    device: &'a str,
    major: u32,
    minor: u32,
    /// `unknown`: it was gone before anything was known of it.
    #[schemars(extend("enum" = KINDS))]
    kind: &'static str,
    /// Of a partition.
    disk: Option<&'a str>,
    dm_name: Option<&'a str>,
    /// What it is made of.
    members: &'a [String],
    /// Steps below the topmost device above it; devices come in the order of
    /// the tree.
    depth: usize,
    geometry: GeometryBytes,
    /// Where it lies on the stripes, or chunks, of an array below it. null:
    /// there is none, or it has stripes of its own.
    chain: Option<Chain<'a>>,
    /// The chunks of arrays above that lie on it.
    carries: Vec<Carried<'a>>,
    /// Of a partition: its start against each boundary of its disk.
    start: Option<Vec<Start>>,
    notes: &'a [String],
    read: &'a Op,
    write: &'a Op,
    /// null: cannot be told, see `other_requests_parts.not_told`.
    write_zeroes: Option<&'a Op>,
    discard: &'a Op,
    secure_erase: &'a Op,
    /// null: cannot be told, see `other_requests_parts.not_told`.
    zone_append: Option<ZoneAppend>,
    flush: Flush,
    /// Requests in none of the operations above.
    other_requests: u64,
    other_requests_parts: Other,
    /// Issued, put back and issued again; counted once. null: cannot be told.
    requeued: Option<u64>,
    /// Put back before they were issued. null: cannot be told.
    requests_put_back_unissued: Option<u64>,
    /// Bios that the block layer cut in two.
    splits: u64,
    /// null: not kept for this device.
    histograms: Option<&'a Histograms>,
    /// null: no boundary was given.
    boundary: Option<Boundary>,
    /// Reads that writes and page faults made necessary. null: not kept for
    /// this device, or cannot be told.
    fills: Option<Fills>,
    /// null: not an md array, or neither measured nor estimated.
    raid: Option<Raid<'a>>,
    /// null: no component of an array, or not measured.
    origin: Option<OriginFigures>,
    rates: Rates,
    /// What the figures mean, the weightiest first; never empty.
    findings: Vec<Finding>,
}

/// What requests are classified by. null: there is none, or it is not known.
#[derive(Debug, Serialize, JsonSchema)]
struct GeometryBytes {
    logical_block_bytes: Option<u64>,
    physical_block_bytes: Option<u64>,
    /// Position of the first aligned byte.
    alignment_offset_bytes: Option<u64>,
    chunk_bytes: Option<u64>,
    data_disks: Option<u32>,
    /// chunk x data disks.
    stripe_bytes: Option<u64>,
    /// First position that lies on a stripe, or a chunk, of the array below; of
    /// a partition else on its disk's physical block.
    phase_bytes: Option<u64>,
    /// Given by the user.
    boundary_bytes: Option<u64>,
}

/// A partition's start against one boundary of its disk.
#[derive(Debug, Serialize, JsonSchema)]
struct Start {
    /// Which boundary: `assumed_physical_block` is 4096 bytes, where the drive
    /// reports 512 and may not mean it.
    #[schemars(extend("enum" = AGAINST))]
    against: &'static str,
    boundary_bytes: u64,
    start_sector: u64,
    /// Bytes that the start lies past a boundary: 0 is aligned.
    remainder_bytes: u64,
    /// The first aligned sector at or after the start. null: no sector is.
    next_aligned_sector: Option<u64>,
    /// The first that is whole MiB away from an aligned position as well.
    next_mib_aligned_sector: Option<u64>,
}

const AGAINST: [&str; 5] = [
    "physical_block",
    "assumed_physical_block",
    "chunk",
    "stripe",
    "boundary",
];

/// The bios that one process queued to one device.
#[derive(Debug, Serialize, JsonSchema)]
struct Process<'a> {
    device: &'a str,
    command: &'a str,
    /// Of the process, not of its thread. null: several of that command that
    /// have ended and are not told apart any more.
    pid: Option<u32>,
    /// kernfs id (inode number) of the cgroup that is charged. null: not
    /// known.
    cgroup: Option<u64>,
    /// Below the cgroup hierarchy, as in /system.slice/cron.service. For
    /// write-back that is who wrote. null: not known, or gone by then.
    cgroup_path: Option<&'a str>,
    read: ProcessRead,
    write: ProcessWrite,
    /// Bios that neither read nor write.
    other_requests: u64,
}

const KINDS: [&str; 15] = [
    "disk",
    "partition",
    "md",
    "dm",
    "loop",
    "nvme",
    "virtio",
    "zram",
    "ram",
    "nbd",
    "pmem",
    "null_blk",
    "bcache",
    "other",
    "unknown",
];

const fn kind_name(kind: Option<Kind>) -> &'static str {
    match kind {
        Some(kind) => kind.word(),
        None => "unknown",
    }
}

impl<'a> Line<'a> {
    /// The line for `interval`; `attach` says how it was counted.
    #[must_use]
    pub fn new(interval: &'a Interval, attach: &'a str) -> Self {
        Self {
            time: format!("{:.3}", interval.time),
            interval_seconds: interval.length.as_secs_f64(),
            summary: interval.summary,
            lost_events: interval.lost.total(),
            lost: LostParts {
                maps: interval.lost.by_maps,
                recursion: interval.lost.by_recursion,
            },
            attach,
            devices: interval.devices.iter().map(Device::from).collect(),
            processes: interval
                .processes
                .as_ref()
                .map(|processes| processes.iter().map(Process::from).collect()),
        }
    }
}

impl<'a> From<&'a DeviceFigures> for Device<'a> {
    fn from(figures: &'a DeviceFigures) -> Self {
        Self {
            device: &figures.name,
            major: figures.id.major,
            minor: figures.id.minor,
            kind: kind_name(figures.kind),
            disk: figures.disk.as_deref(),
            dm_name: figures.dm_name.as_deref(),
            members: &figures.members,
            depth: figures.depth,
            geometry: GeometryBytes::from(figures.geometry),
            chain: figures.chain.as_ref().map(Chain::from),
            carries: figures.carries.iter().map(Carried::from).collect(),
            start: (figures.kind == Some(Kind::Partition))
                .then(|| figures.starts.iter().map(Start::from).collect()),
            notes: &figures.notes,
            read: &figures.read,
            write: &figures.write,
            write_zeroes: figures.write_zeroes.as_ref(),
            discard: &figures.discard,
            secure_erase: &figures.secure_erase,
            zone_append: figures.zone_append,
            flush: figures.flush,
            other_requests: figures.other.requests(),
            other_requests_parts: figures.other,
            requeued: figures.requeued,
            requests_put_back_unissued: figures.put_back_unissued,
            splits: figures.splits,
            histograms: figures.histograms.as_ref(),
            boundary: figures.boundary,
            fills: figures.fills,
            raid: Raid::new(figures),
            origin: figures.origin,
            rates: figures.rates,
            findings: findings(figures),
        }
    }
}

impl From<Geometry> for GeometryBytes {
    fn from(geometry: Geometry) -> Self {
        Self {
            logical_block_bytes: geometry.logical_block.map(|bytes| bytes.0),
            physical_block_bytes: geometry.physical_block.map(|bytes| bytes.0),
            alignment_offset_bytes: geometry.alignment_offset.map(|bytes| bytes.0),
            chunk_bytes: geometry.chunk.map(|bytes| bytes.0),
            data_disks: geometry.data_disks,
            stripe_bytes: geometry.stripe.map(|bytes| bytes.0),
            phase_bytes: geometry.phase.map(|bytes| bytes.0),
            boundary_bytes: geometry.boundary.map(|bytes| bytes.0),
        }
    }
}

impl From<&StartCheck> for Start {
    fn from(check: &StartCheck) -> Self {
        Self {
            against: match check.against {
                Against::PhysicalBlock => "physical_block",
                Against::AssumedPhysicalBlock => "assumed_physical_block",
                Against::Chunk => "chunk",
                Against::Stripe => "stripe",
                Against::Boundary => "boundary",
            },
            boundary_bytes: check.boundary_bytes.0,
            start_sector: check.start_sector.0,
            remainder_bytes: check.remainder_bytes.0,
            next_aligned_sector: check.next_aligned_sector.map(|sector| sector.0),
            next_mib_aligned_sector: check.next_mib_aligned_sector.map(|sector| sector.0),
        }
    }
}

impl<'a> From<&'a ProcessFigures> for Process<'a> {
    fn from(figures: &'a ProcessFigures) -> Self {
        Self {
            device: &figures.device,
            command: &figures.command,
            pid: figures.pid,
            cgroup: figures.cgroup,
            cgroup_path: figures.cgroup_path.as_deref(),
            read: figures.read,
            write: figures.write,
            other_requests: figures.other_requests,
        }
    }
}

/// The JSON Schema (2020-12) of a [`Line`].
#[must_use]
pub fn schema() -> Value {
    schema_of::<Line<'_>>()
}

/// Writes a line an interval, each at once.
#[derive(Debug)]
pub struct JsonReport<W> {
    out: W,
    attach: String,
}

impl<W: Write> JsonReport<W> {
    /// `attach` says how it is counted.
    #[must_use]
    pub fn new(out: W, attach: String) -> Self {
        Self { out, attach }
    }

    fn line(&mut self, interval: &Interval) -> io::Result<()> {
        let mut line = serde_json::to_vec(&Line::new(interval, &self.attach))?;
        line.push(b'\n');
        self.out.write_all(&line)?;
        self.out.flush()
    }
}

impl<W: Write> Report for JsonReport<W> {
    fn interval(&mut self, interval: &Interval) -> io::Result<()> {
        self.line(interval)
    }

    fn summary(&mut self, summary: &Interval) -> io::Result<()> {
        self.line(summary)
    }
}

#[cfg(test)]
#[path = "json_tests.rs"]
mod tests;
