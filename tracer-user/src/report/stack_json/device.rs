//! The keys of one device.
//!
//! Must not compute.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Against,
    contents::{Inside, OnDevice},
    md::Md,
    name,
};
use crate::{
    dm::Segment,
    stack::{
        Stack, hints,
        mounted::MountedAs,
        tree::{Tree, lies_on},
    },
    superblock::{Content, PartitionKind, TableKind},
    sysfs::{
        Topology,
        device::{self, AlignmentOffset},
        mounts::Mount,
        swaps::SwapArea,
    },
    units::{Bytes, Sectors},
};

/// A device. null: there is none, or it is not known.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Device<'a> {
    device: &'a str,
    major: u32,
    minor: u32,
    dm_name: Option<&'a str>,
    kind: &'static str,
    model: Option<&'a str>,
    size_bytes: Option<u64>,
    rotational: Option<bool>,
    logical_block_bytes: Option<u64>,
    physical_block_bytes: Option<u64>,
    /// As sysfs has it. null, and `alignment_inconsistent`: −1.
    alignment_offset_bytes: Option<u64>,
    alignment_inconsistent: bool,
    io_min_bytes: Option<u64>,
    /// At least the physical block, and whole ones of it.
    io_min_plausible: Option<bool>,
    io_opt_bytes: Option<u64>,
    /// What `io_opt_bytes` is worth. `not_the_stripe`: an array's that is not
    /// its stripe; `odd`: no multiple of 4096, so no stripe of anything.
    #[schemars(extend("enum" = ["none", "physical_block", "io_min", "stripe", "not_the_stripe", "odd", "plausible"]))]
    io_opt_is: &'static str,
    max_io_bytes: Option<u64>,
    discard_granularity_bytes: Option<u64>,
    read_ahead_bytes: Option<u64>,
    /// NVMe's preferred write granularity (NPWG), where it tells one: the
    /// kernel shows it as `io_min_bytes`.
    preferred_write_bytes: Option<u64>,
    /// Its own chunk and stripe: of an array, a striped volume, or as told by
    /// `--geometry`.
    chunk_bytes: Option<u64>,
    data_disks: Option<u32>,
    stripe_bytes: Option<u64>,
    partition: Option<Partition<'a>>,
    md: Option<Md<'a>>,
    /// A mapped device's, in their order. null: none, or its table cannot be
    /// read.
    targets: Option<Vec<Target<'a>>>,
    suspended: Option<bool>,
    /// Of a loop device.
    backing_file: Option<&'a str>,
    /// The devices directly below, an array's members in their slots' order.
    lies_on: Vec<&'a str>,
    /// Where its first byte lies against the boundaries of every layer below,
    /// the nearest first.
    against: Vec<Against<'a>>,
    /// What superblocks say lies on it. null: it was not looked into.
    contents: Option<Vec<OnDevice<'a>>>,
    /// Why it could not be looked into.
    contents_not_read: Option<String>,
    /// Superblocks with numbers that cannot be.
    faults: Vec<String>,
    /// What else is to be said of its superblocks.
    remarks: Vec<String>,
    mounts: Vec<Mounted<'a>>,
    swap: Option<SwapInUse>,
    /// What a person should know about its geometry.
    notes: Vec<&'a str>,
    /// Attributes that could not be read: path and reason.
    unreadable: &'a [String],
}

/// A partition's place.
#[derive(Debug, Serialize, JsonSchema)]
struct Partition<'a> {
    disk: &'a str,
    number: u32,
    start_sectors: u64,
    /// null: the disk was not looked into.
    #[schemars(extend("enum" = ["mbr", "gpt", null]))]
    table: Option<&'static str>,
    /// Two hexadecimal digits of an MBR, the uuid of a GPT.
    #[serde(rename = "type")]
    kind: Option<String>,
}

/// A segment of a mapped device.
#[derive(Debug, Serialize, JsonSchema)]
struct Target<'a> {
    target: &'a str,
    /// On the mapped device.
    start_sectors: u64,
    length_sectors: u64,
    /// `striped` and `raid`: the chunk; pools and caches: the block.
    chunk_bytes: Option<u64>,
    /// `crypt`: what is encrypted at once.
    sector_bytes: Option<u64>,
    lies_on: Vec<TargetPlace<'a>>,
}

/// Where a target lies.
#[derive(Debug, Serialize, JsonSchema)]
struct TargetPlace<'a> {
    device: &'a str,
    start_sectors: u64,
}

/// A mount, with the geometry it goes by now.
#[derive(Debug, Serialize, JsonSchema)]
struct Mounted<'a> {
    point: String,
    fs_type: &'a str,
    options: &'a str,
    /// XFS: `sunit=` and `swidth=`.
    stripe_unit_bytes: Option<u64>,
    stripe_width_bytes: Option<u64>,
    /// ext4: `stripe=`, in its blocks.
    stripe_blocks: Option<u64>,
}

/// It is in use for swapping.
#[derive(Debug, Serialize, JsonSchema)]
struct SwapInUse {
    size_bytes: u64,
    priority: i32,
}

pub(super) const fn bytes(value: Option<Bytes>) -> Option<u64> {
    match value {
        Some(Bytes(bytes)) => Some(bytes),
        None => None,
    }
}

impl<'a> Device<'a> {
    pub(super) fn new(
        stack: &'a Stack,
        tree: &'a Tree,
        device: &'a device::Device,
        inside: Option<&'a Inside<'a>>,
    ) -> Self {
        let topology = &stack.topology;
        let limits = &device.limits;
        let geometry = &device.geometry;
        // A partition's chunk is its disk's, which is below.
        let own = |value: Option<Bytes>| bytes(value.filter(|_| device.partition.is_none()));
        let read = stack.contents.get(&device.id);
        let seen = read.and_then(|read| read.as_ref().ok());
        let places = tree.places.get(&device.id);
        Self {
            device: &device.name,
            major: device.id.major,
            minor: device.id.minor,
            dm_name: device.dm_name.as_deref(),
            kind: device.kind.word(),
            model: device.model.as_deref(),
            size_bytes: device.size.map(|size| size.bytes().0),
            rotational: limits.rotational,
            logical_block_bytes: bytes(limits.logical_block),
            physical_block_bytes: bytes(limits.physical_block),
            alignment_offset_bytes: match limits.alignment_offset {
                Some(AlignmentOffset::Bytes(offset)) => Some(offset.0),
                _ => None,
            },
            alignment_inconsistent: limits.alignment_offset == Some(AlignmentOffset::Inconsistent),
            io_min_bytes: bytes(limits.io_min),
            io_min_plausible: hints::io_min_is_plausible(device),
            io_opt_bytes: bytes(limits.io_opt),
            io_opt_is: hints::IoOpt::of(device).word(),
            max_io_bytes: bytes(limits.max_io),
            discard_granularity_bytes: bytes(limits.discard_granularity),
            read_ahead_bytes: bytes(limits.read_ahead),
            preferred_write_bytes: bytes(hints::preferred_write(device)),
            chunk_bytes: own(geometry.chunk),
            data_disks: geometry.data_disks.filter(|_| device.partition.is_none()),
            stripe_bytes: own(geometry.stripe),
            partition: device.partition.map(|part| Partition::new(stack, part)),
            md: device.md.as_ref().map(|md| Md::new(topology, md)),
            targets: device
                .dm_table
                .as_ref()
                .map(|table| table.iter().map(|one| Target::new(topology, one)).collect()),
            suspended: device.dm_suspended,
            backing_file: device.loop_file.as_deref(),
            lies_on: lies_on(topology, device)
                .into_iter()
                .map(|id| name(topology, id))
                .collect(),
            against: places
                .iter()
                .flat_map(|places| &places.below)
                .map(|against| Against::new(topology, against))
                .collect(),
            contents: inside.map(|inside| OnDevice::all(topology, inside)),
            contents_not_read: read
                .and_then(|read| read.as_ref().err())
                .map(ToString::to_string),
            faults: seen
                .iter()
                .flat_map(|seen| &seen.faults)
                .map(ToString::to_string)
                .collect(),
            remarks: seen
                .iter()
                .flat_map(|seen| &seen.remarks)
                .map(ToString::to_string)
                .collect(),
            mounts: stack
                .mounts_of(device.id)
                .into_iter()
                .map(Mounted::from)
                .collect(),
            swap: stack.swap_on(device.id).map(SwapInUse::from),
            notes: device.notes.iter().map(|note| note.text.as_str()).collect(),
            unreadable: &device.unreadable,
        }
    }
}

impl<'a> Partition<'a> {
    fn new(stack: &'a Stack, partition: device::Partition) -> Self {
        let found = stack
            .contents_of(partition.disk)
            .map(|contents| &contents.found);
        let table = found
            .into_iter()
            .flatten()
            .find_map(|content| match content {
                Content::Partitions(table) => Some(table),
                _ => None,
            });
        let entry = table.and_then(|table| {
            let mut entries = table.partitions.iter();
            entries.find(|entry| entry.number == partition.number)
        });
        Self {
            disk: name(&stack.topology, partition.disk),
            number: partition.number,
            start_sectors: partition.start.0,
            table: table.map(|table| match table.kind {
                TableKind::Mbr { .. } => "mbr",
                TableKind::Gpt { .. } => "gpt",
            }),
            kind: entry.map(|entry| match entry.kind {
                PartitionKind::Mbr(kind) => format!("{kind:02x}"),
                PartitionKind::Gpt(kind) => kind.to_string(),
            }),
        }
    }
}

impl<'a> Target<'a> {
    fn new(topology: &'a Topology, segment: &'a Segment) -> Self {
        let target = &segment.target;
        Self {
            target: target.name(),
            start_sectors: segment.start.0,
            length_sectors: segment.len.0,
            chunk_bytes: target.piece().map(|piece| Sectors::bytes(piece).0),
            sector_bytes: bytes(target.encrypted_sector()),
            lies_on: target
                .places()
                .into_iter()
                .map(|place| TargetPlace {
                    device: name(topology, place.device),
                    start_sectors: place.start.0,
                })
                .collect(),
        }
    }
}

impl<'a> From<&'a Mount> for Mounted<'a> {
    fn from(mount: &'a Mount) -> Self {
        let geometry = MountedAs::of(mount);
        Self {
            point: mount.point.display().to_string(),
            fs_type: &mount.fs_type,
            options: &mount.options,
            stripe_unit_bytes: bytes(geometry.stripe_unit),
            stripe_width_bytes: bytes(geometry.stripe_width),
            stripe_blocks: geometry.stripe_blocks,
        }
    }
}

impl From<&SwapArea> for SwapInUse {
    fn from(area: &SwapArea) -> Self {
        Self {
            size_bytes: area.size.0,
            priority: area.priority,
        }
    }
}
