//! The maps and how cells in them are changed. With [`super::read`] the only
//! module of the programs that holds `unsafe`.
//!
//! Sizes are set by user space before loading. Must not decide.

use core::arch::asm;

use aya_ebpf::{
    macros::map,
    maps::{Array, HashMap, PerCpuArray, Queue},
};
use tracer_ebpf::{
    abi::{
        DetailBlock, FRONT_ENTRIES, HotBlock, Lost, Place, ProcessCells, ProcessKey, Ranges,
        SharedBlock, SlotOwner, SlotState, UNKNOWN_PLACE, front_entry, front_index, lost,
    },
    cells::{CELLS, HOT_CELLS, SHARED_CELLS, detail},
};

/// `BPF_NOEXIST` of linux/bpf.h.
pub(crate) const NO_EXIST: u64 = 1;

/// dev_t → slot.
#[map]
pub(crate) static DEVICES: HashMap<u32, u32> = HashMap::with_max_entries(64, 0);
/// Slots that belong to no device.
#[map]
pub(crate) static FREE_SLOTS: Queue<u32> = Queue::with_max_entries(64, 0);
#[map]
pub(crate) static OWNERS: Array<SlotOwner> = Array::with_max_entries(64, 0);
/// The same for the devices that do not share an entry, without a hash.
#[map]
static FRONT: Array<u64> = Array::with_max_entries(FRONT_ENTRIES, 0);
#[map]
static SLOTS: Array<SlotState> = Array::with_max_entries(64, 0);
#[map]
pub(crate) static PLACES: Array<Place> = Array::with_max_entries(64, 0);
#[map]
pub(crate) static PARTITIONS: Array<Ranges> = Array::with_max_entries(64, 0);
#[map]
pub(crate) static HOT: PerCpuArray<HotBlock> = PerCpuArray::with_max_entries(64, 0);
#[map]
pub(crate) static SHARED: Array<SharedBlock> = Array::with_max_entries(64, 0);
#[map]
pub(crate) static DETAIL: PerCpuArray<DetailBlock> = PerCpuArray::with_max_entries(1, 0);
#[map]
pub(crate) static PROCESSES: HashMap<ProcessKey, ProcessCells> = HashMap::with_max_entries(1, 0);
/// Bios under way on the bio-based devices that were asked for.
#[map]
pub(crate) static BIO_STARTS: HashMap<u64, BioStart> = HashMap::with_max_entries(1, 0);
#[map]
pub(crate) static LOST: PerCpuArray<Lost> = PerCpuArray::with_max_entries(1, 0);
/// Lines that the log was given, so that user space can tell how many of them
/// the buffer had no room for.
#[map]
static LOG_LINES: PerCpuArray<u64> = PerCpuArray::with_max_entries(1, 0);

/// When a bio was queued, and where its latency belongs.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct BioStart {
    pub(crate) queued_ns: u64,
    /// Index in `DETAIL`.
    pub(crate) detail: u32,
    /// First cell of its latency histogram.
    pub(crate) cells: u32,
}

/// Adds to a cell. Atomic because a program can be interrupted by itself
/// (before 5.11 nothing prevents that), and shared cells by another CPU.
#[inline(always)]
fn add(cell: *mut u64, amount: u64) {
    // SAFETY: `cell` points at an aligned word of a map value, which lives
    // until the program ends. By hand, because BPF_XADD is all that 5.10 has,
    // and `core` offers no atomic add on a target without compare-and-swap.
    unsafe {
        asm!("lock *(u64 *)({cell} + 0) += {amount}", cell = in(reg) cell, amount = in(reg) amount);
    }
}

/// Adds to one of a block's cells, if there is such a cell.
#[inline(always)]
pub(crate) fn add_at<const N: usize>(cells: *mut [u64; N], index: usize, amount: u64) {
    if index < N {
        add(cells.cast::<u64>().wrapping_add(index), amount);
    }
}

/// Counts in the cells of a slot.
#[inline(always)]
pub(crate) fn count(slot: u32, cell: usize, amount: u64) {
    if cell < HOT_CELLS {
        if let Some(block) = HOT.get_ptr_mut(slot) {
            // SAFETY: only computes the field's address.
            add_at::<HOT_CELLS>(unsafe { &raw mut (*block).cells }, hide(cell), amount);
        }
    } else if let Some(block) = SHARED.get_ptr_mut(slot) {
        // SAFETY: only computes the field's address.
        let cells = unsafe { &raw mut (*block).cells };
        add_at::<SHARED_CELLS>(cells, hide(cell - HOT_CELLS), amount);
    }
}

/// The per-CPU block of a slot, to count several cells after one look-up.
#[derive(Clone, Copy)]
pub(crate) struct Hot(*mut HotBlock, u32);

impl Hot {
    #[inline(always)]
    pub(crate) fn of(slot: u32) -> Option<Self> {
        HOT.get_ptr_mut(slot).map(|block| Self(block, slot))
    }

    #[inline(always)]
    pub(crate) fn count(self, cell: usize, amount: u64) {
        if cell < HOT_CELLS {
            // SAFETY: only computes the field's address.
            add_at::<HOT_CELLS>(unsafe { &raw mut (*self.0).cells }, cell, amount);
        } else {
            count(self.1, cell, amount);
        }
    }
}

/// Counts a requeued request's cells, to be taken off what was issued.
#[inline(always)]
pub(crate) fn count_requeued(slot: u32, cell: usize, amount: u64) {
    if let Some(block) = SHARED.get_ptr_mut(slot) {
        // SAFETY: only computes the field's address.
        add_at::<CELLS>(unsafe { &raw mut (*block).requeued }, hide(cell), amount);
    }
}

/// Counts one request put back after it was issued.
#[inline(always)]
pub(crate) fn count_requeue(slot: u32) {
    if let Some(block) = SHARED.get_ptr_mut(slot) {
        // SAFETY: only computes the field's address.
        add(unsafe { &raw mut (*block).requeues }, 1);
    }
}

/// Remembers where this request ends and tells how far its start is from the
/// end of the one before. CPUs that issue at once may each see the same one
/// before: a distance, not a count.
#[inline(always)]
pub(crate) fn seek_bytes(disk_slot: u32, start: u64, len: u64) -> Option<u64> {
    let block = SHARED.get_ptr_mut(disk_slot)?;
    // SAFETY: a word of a map value; one aligned load and one aligned store.
    unsafe {
        let end = &raw mut (*block).last_end_bytes;
        let before = core::ptr::read_volatile(end);
        core::ptr::write_volatile(end, start.wrapping_add(len));
        Some(start.abs_diff(before))
    }
}

/// A computed cell. Hides from the compiler that it is in bounds: the verifier
/// cannot follow the arithmetic that tells so, and needs the comparison that the
/// compiler would drop.
#[inline(always)]
pub(crate) fn hide(cell: usize) -> usize {
    let mut cell = cell;
    // SAFETY: changes nothing.
    unsafe { asm!("{0} = {0}", inout(reg) cell) };
    cell
}

/// `value`, of which the verifier knows no more which of few it is: once it is
/// mixed with a number that it does not know, and once more.
#[inline(always)]
pub(crate) fn forget(value: u64, unknown: u64) -> u64 {
    let mut value = value;
    // SAFETY: two exclusive ors with the same number change nothing.
    unsafe {
        asm!(
            "{0} ^= {1}",
            "{0} ^= {1}",
            inout(reg) value,
            in(reg) unknown,
            options(pure, nomem, nostack)
        );
    }
    value
}

/// Counts in a histogram cell of an asked device.
#[inline(always)]
pub(crate) fn count_detail(detail: Detail, cell: usize) {
    add_detail(detail, cell, 1);
}

/// Adds to a histogram cell of an asked device.
#[inline(always)]
pub(crate) fn add_detail(detail: Detail, cell: usize, amount: u64) {
    // SAFETY: only computes the field's address.
    add_at::<{ detail::CELLS }>(unsafe { &raw mut (*detail.0).cells }, hide(cell), amount);
}

/// The per-CPU histograms of an asked device.
#[derive(Clone, Copy)]
pub(crate) struct Detail(*mut DetailBlock);

impl Detail {
    /// `index` as in `Place::detail`: 0 for none.
    #[inline(always)]
    pub(crate) fn of(index: u32) -> Option<Self> {
        if index == 0 {
            return None;
        }
        DETAIL.get_ptr_mut(index - 1).map(Self)
    }
}

/// Counts an event that was not, or not fully, counted.
#[inline(always)]
pub(crate) fn count_lost(cell: usize) {
    if let Some(block) = LOST.get_ptr_mut(0) {
        // SAFETY: only computes the field's address.
        add_at::<{ lost::CELLS }>(unsafe { &raw mut (*block).cells }, cell, 1);
    }
}

/// Tells user space that there is a new owner to look up.
#[inline(always)]
pub(crate) fn count_slot_made() {
    if let Some(block) = LOST.get_ptr_mut(0) {
        // SAFETY: only computes the field's address.
        add(unsafe { &raw mut (*block).slots_made }, 1);
    }
}

/// Counts a line given to the log.
#[inline(always)]
pub(crate) fn count_log_line() {
    if let Some(lines) = LOG_LINES.get_ptr_mut(0) {
        add(lines, 1);
    }
}

/// The slot of a device; `None` for one that has none.
#[inline(always)]
pub(crate) fn slot(dev: u32) -> Option<u32> {
    let front = FRONT.get_ptr_mut(front_index(dev))?;
    // SAFETY: one aligned load of a word of a map value.
    let entry = unsafe { core::ptr::read_volatile(front) };
    if entry >> 32 == u64::from(dev) {
        return Some(entry as u32);
    }
    // SAFETY: the entry of a device changes only when the device does.
    let slot = unsafe { DEVICES.get(dev) }.copied()?;
    if entry == 0 {
        // SAFETY: one aligned store of a word of a map value.
        unsafe { core::ptr::write_volatile(front, front_entry(dev, slot)) };
    }
    Some(slot)
}

/// Makes `FRONT` forget a device whose slot is no longer its own.
#[inline(always)]
pub(crate) fn forget_front(dev: u32) {
    if let Some(entry) = FRONT.get_ptr_mut(front_index(dev)) {
        // SAFETY: one aligned store of a word of a map value. An entry of
        // another device that is lost with it is found by hash.
        unsafe { core::ptr::write_volatile(entry, 0) };
    }
}

/// A slot's state, to be read word by word.
#[derive(Clone, Copy)]
pub(crate) struct State(*mut SlotState);

impl State {
    #[inline(always)]
    pub(crate) fn of(slot: u32) -> Option<Self> {
        SLOTS.get_ptr_mut(slot).map(Self)
    }

    #[inline(always)]
    pub(crate) fn id(self) -> u64 {
        // SAFETY: one aligned load of a word of a map value.
        unsafe { core::ptr::read_volatile(&raw const (*self.0).id) }
    }

    /// Keeps what is never reused of the device, once it is seen.
    #[inline(always)]
    pub(crate) fn set_id(self, id: u64) {
        // SAFETY: one aligned store of a word; whoever else stores it stores
        // the same.
        unsafe { core::ptr::write_volatile(&raw mut (*self.0).id, id) };
    }

    #[inline(always)]
    pub(crate) fn flags(self) -> u32 {
        // SAFETY: one aligned load of a word of a map value.
        unsafe { core::ptr::read_volatile(&raw const (*self.0).flags) }
    }

    /// The slot's entry in `PLACES`.
    #[inline(always)]
    pub(crate) fn place(self) -> Option<&'static Place> {
        // SAFETY: one aligned load of a word of a map value.
        PLACES.get(unsafe { core::ptr::read_volatile(&raw const (*self.0).place) })
    }

    /// Fills the state of a slot that no event has been counted in yet.
    #[inline(always)]
    pub(crate) fn start(self, id: u64, flags: u32) {
        self.set_id(id);
        // SAFETY: aligned stores of words of a map value.
        unsafe {
            core::ptr::write_volatile(&raw mut (*self.0).flags, flags);
            core::ptr::write_volatile(&raw mut (*self.0).place, UNKNOWN_PLACE);
        }
    }
}

/// Adds to the cells of a process, which are made if need be; false if there
/// was no room.
#[inline(always)]
pub(crate) fn add_process(key: &ProcessKey, by: &ProcessCells) -> bool {
    let cells = match PROCESSES.get_ptr_mut(key) {
        Some(cells) => cells,
        None => {
            // Another CPU may insert it first: look again either way.
            let _ = PROCESSES.insert(key, ProcessCells::default(), NO_EXIST);
            match PROCESSES.get_ptr_mut(key) {
                Some(cells) => cells,
                None => return false,
            }
        }
    };
    macro_rules! add_fields {
        ($($field:ident)*) => {$(
            if by.$field != 0 {
                // SAFETY: only computes the field's address.
                add(unsafe { &raw mut (*cells).$field }, by.$field);
            }
        )*};
    }
    add_fields!(read_requests read_bytes read_misaligned write_requests write_bytes write_misaligned
        write_partial_blocks write_partial_stripe write_partial_stripe_bytes other_requests
        write_fill_requests write_fill_bytes fault_requests fault_bytes);
    true
}

/// When this bio was queued; forgets it.
#[inline(always)]
pub(crate) fn take_bio_start(bio: u64) -> Option<BioStart> {
    // SAFETY: the entry belongs to a bio that is completing now, on this CPU.
    let start = unsafe { BIO_STARTS.get(bio) }.copied()?;
    let _ = BIO_STARTS.remove(bio);
    Some(start)
}
