use super::*;
use proptest::prelude::*;

/// Counts blocks one by one, as a person would: shares nothing with the code.
fn partial_blocks_by_walking(start: u64, len: u64, p: u64, a: u64) -> u64 {
    let mut partial = 0;
    // The block grid is … a-p, a, a+p …; walk it from below the start.
    let mut block = i128::from(a) - i128::from(p);
    while block < i128::from(start + len) {
        let low = block.max(i128::from(start));
        let high = (block + i128::from(p)).min(i128::from(start + len));
        if high > low && high - low < i128::from(p) {
            partial += 1;
        }
        block += i128::from(p);
    }
    partial
}

fn full_bytes_by_walking(start: u64, len: u64, w: u64) -> u64 {
    let mut full = 0;
    let mut stripe = 0;
    while stripe + w <= start + len {
        if stripe >= start {
            full += w;
        }
        stripe += w;
    }
    full
}

proptest! {
    #[test]
    fn physical_agrees_with_walking(s in 0u64..200, n in 1u64..200, p_exp in 0u32..7, a in 0u64..64) {
        let p = 512u64 << p_exp;
        let a = (a * 512) % p;
        let (s, n) = (s * 512, n * 512);
        let g = Geometry { physical_bytes: p, alignment_offset_bytes: a, ..Geometry::default() };
        let class = classify(s, n, &g);
        let partial = partial_blocks_by_walking(s, n, p, a);
        prop_assert_eq!(class.partial_blocks, partial);
        let expected = match (partial, n < p) {
            (0, _) => Physical::Aligned,
            (_, true) => Physical::SubBlock,
            (_, false) => Physical::OffGrid,
        };
        prop_assert_eq!(class.physical, expected);
    }

    #[test]
    fn stripe_agrees_with_walking(s in 0u64..4000, n in 1u64..4000, w in 1u64..700) {
        let (s, n, w) = (s * 512, n * 512, w * 512);
        let g = Geometry { stripe_bytes: w, ..Geometry::default() };
        let class = classify(s, n, &g);
        let full = full_bytes_by_walking(s, n, w);
        prop_assert_eq!(class.full_stripe_bytes, full);
        let expected = if full == n { Stripe::Full } else if full > 0 { Stripe::Mixed } else { Stripe::Partial };
        prop_assert_eq!(class.stripe, expected);
    }

    #[test]
    fn chunk_agrees_with_counting(s in 0u64..4000, n in 1u64..4000, c in 1u64..300) {
        let (s, n, c) = (s * 512, n * 512, c * 512);
        let g = Geometry { chunk_bytes: c, ..Geometry::default() };
        let touched = (s + n - 1) / c - s / c + 1;
        let expected = if s % c == 0 && (s + n) % c == 0 {
            Chunk::Aligned
        } else if touched == 1 {
            Chunk::Inside
        } else {
            Chunk::Crossing
        };
        prop_assert_eq!(classify(s, n, &g).chunk, expected);
    }

    #[test]
    fn far_positions_do_not_overflow(s in any::<u64>(), n in 1u64..u64::from(u32::MAX), p in 0u64..1 << 40, c in 0u64..1 << 40) {
        let s = s >> 1;
        let g = Geometry { physical_bytes: p, chunk_bytes: c, stripe_bytes: c.saturating_mul(7), ..Geometry::default() };
        let class = classify(s, n, &g);
        prop_assert!(class.partial_blocks <= 2);
        prop_assert!(class.full_stripe_bytes <= n);
    }

    #[test]
    fn modulo_is_the_remainder(v in any::<u64>(), by in 1u64..u64::MAX, exp in 0u32..64) {
        prop_assert_eq!(modulo(v, by), v % by);
        prop_assert_eq!(modulo(v, 1 << exp), v % (1 << exp));
    }
}

#[test]
fn no_boundary_is_no_class() {
    let class = classify(512, 512, &Geometry::default());
    assert_eq!(class.physical, Physical::Unknown);
    assert_eq!(class.chunk, Chunk::None);
    assert_eq!(class.stripe, Stripe::None);
    assert_eq!(modulo(17, 0), 0);
    assert_eq!(on_boundary(0, 512, &Geometry::default()), None);
}

#[test]
fn a_shifted_disk_is_aligned_at_sector_seven() {
    let g = Geometry {
        physical_bytes: 4096,
        alignment_offset_bytes: 3584,
        ..Geometry::default()
    };
    assert_eq!(classify(7 * 512, 4096, &g).physical, Physical::Aligned);
    assert_eq!(classify(0, 4096, &g).partial_blocks, 2);
    assert_eq!(remainder(0, &g), 512);
}

#[test]
fn an_origin_moves_the_stripes_only() {
    let g = Geometry {
        physical_bytes: 4096,
        chunk_bytes: 65536,
        stripe_bytes: 3 * 65536,
        origin_bytes: 1 << 20,
        ..Geometry::default()
    };
    let class = classify(1 << 20, 3 * 65536, &g);
    assert_eq!((class.chunk, class.stripe), (Chunk::Aligned, Stripe::Full));
    // 1 MiB is 16 chunks, no multiple of 3: without the origin it is ragged.
    let at_zero = Geometry {
        origin_bytes: 0,
        ..g
    };
    assert_eq!(
        classify(1 << 20, 3 * 65536, &at_zero).stripe,
        Stripe::Partial
    );
}
