//! Request events: counted at issue, taken back at requeue, timed at
//! completion. No state is kept between them.
//!
//! Must not read maps or memory by itself.

use tracer_ebpf::{
    abi::{ABSENT, FLAG_REQUEST_BASED, Place, lost},
    bins,
    cells::{self, detail, each_cell, has_place},
    classify::{Chunk, Class, Physical, Stripe, classify},
    log_line,
    op::Op,
};

use crate::{
    log,
    maps::{self, Detail, Hot, State},
    read::{Kernel, Ptr, layout, now_ns},
    slots,
};

/// A request or bio, wherever it was seen.
#[derive(Clone, Copy)]
pub(crate) struct Io {
    pub(crate) op: Op,
    /// Absolute on the whole disk.
    pub(crate) start_bytes: u64,
    pub(crate) len_bytes: u64,
    pub(crate) slot: u32,
}

/// The class of what has no place or no length.
pub(crate) const UNPLACED: Class = Class {
    physical: Physical::Unknown,
    chunk: Chunk::None,
    stripe: Stripe::None,
    partial_blocks: 0,
    full_stripe_bytes: 0,
};

impl Io {
    /// Names each cell that this IO changes.
    #[inline(always)]
    fn each_cell(&self, place: &Place, mut add: impl FnMut(usize, u64)) {
        if !has_place(self.op) {
            each_cell(self.op, self.len_bytes, &UNPLACED, add);
        } else if self.len_bytes == 0 {
            add(cells::ZERO_LENGTH, 1);
        } else {
            let class = classify(self.start_bytes, self.len_bytes, &place.geometry);
            each_cell(self.op, self.len_bytes, &class, add);
        }
    }

    /// Counts it, in the histograms too where the device has some.
    #[inline(always)]
    pub(crate) fn count(&self) -> Option<()> {
        let place = State::of(self.slot)?.place()?;
        let hot = Hot::of(self.slot)?;
        self.each_cell(place, |cell, amount| hot.count(cell, amount));
        if place.detail != 0 {
            self.count_detail(place);
        }
        Some(())
    }

    /// Takes it back: it was put back and will be counted when issued again.
    #[inline(always)]
    pub(crate) fn uncount(&self) -> Option<()> {
        let place = State::of(self.slot)?.place()?;
        self.each_cell(place, |cell, amount| {
            maps::count_requeued(self.slot, cell, amount);
        });
        maps::count_requeue(self.slot);
        // Less one: user space sums the CPUs by wrapping addition. The way of
        // the head, as the seek distance tells it, was gone all the same.
        self.add_to_bins(place, Detail::of(place.detail)?, u64::MAX)
    }

    /// 0 for reads, 1 for writes; the histograms hold no other.
    #[inline(always)]
    pub(crate) fn direction(&self) -> Option<usize> {
        match self.op {
            _ if self.len_bytes == 0 => None,
            Op::Read => Some(0),
            Op::Write => Some(1),
            _ => None,
        }
    }

    #[inline(always)]
    fn count_detail(&self, place: &Place) -> Option<()> {
        let block = Detail::of(place.detail)?;
        self.add_to_bins(place, block, 1)?;
        let seek = maps::seek_bytes(place.disk_slot, self.start_bytes, self.len_bytes)?;
        maps::count_detail(block, detail::SEEK + bins::power_bin(seek));
        Some(())
    }

    /// Adds to each bin that its place and length decide.
    #[inline(always)]
    fn add_to_bins(&self, place: &Place, block: Detail, amount: u64) -> Option<()> {
        let direction = self.direction()?;
        let geometry = &place.geometry;
        detail::each_bin(
            direction,
            self.start_bytes,
            self.len_bytes,
            geometry,
            |cell| {
                maps::add_detail(block, cell, amount);
            },
        );
        Some(())
    }

    /// First cell of the latency histogram of this IO, counted from `base`.
    #[inline(always)]
    pub(crate) fn latency_cells(&self, base: usize, place: &Place) -> Option<usize> {
        let direction = self.direction()?;
        let class = classify(self.start_bytes, self.len_bytes, &place.geometry);
        let misaligned = match class.physical {
            Physical::Unknown => return None,
            Physical::Aligned => 0,
            Physical::OffGrid | Physical::SubBlock => 1,
        };
        Some(base + (direction * 2 + misaligned) * bins::LATENCY_BINS)
    }
}

/// Reads a request; `None` for one that belongs to no disk.
#[inline(always)]
fn read<K: Kernel>(rq: Ptr) -> Option<Io> {
    let opf: u32 = K::load(rq, layout!(request_cmd_flags))?;
    let len: u32 = K::load(rq, layout!(request_data_len))?;
    let sector: u64 = K::load(rq, layout!(request_sector))?;
    let len_bytes = u64::from(len);
    let slot = slot::<K>(rq, sector, len_bytes)?;
    Some(Io {
        op: layout!(op).decode(opf),
        start_bytes: sector << 9,
        len_bytes,
        slot,
    })
}

/// The slot of the partition a request is for, else of the disk.
#[inline(always)]
fn slot<K: Kernel>(rq: Ptr, sector: u64, len_bytes: u64) -> Option<u32> {
    if layout!(request_part) != ABSENT
        && let Some(part) = rq.follow::<K>(layout!(request_part))
    {
        let dev: u32 = K::load(part, layout!(bdev_dev))?;
        let disk = part.follow::<K>(layout!(bdev_disk))?;
        return slots::of_disk::<K>(dev, disk, FLAG_REQUEST_BASED);
    }
    // No partition told: iostats are off, or the kernel keeps an hd_struct.
    let disk = if layout!(request_rq_disk) != ABSENT {
        rq.follow::<K>(layout!(request_rq_disk))?
    } else {
        rq.follow::<K>(layout!(request_q))?
            .follow::<K>(layout!(queue_disk))?
    };
    let dev = slots::disk_dev::<K>(disk)?;
    let disk_slot = slots::of_disk::<K>(dev, disk, FLAG_REQUEST_BASED)?;
    Some(slots::partition_by_range(disk_slot, sector, len_bytes))
}

/// `block_rq_issue`: the driver gets a request.
#[inline(always)]
pub(crate) fn on_issue<K: Kernel>(rq: Ptr) {
    if let Some(io) = read::<K>(rq) {
        io.count();
        log::event(log_line::RQ_ISSUE, &io);
    }
}

/// `block_rq_requeue`: a request goes back, issued or not.
/// `__blk_mq_requeue_request` (block/blk-mq.c) traces before it resets the
/// state, so an idle request was never issued.
#[inline(always)]
pub(crate) fn on_requeue<K: Kernel>(rq: Ptr) {
    let Some(io) = read::<K>(rq) else { return };
    log::event(log_line::RQ_REQUEUE, &io);
    let Some(state) = K::load::<u32>(rq, layout!(request_state)) else {
        maps::count_lost(lost::READ_FAULT);
        return;
    };
    if state == u32::from(layout!(request_idle_state)) {
        maps::count(io.slot, cells::REQUEUED_UNISSUED, 1);
    } else {
        io.uncount();
    }
}

/// `block_rq_complete`: `done_bytes` of a request have completed. It fires
/// once for each part (`blk_update_request`); the last is what is left.
#[inline(always)]
pub(crate) fn on_complete<K: Kernel>(rq: Ptr, done_bytes: u32) {
    let _ = time::<K>(rq, done_bytes);
}

#[inline(always)]
fn time<K: Kernel>(rq: Ptr, done_bytes: u32) -> Option<()> {
    let io = read::<K>(rq)?;
    log::event(log_line::RQ_COMPLETE, &io);
    if u64::from(done_bytes) < io.len_bytes {
        return None;
    }
    let place = State::of(io.slot)?.place()?;
    let block = Detail::of(place.detail)?;
    let now = now_ns();
    let start: u64 = K::load(rq, layout!(request_start_time_ns))?;
    if start != 0 {
        let bin = bins::latency_bin(now.saturating_sub(start));
        maps::count_detail(block, io.latency_cells(detail::AWAIT, place)? + bin);
    }
    if layout!(request_io_start_time_ns) != ABSENT {
        let issued: u64 = K::load(rq, layout!(request_io_start_time_ns))?;
        if issued != 0 {
            let bin = bins::latency_bin(now.saturating_sub(issued));
            maps::count_detail(block, io.latency_cells(detail::DEVICE_TIME, place)? + bin);
        }
    }
    Some(())
}
