//! Bio events: what counts on devices that know no requests (md, dm, zram,
//! NVMe multipath heads), and the flags that the flush machine hides from
//! requests elsewhere.
//!
//! Must not read maps or memory by itself.

use tracer_ebpf::{
    abi::{ABSENT, FLAG_REQUEST_BASED, OVERFLOW_SLOT, ProcessCells, ProcessKey, lost},
    bins,
    caller::Caller,
    cells::{self, detail},
    classify::{Physical, Stripe, classify},
    log_line,
    op::Op,
};

use crate::{
    log,
    maps::{self, BIO_STARTS, BioStart, Detail},
    read::{Kernel, Ptr, Room, caller, config, current, decode_op, has_caller, layout, now_ns},
    request::Io,
    slots::{self, Slot},
};

/// Where a bio goes.
struct Target {
    /// The whole disk.
    disk: Ptr,
    /// The partition it was sent to, or the disk.
    dev: u32,
    request_based: bool,
}

/// What the bio events need of a bio.
struct Bio {
    opf: u32,
    io: Io,
    request_based: bool,
}

/// Words of a bio that hold most of what is read of it, from its device on.
pub(crate) const BIO_WORDS: usize = 5;
pub(crate) type Words<'a, K> = <K as Kernel>::Window<'a, BIO_WORDS>;

#[inline(always)]
pub(crate) fn words<K: Kernel>(room: &mut Room<BIO_WORDS>, bio: Ptr) -> Option<Words<'_, K>> {
    if layout!(bio_bdev) != ABSENT {
        K::window(room, bio, layout!(bio_bdev))
    } else {
        K::window(room, bio, layout!(bio_disk))
    }
}

#[inline(always)]
fn target<K: Kernel>(bio: &Words<'_, K>) -> Option<Target> {
    let (dev, disk) = device::<K>(bio)?;
    let queue = disk.follow::<K>(layout!(disk_queue))?;
    let request_based = queue.follow::<K>(layout!(queue_mq_ops)).is_some();
    Some(Target {
        disk,
        dev,
        request_based,
    })
}

#[inline(always)]
fn read<K: Kernel>(bio: &Words<'_, K>, opf: u32, target: &Target) -> Option<Bio> {
    let len: u32 = K::at(bio, layout!(bio_size))?;
    let sector: u64 = K::at(bio, layout!(bio_sector))?;
    let len_bytes = u64::from(len);
    let flags = slots::kind_flags(target.request_based);
    let mut slot = slots::of_disk::<K>(target.dev, target.disk, flags)?;
    if layout!(bio_bdev) == ABSENT {
        slot = slots::partition_by_range(slot, sector, len_bytes)?;
    }
    let op = decode_op(opf);
    let io = Io {
        op,
        start_bytes: sector << 9,
        len_bytes,
        slot,
    };
    Some(Bio {
        opf,
        io,
        request_based: target.request_based,
    })
}

#[inline(always)]
fn has_flush_flags(opf: u32) -> bool {
    opf & (layout!(fua_mask) | layout!(preflush_mask)) != 0
}

/// The number of the partition that a bio was sent to, and the disk. After
/// the partition remap `bi_bdev` still is the partition (since 5.12), while
/// the sector is absolute.
#[inline(always)]
pub(crate) fn device<K: Kernel>(bio: &Words<'_, K>) -> Option<(u32, Ptr)> {
    if layout!(bio_bdev) != ABSENT {
        return slots::bdev::<K>(K::follow(bio, layout!(bio_bdev))?);
    }
    let disk = K::follow(bio, layout!(bio_disk))?;
    Some((slots::disk_dev::<K>(disk)?, disk))
}

impl Bio {
    /// Counts FUA, PREFLUSH and bios of no bytes.
    #[inline(always)]
    fn count_flags(&self) {
        let slot = self.io.slot.index;
        if self.io.len_bytes == 0 {
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
/// `address` gives the bio's address as a number.
#[inline(always)]
pub(crate) fn on_queue<K: Kernel>(bio: Ptr, address: impl Fn() -> Option<u64>) {
    let _ = queue::<K>(bio, address);
}

#[inline(always)]
fn queue<K: Kernel>(bio: Ptr, address: impl Fn() -> Option<u64>) -> Option<()> {
    let mut room = Room::new();
    let words = words::<K>(&mut room, bio)?;
    let opf: u32 = K::at(&words, layout!(bio_opf))?;
    let target = target::<K>(&words)?;
    let flush = has_flush_flags(opf);
    // Told here already: md's threads read a lot from components.
    let read = config().fills != 0 && decode_op(opf) == Op::Read && has_caller();
    // Most bios of a request-based disk are of no interest here.
    let other = config().by_process != 0 || config().log != 0;
    if target.request_based && !flush && !read && !other {
        return None;
    }
    let seen = self::read::<K>(&words, opf, &target)?;
    log::event(log_line::BIO_QUEUE, &seen.io);
    let empty = seen.io.len_bytes == 0;
    if flush || empty {
        seen.count_flags();
    }
    if !seen.request_based && !empty {
        seen.io.count();
        if config().bio_latency != 0 {
            start_clock(&seen.io, address);
        }
    }
    // The file system's own books are read out of write calls as well.
    let caller = if read && !empty && opf & layout!(meta_mask) == 0 {
        fill(&seen.io)
    } else {
        Caller::Other
    };
    if config().by_process != 0 && !empty {
        let io = &seen.io;
        let who = io.op as u64 | (caller as u64) << 8;
        count_process::<K>(bio, who, io.start_bytes, io.len_bytes, io.slot.index);
    }
    Some(())
}

/// Counts a read that a write made necessary.
#[inline(always)]
fn fill(io: &Io) -> Caller {
    let Some(block) = io.slot.place().and_then(|place| Detail::of(place.detail)) else {
        return Caller::Other;
    };
    let caller = caller();
    let cell = match caller {
        Caller::Write => detail::WRITE_FILL,
        Caller::Fault => detail::FAULT,
        Caller::Other => return caller,
    };
    maps::count_detail(block, cell);
    maps::add_detail(block, cell + 1, io.len_bytes);
    caller
}

#[inline(always)]
fn start_clock(io: &Io, address: impl Fn() -> Option<u64>) -> Option<()> {
    let place = io.slot.place()?;
    let index = place.detail.checked_sub(1)?;
    let cells = (detail::AWAIT + io.latency_cells(place)?) as u32;
    let start = BioStart {
        queued_ns: now_ns(),
        detail: index,
        cells,
    };
    if BIO_STARTS.insert(address()?, start, 0).is_err() {
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
    log::untold(log_line::BIO_COMPLETE, OVERFLOW_SLOT);
    let Some(block) = Detail::of(start.detail + 1) else {
        return;
    };
    let bin = bins::latency_bin(now_ns().saturating_sub(start.queued_ns));
    maps::count_detail(block, start.cells as usize + bin);
}

/// `block_split`: the block layer cuts a bio in two.
#[inline(always)]
pub(crate) fn on_split<K: Kernel>(bio: Ptr) {
    let mut room = Room::new();
    if let Some(words) = words::<K>(&mut room, bio)
        && let Some(target) = target::<K>(&words)
        && let Some(seen) = read::<K>(&words, 0, &target)
    {
        log::event(log_line::SPLIT, &seen.io);
        maps::count(seen.io.slot.index, cells::SPLITS, 1);
    }
}

/// Did the bio have its queue event, of which each has one only?
#[inline(always)]
pub(crate) fn was_traced<K: Kernel>(bio: &Words<'_, K>) -> Option<bool> {
    let flags: u16 = K::at(bio, layout!(bio_flags))?;
    Some(u32::from(flags) & layout!(trace_completion_mask) != 0)
}

/// `block_bio_remap` of a bio that was traced before: the device it now goes
/// to will see no queue event (raid0 before 5.14, md linear before 6.12).
#[inline(always)]
pub(crate) fn on_remap<K: Kernel>(bio: Ptr, old_dev: u32) {
    let _ = remap::<K>(bio, old_dev);
}

#[inline(always)]
fn remap<K: Kernel>(bio: Ptr, old_dev: u32) -> Option<()> {
    let mut room = Room::new();
    let words = words::<K>(&mut room, bio)?;
    if !was_traced::<K>(&words)? {
        return None;
    }
    let target = target::<K>(&words)?;
    if target.request_based {
        return None;
    }
    if layout!(bio_bdev) != ABSENT {
        // Sent to a partition and not there yet: the partition's own remap,
        // from the partition's number, follows.
        let whole = slots::disk_dev::<K>(target.disk)?;
        if target.dev != whole && target.dev != old_dev {
            return None;
        }
    } else if K::at::<u8, BIO_WORDS>(&words, layout!(bio_partno))? != 0 && sends_bios(old_dev)? {
        return None;
    }
    let opf: u32 = K::at(&words, layout!(bio_opf))?;
    let seen = read::<K>(&words, opf, &target)?;
    log::event(log_line::BIO_REMAP, &seen.io);
    if seen.io.len_bytes != 0 {
        seen.io.count();
    }
    Some(())
}

/// Whether a device is one that sends bios on, as an array does, and not a
/// disk whose partition the bio was sent to.
#[inline(always)]
fn sends_bios(dev: u32) -> Option<bool> {
    Some(Slot::of(maps::slot(dev)?)?.flags() & FLAG_REQUEST_BASED == 0)
}

/// Counts a bio for whoever submits it; `who` is the operation and, above its
/// eight bits, the [`Caller`].
///
/// Apart, for what it needs of the stack, of which all that call each other have
/// 512 bytes. Numbers only: handed over in memory, the operation would be one
/// more known value on the caller's stack for the verifier, and up to 6.7 it lost
/// track of which of them a branch depends on when they are read through another
/// pointer than the frame's: it took paths for walked that were not, and replaced
/// them as dead code (6.8: 41f6f64e6999, "support non-r10 register spill/fill
/// to/from stack in precision tracking").
#[inline(never)]
fn count_process<K: Kernel>(
    bio: Ptr,
    who: u64,
    start_bytes: u64,
    len_bytes: u64,
    slot: u32,
) -> u32 {
    let Some(io) = Io::from_numbers(who & 0xff, start_bytes, len_bytes, u64::from(slot)) else {
        return 0;
    };
    let _ = add_process::<K>(bio, &io, Caller::from_number((who >> 8) as u32));
    0
}

#[inline(always)]
fn add_process<K: Kernel>(bio: Ptr, io: &Io, caller: Caller) -> Option<()> {
    let place = io.slot.place()?;
    if place.detail == 0 {
        return None;
    }
    let (tgid, comm) = current();
    let key = ProcessKey {
        slot: io.slot.index,
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
            match caller {
                Caller::Write => {
                    by.write_fill_requests = 1;
                    by.write_fill_bytes = io.len_bytes;
                }
                Caller::Fault => {
                    by.fault_requests = 1;
                    by.fault_bytes = io.len_bytes;
                }
                Caller::Other => {}
            }
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
