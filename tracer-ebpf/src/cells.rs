//! The counters of a device: disjoint leaf cells only, so that every total is
//! a sum made from one reading and parts always add up.
//!
//! A request falls into exactly one *joint* cell, physical × chunk × stripe.
//! Cells below [`HOT_CELLS`] are kept per CPU; the rest are rare and shared.
//! Must not know maps or atomics: it names cells and amounts.

use crate::{
    classify::{Chunk, Class, Physical, Stripe},
    op::Op,
};

/// Joint cells of reads: physical × chunk.
pub const READ: usize = 0;
const READ_JOINT: usize = 16;
/// Joint cells of writes: physical × chunk × stripe.
pub const WRITE: usize = READ + READ_JOINT;
const JOINT: usize = 64;
pub const READ_BYTES: usize = WRITE + JOINT;
pub const READ_PARTIAL_BLOCKS: usize = READ_BYTES + 1;
/// First of [`TAIL_CELLS`] cells that follow a write's joint cells.
pub const WRITE_TAIL: usize = READ_PARTIAL_BLOCKS + 1;

/// Cells that go with the joint cells of an operation that can have stripes.
pub const TAIL_CELLS: usize = 4;
/// Bytes in wholly covered stripes.
pub const TAIL_FULL_BYTES: usize = 0;
/// Bytes in stripes only partly covered.
pub const TAIL_PARTIAL_BYTES: usize = 1;
/// Bytes on a device without stripes.
pub const TAIL_PLAIN_BYTES: usize = 2;
/// Physical blocks only partly covered.
pub const TAIL_PARTIAL_BLOCKS: usize = 3;

/// Zone appends have no place until they complete: counted, not classified.
pub const ZONE_APPEND: usize = WRITE_TAIL + TAIL_CELLS;
pub const ZONE_APPEND_BYTES: usize = ZONE_APPEND + 1;
/// Flush requests issued to the drive.
pub const FLUSH: usize = ZONE_APPEND_BYTES + 1;
/// Bios of no bytes that entered the flush machine, or reached a bio device.
pub const EMPTY_BIOS: usize = FLUSH + 1;
/// Bios with data that carried FUA. The flush machine clears the flag before
/// the request is issued, so only bios can tell.
pub const FUA_BIOS: usize = EMPTY_BIOS + 1;
/// Bios with data that carried PREFLUSH.
pub const PREFLUSH_BIOS: usize = FUA_BIOS + 1;
pub const PASSTHROUGH: usize = PREFLUSH_BIOS + 1;
pub const OTHER: usize = PASSTHROUGH + 1;
/// Operations that a classic tracepoint prints as `N`.
pub const NOT_TOLD: usize = OTHER + 1;
/// Reads, writes and the like of no bytes: in no alignment class.
pub const ZERO_LENGTH: usize = NOT_TOLD + 1;
/// Bios cut in two by the block layer on this device.
pub const SPLITS: usize = ZERO_LENGTH + 1;
/// Requests put back before the driver had taken them: never issued.
pub const REQUEUED_UNISSUED: usize = SPLITS + 1;
/// Cells kept per CPU.
pub const HOT_CELLS: usize = REQUEUED_UNISSUED + 1;

/// Joint cells and tail of the rarer operations.
pub const WRITE_ZEROES: usize = HOT_CELLS;
pub const DISCARD: usize = WRITE_ZEROES + JOINT + TAIL_CELLS;
pub const SECURE_ERASE: usize = DISCARD + JOINT + TAIL_CELLS;
/// All cells of a device.
pub const CELLS: usize = SECURE_ERASE + JOINT + TAIL_CELLS;
/// Cells kept once for all CPUs.
pub const SHARED_CELLS: usize = CELLS - HOT_CELLS;

/// Index of a read's joint cell.
#[inline(always)]
#[must_use]
pub const fn read_cell(physical: Physical, chunk: Chunk) -> usize {
    READ + physical.index() * 4 + chunk.index()
}

/// Index of a joint cell of an operation whose joint cells begin at `base`.
#[inline(always)]
#[must_use]
pub const fn joint_cell(base: usize, physical: Physical, chunk: Chunk, stripe: Stripe) -> usize {
    base + physical.index() * 16 + chunk.index() * 4 + stripe.index()
}

/// Names each cell that one request of `len_bytes` changes, with its amount.
#[inline(always)]
pub fn each_cell(op: Op, len_bytes: u64, class: &Class, add: impl FnMut(usize, u64)) {
    each_cell_hidden(op, len_bytes, class, |cell| cell, add);
}

/// [`each_cell`] where the one cell that is computed, the joint one, goes through
/// `hide`, which gives it back.
#[inline(always)]
pub fn each_cell_hidden(
    op: Op,
    len_bytes: u64,
    class: &Class,
    hide: impl Fn(usize) -> usize,
    mut add: impl FnMut(usize, u64),
) {
    match op {
        Op::Read => {
            add(hide(read_cell(class.physical, class.chunk)), 1);
            add(READ_BYTES, len_bytes);
            if class.partial_blocks != 0 {
                add(READ_PARTIAL_BLOCKS, class.partial_blocks);
            }
        }
        Op::Write => joint(WRITE, WRITE_TAIL, len_bytes, class, hide, add),
        Op::WriteZeroes => rare(WRITE_ZEROES, len_bytes, class, hide, add),
        Op::Discard => rare(DISCARD, len_bytes, class, hide, add),
        Op::SecureErase => rare(SECURE_ERASE, len_bytes, class, hide, add),
        Op::ZoneAppend => {
            add(ZONE_APPEND, 1);
            add(ZONE_APPEND_BYTES, len_bytes);
        }
        Op::Flush => add(FLUSH, 1),
        Op::Passthrough => add(PASSTHROUGH, 1),
        Op::Other => add(OTHER, 1),
        Op::NotTold => add(NOT_TOLD, 1),
    }
}

/// Whether requests of this operation have a place and a length to classify.
#[inline(always)]
#[must_use]
pub const fn has_place(op: Op) -> bool {
    matches!(
        op,
        Op::Read | Op::Write | Op::WriteZeroes | Op::Discard | Op::SecureErase
    )
}

#[inline(always)]
fn rare(
    base: usize,
    len_bytes: u64,
    class: &Class,
    hide: impl Fn(usize) -> usize,
    add: impl FnMut(usize, u64),
) {
    joint(base, base + JOINT, len_bytes, class, hide, add);
}

#[inline(always)]
fn joint(
    base: usize,
    tail: usize,
    len_bytes: u64,
    class: &Class,
    hide: impl Fn(usize) -> usize,
    mut add: impl FnMut(usize, u64),
) {
    add(
        hide(joint_cell(base, class.physical, class.chunk, class.stripe)),
        1,
    );
    if let Stripe::None = class.stripe {
        add(tail + TAIL_PLAIN_BYTES, len_bytes);
    } else {
        if class.full_stripe_bytes != 0 {
            add(tail + TAIL_FULL_BYTES, class.full_stripe_bytes);
        }
        let partial = len_bytes.wrapping_sub(class.full_stripe_bytes);
        if partial != 0 {
            add(tail + TAIL_PARTIAL_BYTES, partial);
        }
    }
    if class.partial_blocks != 0 {
        add(tail + TAIL_PARTIAL_BLOCKS, class.partial_blocks);
    }
}

/// Cells of the histograms of one device, kept per CPU for the devices asked
/// for. Every pair is reads, then writes.
pub mod detail {
    use crate::{
        bins::{self, LATENCY_BINS, POWER_BINS, REMAINDER_BINS, STRIPE_BINS},
        classify::{Geometry, on_boundary},
    };

    /// (s − A) mod P.
    pub const REMAINDER: usize = 0;
    /// Largest power of two that divides start and length.
    pub const GRAIN: usize = REMAINDER + 2 * REMAINDER_BINS;
    /// Length.
    pub const SIZE: usize = GRAIN + 2 * POWER_BINS;
    /// |start − previous end| on the device, reads and writes together.
    pub const SEEK: usize = SIZE + 2 * POWER_BINS;
    /// On the user's own boundary: reads off, reads on, writes off, writes on.
    pub const BOUNDARY: usize = SEEK + POWER_BINS;
    /// Await (queue and device): reads aligned, reads misaligned, writes
    /// aligned, writes misaligned.
    pub const AWAIT: usize = BOUNDARY + 4;
    /// Device time, in the same order.
    pub const DEVICE_TIME: usize = AWAIT + 4 * LATENCY_BINS;
    /// Chunk of its stripe that a write starts in.
    pub const STRIPE_START: usize = DEVICE_TIME + 4 * LATENCY_BINS;
    /// Reads out of a write call: bios, then bytes.
    pub const WRITE_FILL: usize = STRIPE_START + STRIPE_BINS;
    /// Reads out of a page fault: bios, then bytes.
    pub const FAULT: usize = WRITE_FILL + 2;
    /// All cells.
    pub const CELLS: usize = FAULT + 2;

    /// Names each bin that the place and length of one request fall into.
    /// `direction` is 0 for reads and 1 for writes; `len` > 0.
    #[inline(always)]
    pub fn each_bin(
        direction: usize,
        start: u64,
        len: u64,
        geometry: &Geometry,
        mut add: impl FnMut(usize),
    ) {
        add(REMAINDER + direction * REMAINDER_BINS + bins::remainder_bin(start, geometry));
        add(GRAIN + direction * POWER_BINS + bins::grain_bin(start, len));
        add(SIZE + direction * POWER_BINS + bins::power_bin(len));
        if let Some(on) = on_boundary(start, len, geometry) {
            add(BOUNDARY + direction * 2 + usize::from(on));
        }
        if direction == 1
            && let Some(bin) = bins::stripe_bin(start, geometry)
        {
            add(STRIPE_START + bin);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::{Geometry, classify};
    use std::vec;

    /// Every operation, in every class: the joint cells are disjoint and the
    /// byte cells add up.
    #[test]
    fn each_request_is_in_one_joint_cell() {
        let g = Geometry {
            physical_bytes: 4096,
            chunk_bytes: 8192,
            stripe_bytes: 24576,
            ..Geometry::default()
        };
        for (op, tail) in [
            (Op::Write, WRITE_TAIL),
            (Op::WriteZeroes, WRITE_ZEROES + JOINT),
            (Op::Discard, DISCARD + JOINT),
            (Op::SecureErase, SECURE_ERASE + JOINT),
        ] {
            let mut cells = vec![0u64; CELLS];
            let mut requests = 0;
            let mut bytes = 0;
            for start in (0..49152).step_by(512) {
                for len in (512..49152).step_by(2560) {
                    let class = classify(start, len, &g);
                    each_cell(op, len, &class, |cell, amount| cells[cell] += amount);
                    requests += 1;
                    bytes += len;
                }
            }
            let base = if op == Op::Write { WRITE } else { tail - JOINT };
            assert_eq!(
                cells[base..base + JOINT].iter().sum::<u64>(),
                requests,
                "{op:?}"
            );
            assert_eq!(
                cells[tail + TAIL_FULL_BYTES] + cells[tail + TAIL_PARTIAL_BYTES],
                bytes
            );
            assert_eq!(cells[tail + TAIL_PLAIN_BYTES], 0);
            let elsewhere: u64 = cells[..base].iter().sum::<u64>();
            assert!(op != Op::Write || elsewhere == 0);
        }
    }

    #[test]
    fn a_per_cpu_value_fits() {
        const { assert!(detail::CELLS * 8 <= 32 * 1024) };
        const { assert!(HOT_CELLS * 8 <= 800) };
    }
}
