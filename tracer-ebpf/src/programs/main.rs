//! The eBPF programs: one file a subject, three thin wrappers an event, each
//! named after its event and the way it attaches (`_btf`, `_raw`, `_tp`).
//! User space loads the ones its plan names.
#![no_std]
#![no_main]
#![feature(asm_experimental_arch)]
#![expect(
    clippy::needless_pass_by_value,
    reason = "what the program macros ask for"
)]
#![expect(
    unreachable_pub,
    reason = "the program macros export their functions by name"
)]

mod bio;
mod classic;
mod log;
mod maps;
mod md_maps;
mod member;
mod read;
mod request;
mod slots;
mod stripe;

use aya_ebpf::{
    macros::{btf_tracepoint, raw_tracepoint, tracepoint},
    programs::{BtfTracePointContext, RawTracePointContext, TracePointContext},
};

use read::{Probed, Ptr, Typed, argument_address, layout};

/// Calls a handler with the argument that user space found in BTF. The
/// context may only be read at a constant offset, hence one call an index;
/// the verifier drops the calls that do not apply.
macro_rules! with_argument {
    ($ctx:ident, $index:ident, $handle:expr) => {
        match layout!($index) {
            0 => $handle(Ptr::new($ctx.arg(0))),
            1 => $handle(Ptr::new($ctx.arg(1))),
            _ => {}
        }
    };
}

#[btf_tracepoint(function = "block_rq_issue")]
pub fn block_rq_issue_btf(ctx: BtfTracePointContext) -> i32 {
    with_argument!(ctx, arg_issue_rq, request::on_issue::<Typed>);
    0
}

#[raw_tracepoint(tracepoint = "block_rq_issue")]
pub fn block_rq_issue_raw(ctx: RawTracePointContext) -> i32 {
    with_argument!(ctx, arg_issue_rq, request::on_issue::<Probed>);
    0
}

#[tracepoint(category = "block", name = "block_rq_issue")]
pub fn block_rq_issue_tp(ctx: TracePointContext) -> u32 {
    classic::on_issue(&ctx);
    0
}

#[btf_tracepoint(function = "block_rq_requeue")]
pub fn block_rq_requeue_btf(ctx: BtfTracePointContext) -> i32 {
    with_argument!(ctx, arg_requeue_rq, request::on_requeue::<Typed>);
    0
}

#[raw_tracepoint(tracepoint = "block_rq_requeue")]
pub fn block_rq_requeue_raw(ctx: RawTracePointContext) -> i32 {
    with_argument!(ctx, arg_requeue_rq, request::on_requeue::<Probed>);
    0
}

#[tracepoint(category = "block", name = "block_rq_requeue")]
pub fn block_rq_requeue_tp(ctx: TracePointContext) -> u32 {
    classic::on_requeue(&ctx);
    0
}

// (rq, error, nr_bytes) on every kernel since 4.16.
#[btf_tracepoint(function = "block_rq_complete")]
pub fn block_rq_complete_btf(ctx: BtfTracePointContext) -> i32 {
    request::on_complete::<Typed>(Ptr::new(ctx.arg(0)), ctx.arg(2));
    0
}

#[raw_tracepoint(tracepoint = "block_rq_complete")]
pub fn block_rq_complete_raw(ctx: RawTracePointContext) -> i32 {
    request::on_complete::<Probed>(Ptr::new(ctx.arg(0)), ctx.arg(2));
    0
}

#[btf_tracepoint(function = "block_bio_queue")]
pub fn block_bio_queue_btf(ctx: BtfTracePointContext) -> i32 {
    let address = || argument_address(&ctx, layout!(arg_bio_queue_bio));
    with_argument!(ctx, arg_bio_queue_bio, |bio| bio::on_queue::<Typed>(
        bio, address
    ));
    0
}

#[raw_tracepoint(tracepoint = "block_bio_queue")]
pub fn block_bio_queue_raw(ctx: RawTracePointContext) -> i32 {
    with_argument!(ctx, arg_bio_queue_bio, |bio: Ptr| bio::on_queue::<Probed>(
        bio,
        || Some(bio.address())
    ));
    0
}

#[tracepoint(category = "block", name = "block_bio_queue")]
pub fn block_bio_queue_tp(ctx: TracePointContext) -> u32 {
    classic::on_queue(&ctx);
    0
}

/// On md's components; loaded from the object's second copy.
#[btf_tracepoint(function = "block_bio_queue")]
pub fn member_bio_queue_btf(ctx: BtfTracePointContext) -> i32 {
    let address = || argument_address(&ctx, layout!(arg_bio_queue_bio));
    with_argument!(ctx, arg_bio_queue_bio, |bio| member::on_queue::<Typed>(
        bio, address
    ));
    0
}

#[raw_tracepoint(tracepoint = "block_bio_queue")]
pub fn member_bio_queue_raw(ctx: RawTracePointContext) -> i32 {
    with_argument!(ctx, arg_bio_queue_bio, |bio: Ptr| {
        member::on_queue::<Probed>(bio, || Some(bio.address()));
    });
    0
}

#[btf_tracepoint(function = "block_bio_remap")]
pub fn member_bio_remap_btf(ctx: BtfTracePointContext) -> i32 {
    match layout!(arg_bio_remap_bio) {
        0 => member::on_remap::<Typed>(Ptr::new(ctx.arg(0)), ctx.arg(1)),
        1 => member::on_remap::<Typed>(Ptr::new(ctx.arg(1)), ctx.arg(2)),
        _ => {}
    }
    0
}

#[raw_tracepoint(tracepoint = "block_bio_remap")]
pub fn member_bio_remap_raw(ctx: RawTracePointContext) -> i32 {
    match layout!(arg_bio_remap_bio) {
        0 => member::on_remap::<Probed>(Ptr::new(ctx.arg(0)), ctx.arg(1)),
        1 => member::on_remap::<Probed>(Ptr::new(ctx.arg(1)), ctx.arg(2)),
        _ => {}
    }
    0
}

#[btf_tracepoint(function = "block_bio_complete")]
pub fn block_bio_complete_btf(ctx: BtfTracePointContext) -> i32 {
    if let Some(address) = argument_address(&ctx, layout!(arg_bio_complete_bio)) {
        bio::on_bio_complete(address);
    }
    0
}

#[raw_tracepoint(tracepoint = "block_bio_complete")]
pub fn block_bio_complete_raw(ctx: RawTracePointContext) -> i32 {
    with_argument!(ctx, arg_bio_complete_bio, |bio: Ptr| bio::on_bio_complete(
        bio.address()
    ));
    0
}

#[btf_tracepoint(function = "block_split")]
pub fn block_split_btf(ctx: BtfTracePointContext) -> i32 {
    with_argument!(ctx, arg_split_bio, bio::on_split::<Typed>);
    0
}

#[raw_tracepoint(tracepoint = "block_split")]
pub fn block_split_raw(ctx: RawTracePointContext) -> i32 {
    with_argument!(ctx, arg_split_bio, bio::on_split::<Probed>);
    0
}

#[tracepoint(category = "block", name = "block_split")]
pub fn block_split_tp(ctx: TracePointContext) -> u32 {
    classic::on_split(&ctx);
    0
}

// (bio, dev, from), with the queue in front of them on 5.10: `old_dev`
// follows the bio.
#[btf_tracepoint(function = "block_bio_remap")]
pub fn block_bio_remap_btf(ctx: BtfTracePointContext) -> i32 {
    match layout!(arg_bio_remap_bio) {
        0 => bio::on_remap::<Typed>(Ptr::new(ctx.arg(0)), ctx.arg(1)),
        1 => bio::on_remap::<Typed>(Ptr::new(ctx.arg(1)), ctx.arg(2)),
        _ => {}
    }
    0
}

#[raw_tracepoint(tracepoint = "block_bio_remap")]
pub fn block_bio_remap_raw(ctx: RawTracePointContext) -> i32 {
    match layout!(arg_bio_remap_bio) {
        0 => bio::on_remap::<Probed>(Ptr::new(ctx.arg(0)), ctx.arg(1)),
        1 => bio::on_remap::<Probed>(Ptr::new(ctx.arg(1)), ctx.arg(2)),
        _ => {}
    }
    0
}

#[cfg(not(test))]
#[panic_handler]
fn panic(_info: &core::panic::PanicInfo) -> ! {
    loop {}
}

#[unsafe(link_section = "license")]
#[unsafe(no_mangle)]
static LICENSE: [u8; 13] = *b"Dual MIT/GPL\0";
