//! The kernel's answer to `DM_TABLE_STATUS`, taken apart.
//!
//! Pure: a buffer in, segments out, whatever is in it. Must not panic.

use super::target::{Segment, Target};
use crate::units::{DevId, Sectors};

/// `struct dm_ioctl`, include/uapi/linux/dm-ioctl.h.
pub(super) const HEADER_BYTES: usize = 312;
/// `struct dm_target_spec`, the same file.
const SPEC_BYTES: usize = 40;
const TYPE_BYTES: usize = 16;
/// A table of more is no table.
const MAX_SEGMENTS: u32 = 1 << 20;

/// The header of a request for the active table of `device`, in a buffer of
/// `len` bytes.
pub(super) fn request(device: DevId, len: usize) -> Option<Vec<u8>> {
    /// Lines of the table, not what the targets are doing.
    const STATUS_TABLE: u32 = 1 << 4;
    /// No flush of a thin pool for our sake.
    const NOFLUSH: u32 = 1 << 11;
    /// The kernel wipes its copy: a line may hold a key.
    const SECURE_DATA: u32 = 1 << 15;
    let data_size = u32::try_from(len).ok()?;
    let mut buffer = vec![0; len.max(HEADER_BYTES)];
    put(&mut buffer, 0, &4u32.to_ne_bytes());
    put(&mut buffer, 12, &data_size.to_ne_bytes());
    put(&mut buffer, 16, &(HEADER_BYTES as u32).to_ne_bytes());
    let flags = STATUS_TABLE | NOFLUSH | SECURE_DATA;
    put(&mut buffer, 28, &flags.to_ne_bytes());
    put(&mut buffer, 40, &device.to_user().to_ne_bytes());
    Some(buffer)
}

fn put(buffer: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(room) = buffer.get_mut(at..at + bytes.len()) {
        room.copy_from_slice(bytes);
    }
}

/// Did the table not fit?
pub(super) fn is_full(answer: &[u8]) -> bool {
    const BUFFER_FULL: u32 = 1 << 8;
    u32_at(answer, 28).is_some_and(|flags| flags & BUFFER_FULL != 0)
}

/// The segments in an answer; `None` where it is none that can be read.
pub(super) fn segments(answer: &[u8]) -> Option<Vec<Segment>> {
    let data_start = usize::try_from(u32_at(answer, 16)?).ok()?;
    let count = u32_at(answer, 20)?;
    if count > MAX_SEGMENTS {
        return None;
    }
    let data = answer.get(data_start..)?;
    let mut segments = Vec::new();
    let mut at = 0;
    for _ in 0..count {
        let spec = data.get(at..)?;
        segments.push(segment(spec)?);
        let next = usize::try_from(u32_at(spec, 20)?).ok()?;
        // Counted from the first; it always goes on.
        if next <= at {
            break;
        }
        at = next;
    }
    (u32::try_from(segments.len()) == Ok(count)).then_some(segments)
}

fn segment(spec: &[u8]) -> Option<Segment> {
    let name = text(spec.get(SPEC_BYTES - TYPE_BYTES..SPEC_BYTES)?);
    let parameters = text(spec.get(SPEC_BYTES..)?);
    Some(Segment {
        start: Sectors(u64_at(spec, 0)?),
        len: Sectors(u64_at(spec, 8)?),
        target: Target::parse(name.unwrap_or_default(), parameters.unwrap_or_default()),
    })
}

/// Up to the first NUL.
fn text(bytes: &[u8]) -> Option<&str> {
    let end = bytes.iter().position(|byte| *byte == 0)?;
    std::str::from_utf8(bytes.get(..end)?).ok()
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let field = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_ne_bytes(field.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    let field = bytes.get(at..at.checked_add(8)?)?;
    Some(u64::from_ne_bytes(field.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::dm::target::Place;

    /// As `retrieve_status` (drivers/md/dm-ioctl.c) lays it out.
    fn answer(lines: &[(u64, u64, &str, &str)]) -> Vec<u8> {
        let mut answer = vec![0; HEADER_BYTES];
        put(&mut answer, 16, &(HEADER_BYTES as u32).to_ne_bytes());
        put(&mut answer, 20, &(lines.len() as u32).to_ne_bytes());
        for (start, len, name, parameters) in lines {
            let at = answer.len();
            let mut room = SPEC_BYTES + parameters.len() + 1;
            room = room.next_multiple_of(8);
            answer.resize(at + room, 0);
            let next = (at + room - HEADER_BYTES) as u32;
            put(&mut answer, at, &start.to_ne_bytes());
            put(&mut answer, at + 8, &len.to_ne_bytes());
            put(&mut answer, at + 20, &next.to_ne_bytes());
            put(&mut answer, at + 24, name.as_bytes());
            put(&mut answer, at + SPEC_BYTES, parameters.as_bytes());
        }
        answer
    }

    #[test]
    fn segments_in_their_order() {
        let answer = answer(&[
            (0, 2048, "linear", "9:127 2048"),
            (2048, 4096, "crypt", "aes-xts-plain64 00ff 0 8:1 32768"),
            (6144, 8, "zero", ""),
        ]);
        let found = segments(&answer).unwrap();
        let starts: Vec<u64> = found.iter().map(|segment| segment.start.0).collect();
        assert_eq!(starts, [0, 2048, 6144]);
        let names: Vec<&str> = found.iter().map(|segment| segment.target.name()).collect();
        assert_eq!(names, ["linear", "crypt", "zero"]);
        let place = Place {
            device: DevId {
                major: 9,
                minor: 127,
            },
            start: Sectors(2048),
        };
        assert_eq!(found[0].target, Target::Linear(place));
        assert_eq!(segments(&answer[..answer.len() - 41]), None, "cut short");
    }

    #[test]
    fn a_request_names_the_device_by_number() {
        let device = DevId {
            major: 253,
            minor: 300,
        };
        let buffer = request(device, 16384).unwrap();
        assert_eq!(buffer.len(), 16384);
        assert_eq!(u32_at(&buffer, 12), Some(16384));
        // new_encode_dev, include/linux/kdev_t.h.
        assert_eq!(u64_at(&buffer, 40), Some(0x10_fd2c));
        assert!(!is_full(&buffer));
    }

    proptest! {
        #[test]
        fn no_answer_panics(
            mut bytes in proptest::collection::vec(any::<u8>(), 0..600),
            start in 0u32..700, count in 0u32..5
        ) {
            put(&mut bytes, 16, &start.to_ne_bytes());
            put(&mut bytes, 20, &count.to_ne_bytes());
            let _ = segments(&bytes);
        }
    }
}
