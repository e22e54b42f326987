//! The classic tracepoints: what their records tell, for kernels without BTF.
//!
//! A record names the whole disk and no request: partitions come by range,
//! and a request issued again after a requeue counts again.
//! Must not read maps or memory by itself.

use aya_ebpf::programs::TracePointContext;
use tracer_ebpf::{
    abi::{ClassicRecord, FLAG_KIND_UNKNOWN, FLAG_REQUEST_BASED, lost},
    cells, log_line,
    op::{Op, decode_rwbs},
};

use crate::{
    log, maps,
    read::{Record, Room, layout},
    request::Io,
    slots,
};

/// What a record tells, and the flags of its device.
struct Seen {
    io: Io,
    flags: u32,
}

#[inline(always)]
fn read(ctx: &TracePointContext, at: ClassicRecord, flags: u32) -> Option<Seen> {
    let mut room = Room::new();
    let record = Record::read(ctx, &mut room)?;
    let dev: u32 = record.field(at.dev)?;
    let sector: u64 = record.field(at.sector)?;
    let sectors: u32 = record.field(at.nr_sector)?;
    let letters: [u8; 2] = record.field(at.rwbs)?;
    if dev == 0 {
        return None;
    }
    let [first, second] = letters;
    let op = decode_rwbs(first, second);
    // `bytes` is exact; `nr_sector` is 0 for passthrough (blk_rq_trace_nr_sectors).
    let len_bytes = match record.field::<u32>(at.bytes) {
        Some(bytes) if bytes != 0 && op != Op::NotTold => u64::from(bytes),
        _ => u64::from(sectors) << 9,
    };
    let disk = slots::of_number(dev, flags)?;
    let flags = disk.flags();
    let slot = slots::partition_by_range(disk, sector, len_bytes)?;
    let io = Io {
        op,
        start_bytes: sector << 9,
        len_bytes,
        slot,
    };
    Some(Seen { io, flags })
}

/// `block:block_rq_issue`.
#[inline(always)]
pub(crate) fn on_issue(ctx: &TracePointContext) {
    match read(ctx, layout!(classic_issue), FLAG_REQUEST_BASED) {
        Some(seen) => {
            seen.io.count();
            log::event(log_line::RQ_ISSUE, &seen.io);
        }
        None => maps::count_lost(lost::READ_FAULT),
    }
}

/// `block:block_rq_requeue`: whether it had been issued is not told.
#[inline(always)]
pub(crate) fn on_requeue(ctx: &TracePointContext) {
    if let Some(seen) = read(ctx, layout!(classic_requeue), FLAG_REQUEST_BASED) {
        log::event(log_line::RQ_REQUEUE, &seen.io);
        maps::count(seen.io.slot.index, cells::REQUEUED_UNISSUED, 1);
    }
}

/// `block:block_bio_queue`: for devices known to take bios only.
#[inline(always)]
pub(crate) fn on_queue(ctx: &TracePointContext) {
    let Some(seen) = read(ctx, layout!(classic_bio_queue), slots::UNTOLD_KIND) else {
        maps::count_lost(lost::READ_FAULT);
        return;
    };
    log::event(log_line::BIO_QUEUE, &seen.io);
    if seen.io.len_bytes == 0 {
        maps::count(seen.io.slot.index, cells::EMPTY_BIOS, 1);
    } else if seen.flags & FLAG_KIND_UNKNOWN != 0 {
        // Its requests would count it a second time if it has any.
        maps::count_lost(lost::NO_SLOT);
    } else if seen.flags & FLAG_REQUEST_BASED == 0 {
        seen.io.count();
    }
}

/// `block:block_split`.
#[inline(always)]
pub(crate) fn on_split(ctx: &TracePointContext) {
    let mut room = Room::new();
    if let Some(record) = Record::read(ctx, &mut room)
        && let Some(dev) = record.field(layout!(classic_split.dev))
        && let Some(slot) = slots::of_number(dev, slots::UNTOLD_KIND)
    {
        log::untold(log_line::SPLIT, slot.index);
        maps::count(slot.index, cells::SPLITS, 1);
    }
}
