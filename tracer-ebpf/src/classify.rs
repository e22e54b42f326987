//! Where one request or bio lies against the physical block, the chunk and the
//! stripe of its device. The only classifier there is.
//!
//! Must not count, know operations, or read a device: bytes and a
//! [`Geometry`] in, a [`Class`] out.

/// The boundaries of one device, in bytes; 0 stands for "there is none".
///
/// A plain `repr(C)` value because the kernel programs read it from a map.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Geometry {
    /// Physical block P. 0: not known, every request is [`Physical::Unknown`].
    pub physical_bytes: u64,
    /// Alignment offset A, less than P: position s is aligned iff s ≡ A (mod P).
    pub alignment_offset_bytes: u64,
    /// md or dm-stripe chunk; any number of bytes, not only powers of two.
    pub chunk_bytes: u64,
    /// chunk × data disks; any number of bytes.
    pub stripe_bytes: u64,
    /// A boundary the user gave (`--geometry DEV=boundary:...`).
    pub boundary_bytes: u64,
    /// Position on the device where chunk, stripe and boundary count from.
    pub origin_bytes: u64,
    /// Log of the width of a remainder bin, such that P has at most
    /// [`crate::bins::REMAINDER_BINS`] of them.
    pub remainder_shift: u64,
}

/// Against the physical block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Physical {
    /// The geometry is not known (yet).
    Unknown = 0,
    /// Covers only whole physical blocks.
    Aligned = 1,
    /// At least one block long, with a ragged start or end: a wrong start.
    OffGrid = 2,
    /// Shorter than a block: a small write, however well placed.
    SubBlock = 3,
}

/// Against the chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Chunk {
    /// The device has no chunk.
    None = 0,
    /// Starts and ends on chunk boundaries.
    Aligned = 1,
    /// Touches one chunk.
    Inside = 2,
    /// Touches more than one chunk, ragged at an end.
    Crossing = 3,
}

/// Against the stripe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Stripe {
    /// The device has no stripe.
    None = 0,
    /// Covers only whole stripes.
    Full = 1,
    /// Covers at least one whole stripe and a ragged end.
    Mixed = 2,
    /// Covers no whole stripe.
    Partial = 3,
}

/// All that is to be known about one request's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Class {
    pub physical: Physical,
    pub chunk: Chunk,
    pub stripe: Stripe,
    /// Physical blocks only partly covered: 0, 1 or 2.
    pub partial_blocks: u64,
    /// Bytes of the request that lie in wholly covered stripes.
    pub full_stripe_bytes: u64,
}

impl Physical {
    /// Index of the joint cell's physical part, 0..4.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Back from [`Self::index`].
    #[inline(always)]
    const fn from_index(index: u64) -> Self {
        match index & 3 {
            0 => Self::Unknown,
            1 => Self::Aligned,
            2 => Self::OffGrid,
            _ => Self::SubBlock,
        }
    }
}

impl Chunk {
    /// Index of the joint cell's chunk part, 0..4.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Back from [`Self::index`].
    #[inline(always)]
    const fn from_index(index: u64) -> Self {
        match index & 3 {
            0 => Self::None,
            1 => Self::Aligned,
            2 => Self::Inside,
            _ => Self::Crossing,
        }
    }
}

impl Stripe {
    /// Index of the joint cell's stripe part, 0..4.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Back from [`Self::index`].
    #[inline(always)]
    const fn from_index(index: u64) -> Self {
        match index & 3 {
            0 => Self::None,
            1 => Self::Full,
            2 => Self::Mixed,
            _ => Self::Partial,
        }
    }
}

/// `value mod by`, 0 when `by` is 0. Powers of two, the usual case, need no
/// division (up to 40 cycles of a hot path); and a plain `%` would leave a
/// panic branch that no verifier accepts.
#[inline(always)]
#[must_use]
pub fn modulo(value: u64, by: u64) -> u64 {
    let mask = by.wrapping_sub(1);
    if by & mask != 0 {
        value.checked_rem(by).unwrap_or(0)
    } else if by == 0 {
        0
    } else {
        value & mask
    }
}

/// Classifies the bytes [`start`, `start` + `len`) of a device; `len` > 0 (a
/// request of no bytes is in no class and must not come here).
#[inline(always)]
#[must_use]
pub fn classify(start: u64, len: u64, geometry: &Geometry) -> Class {
    classify_forgetting(start, len, geometry, |value| value)
}

/// [`classify`] for a verifier that walks every way through a program: `forget`
/// gives back its argument, and hides which of few values it is. Else each way
/// to a class is walked with each way to the next.
#[inline(always)]
#[must_use]
pub fn classify_forgetting(
    start: u64,
    len: u64,
    geometry: &Geometry,
    forget: impl Fn(u64) -> u64,
) -> Class {
    let (in_block, partial_blocks) = physical(start, len, geometry);
    let in_block = Physical::from_index(forget(in_block as u64));
    let partial_blocks = forget(partial_blocks);
    let from_origin = start.wrapping_sub(geometry.origin_bytes);
    let in_chunk = forget(chunk(from_origin, len, geometry.chunk_bytes) as u64);
    let (in_stripe, full_stripe_bytes) = stripe(from_origin, len, geometry.stripe_bytes);
    Class {
        physical: in_block,
        chunk: Chunk::from_index(in_chunk),
        stripe: Stripe::from_index(forget(in_stripe as u64)),
        partial_blocks,
        full_stripe_bytes: forget(full_stripe_bytes),
    }
}

/// Position in its physical block of the first byte: (s − A) mod P.
#[inline(always)]
#[must_use]
pub fn remainder(start: u64, geometry: &Geometry) -> u64 {
    let p = geometry.physical_bytes;
    // Adding P − A instead of subtracting A keeps the sum from going below 0.
    modulo(
        start
            .wrapping_add(p)
            .wrapping_sub(geometry.alignment_offset_bytes),
        p,
    )
}

#[inline(always)]
fn physical(start: u64, len: u64, geometry: &Geometry) -> (Physical, u64) {
    let p = geometry.physical_bytes;
    if p == 0 {
        return (Physical::Unknown, 0);
    }
    let head = remainder(start, geometry);
    let tail = modulo(head.wrapping_add(len), p);
    if head == 0 && tail == 0 {
        return (Physical::Aligned, 0);
    }
    let partial = if head.wrapping_add(len) <= p {
        1
    } else {
        u64::from(head != 0) + u64::from(tail != 0)
    };
    if len < p {
        (Physical::SubBlock, partial)
    } else {
        (Physical::OffGrid, partial)
    }
}

#[inline(always)]
fn chunk(from_origin: u64, len: u64, chunk_bytes: u64) -> Chunk {
    if chunk_bytes == 0 {
        return Chunk::None;
    }
    let head = modulo(from_origin, chunk_bytes);
    let end = head.wrapping_add(len);
    if head == 0 && modulo(end, chunk_bytes) == 0 {
        Chunk::Aligned
    } else if end <= chunk_bytes {
        Chunk::Inside
    } else {
        Chunk::Crossing
    }
}

#[inline(always)]
fn stripe(from_origin: u64, len: u64, stripe_bytes: u64) -> (Stripe, u64) {
    if stripe_bytes == 0 {
        return (Stripe::None, 0);
    }
    let head = modulo(from_origin, stripe_bytes);
    // Bytes up to the first boundary at or after the start.
    let to_boundary = if head == 0 {
        0
    } else {
        stripe_bytes.wrapping_sub(head)
    };
    if len < to_boundary {
        return (Stripe::Partial, 0);
    }
    let after_boundary = len.wrapping_sub(to_boundary);
    let full = after_boundary.wrapping_sub(modulo(after_boundary, stripe_bytes));
    if full == len {
        (Stripe::Full, full)
    } else if full > 0 {
        (Stripe::Mixed, full)
    } else {
        (Stripe::Partial, 0)
    }
}

/// Whether a request starts and ends on the user's own boundary; `None`
/// where none was given.
#[inline(always)]
#[must_use]
pub fn on_boundary(start: u64, len: u64, geometry: &Geometry) -> Option<bool> {
    let b = geometry.boundary_bytes;
    if b == 0 {
        return None;
    }
    let head = modulo(start.wrapping_sub(geometry.origin_bytes), b);
    Some(head == 0 && modulo(len, b) == 0)
}

#[cfg(test)]
#[path = "classify_tests.rs"]
mod tests;
