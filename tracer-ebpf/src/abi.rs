//! The values that cross between the kernel programs and user space: map
//! values and the frozen globals. All fields explicit, no implicit padding.
//!
//! Must not decide anything.

use crate::{
    caller::{Calls, MAX_WRITE_CALLS},
    cells::{self, CELLS, HOT_CELLS, SHARED_CELLS},
    classify::Geometry,
    op::OpCodes,
};
pub use crate::{
    memory::{kernel_memory_bytes, slot_capacity},
    process::{ProcessCells, ProcessKey},
};

/// Name of the frozen global that holds [`Layout`].
pub const LAYOUT_SYMBOL: &str = "LAYOUT";
/// Name of the frozen global that holds [`Config`].
pub const CONFIG_SYMBOL: &str = "CONFIG";

/// Offset of a field that this kernel does not have.
pub const ABSENT: u16 = u16::MAX;

/// Where this kernel keeps what the programs read. Offsets are in bytes from
/// the start of the structure named first; [`ABSENT`] where there is none.
/// Frozen before the programs load, so that the verifier sees constants and
/// drops the branches that do not apply.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    pub op: OpCodes,
    /// `REQ_FUA` and `REQ_PREFLUSH` as masks of `bi_opf`.
    pub fua_mask: u32,
    pub preflush_mask: u32,
    /// `BIO_TRACE_COMPLETION` as a mask of `bi_flags`; 0 where not known.
    pub trace_completion_mask: u32,

    pub request_cmd_flags: u16,
    pub request_data_len: u16,
    pub request_sector: u16,
    /// `block_device *`; [`ABSENT`] where it is an `hd_struct *` (5.10).
    pub request_part: u16,
    pub request_q: u16,
    /// `gendisk *` in the request itself (before 5.17).
    pub request_rq_disk: u16,
    pub request_state: u16,
    pub request_start_time_ns: u16,
    pub request_io_start_time_ns: u16,

    /// `gendisk *` in the queue (since 5.17).
    pub queue_disk: u16,
    /// Not null: the queue is request-based.
    pub queue_mq_ops: u16,

    pub disk_major: u16,
    pub disk_first_minor: u16,
    pub disk_name: u16,
    pub disk_queue: u16,
    /// `u64`, never reused (since 5.15).
    pub disk_diskseq: u16,

    pub bdev_dev: u16,
    pub bdev_disk: u16,

    /// `block_device *` (since 5.12).
    pub bio_bdev: u16,
    /// `gendisk *` (before 5.12).
    pub bio_disk: u16,
    /// `u8`, 0 for the whole disk (before 5.12).
    pub bio_partno: u16,
    pub bio_opf: u16,
    pub bio_flags: u16,
    pub bio_sector: u16,
    pub bio_size: u16,
    /// `blkcg_gq *`, with `CONFIG_BLK_CGROUP`.
    pub bio_blkg: u16,
    pub blkg_blkcg: u16,
    /// Of `css` in `blkcg`, plus `cgroup` in it.
    pub blkcg_cgroup: u16,
    pub cgroup_kn: u16,
    pub kernfs_id: u16,

    /// Index of the argument in each tracepoint's prototype.
    pub arg_issue_rq: u16,
    pub arg_requeue_rq: u16,
    pub arg_bio_queue_bio: u16,
    pub arg_bio_complete_bio: u16,
    pub arg_bio_remap_bio: u16,
    pub arg_split_bio: u16,

    /// Records of the classic tracepoints, from tracefs `format`.
    pub classic_issue: ClassicRecord,
    pub classic_requeue: ClassicRecord,
    pub classic_complete: ClassicRecord,
    pub classic_bio_queue: ClassicRecord,
    pub classic_bio_remap: ClassicRecord,
    pub classic_split: ClassicRecord,
    /// `MQ_RQ_IDLE` of `enum mq_rq_state`.
    pub request_idle_state: u16,

    pub task_flags: u16,
    /// Of the saved registers where no helper finds them: at the end of the
    /// stack.
    pub task_stack: u16,
    pub regs_size: u16,
    /// Of the system call's number in the registers; [`ABSENT`] where it is
    /// not known who calls.
    pub regs_call: u16,
    /// 1: the number has 64 bits, else 32.
    pub regs_call_wide: u16,
    /// 1: `bpf_task_pt_regs` finds the registers (since 5.15).
    pub regs_by_helper: u16,
    pub calls: Calls,
    /// `__REQ_META` as a mask of `bi_opf`.
    pub meta_mask: u32,
}

/// Offsets in one classic tracepoint's record.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassicRecord {
    /// `dev_t`, in the kernel's encoding.
    pub dev: u16,
    pub sector: u16,
    /// `unsigned int`, in sectors.
    pub nr_sector: u16,
    /// `unsigned int`; only `block_rq_issue` has it.
    pub bytes: u16,
    pub rwbs: u16,
    /// `old_dev` of `block_bio_remap`.
    pub old_dev: u16,
}

impl ClassicRecord {
    /// A tracepoint that this kernel does not have.
    pub const NONE: Self = Self {
        dev: ABSENT,
        sector: ABSENT,
        nr_sector: ABSENT,
        bytes: ABSENT,
        rwbs: ABSENT,
        old_dev: ABSENT,
    };
}

impl Layout {
    /// Nothing known: what the object is compiled with.
    pub const NONE: Self = Self {
        op: OpCodes {
            read: 0,
            write: 1,
            flush: 2,
            discard: 3,
            secure_erase: OpCodes::ABSENT,
            write_zeroes: OpCodes::ABSENT,
            zone_append: OpCodes::ABSENT,
            passthrough_from: OpCodes::ABSENT,
        },
        fua_mask: 0,
        preflush_mask: 0,
        trace_completion_mask: 0,
        request_cmd_flags: ABSENT,
        request_data_len: ABSENT,
        request_sector: ABSENT,
        request_part: ABSENT,
        request_q: ABSENT,
        request_rq_disk: ABSENT,
        request_state: ABSENT,
        request_start_time_ns: ABSENT,
        request_io_start_time_ns: ABSENT,
        queue_disk: ABSENT,
        queue_mq_ops: ABSENT,
        disk_major: ABSENT,
        disk_first_minor: ABSENT,
        disk_name: ABSENT,
        disk_queue: ABSENT,
        disk_diskseq: ABSENT,
        bdev_dev: ABSENT,
        bdev_disk: ABSENT,
        bio_bdev: ABSENT,
        bio_disk: ABSENT,
        bio_partno: ABSENT,
        bio_opf: ABSENT,
        bio_flags: ABSENT,
        bio_sector: ABSENT,
        bio_size: ABSENT,
        bio_blkg: ABSENT,
        blkg_blkcg: ABSENT,
        blkcg_cgroup: ABSENT,
        cgroup_kn: ABSENT,
        kernfs_id: ABSENT,
        arg_issue_rq: 0,
        arg_requeue_rq: 0,
        arg_bio_queue_bio: 0,
        arg_bio_complete_bio: 1,
        arg_bio_remap_bio: 0,
        arg_split_bio: 0,
        classic_issue: ClassicRecord::NONE,
        classic_requeue: ClassicRecord::NONE,
        classic_complete: ClassicRecord::NONE,
        classic_bio_queue: ClassicRecord::NONE,
        classic_bio_remap: ClassicRecord::NONE,
        classic_split: ClassicRecord::NONE,
        request_idle_state: 0,
        task_flags: ABSENT,
        task_stack: ABSENT,
        regs_size: 0,
        regs_call: ABSENT,
        regs_call_wide: 0,
        regs_by_helper: 0,
        calls: Calls {
            write: [0; MAX_WRITE_CALLS],
        },
        meta_mask: 0,
    };
}

/// What the user asked for; frozen like [`Layout`]. 0 or 1 unless said.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// Keep who issues bios (`--by process`).
    pub by_process: u32,
    /// Time bios of bio-based devices that were asked for.
    pub bio_latency: u32,
    /// Print each event through aya-log (`--bpf-log`).
    pub log: u32,
    /// Tell reads out of write calls and page faults, on devices asked for.
    pub fills: u32,
}

/// The value of `SLOTS`, by slot: what every event needs to know of one. Its
/// words are written one at a time and read one at a time.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotState {
    /// diskseq; the gendisk's address where there is no diskseq, and 0 until
    /// it is first seen: a `dev_t` is reused, this is not.
    pub id: u64,
    /// Index in `PLACES`.
    pub place: u32,
    /// [`FLAG_REQUEST_BASED`] and its like.
    pub flags: u32,
}

/// Entries of `FRONT`, a power of two.
pub const FRONT_ENTRIES: u32 = 4096;

/// Where `FRONT` may hold the slot of a device. Disks of 16 minors each, the
/// first 256 of a major, do not share.
#[inline(always)]
#[must_use]
pub const fn front_index(dev: u32) -> u32 {
    (dev ^ (dev >> 16)) & (FRONT_ENTRIES - 1)
}

/// An entry of `FRONT`: device and slot in one word, so that nobody ever sees
/// the one without the other. 0 is empty.
#[inline(always)]
#[must_use]
pub const fn front_entry(dev: u32, slot: u32) -> u64 {
    (dev as u64) << 32 | slot as u64
}

/// The device is counted from requests, else from bios.
pub const FLAG_REQUEST_BASED: u32 = 1;
/// The kind is not known yet: seen by a classic tracepoint that cannot tell.
pub const FLAG_KIND_UNKNOWN: u32 = 2;

/// The value of `OWNERS`, by slot: whose counters these are. Written by the
/// programs when they meet a device that user space has not announced.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotOwner {
    /// The kernel's `dev_t`; 0 for a free slot.
    pub dev: u32,
    pub flags: u32,
    /// As in [`SlotState`].
    pub id: u64,
    /// `gendisk.disk_name` of the whole disk, NUL-terminated: an NVMe path
    /// below a multipath head has no other name.
    pub disk_name: [u8; 32],
}

/// The slot that takes what found no slot of its own.
pub const OVERFLOW_SLOT: u32 = 0;

/// The value of `PLACES`: how to classify, and where to keep histograms.
/// Entries are never changed while a slot points at them.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    pub geometry: Geometry,
    /// Index in `DETAIL` plus 1; 0 for none.
    pub detail: u32,
    /// Index of the whole disk's slot, for the seek distance.
    pub disk_slot: u32,
}

/// Index in `PLACES` of "not known".
pub const UNKNOWN_PLACE: u32 = 0;

/// Partitions that `PARTITIONS` can hold for a disk.
pub const MAX_RANGES: usize = 16;

/// The value of `PARTITIONS`, by the slot of the whole disk.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ranges {
    pub range: [Range; MAX_RANGES],
}

/// One partition; `len_sectors` 0 ends the list.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Range {
    pub start_sector: u64,
    pub len_sectors: u64,
    pub slot: u32,
    pub _pad: u32,
}

/// Per-CPU cells of a device.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HotBlock {
    pub cells: [u64; HOT_CELLS],
}

/// Shared cells of a device: the rare operations, then everything that was
/// issued and put back ([`CELLS`] of them).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SharedBlock {
    pub cells: [u64; SHARED_CELLS],
    pub requeued: [u64; CELLS],
    /// Requests issued and put back.
    pub requeues: u64,
    /// Where the last request ended, in bytes.
    pub last_end_bytes: u64,
}

/// Histograms of a device.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DetailBlock {
    pub cells: [u64; cells::detail::CELLS],
}

/// Per-CPU cells of `LOST`: each counts events that were not, or not fully,
/// counted.
pub mod lost {
    /// No slot was left: counted in [`super::OVERFLOW_SLOT`].
    pub const NO_SLOT: usize = 0;
    /// A kernel address could not be read.
    pub const READ_FAULT: usize = 1;
    /// `PROCESSES` was full.
    pub const NO_PROCESS: usize = 2;
    /// `BIO_STARTS` was full: that bio has no latency.
    pub const NO_BIO_START: usize = 3;
    pub const CELLS: usize = 4;
}

/// Value of `LOST`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Lost {
    pub cells: [u64; lost::CELLS],
    /// Slots that the programs made by themselves: no loss, but user space
    /// has owners to look up when it changes.
    pub slots_made: u64,
}

const _: () = {
    assert!(size_of::<Layout>() == 8 + 3 * 4 + 36 * 2 + 6 * 12 + 7 * 2 + 8 * 2 + 2 + 4);
    assert!(size_of::<Geometry>() == 7 * 8);
    assert!(size_of::<Place>() == 7 * 8 + 8);
    assert!(size_of::<SlotState>() == 16);
    assert!(size_of::<SlotOwner>() == 48);
    assert!(size_of::<Ranges>() == MAX_RANGES * 24);
    assert!(size_of::<ProcessKey>() == 32);
};
