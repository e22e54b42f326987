//! What geometry a file system goes by now: its mount options, which may be
//! others than its superblock says.
//!
//! Pure. Must not compare the two.

use crate::{
    sysfs::mounts::Mount,
    units::{Bytes, Sectors},
};

/// The geometry in the options of a mount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MountedAs {
    /// XFS: `sunit=`, in sectors of 512 bytes.
    pub stripe_unit: Option<Bytes>,
    /// XFS: `swidth=`, likewise.
    pub stripe_width: Option<Bytes>,
    /// ext4: `stripe=`, in blocks of the file system.
    pub stripe_blocks: Option<u64>,
}

impl MountedAs {
    /// From the options that the kernel shows.
    #[must_use]
    pub fn of(mount: &Mount) -> Self {
        let value = |name: &str| -> Option<u64> {
            let mut options = mount.options.split(',');
            let set = options.find_map(|option| option.strip_prefix(name)?.strip_prefix('='))?;
            set.parse().ok()
        };
        let sectors = |name| value(name).map(|count| Sectors(count).bytes());
        match mount.fs_type.as_str() {
            "xfs" => Self {
                stripe_unit: sectors("sunit"),
                stripe_width: sectors("swidth"),
                stripe_blocks: None,
            },
            "ext4" => Self {
                stripe_blocks: value("stripe"),
                ..Self::default()
            },
            _ => Self::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sysfs::mounts::Mounts;

    #[test]
    fn each_in_its_own_unit() {
        let mounts = Mounts::parse(
            "1 0 9:0 / /a rw - xfs /dev/md0 rw,attr2,sunit=128,swidth=896,noquota\n\
             1 0 9:1 / /b rw - ext4 /dev/md1 rw,stripe=8191\n\
             1 0 9:2 / /c rw - ext4 /dev/md2 rw,stripe=x,sunit=8\n",
        );
        let all: Vec<MountedAs> = mounts.iter().map(MountedAs::of).collect();
        assert_eq!(
            (all[0].stripe_unit, all[0].stripe_width),
            (Some(Bytes(65536)), Some(Bytes(458_752)))
        );
        assert_eq!(all[1].stripe_blocks, Some(8191));
        assert_eq!(all[2], MountedAs::default());
    }
}
