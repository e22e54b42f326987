//! A line of `--bpf-log`: three numbers with a blank between them, a word that
//! says what and where, then start and length in bytes.
//!
//! As few and as plain as can be: every value more that a program formats is
//! walked by the verifier for each state it may be in, and 5.10 gives up after
//! a million instructions. Must not format: the programs have no room for it.

use crate::{classify::Class, op::Op};

/// The events, by the tracepoints' names.
pub const RQ_ISSUE: u8 = 0;
pub const RQ_REQUEUE: u8 = 1;
pub const RQ_COMPLETE: u8 = 2;
pub const BIO_QUEUE: u8 = 3;
pub const BIO_COMPLETE: u8 = 4;
pub const SPLIT: u8 = 5;
pub const BIO_REMAP: u8 = 6;

/// The first number of a line, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word {
    /// [`RQ_ISSUE`] and its like.
    pub event: u8,
    /// [`Op`] as a number.
    pub op: u8,
    /// The parts of [`Class`] as numbers.
    pub physical: u8,
    pub chunk: u8,
    pub stripe: u8,
    /// `dev_t`; 0 where the event does not tell the device.
    pub dev: u32,
}

impl Word {
    /// For an event about an IO of a class.
    #[inline(always)]
    #[must_use]
    pub fn new(event: u8, op: Op, class: &Class, dev: u32) -> Self {
        Self {
            event,
            op: op as u8,
            physical: class.physical as u8,
            chunk: class.chunk as u8,
            stripe: class.stripe as u8,
            dev,
        }
    }

    /// Four bits for each part, then the device.
    #[inline(always)]
    #[must_use]
    pub const fn pack(self) -> u64 {
        self.event as u64
            | (self.op as u64) << 4
            | (self.physical as u64) << 8
            | (self.chunk as u64) << 12
            | (self.stripe as u64) << 16
            | (self.dev as u64) << 32
    }

    #[must_use]
    pub const fn unpack(word: u64) -> Self {
        const fn part(word: u64, shift: u32) -> u8 {
            (word >> shift & 0xf) as u8
        }
        Self {
            event: part(word, 0),
            op: part(word, 4),
            physical: part(word, 8),
            chunk: part(word, 12),
            stripe: part(word, 16),
            dev: (word >> 32) as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::{Chunk, Physical, Stripe};

    #[test]
    fn a_word_is_what_was_packed() {
        let class = Class {
            physical: Physical::SubBlock,
            chunk: Chunk::Crossing,
            stripe: Stripe::Mixed,
            partial_blocks: 1,
            full_stripe_bytes: 0,
        };
        let word = Word::new(BIO_REMAP, Op::NotTold, &class, u32::MAX);
        assert_eq!(Word::unpack(word.pack()), word);
        assert_eq!(word.op, 9);
        assert_eq!(Word::unpack(0).dev, 0);
    }
}
