//! Quantities that must not be mixed up, and device numbers.
//!
//! Must not know where a number came from.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// Length of the kernel's unit of position, whatever the device's blocks.
pub const SECTOR_BYTES: u64 = 512;

/// A number of bytes.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Bytes(pub u64);

impl Bytes {
    /// In the largest binary unit that divides them: `448 KiB`, `512 bytes`.
    #[must_use]
    pub fn words(self) -> String {
        const UNITS: [(&str, u32); 4] = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
        UNITS
            .iter()
            .find(|(_, shift)| self.0 > 0 && self.0.is_multiple_of(1 << shift))
            .map_or_else(
                || format!("{} bytes", self.0),
                |(unit, shift)| format!("{} {unit}", self.0 >> shift),
            )
    }
}

/// A number of 512-byte sectors.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Sectors(pub u64);

impl Sectors {
    /// The same in bytes; saturates at the end of what 64 bits can hold.
    #[must_use]
    pub const fn bytes(self) -> Bytes {
        Bytes(self.0.saturating_mul(SECTOR_BYTES))
    }
}

/// A block device's number.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct DevId {
    pub major: u32,
    pub minor: u32,
}

impl DevId {
    /// From the kernel's own `dev_t`: `major << 20 | minor`
    /// (include/linux/kdev_t.h). Not what `stat(2)` returns.
    #[must_use]
    pub const fn from_kernel(dev: u32) -> Self {
        Self {
            major: dev >> 20,
            minor: dev & 0xf_ffff,
        }
    }

    /// To the kernel's own `dev_t`.
    #[must_use]
    pub const fn to_kernel(self) -> u32 {
        self.major << 20 | (self.minor & 0xf_ffff)
    }

    /// To what user space and the kernel's own ioctls exchange
    /// (`new_encode_dev`, include/linux/kdev_t.h).
    #[must_use]
    pub const fn to_user(self) -> u64 {
        let (major, minor) = (self.major as u64, self.minor as u64);
        (minor & 0xff) | major << 8 | (minor & !0xff) << 12
    }

    /// From `st_rdev` of `stat(2)`.
    #[must_use]
    pub fn from_rdev(rdev: u64) -> Self {
        Self {
            major: libc::major(rdev),
            minor: libc::minor(rdev),
        }
    }
}

impl fmt::Display for DevId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

/// `MAJ:MIN` was expected.
#[derive(Debug, thiserror::Error)]
#[error("not a device number: {0:?} (expected MAJOR:MINOR, as in 9:127)")]
pub struct ParseDevIdError(String);

impl FromStr for DevId {
    type Err = ParseDevIdError;

    fn from_str(text: &str) -> Result<Self, ParseDevIdError> {
        let parse = || {
            let (major, minor) = text.trim().split_once(':')?;
            Some(Self {
                major: major.parse().ok()?,
                minor: minor.parse().ok()?,
            })
        };
        parse().ok_or_else(|| ParseDevIdError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_encodings_of_a_device_number() {
        let id: DevId = "259:300".parse().unwrap();
        assert_eq!(DevId::from_kernel(id.to_kernel()), id);
        assert_eq!(DevId::from_rdev(libc::makedev(259, 300)), id);
        assert!("259".parse::<DevId>().is_err());
        assert!("a:b".parse::<DevId>().is_err());
    }
}
