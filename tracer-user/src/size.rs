//! The one grammar for sizes and positions on the command line and in event
//! lists: `4096` bytes, `63s` sectors of 512 bytes, `64k`, `1m`, `2g`, `1t`
//! in powers of 1024; letters of either case.

use crate::units::{Bytes, SECTOR_BYTES};

/// Not a size.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SizeError {
    #[error("not a size: {0:?} (expected bytes, or a number with s, k, m, g or t, as in 64k)")]
    Grammar(String),
    #[error("size {0:?} is more than 64 bits can hold")]
    TooLarge(String),
}

/// Reads one size.
///
/// # Errors
/// On anything but decimal digits with one unit letter at most, and on a
/// value of 2^64 bytes or more.
pub fn parse(text: &str) -> Result<Bytes, SizeError> {
    let grammar = || SizeError::Grammar(text.to_owned());
    let too_large = || SizeError::TooLarge(text.to_owned());
    let last = text.bytes().last().ok_or_else(grammar)?;
    let (digits, unit) = match last.to_ascii_lowercase() {
        b'0'..=b'9' => (text, 1),
        b's' => (without_last(text), SECTOR_BYTES),
        b'k' => (without_last(text), 1 << 10),
        b'm' => (without_last(text), 1 << 20),
        b'g' => (without_last(text), 1 << 30),
        b't' => (without_last(text), 1 << 40),
        _ => return Err(grammar()),
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(grammar());
    }
    // Only digits: what can fail is the range.
    let number: u64 = digits.parse().map_err(|_range| too_large())?;
    number.checked_mul(unit).map(Bytes).ok_or_else(too_large)
}

fn without_last(text: &str) -> &str {
    // The last byte is an ASCII letter.
    text.get(..text.len() - 1).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn units() {
        for (text, bytes) in [
            ("0", 0),
            ("4096", 4096),
            ("63s", 32256),
            ("64k", 65536),
            ("64K", 65536),
            ("1m", 1 << 20),
            ("2g", 2 << 30),
            ("1t", 1 << 40),
        ] {
            assert_eq!(parse(text), Ok(Bytes(bytes)), "{text}");
        }
        for text in [
            "", "k", "-1", "+1", "1kk", "1 k", "0x10", "1.5m", "64ä", "1ſ",
        ] {
            assert_eq!(parse(text), Err(SizeError::Grammar(text.into())));
        }
        for text in ["18446744073709551616", "16777216t"] {
            assert_eq!(parse(text), Err(SizeError::TooLarge(text.into())));
        }
    }

    proptest! {
        #[test]
        fn number_times_unit(n in any::<u32>(), unit in 0usize..4) {
            let (letter, shift) = [('S', 9), ('k', 10), ('M', 20), ('g', 30)][unit];
            prop_assert_eq!(parse(&format!("{n}{letter}")), Ok(Bytes(u64::from(n) << shift)));
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,12}") {
            let _ = parse(&text);
        }
    }
}
