//! What nobody's tool has written: no panic, and no more read than may be.

use proptest::prelude::*;

use super::{Image, all};
use crate::superblock::read_from;

/// What all pieces of a device may be together, the head with them.
const MOST_READ: u64 = (8 << 20) + (128 << 10);

/// Whatever is said of it; how much was read is bounded.
fn look(image: &Image) {
    image.read.set(0);
    let contents = image.contents();
    assert!(image.read.get() <= MOST_READ);
    for fault in &contents.faults {
        assert!(!fault.to_string().is_empty());
    }
    assert!(contents.found.len() + contents.faults.len() <= 12);
}

#[test]
fn every_byte_of_every_fixture_overwritten() {
    for name in all() {
        let image = Image::named(&name);
        for (offset, line) in &image.lines {
            for (at, byte) in line.iter().enumerate() {
                for other in [0, 0xff, byte ^ 0x80, byte ^ 1] {
                    let mut changed = image.clone();
                    changed.lines.get_mut(offset).unwrap()[at] = other;
                    look(&changed);
                }
            }
        }
    }
}

#[test]
fn every_fixture_cut_off() {
    for name in all() {
        let image = Image::named(&name);
        let ends = image.lines.keys().flat_map(|at| [*at, at + 1, at + 17]);
        for size in ends.chain([1, 511, 513, 4095, 4097, 65535, 65537, image.size - 1]) {
            let mut cut = image.clone();
            cut.size = size;
            look(&cut);
        }
    }
}

/// Numbers at which arithmetic goes wrong.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![
        any::<u64>(),
        (0_u32..64).prop_map(|bit| 1 << bit),
        (0_u32..64).prop_map(|bit| (1 << bit) - 1),
        (0_u64..40).prop_map(|less| u64::MAX - less),
    ]
}

proptest! {
    #[test]
    fn fields_of_fixtures_with_other_numbers(
        which in any::<prop::sample::Index>(),
        writes in prop::collection::vec(
            (any::<prop::sample::Index>(), 0_u64..32, number(), 0_usize..4, any::<bool>()),
            1..6,
        ),
    ) {
        let names = all();
        let mut image = Image::named(&names[which.index(names.len())]);
        let offsets: Vec<u64> = image.lines.keys().copied().collect();
        for (line, inside, number, width, is_big) in writes {
            let at = offsets[line.index(offsets.len())] + inside;
            let bytes = if is_big { number.to_be_bytes() } else { number.to_le_bytes() };
            let len = 1 << width;
            let bytes = if is_big { &bytes[8 - len..] } else { &bytes[..len] };
            image.write(at, bytes);
        }
        look(&image);
    }

    #[test]
    fn any_two_fixtures_on_one_device(
        first in any::<prop::sample::Index>(),
        second in any::<prop::sample::Index>(),
        size in 0_u64..1 << 28,
    ) {
        let names = all();
        let first = Image::named(&names[first.index(names.len())]);
        let mut both = first.with(&Image::named(&names[second.index(names.len())]));
        look(&both);
        both.size = size;
        look(&both);
    }

    #[test]
    fn any_bytes_behind_any_magic(
        bytes in prop::collection::vec(any::<u8>(), 0..9000),
        magics in prop::collection::vec(0_usize..11, 0..4),
    ) {
        let known: [(usize, &[u8]); 11] = [
            (0, b"XFSB"),
            (0, b"LUKS\xba\xbe\0\x01"),
            (0, b"LUKS\xba\xbe\0\x02\0\0\0\0\0\0\x40\0"),
            (512, b"LABELONE"),
            (536, b"LVM2 001"),
            (1080, b"\x53\xef"),
            (510, b"\x55\xaa"),
            (512, b"EFI PART"),
            (4086, b"SWAPSPACE2"),
            (4096, b"\xfc\x4e\x2b\xa9\x01\0\0\0"),
            (4120, b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81"),
        ];
        let mut bytes = bytes;
        for which in magics {
            let (at, magic) = known[which];
            if let Some(place) = bytes.get_mut(at..at + magic.len()) {
                place.copy_from_slice(magic);
            }
        }
        prop_assert!(read_from(&bytes[..]).is_ok());
    }
}
