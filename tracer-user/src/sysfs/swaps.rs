//! Which swap areas are in use, from `/proc/swaps`.
//!
//! Must not look into one.

use std::{fs, io, path::Path};

use super::mounts::unescape;
use crate::units::Bytes;

/// All areas, in the kernel's order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Swaps(Vec<SwapArea>);

/// One line of `/proc/swaps`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwapArea {
    /// Of the device, as in `/dev/dm-1`, or of the file.
    pub path: String,
    /// A file on a file system, no device.
    pub is_file: bool,
    pub size: Bytes,
    pub priority: i32,
}

impl Swaps {
    /// Reads a file such as `/proc/swaps`.
    ///
    /// # Errors
    /// When the file cannot be read; the caller names it.
    pub fn read(path: &Path) -> io::Result<Self> {
        let text = fs::read(path)?;
        Ok(Self::parse(&String::from_utf8_lossy(&text)))
    }

    /// The heading, and lines of any other form, are left out.
    #[must_use]
    pub fn parse(swaps: &str) -> Self {
        Self(swaps.lines().filter_map(parse_line).collect())
    }

    pub fn iter(&self) -> impl Iterator<Item = &SwapArea> {
        self.0.iter()
    }
}

/// `/dev/dm-1  partition  999420  0  -2`: path, type, KiB, KiB in use, priority
/// (mm/swapfile.c, `swap_show`).
fn parse_line(line: &str) -> Option<SwapArea> {
    let mut words = line.split_whitespace();
    let path = words.next()?;
    let kind = words.next()?;
    let kib: u64 = words.next()?.parse().ok()?;
    Some(SwapArea {
        path: unescape(path),
        is_file: kind == "file",
        size: Bytes(kib.saturating_mul(1024)),
        priority: words.nth(1)?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_and_a_heading() {
        let swaps = Swaps::parse(
            "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n\
             /dev/dm-1                               partition\t999420\t\t12\t\t-2\n\
             /my\\040swap file 1024 0 5\ngarbage\n",
        );
        let areas: Vec<_> = swaps.iter().collect();
        assert_eq!(areas.len(), 2);
        assert_eq!(
            (areas[0].path.as_str(), areas[0].is_file),
            ("/dev/dm-1", false)
        );
        assert_eq!(
            (areas[0].size, areas[0].priority),
            (Bytes(999_420 << 10), -2)
        );
        assert_eq!(
            (areas[1].path.as_str(), areas[1].is_file),
            ("/my swap", true)
        );
    }
}
