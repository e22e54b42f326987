//! Request events: counted at issue, taken back at requeue, timed at
//! completion. No state is kept between them.
//!
//! Must not read maps or memory by itself.

use tracer_ebpf::{
    abi::{ABSENT, FLAG_REQUEST_BASED, Place, lost},
    bins,
    cells::{self, detail, each_cell, each_cell_hidden, has_place},
    classify::{Chunk, Class, Geometry, Physical, Stripe, classify_forgetting},
    log_line,
    op::Op,
};

use crate::{
    log,
    maps::{self, Detail, Hot},
    read::{Kernel, Ptr, Room, decode_op, layout, now_ns},
    slots::{self, Slot},
};

/// A request or bio, wherever it was seen.
#[derive(Clone, Copy)]
pub(crate) struct Io {
    pub(crate) op: Op,
    /// Absolute on the whole disk.
    pub(crate) start_bytes: u64,
    pub(crate) len_bytes: u64,
    pub(crate) slot: Slot,
}

/// The class of what has no place or no length.
pub(crate) const UNPLACED: Class = Class {
    physical: Physical::Unknown,
    chunk: Chunk::None,
    stripe: Stripe::None,
    partial_blocks: 0,
    full_stripe_bytes: 0,
};

/// The class of what has a place and a length.
#[inline(always)]
pub(crate) fn class(start_bytes: u64, len_bytes: u64, geometry: &Geometry) -> Class {
    classify_forgetting(start_bytes, len_bytes, geometry, |value| {
        maps::forget(value, start_bytes)
    })
}

impl Io {
    #[inline(always)]
    pub(crate) fn class(&self, place: &Place) -> Class {
        class(self.start_bytes, self.len_bytes, &place.geometry)
    }

    /// Names each cell that this IO changes.
    #[inline(always)]
    fn each_cell(&self, place: &Place, mut add: impl FnMut(usize, u64)) {
        if !has_place(self.op) {
            each_cell(self.op, self.len_bytes, &UNPLACED, add);
        } else if self.len_bytes == 0 {
            add(cells::ZERO_LENGTH, 1);
        } else {
            let class = self.class(place);
            each_cell_hidden(self.op, self.len_bytes, &class, maps::hide, add);
        }
    }

    /// Counts it, in the histograms too where the device has some.
    #[inline(always)]
    pub(crate) fn count(&self) -> Option<()> {
        let Some(direction) = self.direction() else {
            let (op, slot) = (self.op as u64, u64::from(self.slot.index));
            count_rare(op, self.start_bytes, self.len_bytes, slot);
            return Some(());
        };
        let place = self.slot.place()?;
        let hot = Hot::of(self.slot.index)?;
        self.each_cell(place, |cell, amount| hot.count(cell, amount));
        if place.detail != 0 {
            self.count_detail(direction, place);
        }
        Some(())
    }

    /// Takes it back: it was put back and will be counted when issued again.
    #[inline(always)]
    pub(crate) fn uncount(&self) {
        let (op, slot) = (self.op as u64, u64::from(self.slot.index));
        uncount(op, self.start_bytes, self.len_bytes, slot);
    }

    #[inline(always)]
    fn take_back(&self) -> Option<()> {
        let place = self.slot.place()?;
        let slot = self.slot.index;
        self.each_cell(place, |cell, amount| {
            maps::count_requeued(slot, cell, amount);
        });
        maps::count_requeue(slot);
        // Less one: user space sums the CPUs by wrapping addition. The way of
        // the head, as the seek distance tells it, was gone all the same.
        let block = Detail::of(place.detail)?;
        self.add_to_bins(self.direction()?, place, block, u64::MAX);
        Some(())
    }

    /// Back from numbers.
    #[inline(always)]
    pub(crate) fn from_numbers(
        op: u64,
        start_bytes: u64,
        len_bytes: u64,
        slot: u64,
    ) -> Option<Self> {
        Some(Self {
            op: Op::from_number(op as u32),
            start_bytes,
            len_bytes,
            slot: Slot::of(slot as u32)?,
        })
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
    fn count_detail(&self, direction: usize, place: &Place) -> Option<()> {
        let block = Detail::of(place.detail)?;
        self.add_to_bins(direction, place, block, 1);
        let seek = maps::seek_bytes(place.disk_slot, self.start_bytes, self.len_bytes)?;
        maps::count_detail(block, detail::SEEK + bins::power_bin(seek));
        Some(())
    }

    /// Adds to each bin that its place and length decide.
    #[inline(always)]
    fn add_to_bins(&self, direction: usize, place: &Place, block: Detail, amount: u64) {
        detail::each_bin(
            direction,
            self.start_bytes,
            self.len_bytes,
            &place.geometry,
            |cell| maps::add_detail(block, cell, amount),
        );
    }

    /// First cell of the latency histogram of this IO, counted from the first
    /// of its kind.
    #[inline(always)]
    pub(crate) fn latency_cells(&self, place: &Place) -> Option<usize> {
        let direction = self.direction()?;
        let class = self.class(place);
        let misaligned = match class.physical {
            Physical::Unknown => return None,
            Physical::Aligned => 0,
            Physical::OffGrid | Physical::SubBlock => 1,
        };
        Some((direction * 2 + misaligned) * bins::LATENCY_BINS)
    }
}

/// Counts what has no histograms: no reads or writes, or no bytes. Apart, to
/// keep its many branches out of the way of what happens all the time.
///
/// A global function: walked by the verifier once for any four numbers, not once
/// for each operation that its callers found.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn count_rare(op: u64, start_bytes: u64, len_bytes: u64, slot: u64) -> u64 {
    if let Some(io) = Io::from_numbers(op, start_bytes, len_bytes, slot)
        && let Some(place) = io.slot.place()
    {
        let slot = io.slot.index;
        io.each_cell(place, |cell, amount| maps::count(slot, cell, amount));
    }
    0
}

/// Takes an IO back. A global function like [`count_rare`].
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn uncount(op: u64, start_bytes: u64, len_bytes: u64, slot: u64) -> u64 {
    if let Some(io) = Io::from_numbers(op, start_bytes, len_bytes, slot) {
        let _ = io.take_back();
    }
    0
}

/// Words of a request that hold what is read of it, from its flags on.
const REQUEST_WORDS: usize = 12;
type Request<'a, K> = <K as Kernel>::Window<'a, REQUEST_WORDS>;

#[inline(always)]
fn request<K: Kernel>(room: &mut Room<REQUEST_WORDS>, rq: Ptr) -> Option<Request<'_, K>> {
    K::window(room, rq, layout!(request_cmd_flags))
}

/// Reads a request; `None` for one that belongs to no disk.
#[inline(always)]
fn read<K: Kernel>(rq: &Request<'_, K>) -> Option<Io> {
    let opf: u32 = K::at(rq, layout!(request_cmd_flags))?;
    let len: u32 = K::at(rq, layout!(request_data_len))?;
    let sector: u64 = K::at(rq, layout!(request_sector))?;
    let len_bytes = u64::from(len);
    let slot = slot::<K>(rq, sector, len_bytes)?;
    Some(Io {
        op: decode_op(opf),
        start_bytes: sector << 9,
        len_bytes,
        slot,
    })
}

/// The slot of the partition a request is for, else of the disk.
#[inline(always)]
fn slot<K: Kernel>(rq: &Request<'_, K>, sector: u64, len_bytes: u64) -> Option<Slot> {
    let part = if layout!(request_part) != ABSENT {
        K::follow(rq, layout!(request_part))
    } else {
        None
    };
    let (dev, disk) = match part {
        Some(part) => slots::bdev::<K>(part)?,
        None => whole_disk::<K>(rq)?,
    };
    let slot = slots::of_disk::<K>(dev, disk, FLAG_REQUEST_BASED)?;
    match part {
        Some(_) => Some(slot),
        None => slots::partition_by_range(slot, sector, len_bytes),
    }
}

/// The disk of a request that tells no partition: iostats are off, or the
/// kernel keeps an `hd_struct`.
#[inline(always)]
fn whole_disk<K: Kernel>(rq: &Request<'_, K>) -> Option<(u32, Ptr)> {
    let disk = if layout!(request_rq_disk) != ABSENT {
        K::follow(rq, layout!(request_rq_disk))?
    } else {
        K::follow(rq, layout!(request_q))?.follow::<K>(layout!(queue_disk))?
    };
    Some((slots::disk_dev::<K>(disk)?, disk))
}

/// `block_rq_issue`: the driver gets a request.
#[inline(always)]
pub(crate) fn on_issue<K: Kernel>(rq: Ptr) {
    let mut room = Room::new();
    if let Some(rq) = request::<K>(&mut room, rq)
        && let Some(io) = read::<K>(&rq)
    {
        io.count();
        log::event(log_line::RQ_ISSUE, &io);
    }
}

/// `block_rq_requeue`: a request goes back, issued or not.
/// `__blk_mq_requeue_request` (block/blk-mq.c) traces before it resets the
/// state, so an idle request was never issued.
#[inline(always)]
pub(crate) fn on_requeue<K: Kernel>(rq: Ptr) {
    let mut room = Room::new();
    let Some(words) = request::<K>(&mut room, rq) else {
        return;
    };
    let Some(io) = read::<K>(&words) else { return };
    log::event(log_line::RQ_REQUEUE, &io);
    let Some(state) = K::load::<u32>(rq, layout!(request_state)) else {
        maps::count_lost(lost::READ_FAULT);
        return;
    };
    if state == u32::from(layout!(request_idle_state)) {
        maps::count(io.slot.index, cells::REQUEUED_UNISSUED, 1);
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
    let mut room = Room::new();
    let rq = request::<K>(&mut room, rq)?;
    let io = read::<K>(&rq)?;
    log::event(log_line::RQ_COMPLETE, &io);
    if u64::from(done_bytes) < io.len_bytes {
        return None;
    }
    let place = io.slot.place()?;
    let block = Detail::of(place.detail)?;
    let cells = io.latency_cells(place)?;
    let now = now_ns();
    let start: u64 = K::at(&rq, layout!(request_start_time_ns))?;
    if start != 0 {
        let bin = bins::latency_bin(now.saturating_sub(start));
        maps::count_detail(block, detail::AWAIT + cells + bin);
    }
    if layout!(request_io_start_time_ns) != ABSENT {
        let issued: u64 = K::at(&rq, layout!(request_io_start_time_ns))?;
        if issued != 0 {
            let bin = bins::latency_bin(now.saturating_sub(issued));
            maps::count_detail(block, detail::DEVICE_TIME + cells + bin);
        }
    }
    Some(())
}
