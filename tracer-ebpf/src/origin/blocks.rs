//! What the blocks of a row say together, in one word: the programs look at
//! them in a function of its own, which returns a number and takes numbers.
//!
//! Must not read memory.

/// Bits of a number of disks, of which there are at most
/// [`super::abi::MAX_DISKS`].
const COUNT_BITS: u32 = 9;
const COUNT: u64 = (1 << COUNT_BITS) - 1;

const TOWRITES: u32 = 0;
const INSYNC: u32 = COUNT_BITS;
const WHOLE: u32 = 2 * COUNT_BITS;
const STALE: u32 = 3 * COUNT_BITS;
const WRITER: u32 = 4 * COUNT_BITS;
const TOREAD: u32 = 5 * COUNT_BITS;
const FAULT: u32 = TOREAD + 1;

/// Sums over a row. Every change keeps each part in its bits: that is all the
/// verifier has to know of it, whatever the turn of the loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Blocks(u64);

/// One block: each number is zero or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    pub toread: u64,
    pub towrite: u64,
    pub written: u64,
    /// Masks of its flags.
    pub overwrite: u64,
    pub uptodate: u64,
    pub insync: u64,
    /// It could not be read.
    pub fault: u64,
}

/// 1 where `value` is not 0, without a branch: each would be one more way on
/// for the verifier at every disk.
#[inline(always)]
const fn is_set(value: u64) -> u64 {
    (value | value.wrapping_neg()) >> 63
}

impl Blocks {
    /// Of no block yet.
    #[inline(always)]
    #[must_use]
    pub const fn none() -> Self {
        Self(0)
    }

    /// With the block of the member `slot` too.
    #[inline(always)]
    #[must_use]
    pub const fn with(self, slot: u32, block: &Block) -> Self {
        let towrite = is_set(block.towrite);
        let written = is_set(block.written);
        let whole = written & is_set(block.overwrite);
        let known = written | is_set(block.uptodate);
        let counted = towrite << TOWRITES
            | is_set(block.insync) << INSYNC
            | whole << WHOLE
            | (known ^ 1) << STALE;
        // The last one that is written stays.
        let keep = (towrite.wrapping_sub(1)) | !(COUNT << WRITER);
        let writer = (slot as u64 & COUNT & towrite.wrapping_neg()) << WRITER;
        let bits = is_set(block.toread) << TOREAD | is_set(block.fault) << FAULT;
        Self((self.0.wrapping_add(counted) & keep) | writer | bits)
    }

    /// For a function that returns a number.
    #[inline(always)]
    #[must_use]
    pub const fn pack(self) -> u64 {
        self.0
    }

    /// What [`Self::pack`] gave; `None` if a block could not be read.
    #[inline(always)]
    #[must_use]
    pub const fn unpack(word: u64) -> Option<Self> {
        if word >> FAULT & 1 == 0 {
            Some(Self(word))
        } else {
            None
        }
    }

    #[inline(always)]
    const fn count(self, at: u32) -> u32 {
        (self.0 >> at & COUNT) as u32
    }

    /// Blocks with a write waiting.
    #[inline(always)]
    #[must_use]
    pub const fn towrites(self) -> u32 {
        self.count(TOWRITES)
    }

    /// Blocks whose member is good.
    #[inline(always)]
    #[must_use]
    pub const fn insync(self) -> u32 {
        self.count(INSYNC)
    }

    /// Data blocks that are being written from end to end.
    #[inline(always)]
    #[must_use]
    pub const fn whole(self) -> u32 {
        self.count(WHOLE)
    }

    /// Blocks that are not written and of which the cache has no content.
    #[inline(always)]
    #[must_use]
    pub const fn stale(self) -> u32 {
        self.count(STALE)
    }

    /// The last member with a write waiting, if there is one.
    #[inline(always)]
    #[must_use]
    pub const fn writer(self) -> u32 {
        self.count(WRITER)
    }

    /// Is a read waiting in any block?
    #[inline(always)]
    #[must_use]
    pub const fn toread(self) -> u64 {
        self.0 >> TOREAD & 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_has_its_place() {
        let plain = Block {
            insync: 16,
            uptodate: 1,
            ..Block::default()
        };
        let waiting = Block {
            towrite: u64::MAX,
            ..plain
        };
        let written = Block {
            written: 8,
            overwrite: 8,
            uptodate: 0,
            ..plain
        };
        let stale = Block {
            uptodate: 0,
            toread: 1 << 40,
            ..plain
        };
        let blocks = [plain, waiting, waiting, written, stale, Block::default()];
        let mut sum = Blocks::none();
        for (slot, block) in (0..).zip(&blocks) {
            sum = sum.with(slot, block);
        }
        let sum = Blocks::unpack(sum.pack()).unwrap();
        assert_eq!(sum.towrites(), 2);
        assert_eq!(sum.writer(), 2);
        assert_eq!(sum.insync(), 5);
        assert_eq!(sum.whole(), 1);
        assert_eq!(sum.stale(), 2);
        assert_eq!(sum.toread(), 1);
    }

    #[test]
    fn the_most_disks_there_are() {
        let block = Block {
            towrite: 1,
            insync: 1,
            ..Block::default()
        };
        let mut sum = Blocks::none();
        for slot in 0..u32::from(super::super::abi::MAX_DISKS) {
            sum = sum.with(slot, &block);
        }
        assert_eq!((sum.towrites(), sum.insync()), (384, 384));
        assert_eq!((sum.stale(), sum.writer()), (384, 383));
        assert_eq!((sum.whole(), sum.toread()), (0, 0));
    }

    #[test]
    fn a_fault_is_no_answer() {
        let fault = Block {
            fault: u64::MAX,
            ..Block::default()
        };
        assert_eq!(Blocks::unpack(Blocks::none().with(0, &fault).pack()), None);
    }
}
