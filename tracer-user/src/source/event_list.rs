//! A list of IO in a text file, one request a line:
//!
//! ```text
//! # DEVICE OP START LENGTH
//! sda1 write 4096 4k
//! sda1 read 8s 1m
//! sda flush
//! ```
//!
//! START counts from the first byte of DEVICE, a disk or a partition by its
//! kernel name. START and LENGTH are sizes as in [`crate::size`] and whole
//! sectors. OP is `read`, `write`, `write_zeroes`, `discard`, `secure_erase`,
//! `zone_append`, or `flush`, which has neither START nor LENGTH. A LENGTH of
//! 0 is a request of no bytes. What follows a `#` is a comment.
//!
//! Must not know devices: a name is not looked up here.

use tracer_ebpf::op::Op;

use crate::{
    size::{self, SizeError},
    units::{Bytes, SECTOR_BYTES},
};

/// One request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event<'a> {
    pub device: &'a str,
    pub op: Op,
    /// From the first byte of the device; 0 for a flush.
    pub start: Bytes,
    /// 0 for a flush, and for a request of no bytes.
    pub len: Bytes,
}

/// A line that is no event.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EventError {
    #[error("expected DEVICE OP START LENGTH, or DEVICE flush")]
    Form,
    #[error(
        "unknown operation {0:?}: there are read, write, write_zeroes, discard, secure_erase, \
         zone_append, flush"
    )]
    UnknownOp(String),
    #[error(transparent)]
    Size(#[from] SizeError),
    #[error("{} bytes are no whole sectors of {SECTOR_BYTES}", .0.0)]
    NotSectors(Bytes),
}

/// Reads one line; `None` where it holds no event.
///
/// # Errors
/// When the line is neither an event nor empty.
pub fn parse_line(line: &str) -> Result<Option<Event<'_>>, EventError> {
    let text = line.split('#').next().unwrap_or_default();
    let mut fields = text.split_ascii_whitespace();
    let Some(device) = fields.next() else {
        return Ok(None);
    };
    let op = parse_op(fields.next().ok_or(EventError::Form)?)?;
    let place = [fields.next(), fields.next()];
    if fields.next().is_some() {
        return Err(EventError::Form);
    }
    let (start, len) = match (op, place) {
        (Op::Flush, [None, None]) => (Bytes(0), Bytes(0)),
        (Op::Flush, _) | (_, [None, _] | [_, None]) => return Err(EventError::Form),
        (_, [Some(start), Some(len)]) => (sectors(start)?, sectors(len)?),
    };
    Ok(Some(Event {
        device,
        op,
        start,
        len,
    }))
}

fn parse_op(text: &str) -> Result<Op, EventError> {
    match text {
        "read" => Ok(Op::Read),
        "write" => Ok(Op::Write),
        "write_zeroes" => Ok(Op::WriteZeroes),
        "discard" => Ok(Op::Discard),
        "secure_erase" => Ok(Op::SecureErase),
        "zone_append" => Ok(Op::ZoneAppend),
        "flush" => Ok(Op::Flush),
        _ => Err(EventError::UnknownOp(text.to_owned())),
    }
}

/// A size that a request can have: the block layer counts in sectors.
fn sectors(text: &str) -> Result<Bytes, EventError> {
    let bytes = size::parse(text)?;
    if bytes.0 % SECTOR_BYTES != 0 {
        return Err(EventError::NotSectors(bytes));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_and_comments() {
        let event = parse_line("sda1 write 63s 4k # why").unwrap().unwrap();
        assert_eq!(
            (event.device, event.op, event.start, event.len),
            ("sda1", Op::Write, Bytes(32256), Bytes(4096))
        );
        assert_eq!(parse_line("sda flush").unwrap().unwrap().op, Op::Flush);
        assert_eq!(parse_line("  # nothing"), Ok(None));
        assert_eq!(parse_line(""), Ok(None));
    }

    #[test]
    fn lines_that_are_no_events() {
        for line in [
            "sda",
            "sda write",
            "sda write 0",
            "sda write 0 1k 3",
            "sda flush 0 512",
        ] {
            assert_eq!(parse_line(line), Err(EventError::Form), "{line}");
        }
        assert_eq!(
            parse_line("sda erase 0 1k"),
            Err(EventError::UnknownOp("erase".into()))
        );
        assert_eq!(
            parse_line("sda read 1 512"),
            Err(EventError::NotSectors(Bytes(1)))
        );
        assert!(matches!(
            parse_line("sda read 0 1q"),
            Err(EventError::Size(_))
        ));
    }
}
