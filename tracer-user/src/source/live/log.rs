//! `--bpf-log`: the lines that the programs write about each event, in words.
//!
//! Must not count, and must not wait: whoever owns the log calls
//! [`BpfLog::flush`] when its descriptor is readable.

use std::{
    io::{self, Write as _},
    os::fd::{AsFd, BorrowedFd},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use aya::{
    Ebpf,
    maps::{MapData, PerCpuArray},
};
use aya_log::EbpfLogger;
use log::{Log, Metadata, Record};
use tracer_ebpf::log_line::{self, Word};

use super::maps::{MapsError, take};
use crate::{
    plan::Event,
    privileges::{Need, raise},
    units::DevId,
};

/// The ring buffer, by the name that aya-log gives it.
pub(super) const LINES_MAP: &str = "AYA_LOGS";

/// Lines on their way from the programs to standard error.
pub struct BpfLog {
    lines: EbpfLogger<Lines>,
    written: PerCpuArray<MapData, u64>,
    shown: Arc<AtomicU64>,
}

/// The log cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    #[error("--bpf-log: {0}")]
    Logger(#[from] aya_log::Error),
    #[error("--bpf-log: {0}")]
    Maps(#[from] MapsError),
}

impl BpfLog {
    pub(super) fn take(ebpf: &mut Ebpf) -> Result<Self, LogError> {
        let shown = Arc::new(AtomicU64::new(0));
        let lines = Lines(Arc::clone(&shown));
        Ok(Self {
            written: take(ebpf, "LOG_LINES")?,
            lines: EbpfLogger::init_with_logger(ebpf, lines)?,
            shown,
        })
    }

    /// Writes out what has come since the last call.
    pub fn flush(&mut self) {
        self.lines.flush();
    }

    /// Lines that the buffer had no room for; `None` where the kernel does not
    /// say how many were written.
    #[must_use]
    pub fn dropped(&self) -> Option<u64> {
        let _raised = raise(Need::Maps);
        let written: u64 = self.written.get(&0, 0).ok()?.iter().sum();
        Some(written.saturating_sub(self.shown.load(Ordering::Relaxed)))
    }
}

impl AsFd for BpfLog {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.lines.as_fd()
    }
}

/// Writes lines to standard error, and counts them.
struct Lines(Arc<AtomicU64>);

impl Log for Lines {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        self.0.fetch_add(1, Ordering::Relaxed);
        let numbers = record.args().to_string();
        let line = in_words(&numbers).unwrap_or(numbers);
        // Nobody can be told that standard error is closed.
        let _ = writeln!(io::stderr().lock(), "bpf: {line}");
    }

    fn flush(&self) {}
}

/// A line of numbers ([`log_line`]) for people; `None` if it is none.
fn in_words(line: &str) -> Option<String> {
    let numbers: Vec<u64> = line
        .split(' ')
        .map(|number| number.parse().ok())
        .collect::<Option<_>>()?;
    let [word, start, len] = numbers.try_into().ok()?;
    let word = Word::unpack(word);
    let event = event_name(word.event)?;
    if word.dev == 0 && len == 0 {
        return Some(event.to_owned());
    }
    let name = |names: &[&'static str], number: u8| {
        let name = names.get(usize::from(number));
        name.copied().unwrap_or("?")
    };
    Some(format!(
        "{event} {} {} {start}+{len} {}{}{}",
        DevId::from_kernel(word.dev),
        name(&OPERATIONS, word.op),
        name(&PHYSICAL, word.physical),
        name(&CHUNK, word.chunk),
        name(&STRIPE, word.stripe),
    ))
}

fn event_name(event: u8) -> Option<&'static str> {
    let event = match event {
        log_line::RQ_ISSUE => Event::BlockRqIssue,
        log_line::RQ_REQUEUE => Event::BlockRqRequeue,
        log_line::RQ_COMPLETE => Event::BlockRqComplete,
        log_line::BIO_QUEUE => Event::BlockBioQueue,
        log_line::BIO_COMPLETE => Event::BlockBioComplete,
        log_line::SPLIT => Event::BlockSplit,
        log_line::BIO_REMAP => Event::BlockBioRemap,
        _ => return None,
    };
    Some(event.name())
}

/// By the numbers of `tracer_ebpf::op::Op`.
const OPERATIONS: [&str; 10] = [
    "read",
    "write",
    "flush",
    "discard",
    "secure_erase",
    "write_zeroes",
    "zone_append",
    "passthrough",
    "other",
    "not_told",
];
/// By the numbers of `Physical`, `Chunk` and `Stripe` in
/// `tracer_ebpf::classify`.
const PHYSICAL: [&str; 4] = ["unknown", "aligned", "off_grid", "sub_block"];
const CHUNK: [&str; 4] = ["", " chunk:aligned", " chunk:inside", " chunk:crossing"];
const STRIPE: [&str; 4] = ["", " stripe:full", " stripe:mixed", " stripe:partial"];

#[cfg(test)]
mod tests {
    use tracer_ebpf::{
        classify::{Geometry, classify},
        op::Op,
    };

    use super::*;

    #[test]
    fn numbers_in_words() {
        let geometry = Geometry {
            physical_bytes: 4096,
            chunk_bytes: 2048,
            stripe_bytes: 65536,
            ..Geometry::default()
        };
        let line = |event, op, start: u64, len: u64| {
            let class = classify(start, len, &geometry);
            let word = Word::new(event, op, &class, (8 << 20) + 1).pack();
            in_words(&format!("{word} {start} {len}"))
        };
        assert_eq!(
            line(log_line::RQ_ISSUE, Op::Write, 1024, 4096).as_deref(),
            Some("block_rq_issue 8:1 write 1024+4096 off_grid chunk:crossing stripe:partial")
        );
        assert_eq!(
            line(log_line::BIO_QUEUE, Op::NotTold, 0, 65536).as_deref(),
            Some("block_bio_queue 8:1 not_told 0+65536 aligned chunk:aligned stripe:full")
        );
    }

    #[test]
    fn an_event_that_tells_nothing_is_its_name() {
        let line = format!("{} 0 0", log_line::BIO_COMPLETE);
        assert_eq!(in_words(&line).as_deref(), Some("block_bio_complete"));
        for garbage in ["", "1 2", "1 2 3 4", "15 1 1", "a b c"] {
            assert_eq!(in_words(garbage), None, "{garbage}");
        }
    }
}
