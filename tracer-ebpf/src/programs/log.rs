//! `--bpf-log`: one line an event, for whoever debugs the programs. A line is
//! numbers only ([`tracer_ebpf::abi::log_line`]); user space puts the words in.
//!
//! Every call must be behind `config().log`, a frozen constant, so that the
//! verifier drops it when off. Must not count IO.

use aya_log_ebpf::info;
use tracer_ebpf::{classify::classify, op::Op};

use crate::{
    maps::{self, OWNERS, State},
    read::config,
    request::Io,
};

/// Writes the line of an event about `io`.
#[inline(always)]
pub(crate) fn event(event: u32, io: &Io) {
    if config().log != 0 {
        line(event, io);
    }
}

/// Writes the line of an event that does not tell where its IO lies.
#[inline(always)]
pub(crate) fn untold(event: u32, slot: u32) {
    let io = Io {
        op: Op::NotTold,
        start_bytes: 0,
        len_bytes: 0,
        slot,
    };
    self::event(event, &io);
}

/// A function of its own: the formatting needs most of a program's stack.
#[inline(never)]
fn line(event: u32, io: &Io) -> u32 {
    if not_asked_for(io.slot) {
        return 0;
    }
    let (physical, chunk, stripe) = class(io);
    let dev = OWNERS.get(io.slot).map_or(0, |owner| owner.dev);
    let op = io.op as u32;
    maps::count_log_line();
    info!(
        &(),
        "{} {} {} {} {} {} {} {}",
        event,
        dev,
        op,
        io.start_bytes,
        io.len_bytes,
        physical,
        chunk,
        stripe
    );
    0
}

/// A device that user space knows and gave no histograms. The log's own way to
/// its reader may be IO: the devices asked for must not drown in it.
#[inline(always)]
fn not_asked_for(slot: u32) -> bool {
    let place = State::of(slot).and_then(State::place);
    place.is_some_and(|place| place.detail == 0 && place.geometry.physical_bytes != 0)
}

#[inline(always)]
fn class(io: &Io) -> (u32, u32, u32) {
    let place = State::of(io.slot).and_then(State::place);
    let (Some(place), true) = (place, io.len_bytes != 0) else {
        return (0, 0, 0);
    };
    let class = classify(io.start_bytes, io.len_bytes, &place.geometry);
    (
        class.physical as u32,
        class.chunk as u32,
        class.stripe as u32,
    )
}
