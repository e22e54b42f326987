//! Reads of kernel memory and of the frozen globals. With [`super::maps`] the
//! only module of the programs that holds `unsafe`.
//!
//! Must not count or decide.

use core::{ffi::c_void, mem::MaybeUninit};

use aya_ebpf::{
    EbpfContext, Global,
    helpers::{
        bpf_get_current_comm, bpf_get_current_pid_tgid, bpf_get_current_task, bpf_ktime_get_ns,
        bpf_probe_read_kernel, bpf_probe_read_kernel_buf, generated,
    },
    programs::TracePointContext,
};
use tracer_ebpf::{
    abi::{ABSENT, Config, Layout},
    caller::Caller,
    op::{OP_MASK, Op},
};

#[unsafe(no_mangle)]
static LAYOUT: Global<Layout> = Global::new(Layout::NONE);
#[unsafe(no_mangle)]
static CONFIG: Global<Config> = Global::new(Config {
    by_process: 0,
    bio_latency: 0,
    log: 0,
    fills: 0,
});

/// One field of [`Layout`], as a constant for the verifier. Loading the whole
/// structure for one field would copy it to the stack.
macro_rules! layout {
    ($($field:tt)+) => {
        $crate::read::frozen(|layout| &layout.$($field)+)
    };
}
pub(crate) use layout;

/// Loads what `field` points at within [`LAYOUT`].
#[inline(always)]
pub(crate) fn frozen<T: Copy + 'static>(field: impl FnOnce(&'static Layout) -> &'static T) -> T {
    // SAFETY: `Global` is transparent.
    let layout = unsafe { &*(&raw const LAYOUT).cast::<Layout>() };
    // SAFETY: a valid reference; volatile, because user space replaces the
    // value before the programs load.
    unsafe { core::ptr::read_volatile(field(layout)) }
}

/// The operation that `cmd_flags` or `bi_opf` tells. The two usual ones first:
/// the other codes need not be loaded for them.
#[inline(always)]
pub(crate) fn decode_op(opf: u32) -> Op {
    let op = (opf & OP_MASK) as u8;
    if op == layout!(op.write) {
        Op::Write
    } else if op == layout!(op.read) {
        Op::Read
    } else {
        layout!(op).decode(opf)
    }
}

/// What the user asked for.
#[inline(always)]
pub(crate) fn config() -> Config {
    CONFIG.load()
}

/// A pointer into kernel memory.
#[derive(Clone, Copy)]
pub(crate) struct Ptr(*const u8);

/// How a program may read kernel memory.
pub(crate) trait Kernel {
    /// `N` words of a structure.
    type Window<'a, const N: usize>;

    /// Reads a `T` at `offset` bytes from `base`; `None` on a fault.
    fn load<T: Copy>(base: Ptr, offset: u16) -> Option<T>;

    /// The words from that which holds `first` on. They must all lie within
    /// the structure, so that no fault can come of reading them together.
    fn window<const N: usize>(
        room: &mut Room<N>,
        base: Ptr,
        first: u16,
    ) -> Option<Self::Window<'_, N>>;

    /// Reads a `T` at `offset` bytes from the window's base, wherever that is.
    fn at<T: Copy, const N: usize>(window: &Self::Window<'_, N>, offset: u16) -> Option<T>;

    /// Reads a field that holds a pointer; `None` on a fault or null.
    #[inline(always)]
    fn follow<const N: usize>(window: &Self::Window<'_, N>, offset: u16) -> Option<Ptr> {
        Ptr(Self::at::<*const u8, N>(window, offset)?).not_null()
    }
}

/// `tp_btf`: arguments are typed, the verifier checks each load against the
/// kernel's own BTF and a fault reads 0.
pub(crate) struct Typed;

/// Raw tracepoint: arguments are numbers, every read goes through a helper.
pub(crate) struct Probed;

/// Where `N` words can be copied to. The caller's, because a value that is
/// handed on is copied on the stack, of which there are 512 bytes.
pub(crate) struct Room<const N: usize>(MaybeUninit<[u64; N]>);

impl<const N: usize> Room<N> {
    #[inline(always)]
    pub(crate) const fn new() -> Self {
        Self(MaybeUninit::uninit())
    }

    /// Copies from kernel memory by one call of a helper, which returns 0.
    #[inline(always)]
    fn copy(&mut self, from: *const u8) -> (&[u64; N], u64) {
        // SAFETY: the helper checks the address and writes so many bytes,
        // zeroes on a fault.
        unsafe {
            let to = self.0.as_mut_ptr().cast::<c_void>();
            let size = size_of::<[u64; N]>() as u32;
            let result = generated::bpf_probe_read_kernel(to, size, from.cast());
            (self.0.assume_init_ref(), result as u64)
        }
    }

    /// Fills it from kernel memory by one call of a helper.
    #[inline(always)]
    fn fill(&mut self, from: *const u8) -> Option<&[u64; N]> {
        // SAFETY: the helper checks the address and writes so many bytes,
        // zeroes on a fault.
        unsafe {
            let to = self.0.as_mut_ptr().cast::<c_void>();
            let size = size_of::<[u64; N]>() as u32;
            if generated::bpf_probe_read_kernel(to, size, from.cast()) != 0 {
                return None;
            }
            Some(self.0.assume_init_ref())
        }
    }
}

/// As [`Kernel::window`] by helper, without a branch on whether it worked: in a
/// loop each would be one more way on for the verifier. Of what cannot be read
/// the words are 0, and the number beside them is not.
#[inline(always)]
pub(crate) fn copy<const N: usize>(
    room: &mut Room<N>,
    base: Ptr,
    first: u16,
) -> (Copied<'_, N>, u64) {
    let first = first & !7;
    let (words, fault) = room.copy(base.0.wrapping_add(first as usize));
    (Copied { base, first, words }, fault)
}

/// A copy of some words.
pub(crate) struct Copied<'a, const N: usize> {
    base: Ptr,
    first: u16,
    words: &'a [u64; N],
}

impl Kernel for Typed {
    // A read costs one instruction: nothing is read ahead.
    type Window<'a, const N: usize> = Ptr;

    #[inline(always)]
    fn window<const N: usize>(_room: &mut Room<N>, base: Ptr, _first: u16) -> Option<Ptr> {
        Some(base)
    }

    #[inline(always)]
    fn at<T: Copy, const N: usize>(window: &Ptr, offset: u16) -> Option<T> {
        Self::load(*window, offset)
    }

    #[inline(always)]
    fn load<T: Copy>(base: Ptr, offset: u16) -> Option<T> {
        // SAFETY: refused at load time unless a T lies at that offset of the
        // type `base` points at; faults are caught by the kernel.
        Some(unsafe { core::ptr::read_volatile(base.0.wrapping_add(offset as usize).cast::<T>()) })
    }
}

impl Kernel for Probed {
    type Window<'a, const N: usize> = Copied<'a, N>;

    #[inline(always)]
    fn window<const N: usize>(room: &mut Room<N>, base: Ptr, first: u16) -> Option<Copied<'_, N>> {
        let first = first & !7;
        let words = room.fill(base.0.wrapping_add(first as usize))?;
        Some(Copied { base, first, words })
    }

    #[inline(always)]
    fn at<T: Copy, const N: usize>(window: &Copied<'_, N>, offset: u16) -> Option<T> {
        if offset < window.first {
            return Self::load(window.base, offset);
        }
        match copied(window.words, offset - window.first) {
            Some(value) => Some(value),
            None => Self::load(window.base, offset),
        }
    }

    #[inline(always)]
    fn load<T: Copy>(base: Ptr, offset: u16) -> Option<T> {
        // SAFETY: the helper checks the address.
        unsafe { bpf_probe_read_kernel(base.0.wrapping_add(offset as usize).cast::<T>()) }.ok()
    }
}

impl Ptr {
    /// Argument of a program, as the context gives it.
    #[inline(always)]
    pub(crate) fn new(address: *const u8) -> Self {
        Self(address)
    }

    #[inline(always)]
    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// The field's value as a number. By helper, because a pointer that is
    /// loaded directly stays one for the verifier (`void *` since 6.18 too),
    /// and may not be calculated with.
    #[inline(always)]
    pub(crate) fn number_at(self, offset: u16) -> Option<u64> {
        Probed::load(self, offset)
    }

    /// A structure at an address that is a number.
    #[inline(always)]
    pub(crate) fn at(address: u64) -> Self {
        Self(address as *const u8)
    }

    /// The address as a number, to tell one object from another.
    #[inline(always)]
    pub(crate) fn address(self) -> u64 {
        self.0 as u64
    }

    /// Reads a field that holds a pointer; `None` on a fault or null.
    #[inline(always)]
    pub(crate) fn follow<K: Kernel>(self, offset: u16) -> Option<Self> {
        Self(K::load::<*const u8>(self, offset)?).not_null()
    }

    #[inline(always)]
    fn not_null(self) -> Option<Self> {
        if self.is_null() { None } else { Some(self) }
    }

    /// Copies bytes out of a structure; zeroes on a fault.
    #[inline(always)]
    pub(crate) fn copy_bytes(self, offset: u16, to: &mut [u8]) {
        // SAFETY: the helper checks the address and fills `to`.
        let _ = unsafe { bpf_probe_read_kernel_buf(self.0.wrapping_add(offset as usize), to) };
    }
}

/// Reads a `T` out of words that were copied; `None` where it lies elsewhere.
/// The verifier knows which: `offset` is a constant for it.
#[inline(always)]
fn copied<T: Copy, const N: usize>(words: &[u64; N], offset: u16) -> Option<T> {
    if offset as usize + size_of::<T>() > N * 8 {
        return None;
    }
    let at = words.as_ptr().cast::<u8>().wrapping_add(offset as usize);
    // SAFETY: within `words`, and aligned as it is in the structure that the
    // words were copied from, at a whole word.
    Some(unsafe { core::ptr::read_volatile(at.cast::<T>()) })
}

/// A classic tracepoint's record: its first words read at once, because each
/// call of the helper costs as much as all else that is done with a field.
pub(crate) struct Record<'a> {
    ctx: &'a TracePointContext,
    words: &'a [u64; RECORD_WORDS],
}

pub(crate) const RECORD_WORDS: usize = 6;

impl<'a> Record<'a> {
    /// What is read beyond a short record is the rest of the kernel's buffer.
    #[inline(always)]
    pub(crate) fn read(
        ctx: &'a TracePointContext,
        room: &'a mut Room<RECORD_WORDS>,
    ) -> Option<Self> {
        let words = room.fill(ctx.as_ptr().cast())?;
        Some(Self { ctx, words })
    }

    /// A field; `None` where this kernel's record has no such field.
    #[inline(always)]
    pub(crate) fn field<T: Copy>(&self, offset: u16) -> Option<T> {
        if offset == ABSENT {
            return None;
        }
        match copied(self.words, offset) {
            Some(value) => Some(value),
            // SAFETY: the helper checks the address.
            None => unsafe { self.ctx.read_at(offset as usize) }.ok(),
        }
    }
}

/// The context's first word as a number: what tells one bio from another
/// where the verifier would refuse a typed pointer as a map key.
#[inline(always)]
pub(crate) fn argument_address(ctx: &impl EbpfContext, index: u16) -> Option<u64> {
    let words = ctx.as_ptr().cast::<u64>();
    // SAFETY: the helper checks the address.
    unsafe { bpf_probe_read_kernel(words.wrapping_add(index as usize)) }.ok()
}

/// Nanoseconds of `CLOCK_MONOTONIC`, the clock of a request's time stamps.
#[inline(always)]
pub(crate) fn now_ns() -> u64 {
    // SAFETY: no arguments.
    unsafe { bpf_ktime_get_ns() }
}

/// `PF_KTHREAD` of `task_struct.flags` (include/linux/sched.h).
const KERNEL_THREAD: u32 = 0x0020_0000;
/// `PF_IO_WORKER`: works for a task's io_uring, and is in no call of its own.
const IO_WORKER: u32 = 0x10;
/// x86-64's stack of a task, without sanitizers (`THREAD_SIZE`,
/// arch/x86/include/asm/page_64_types.h).
const STACK_BYTES: u64 = 16 << 10;

/// Flags of the running task; 0 where they cannot be told.
#[inline(always)]
fn task_flags() -> u32 {
    if layout!(task_flags) == ABSENT {
        return 0;
    }
    // SAFETY: no arguments.
    let task = Ptr::at(unsafe { bpf_get_current_task() });
    Probed::load(task, layout!(task_flags)).unwrap_or(0)
}

/// Does a thread of the kernel's own run? False where that is not known.
#[inline(always)]
pub(crate) fn in_kernel_thread() -> bool {
    task_flags() & KERNEL_THREAD != 0
}

/// May the running task be in a system call or a page fault of its own? md's
/// threads and other kernel threads never are.
#[inline(always)]
pub(crate) fn has_caller() -> bool {
    layout!(regs_call) != ABSENT && task_flags() & (KERNEL_THREAD | IO_WORKER) == 0
}

/// Whose system call a task is in that [`has_caller`].
#[inline(always)]
pub(crate) fn caller() -> Caller {
    let call = registers().and_then(|regs| {
        if layout!(regs_call_wide) != 0 {
            Probed::load::<i64>(regs, layout!(regs_call))
        } else {
            Probed::load::<i32>(regs, layout!(regs_call)).map(i64::from)
        }
    });
    call.map_or(Caller::Other, |call| layout!(calls).caller(call))
}

/// The running task's registers, as saved when it entered the kernel.
#[inline(always)]
fn registers() -> Option<Ptr> {
    if layout!(regs_by_helper) != 0 {
        // SAFETY: a task, as the other helper takes it.
        let regs = unsafe { generated::bpf_task_pt_regs(generated::bpf_get_current_task_btf()) };
        return Ptr::at(regs as u64).not_null();
    }
    // SAFETY: no arguments.
    let task = Ptr::at(unsafe { bpf_get_current_task() });
    let stack = task.number_at(layout!(task_stack))?;
    let end = stack.wrapping_add(STACK_BYTES);
    Some(Ptr::at(end.wrapping_sub(u64::from(layout!(regs_size)))))
}

/// Thread group and command of the running task.
#[inline(always)]
pub(crate) fn current() -> (u32, [u8; 16]) {
    let tgid = (bpf_get_current_pid_tgid() >> 32) as u32;
    (tgid, bpf_get_current_comm().unwrap_or_default())
}
