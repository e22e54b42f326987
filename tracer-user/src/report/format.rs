//! Numbers as people read them. `-` stands for "not known".
//!
//! Must not divide anything but by a unit.

use std::time::Duration;

/// Shown where a figure is not known or has no denominator.
pub const NOT_KNOWN: &str = "-";

const KIB: u64 = 1024;
const DECIMAL_MEGA: f64 = 1e6;

fn or_dash(value: Option<f64>, text: impl FnOnce(f64) -> String) -> String {
    value.map_or_else(|| NOT_KNOWN.to_owned(), text)
}

/// A rate per second in at most six characters.
#[must_use]
pub fn rate(per_second: Option<f64>) -> String {
    or_dash(per_second, short)
}

/// Bytes per second in MB (1,000,000 bytes) per second.
#[must_use]
pub fn megabytes(bytes_per_second: Option<f64>) -> String {
    or_dash(bytes_per_second.map(|bytes| bytes / DECIMAL_MEGA), short)
}

/// Exactly 0 is `0`; whatever is not 0 never looks like it.
fn short(value: f64) -> String {
    if value == 0.0 {
        "0".to_owned()
    } else if value < 0.1 {
        "<0.1".to_owned()
    } else if value < 9_999.95 {
        format!("{value:.1}")
    } else if value < 999_999.5 {
        format!("{value:.0}")
    } else if value < 99_950_000.0 {
        format!("{:.1}M", value / 1e6)
    } else {
        format!("{:.0}M", value / 1e6)
    }
}

/// A share from 0 to 1 in percent, without the sign. 0 and 100 are exact:
/// anything else never rounds to them.
#[must_use]
pub fn percent(share: Option<f64>) -> String {
    or_dash(share, |share| {
        let percent = share * 100.0;
        if share <= 0.0 {
            "0".to_owned()
        } else if share >= 1.0 {
            "100".to_owned()
        } else if percent < 0.1 {
            "<0.1".to_owned()
        } else if percent > 99.9 {
            ">99.9".to_owned()
        } else {
            format!("{percent:.1}")
        }
    })
}

/// A share in whole percent; `+` for a little more than 0 and `99` for a
/// little less than 100.
#[must_use]
pub fn whole_percent(share: f64) -> String {
    if share > 0.0 && share < 0.005 {
        "+".to_owned()
    } else if share < 1.0 {
        format!("{:.0}", (share * 100.0).min(99.0))
    } else {
        "100".to_owned()
    }
}

/// Seconds in milliseconds, three significant digits.
#[must_use]
pub fn milliseconds(seconds: Option<f64>) -> String {
    or_dash(seconds, |seconds| {
        let ms = seconds * 1e3;
        if ms < 1.0 {
            format!("{ms:.3}")
        } else if ms < 10.0 {
            format!("{ms:.2}")
        } else if ms < 100.0 {
            format!("{ms:.1}")
        } else {
            format!("{ms:.0}")
        }
    })
}

/// A size of a power-of-two kind: exact, in the largest unit that divides it.
#[must_use]
pub fn size(bytes: u64) -> String {
    for (unit, name) in [
        (KIB.pow(5), "PiB"),
        (KIB.pow(4), "TiB"),
        (KIB.pow(3), "GiB"),
        (KIB.pow(2), "MiB"),
        (KIB, "KiB"),
    ] {
        if bytes >= unit && bytes.is_multiple_of(unit) {
            return format!("{} {name}", bytes / unit);
        }
    }
    format!("{bytes} B")
}

/// An amount of data, in decimal units, three significant digits.
#[must_use]
pub fn amount(bytes: u64) -> String {
    let mut value = bytes as f64;
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let mut units = ["kB", "MB", "GB", "TB", "PB", "EB"].into_iter().peekable();
    let mut name = "B";
    while value >= 999.5 {
        let Some(unit) = units.next() else {
            break;
        };
        value /= 1000.0;
        name = unit;
    }
    if value < 9.995 {
        format!("{value:.2} {name}")
    } else if value < 99.95 {
        format!("{value:.1} {name}")
    } else {
        format!("{value:.0} {name}")
    }
}

/// A count with commas between the thousands.
#[must_use]
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 write`, `2 writes`.
#[must_use]
pub fn counted(value: u64, noun: &str) -> String {
    let plural = if value == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", count(value))
}

/// A length of time, as in `1.0 s`.
#[must_use]
pub fn seconds(length: Duration) -> String {
    format!("{:.1} s", length.as_secs_f64())
}

/// `text` in at most `width` characters; what is cut is marked.
#[must_use]
pub fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(width.saturating_sub(1)).collect();
    if width > 0 {
        short.push('~');
    }
    short
}

/// Breaks `text` at spaces into lines of at most `width` characters; a word
/// that is longer stands alone.
#[must_use]
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    fill(text.split_whitespace(), " ", width)
}

/// Joins `parts` with `joint` into lines of at most `width` characters, broken
/// after a joint only.
#[must_use]
pub fn fill<'a>(
    parts: impl IntoIterator<Item = &'a str>,
    joint: &str,
    width: usize,
) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for part in parts {
        let length = line.chars().count();
        if length == 0 {
            line.push_str(part);
            continue;
        }
        line.push_str(joint);
        if length + joint.chars().count() + part.chars().count() > width {
            lines.push(line.trim_end().to_owned());
            line.clear();
        }
        line.push_str(part);
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

/// Text that a terminal only shows: names, labels and mount points may come
/// from another machine, or from whoever made them, and a terminal obeys some
/// characters.
pub(crate) fn harmless(text: &str) -> String {
    let shown = |c: char| match c {
        '\n' | '\t' => c,
        _ if c.is_control() => char::REPLACEMENT_CHARACTER,
        _ => c,
    };
    text.chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_little_is_not_nothing_and_not_all() {
        assert_eq!(percent(Some(0.0)), "0");
        assert_eq!(percent(Some(0.000_1)), "<0.1");
        assert_eq!(percent(Some(0.9999)), ">99.9");
        assert_eq!(percent(Some(1.0)), "100");
        assert_eq!(percent(None), "-");
        assert_eq!(whole_percent(0.001), "+");
        assert_eq!(whole_percent(0.999), "99");
        assert_eq!(rate(Some(0.01)), "<0.1");
        assert_eq!(rate(Some(0.0)), "0");
    }

    #[test]
    fn rates_fit_seven_columns() {
        for (value, text) in [
            (9_999.9, "9999.9"),
            (9_999.96, "10000"),
            (999_999.0, "999999"),
            (1_234_567.0, "1.2M"),
            (123_456_789.0, "123M"),
        ] {
            assert_eq!(rate(Some(value)), text);
        }
    }

    #[test]
    fn sizes_are_exact_and_amounts_are_short() {
        assert_eq!(size(4096), "4 KiB");
        assert_eq!(size(458_752), "448 KiB");
        assert_eq!(size(4097), "4097 B");
        assert_eq!(amount(999), "999 B");
        assert_eq!(amount(999_999), "1.00 MB");
        assert_eq!(amount(12_345_678), "12.3 MB");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(counted(1, "write"), "1 write");
    }

    #[test]
    fn milliseconds_keep_three_digits() {
        assert_eq!(milliseconds(Some(0.000_102_4)), "0.102");
        assert_eq!(milliseconds(Some(0.012_34)), "12.3");
        assert_eq!(milliseconds(Some(2.0)), "2000");
    }

    #[test]
    fn wrapping_keeps_every_word() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("incomprehensible a", 4), ["incomprehensible", "a"]);
        assert_eq!(fill(["a b", "c d", "e"], ", ", 7), ["a b,", "c d, e"]);
        assert_eq!(cut("abcdef", 4), "abc~");
    }
}
