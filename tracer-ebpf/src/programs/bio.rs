//! Bio events: what counts on devices that know no requests (md, dm, zram,
//! NVMe multipath heads), and the flags that the flush machine hides from
//! requests elsewhere.
//!
//! Must not read maps or memory by itself.

use tracer_ebpf::{
    abi::{ABSENT, FLAG_REQUEST_BASED, ProcessCells, ProcessKey, lost},
    bins,
    cells::{self, detail},
    classify::{Physical, Stripe, classify},
    op::Op,
};

use crate::{
    maps::{self, BIO_STARTS, BioStart, Detail},
    read::{Kernel, Ptr, config, current, layout, now_ns},
    request::Io,
    slots,
};

/// What the bio events need of a bio.
struct Bio {
    opf: u32,
    op: Op,
    sector: u64,
    len_bytes: u64,
    /// The whole disk.
    disk: Ptr,
    /// The partition it was sent to, or the disk.
    dev: u32,
    request_based: bool,
}

#[inline(always)]
fn read<K: Kernel>(bio: Ptr) -> Option<Bio> {
    let opf: u32 = K::load(bio, layout!(bio_opf))?;
    let len: u32 = K::load(bio, layout!(bio_size))?;
    let sector: u64 = K::load(bio, layout!(bio_sector))?;
    let (disk, dev) = device::<K>(bio)?;
    let queue = disk.follow::<K>(layout!(disk_queue))?;
    let request_based = queue.follow::<K>(layout!(queue_mq_ops)).is_some();
    let op = layout!(op).decode(opf);
    Some(Bio {
        opf,
        op,
        sector,
        len_bytes: u64::from(len),
        disk,
        dev,
        request_based,
    })
}

/// The disk of a bio, and the number of the partition it was sent to. After
/// the partition remap `bi_bdev` still is the partition (since 5.12), while
/// the sector is absolute.
#[inline(always)]
fn device<K: Kernel>(bio: Ptr) -> Option<(Ptr, u32)> {
    if layout!(bio_bdev) != ABSENT {
        let bdev = bio.follow::<K>(layout!(bio_bdev))?;
        let disk = bdev.follow::<K>(layout!(bdev_disk))?;
        return Some((disk, K::load(bdev, layout!(bdev_dev))?));
    }
    let disk = bio.follow::<K>(layout!(bio_disk))?;
    Some((disk, slots::disk_dev::<K>(disk)?))
}

impl Bio {
    #[inline(always)]
    fn io<K: Kernel>(&self) -> Option<Io> {
        let flags = slots::kind_flags(self.request_based);
        let found = slots::of_disk::<K>(self.dev, self.disk, flags)?;
        let slot = if layout!(bio_bdev) == ABSENT {
            slots::partition_by_range(found.slot, self.sector, self.len_bytes)
        } else {
            found.slot
        };
        Some(Io {
            op: self.op,
            start_bytes: self.sector << 9,
            len_bytes: self.len_bytes,
            slot,
        })
    }

    #[inline(always)]
    fn has_flush_flags(&self) -> bool {
        self.opf & (layout!(fua_mask) | layout!(preflush_mask)) != 0
    }

    /// Counts FUA, PREFLUSH and bios of no bytes.
    #[inline(always)]
    fn count_flags(&self, slot: u32) {
        if self.len_bytes == 0 {
            maps::count(slot, cells::EMPTY_BIOS, 1);
            return;
        }
        if self.opf & layout!(fua_mask) != 0 {
            maps::count(slot, cells::FUA_BIOS, 1);
        }
        if self.opf & layout!(preflush_mask) != 0 {
            maps::count(slot, cells::PREFLUSH_BIOS, 1);
        }
    }
}

/// `block_bio_queue`: a bio reaches a device, before the device splits it.
#[inline(always)]
pub(crate) fn on_queue<K: Kernel>(bio: Ptr, address: u64) {
    let _ = queue::<K>(bio, address);
}

#[inline(always)]
fn queue<K: Kernel>(bio: Ptr, address: u64) -> Option<()> {
    let seen = read::<K>(bio)?;
    // Most bios of a request-based disk are of no interest here.
    if seen.request_based && !seen.has_flush_flags() && config().by_process == 0 {
        return None;
    }
    let io = seen.io::<K>()?;
    if seen.has_flush_flags() || seen.len_bytes == 0 {
        seen.count_flags(io.slot);
    }
    if !seen.request_based && seen.len_bytes != 0 {
        io.count();
        if config().bio_latency != 0 {
            start_clock(&io, address);
        }
    }
    if config().by_process != 0 && seen.len_bytes != 0 {
        count_process::<K>(bio, &io);
    }
    Some(())
}

#[inline(always)]
fn start_clock(io: &Io, address: u64) -> Option<()> {
    let place = slots::place(io.slot)?;
    let index = place.detail.checked_sub(1)?;
    let cells = io.latency_cells(detail::AWAIT, place)? as u32;
    let start = BioStart {
        queued_ns: now_ns(),
        detail: index,
        cells,
    };
    if BIO_STARTS.insert(address, start, 0).is_err() {
        maps::count_lost(lost::NO_BIO_START);
    }
    Some(())
}

/// `block_bio_complete`: of a split bio each fragment completes (since 5.15);
/// only the bio that was queued is known here, and it completes last.
#[inline(always)]
pub(crate) fn on_bio_complete(address: u64) {
    let Some(start) = maps::take_bio_start(address) else {
        return;
    };
    let Some(block) = Detail::of(start.detail + 1) else {
        return;
    };
    let bin = bins::latency_bin(now_ns().saturating_sub(start.queued_ns));
    maps::count_detail(block, start.cells as usize + bin);
}

/// `block_split`: the block layer cuts a bio in two.
#[inline(always)]
pub(crate) fn on_split<K: Kernel>(bio: Ptr) {
    if let Some(io) = read::<K>(bio).and_then(|seen| seen.io::<K>()) {
        maps::count(io.slot, cells::SPLITS, 1);
    }
}

/// `block_bio_remap` of a bio that was traced before: the device it now goes
/// to will see no queue event (raid0 before 5.14, md linear before 6.12).
#[inline(always)]
pub(crate) fn on_remap<K: Kernel>(bio: Ptr, old_dev: u32) {
    let _ = remap::<K>(bio, old_dev);
}

#[inline(always)]
fn remap<K: Kernel>(bio: Ptr, old_dev: u32) -> Option<()> {
    let flags: u16 = K::load(bio, layout!(bio_flags))?;
    if u32::from(flags) & layout!(trace_completion_mask) == 0 {
        return None;
    }
    let seen = read::<K>(bio)?;
    if seen.request_based || seen.len_bytes == 0 {
        return None;
    }
    if layout!(bio_bdev) != ABSENT {
        // Sent to a partition and not there yet: the partition's own remap,
        // from the partition's number, follows.
        let whole = slots::disk_dev::<K>(seen.disk)?;
        if seen.dev != whole && seen.dev != old_dev {
            return None;
        }
    } else if K::load::<u8>(bio, layout!(bio_partno))? != 0
        && maps::device(old_dev)?.flags & FLAG_REQUEST_BASED == 0
    {
        return None;
    }
    seen.io::<K>()?.count()
}

/// Counts a bio for whoever submits it.
#[inline(always)]
fn count_process<K: Kernel>(bio: Ptr, io: &Io) -> Option<()> {
    let place = slots::place(io.slot)?;
    if place.detail == 0 {
        return None;
    }
    let (tgid, comm) = current();
    let key = ProcessKey {
        slot: io.slot,
        tgid,
        cgroup: cgroup::<K>(bio).unwrap_or(0),
        comm,
    };
    let mut by = ProcessCells::default();
    let class = classify(io.start_bytes, io.len_bytes, &place.geometry);
    let misaligned = u64::from(matches!(
        class.physical,
        Physical::OffGrid | Physical::SubBlock
    ));
    match io.op {
        Op::Read => {
            by.read_requests = 1;
            by.read_bytes = io.len_bytes;
            by.read_misaligned = misaligned;
        }
        Op::Write => {
            by.write_requests = 1;
            by.write_bytes = io.len_bytes;
            by.write_misaligned = misaligned;
            by.write_partial_blocks = class.partial_blocks;
            if matches!(class.stripe, Stripe::Mixed | Stripe::Partial) {
                by.write_partial_stripe = 1;
                by.write_partial_stripe_bytes = io.len_bytes.wrapping_sub(class.full_stripe_bytes);
            }
        }
        _ => by.other_requests = 1,
    }
    if !maps::add_process(&key, &by) {
        maps::count_lost(lost::NO_PROCESS);
    }
    Some(())
}

/// kernfs id of the cgroup a bio is charged to: write-back is charged to
/// whoever dirtied the pages, while the running task is a kworker.
#[inline(always)]
fn cgroup<K: Kernel>(bio: Ptr) -> Option<u64> {
    if layout!(bio_blkg) == ABSENT || layout!(blkcg_cgroup) == ABSENT {
        return None;
    }
    let cgroup = bio
        .follow::<K>(layout!(bio_blkg))?
        .follow::<K>(layout!(blkg_blkcg))?
        .follow::<K>(layout!(blkcg_cgroup))?;
    K::load(cgroup.follow::<K>(layout!(cgroup_kn))?, layout!(kernfs_id))
}
