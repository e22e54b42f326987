//! Histogram bins. Bounds are inclusive (`le`): exactly 4096 bytes belong to
//! the bin whose upper bound is 4096.
//!
//! Must not know what is being measured.

use crate::classify::{Geometry, modulo, remainder};

/// Bins of (s − A) mod P; a bin is 2^`remainder_shift` bytes wide.
pub const REMAINDER_BINS: usize = 64;
/// Power-of-two bins: bin i holds values ≤ 2^i and > 2^(i−1); bin 0 holds 0 and 1.
pub const POWER_BINS: usize = 64;
/// Bins of a stripe: chunks from its start on; the last holds all that follow.
pub const STRIPE_BINS: usize = 64;
/// Bins of an octave of [`latency_bin`].
pub const SUB_BINS: u64 = 8;
/// Bins of [`latency_bin`]: up to 2^40 ns, about 18 minutes.
pub const LATENCY_BINS: usize = 224;
/// Latencies are kept in units of 2^10 ns, about a microsecond.
pub const LATENCY_SHIFT: u32 = 10;

/// A de Bruijn sequence: its six bits at each position are all different.
const DE_BRUIJN: u64 = 0x03f7_9d71_b4cb_0a89;

/// Which position that is, by these six bits.
static POSITIONS: [u8; 64] = {
    let mut positions = [0; 64];
    let mut position = 0;
    while position < 64 {
        positions[(DE_BRUIJN << position >> 58) as usize] = position;
        position += 1;
    }
    positions
};

/// Position of the only bit set in `bit`; 0 for 0. BPF has no instruction for
/// it, and the compiler's substitute counts every bit.
#[inline(always)]
fn position(bit: u64) -> usize {
    POSITIONS[(DE_BRUIJN.wrapping_mul(bit) >> 58) as usize] as usize
}

/// Position of the highest bit set; 0 for 0. Without a branch, and short: at
/// every event the code has to come back into the cache as well.
#[inline(always)]
fn floor_log2(value: u64) -> usize {
    let mut ones = value;
    ones |= ones >> 1;
    ones |= ones >> 2;
    ones |= ones >> 4;
    ones |= ones >> 8;
    ones |= ones >> 16;
    ones |= ones >> 32;
    position(ones ^ (ones >> 1))
}

/// Chunk of its stripe that `start` lies in; `None` for a device without
/// stripes.
#[inline(always)]
#[must_use]
pub fn stripe_bin(start: u64, geometry: &Geometry) -> Option<usize> {
    if geometry.stripe_bytes == 0 {
        return None;
    }
    let in_stripe = modulo(
        start.wrapping_sub(geometry.origin_bytes),
        geometry.stripe_bytes,
    );
    let chunk = in_stripe.checked_div(geometry.chunk_bytes)?;
    let last = STRIPE_BINS as u64 - 1;
    Some(if chunk < last { chunk } else { last } as usize)
}

/// Bin of the power-of-two histogram that holds `value`.
#[inline(always)]
#[must_use]
pub fn power_bin(value: u64) -> usize {
    if value <= 1 {
        return 0;
    }
    // An exact power of two is the upper bound of its bin.
    let bin = floor_log2(value - 1) + 1;
    if bin < POWER_BINS {
        bin
    } else {
        POWER_BINS - 1
    }
}

/// Inclusive upper bound of a power-of-two bin; `None` for the last, open one.
#[must_use]
pub const fn power_bin_le(bin: usize) -> Option<u64> {
    if bin + 1 < POWER_BINS {
        Some(1 << bin)
    } else {
        None
    }
}

/// Bin of the remainder (s − A) mod P; 0 where the geometry is not known.
#[inline(always)]
#[must_use]
pub fn remainder_bin(start: u64, geometry: &Geometry) -> usize {
    let shift = geometry.remainder_shift & 63;
    let bin = (remainder(start, geometry) >> shift) as usize;
    if bin < REMAINDER_BINS {
        bin
    } else {
        REMAINDER_BINS - 1
    }
}

/// Width of a remainder bin, as its log: the logical block, doubled until P
/// has at most [`REMAINDER_BINS`] bins. 512 where the logical block is not
/// known or no power of two.
#[must_use]
pub const fn remainder_shift(physical_bytes: u64, logical_bytes: u64) -> u64 {
    let logical = if logical_bytes.is_power_of_two() {
        logical_bytes
    } else {
        512
    };
    let mut shift = logical.trailing_zeros();
    while shift < 63 && physical_bytes.div_ceil(1 << shift) > REMAINDER_BINS as u64 {
        shift += 1;
    }
    shift as u64
}

/// Exponent of the largest power of two that divides both `start` and `len`;
/// `len` > 0.
#[inline(always)]
#[must_use]
pub fn grain_bin(start: u64, len: u64) -> usize {
    let both = start | len;
    position(both & both.wrapping_neg())
}

/// Bin of a latency in nanoseconds: eight bins an octave, so that a bin is at
/// most 12.5% wide.
#[inline(always)]
#[must_use]
pub fn latency_bin(ns: u64) -> usize {
    // `le`-inclusive: a value on a bound belongs below it.
    let units = ns.saturating_sub(1) >> LATENCY_SHIFT;
    let bin = if units < SUB_BINS {
        units
    } else {
        let exponent = floor_log2(units) as u64;
        // The three bits below the leading one.
        let sub = (units >> (exponent - 3)) & (SUB_BINS - 1);
        (exponent - 2) * SUB_BINS + sub
    };
    if bin < LATENCY_BINS as u64 {
        bin as usize
    } else {
        LATENCY_BINS - 1
    }
}

/// Inclusive upper bound of a latency bin in nanoseconds.
#[must_use]
pub const fn latency_bin_le_ns(bin: usize) -> u64 {
    let bin = bin as u64;
    let units = if bin < SUB_BINS {
        bin + 1
    } else {
        let exponent = bin / SUB_BINS + 2;
        let sub = bin % SUB_BINS;
        (SUB_BINS + sub + 1) << (exponent - 3)
    };
    units << LATENCY_SHIFT
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn starts_in_a_stripe_of_seven_chunks() {
        let geometry = Geometry {
            chunk_bytes: 65_536,
            stripe_bytes: 7 * 65_536,
            ..Geometry::default()
        };
        for (start, bin) in [
            (0, 0),
            (65_535, 0),
            (65_536, 1),
            (1 << 20, 2),
            (7 * 65_536, 0),
        ] {
            assert_eq!(stripe_bin(start, &geometry), Some(bin), "{start}");
        }
        assert_eq!(stripe_bin(0, &Geometry::default()), None);
        let wide = Geometry {
            stripe_bytes: 100 * 65_536,
            ..geometry
        };
        assert_eq!(stripe_bin(99 * 65_536, &wide), Some(63));
    }

    proptest! {
        #[test]
        fn power_bins_are_le_inclusive(v in 0u64..1 << 62) {
            let bin = power_bin(v);
            prop_assert!(power_bin_le(bin).is_none_or(|le| v <= le));
            if bin > 0 {
                prop_assert!(v > power_bin_le(bin - 1).unwrap());
            }
        }

        #[test]
        fn latency_bins_are_le_inclusive_and_narrow(ns in 0u64..100_000_000_000) {
            let bin = latency_bin(ns);
            let le = latency_bin_le_ns(bin);
            prop_assert!(ns <= le);
            if bin > 0 {
                let below = latency_bin_le_ns(bin - 1);
                prop_assert!(ns > below);
                prop_assert!(bin < 8 || (le - below) * 8 <= below + 8 * 1024);
            }
        }

        #[test]
        fn remainder_bins_tell_the_remainder(s in any::<u32>(), p_exp in 9u32..24) {
            let p = 1u64 << p_exp;
            let remainder_shift = remainder_shift(p, 512);
            let g = Geometry { physical_bytes: p, remainder_shift, ..Geometry::default() };
            let s = u64::from(s) * 512;
            prop_assert_eq!(remainder_bin(s, &g) as u64, (s % p) >> remainder_shift);
            prop_assert!(p >> remainder_shift <= 64);
        }

        #[test]
        fn log_is_the_highest_bit(v in 1u64..) {
            prop_assert_eq!(floor_log2(v) as u32, v.ilog2());
        }

        #[test]
        fn grain_divides_both(s in any::<u32>(), n in 1u32..) {
            let (s, n) = (u64::from(s) * 512, u64::from(n) * 512);
            let grain = 1u64 << grain_bin(s, n);
            prop_assert!(s % grain == 0 && n % grain == 0);
            prop_assert!(s % (grain * 2) != 0 || n % (grain * 2) != 0);
        }
    }

    #[test]
    fn an_exact_4096_belongs_to_le_4096() {
        assert_eq!(power_bin_le(power_bin(4096)), Some(4096));
        assert_eq!(power_bin_le(power_bin(4097)), Some(8192));
        assert_eq!(power_bin(0), 0);
        assert_eq!(power_bin(u64::MAX), POWER_BINS - 1);
        assert_eq!(1 << remainder_shift(4096, 512), 512);
        assert_eq!(1 << remainder_shift(262_144, 512), 4096);
        assert_eq!(grain_bin(0, 4096), 12);
        assert_eq!(latency_bin(u64::MAX), LATENCY_BINS - 1);
    }
}
