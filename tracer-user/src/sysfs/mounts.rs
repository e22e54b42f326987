//! Which file system is mounted where, from `mountinfo`.
//!
//! Must not look at what is mounted.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::units::DevId;

/// All mounts, in the kernel's order: a later one hides an earlier one at the
/// same place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mounts(Vec<Mount>);

/// One line of `mountinfo`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// `st_dev` of files on it: the block device, or an anonymous number
    /// (btrfs, tmpfs, overlay).
    pub device: DevId,
    pub point: PathBuf,
    pub fs_type: String,
    /// What was mounted, as in `/dev/md127`; whatever the file system says.
    pub source: String,
    /// The file system's own, as in `rw,blkio`.
    pub options: String,
}

impl Mounts {
    /// Reads a `mountinfo`, such as `/proc/self/mountinfo`.
    ///
    /// # Errors
    /// When the file cannot be read; the caller names it.
    pub fn read(path: &Path) -> io::Result<Self> {
        let text = fs::read(path)?;
        Ok(Self::parse(&String::from_utf8_lossy(&text)))
    }

    /// Lines of any other form are left out.
    #[must_use]
    pub fn parse(mountinfo: &str) -> Self {
        Self(mountinfo.lines().filter_map(parse_line).collect())
    }

    pub fn iter(&self) -> impl Iterator<Item = &Mount> {
        self.0.iter()
    }

    /// What is mounted exactly at `point`.
    #[must_use]
    pub fn at(&self, point: &Path) -> Option<&Mount> {
        self.0.iter().rev().find(|mount| mount.point == point)
    }

    /// The mount that holds `path`.
    #[must_use]
    pub fn holding(&self, path: &Path) -> Option<&Mount> {
        path.ancestors().find_map(|ancestor| self.at(ancestor))
    }
}

/// `27 1 254:0 / /mnt rw,relatime shared:1 - ext4 /dev/vda rw`: any number of
/// fields stand before the dash.
fn parse_line(line: &str) -> Option<Mount> {
    let (mount, fs) = line.split_once(" - ")?;
    let mut mount = mount.split(' ');
    let device = mount.nth(2)?.parse().ok()?;
    let point = unescape(mount.nth(1)?);
    let mut fs = fs.split(' ');
    Some(Mount {
        device,
        point: PathBuf::from(point),
        fs_type: fs.next()?.to_owned(),
        source: unescape(fs.next()?),
        options: fs.next().unwrap_or_default().to_owned(),
    })
}

/// Blank, tab, newline and backslash are written as three octal digits
/// (fs/proc_namespace.c, `mangle`).
pub(super) fn unescape(field: &str) -> String {
    ["\\040", "\\011", "\\012", "\\134"]
        .iter()
        .zip([" ", "\t", "\n", "\\"])
        .fold(field.to_owned(), |text, (code, plain)| {
            text.replace(code, plain)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_mount_at_a_place_counts() {
        let mounts = Mounts::parse(
            "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n\
             garbage\n\
             30 27 9:0 / /srv/my\\040data rw shared:1 master:2 - xfs /dev/md0 rw\n\
             31 27 0:44 /sub /srv/my\\040data rw - btrfs /dev/sda2 rw\n",
        );
        let data = mounts.at(Path::new("/srv/my data")).unwrap();
        assert_eq!(
            (data.fs_type.as_str(), data.source.as_str()),
            ("btrfs", "/dev/sda2")
        );
        assert_eq!(mounts.at(Path::new("/srv")), None);
        let holding = mounts.holding(Path::new("/srv/my data/a/b")).unwrap();
        assert_eq!(holding, data);
        assert_eq!(
            mounts.holding(Path::new("/srv")).unwrap().device,
            "254:0".parse().unwrap()
        );
    }
}
