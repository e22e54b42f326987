//! The kernel's block operations, and how they are told apart: by the low
//! bits of `cmd_flags`/`bi_opf`, or by the letters of a classic tracepoint.
//!
//! Must not hold numbers that move between kernels: those come in
//! [`OpCodes`], filled from BTF.

/// Low 8 bits of `cmd_flags` and `bi_opf` (`REQ_OP_MASK`,
/// include/linux/blk_types.h; the same since 4.10).
pub const OP_MASK: u32 = 0xff;

/// An operation with cells of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Op {
    Read = 0,
    Write = 1,
    Flush = 2,
    Discard = 3,
    SecureErase = 4,
    WriteZeroes = 5,
    ZoneAppend = 6,
    /// `REQ_OP_DRV_IN/OUT`, and `REQ_OP_SCSI_IN/OUT` up to 5.10.
    Passthrough = 7,
    /// Zone management and whatever this kernel has besides.
    Other = 8,
    /// A classic tracepoint's `N`: write zeroes, zone append, passthrough.
    NotTold = 9,
}

impl Op {
    /// Back from `self as u32`.
    #[inline(always)]
    #[must_use]
    pub const fn from_number(number: u32) -> Self {
        match number {
            0 => Self::Read,
            1 => Self::Write,
            2 => Self::Flush,
            3 => Self::Discard,
            4 => Self::SecureErase,
            5 => Self::WriteZeroes,
            6 => Self::ZoneAppend,
            7 => Self::Passthrough,
            8 => Self::Other,
            _ => Self::NotTold,
        }
    }
}

/// Values of the `REQ_OP_*` and `REQ_*` constants that differ between
/// kernels, from `enum req_op` (`enum req_opf` before 6.0) in BTF.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpCodes {
    pub read: u8,
    pub write: u8,
    pub flush: u8,
    pub discard: u8,
    pub secure_erase: u8,
    pub write_zeroes: u8,
    pub zone_append: u8,
    /// The least passthrough operation; all above are passthrough too.
    pub passthrough_from: u8,
}

impl OpCodes {
    /// Stands for an operation this kernel does not have.
    pub const ABSENT: u8 = 0xff;

    /// Decodes `cmd_flags` or `bi_opf`.
    #[inline(always)]
    #[must_use]
    pub fn decode(&self, opf: u32) -> Op {
        let op = (opf & OP_MASK) as u8;
        if op == self.read {
            Op::Read
        } else if op == self.write {
            Op::Write
        } else if op == self.flush {
            Op::Flush
        } else if op == self.discard {
            Op::Discard
        } else if op == self.secure_erase {
            Op::SecureErase
        } else if op == self.write_zeroes {
            Op::WriteZeroes
        } else if op == self.zone_append {
            Op::ZoneAppend
        } else if op >= self.passthrough_from {
            Op::Passthrough
        } else {
            Op::Other
        }
    }
}

/// Decodes the first two letters of a classic tracepoint's `rwbs`
/// (`blk_fill_rwbs`, kernel/trace/blktrace.c).
#[inline(always)]
#[must_use]
pub fn decode_rwbs(first: u8, second: u8) -> Op {
    // 'F' comes first for PREFLUSH, then the operation; and is the
    // operation's own letter for a flush.
    let letter = if first == b'F' { second } else { first };
    match letter {
        b'R' => Op::Read,
        // Write zeroes, in kernels that have a letter for it (seen on 7.2).
        b'W' if first == b'W' && second == b'Z' => Op::NotTold,
        b'W' => Op::Write,
        b'D' if (if first == b'F' { 0 } else { second }) == b'E' => Op::SecureErase,
        b'D' => Op::Discard,
        b'Z' => Op::Other,
        b'N' => Op::NotTold,
        _ if first == b'F' => Op::Flush,
        _ => Op::NotTold,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters() {
        for (rwbs, op) in [
            ("R", Op::Read),
            ("RA", Op::Read),
            ("WS", Op::Write),
            ("FWFS", Op::Write),
            ("WZS", Op::NotTold),
            ("FF", Op::Flush),
            ("F", Op::Flush),
            ("FS", Op::Flush),
            ("D", Op::Discard),
            ("DE", Op::SecureErase),
            ("DS", Op::Discard),
            ("N", Op::NotTold),
            ("FN", Op::NotTold),
        ] {
            let letters = rwbs.as_bytes();
            let second = letters.get(1).copied().unwrap_or(0);
            assert_eq!(decode_rwbs(letters[0], second), op, "{rwbs}");
        }
    }

    #[test]
    fn numbers_lead_back() {
        for number in 0..=Op::NotTold as u32 {
            assert_eq!(Op::from_number(number) as u32, number);
        }
    }

    #[test]
    fn absent_operations_are_never_met() {
        let codes = OpCodes {
            read: 0,
            write: 1,
            flush: 2,
            discard: 3,
            secure_erase: 5,
            write_zeroes: 9,
            zone_append: OpCodes::ABSENT,
            passthrough_from: 32,
        };
        assert_eq!(codes.decode(1 | 1 << 17), Op::Write);
        assert_eq!(codes.decode(34), Op::Passthrough);
        assert_eq!(codes.decode(7), Op::Other);
    }
}
