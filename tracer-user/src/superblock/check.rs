//! Fields of a layout, checked: what every parser needs to say that a number
//! cannot be.
//!
//! Must not know any layout.

use std::ops::RangeInclusive;

use crc::{CRC_32_ISCSI, CRC_32_ISO_HDLC, Crc};
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

use super::fault::{Fault, Format, Why};

/// crc32c, begun with all ones and inverted at the end.
const CRC32C: Crc<u32> = Crc::<u32>::new(&CRC_32_ISCSI);
/// zlib's.
const CRC32: Crc<u32> = Crc::<u32>::new(&CRC_32_ISO_HDLC);

/// crc32c of pieces that follow each other.
pub(super) fn crc32c(pieces: &[&[u8]]) -> u32 {
    let mut digest = CRC32C.digest();
    for piece in pieces {
        digest.update(piece);
    }
    digest.finalize()
}

/// zlib's crc32 of pieces that follow each other.
pub(super) fn crc32(pieces: &[&[u8]]) -> u32 {
    let mut digest = CRC32.digest();
    for piece in pieces {
        digest.update(piece);
    }
    digest.finalize()
}

impl Format {
    /// The layout that `bytes` begin with.
    pub(super) fn layout<T>(self, bytes: &[u8]) -> Result<&T, Fault>
    where
        T: FromBytes + KnownLayout + Immutable + Unaligned,
    {
        let layout = T::ref_from_prefix(bytes).ok();
        layout
            .map(|(layout, _)| layout)
            .ok_or_else(|| self.fault("length", Some(bytes.len() as u64), Why::Truncated))
    }

    /// That `field` cannot be.
    pub(super) fn fault(self, field: &'static str, value: Option<u64>, why: Why) -> Fault {
        Fault {
            format: self,
            field: field.into(),
            value,
            why,
        }
    }

    /// `value`, if it is in `range`.
    pub(super) fn within<T>(
        self,
        field: &'static str,
        value: T,
        range: RangeInclusive<T>,
    ) -> Result<T, Fault>
    where
        T: Into<u64> + Copy + PartialOrd,
    {
        if range.contains(&value) {
            return Ok(value);
        }
        let (least, most) = ((*range.start()).into(), (*range.end()).into());
        Err(self.fault(field, Some(value.into()), Why::Outside { least, most }))
    }

    /// `value`, if it is a power of two in `range`.
    pub(super) fn power_of_two<T>(
        self,
        field: &'static str,
        value: T,
        range: RangeInclusive<T>,
    ) -> Result<T, Fault>
    where
        T: Into<u64> + Copy + PartialOrd,
    {
        if !value.into().is_power_of_two() {
            return Err(self.fault(field, Some(value.into()), Why::NoPowerOfTwo));
        }
        self.within(field, value, range)
    }

    /// `value`, if it is a multiple of `unit`.
    pub(super) fn multiple(self, field: &'static str, value: u64, unit: u64) -> Result<u64, Fault> {
        if value.is_multiple_of(unit) {
            return Ok(value);
        }
        Err(self.fault(field, Some(value), Why::NoMultipleOf(unit)))
    }
}
