//! The figures of one operation, as sums of its leaf cells.
//!
//! The names of the fields are those of the JSON output: they are a contract.
//! Must not know devices or time.

use schemars::JsonSchema;
use serde::Serialize;
use tracer_ebpf::{
    cells::{
        CELLS, DISCARD, READ_BYTES, READ_PARTIAL_BLOCKS, SECURE_ERASE, TAIL_CELLS, TAIL_FULL_BYTES,
        TAIL_PARTIAL_BLOCKS, TAIL_PARTIAL_BYTES, TAIL_PLAIN_BYTES, WRITE, WRITE_TAIL, WRITE_ZEROES,
        joint_cell, read_cell,
    },
    classify,
};

use super::Latency;
use crate::sysfs::device::Geometry;

/// Joint cells of a rare operation; its tail follows them.
const JOINT_CELLS: usize = DISCARD - WRITE_ZEROES - TAIL_CELLS;

const PHYSICAL: [classify::Physical; 4] = [
    classify::Physical::Unknown,
    classify::Physical::Aligned,
    classify::Physical::OffGrid,
    classify::Physical::SubBlock,
];
const CHUNK: [classify::Chunk; 4] = [
    classify::Chunk::None,
    classify::Chunk::Aligned,
    classify::Chunk::Inside,
    classify::Chunk::Crossing,
];
const STRIPE: [classify::Stripe; 4] = [
    classify::Stripe::None,
    classify::Stripe::Full,
    classify::Stripe::Mixed,
    classify::Stripe::Partial,
];

/// One operation on one device in one interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Op {
    /// Requests issued; bios queued on a bio-based device (md, dm, ...).
    pub requests: u64,
    pub bytes: u64,
    pub physical: Physical,
    /// null: the device has no chunk.
    pub chunk: Option<Chunk>,
    /// null: the device has no stripe; always null on reads.
    pub stripe: Option<Stripe>,
    /// From the making of the request to its completion (await). null: not
    /// measured.
    pub latency_seconds: Option<Latency>,
    /// From the issue to the device to its completion. null: not measured.
    pub device_latency_seconds: Option<Latency>,
}

/// Requests by their place against the physical block. aligned + misaligned +
/// unknown = requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Physical {
    /// Cover only whole physical blocks.
    pub aligned: u64,
    /// off_grid + sub_block.
    pub misaligned: u64,
    /// At least a block long, with a ragged start or end: a start is wrong.
    pub off_grid: u64,
    /// Shorter than a block, however well placed.
    pub sub_block: u64,
    /// The physical block was not known.
    pub unknown: u64,
    /// Physical blocks only partly covered.
    pub partial_blocks: u64,
}

/// Requests by their place against the chunk; the parts add up to requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Chunk {
    /// Start and end on chunk boundaries.
    pub aligned: u64,
    /// Touch one chunk.
    pub inside: u64,
    /// Touch more than one chunk, ragged at an end.
    pub crossing: u64,
    /// The chunk was not known when they came.
    pub unknown: u64,
}

/// Requests by their place against the stripe; the parts add up to requests
/// and to bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Stripe {
    /// Cover only whole stripes.
    pub full: u64,
    /// Cover whole stripes and a ragged end.
    pub mixed: u64,
    /// Cover no whole stripe.
    pub partial: u64,
    /// The stripe was not known when they came.
    pub unknown: u64,
    /// Bytes in wholly covered stripes.
    pub full_bytes: u64,
    /// Bytes in stripes only partly covered.
    pub partial_bytes: u64,
    /// Bytes of the requests counted as unknown.
    pub unknown_bytes: u64,
}

impl Op {
    pub(super) fn read(cells: &[u64; CELLS], geometry: &Geometry) -> Self {
        let mut op = Self {
            bytes: cells[READ_BYTES],
            ..Self::default()
        };
        let mut chunk = Chunk::default();
        for physical in PHYSICAL {
            for part in CHUNK {
                let requests = cells[read_cell(physical, part)];
                op.requests += requests;
                op.physical.add(physical, requests);
                chunk.add(part, requests);
            }
        }
        op.physical.partial_blocks = cells[READ_PARTIAL_BLOCKS];
        op.chunk = chunk.if_any(geometry);
        op
    }

    pub(super) fn write(cells: &[u64; CELLS], geometry: &Geometry) -> Self {
        Self::joint(cells, WRITE, WRITE_TAIL, geometry)
    }

    pub(super) fn write_zeroes(cells: &[u64; CELLS], geometry: &Geometry) -> Self {
        Self::joint(cells, WRITE_ZEROES, WRITE_ZEROES + JOINT_CELLS, geometry)
    }

    pub(super) fn discard(cells: &[u64; CELLS], geometry: &Geometry) -> Self {
        Self::joint(cells, DISCARD, DISCARD + JOINT_CELLS, geometry)
    }

    pub(super) fn secure_erase(cells: &[u64; CELLS], geometry: &Geometry) -> Self {
        Self::joint(cells, SECURE_ERASE, SECURE_ERASE + JOINT_CELLS, geometry)
    }

    fn joint(cells: &[u64; CELLS], base: usize, tail: usize, geometry: &Geometry) -> Self {
        let mut op = Self::default();
        let mut chunk = Chunk::default();
        let mut stripe = Stripe {
            full_bytes: cells[tail + TAIL_FULL_BYTES],
            partial_bytes: cells[tail + TAIL_PARTIAL_BYTES],
            unknown_bytes: cells[tail + TAIL_PLAIN_BYTES],
            ..Stripe::default()
        };
        for physical in PHYSICAL {
            for chunk_part in CHUNK {
                for stripe_part in STRIPE {
                    let requests = cells[joint_cell(base, physical, chunk_part, stripe_part)];
                    op.requests += requests;
                    op.physical.add(physical, requests);
                    chunk.add(chunk_part, requests);
                    stripe.add(stripe_part, requests);
                }
            }
        }
        op.bytes = stripe.full_bytes + stripe.partial_bytes + stripe.unknown_bytes;
        op.physical.partial_blocks = cells[tail + TAIL_PARTIAL_BLOCKS];
        op.chunk = chunk.if_any(geometry);
        op.stripe = stripe.if_any(geometry);
        op
    }
}

impl Physical {
    fn add(&mut self, part: classify::Physical, requests: u64) {
        match part {
            classify::Physical::Unknown => self.unknown += requests,
            classify::Physical::Aligned => self.aligned += requests,
            classify::Physical::OffGrid => self.off_grid += requests,
            classify::Physical::SubBlock => self.sub_block += requests,
        }
        self.misaligned = self.off_grid + self.sub_block;
    }
}

impl Chunk {
    fn add(&mut self, part: classify::Chunk, requests: u64) {
        match part {
            classify::Chunk::None => self.unknown += requests,
            classify::Chunk::Aligned => self.aligned += requests,
            classify::Chunk::Inside => self.inside += requests,
            classify::Chunk::Crossing => self.crossing += requests,
        }
    }

    fn if_any(self, geometry: &Geometry) -> Option<Self> {
        let classified = self.aligned + self.inside + self.crossing;
        (geometry.chunk.is_some() || classified != 0).then_some(self)
    }
}

impl Stripe {
    fn add(&mut self, part: classify::Stripe, requests: u64) {
        match part {
            classify::Stripe::None => self.unknown += requests,
            classify::Stripe::Full => self.full += requests,
            classify::Stripe::Mixed => self.mixed += requests,
            classify::Stripe::Partial => self.partial += requests,
        }
    }

    fn if_any(self, geometry: &Geometry) -> Option<Self> {
        let classified = self.full + self.mixed + self.partial;
        (geometry.stripe.is_some() || classified != 0).then_some(self)
    }
}
