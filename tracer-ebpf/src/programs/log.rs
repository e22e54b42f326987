//! `--bpf-log`: one line an event, for whoever debugs the programs. A line is
//! numbers only ([`tracer_ebpf::log_line`]); user space puts the words in.
//!
//! Every call must be behind `config().log`, a frozen constant, so that the
//! verifier drops it when off. Must not count IO.

use aya_log_ebpf::info;
use tracer_ebpf::{abi::Place, classify::classify, log_line::Word, op::Op};

use crate::{
    maps::{self, OWNERS},
    read::config,
    request::{Io, UNPLACED},
    slots::Slot,
};

/// Writes the line of an event about `io`.
#[inline(always)]
pub(crate) fn event(event: u8, io: &Io) {
    if config().log != 0 {
        let _ = write(event, io);
    }
}

/// Writes the line of an event that does not tell where its IO lies.
#[inline(always)]
pub(crate) fn untold(event: u8, slot: u32) {
    if config().log != 0
        && let Some(slot) = Slot::of(slot)
    {
        let io = Io {
            op: Op::NotTold,
            start_bytes: 0,
            len_bytes: 0,
            slot,
        };
        let _ = write(event, &io);
    }
}

#[inline(always)]
fn write(event: u8, io: &Io) -> Option<()> {
    let place = io.slot.place()?;
    if not_asked_for(place) {
        return None;
    }
    let class = if io.len_bytes == 0 {
        UNPLACED
    } else {
        classify(io.start_bytes, io.len_bytes, &place.geometry)
    };
    let dev = OWNERS.get(io.slot.index).map_or(0, |owner| owner.dev);
    let word = Word::new(event, io.op, &class, dev).pack();
    log_line(word, io.start_bytes, io.len_bytes);
    Some(())
}

/// A global function: walked by the verifier once for any three numbers, not
/// once for each state that its callers may be in (5.10 would give up). It is
/// walked where nothing calls it too, which is why the level is 0 when off.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn log_line(word: u64, start_bytes: u64, len_bytes: u64) -> u32 {
    maps::count_log_line();
    info!(&(), "{} {} {}", word, start_bytes, len_bytes);
    0
}

/// A device that user space knows and gave no histograms. The log's own way to
/// its reader may be IO: the devices asked for must not drown in it.
#[inline(always)]
fn not_asked_for(place: &Place) -> bool {
    place.detail == 0 && place.geometry.physical_bytes != 0
}
