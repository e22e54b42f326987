//! Paths of control groups by the number that the kernel gives them: their
//! kernfs id, which is the inode number of their directory.
//!
//! Must not keep more than was asked for last: control groups come and go for
//! as long as iotrace runs.

use std::{
    collections::{BTreeSet, HashMap},
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::mounts::Mounts;

/// More directories below each other than anybody makes.
const MAX_DEPTH: usize = 64;

/// Paths found so far.
#[derive(Debug, Default)]
pub struct CgroupPaths {
    /// Where the hierarchy is mounted that IO is charged to; `None`: nowhere.
    hierarchy: Option<PathBuf>,
    /// `None` for a group that was not there when it was looked for: its
    /// number is not given to another.
    known: HashMap<u64, Option<Arc<str>>>,
}

impl CgroupPaths {
    /// Looks below the hierarchy of block IO: a version 1 hierarchy if the
    /// controller is there, else version 2.
    #[must_use]
    pub fn new(mounts: &Mounts) -> Self {
        let version_1 = mounts.iter().find(|mount| {
            mount.fs_type == "cgroup" && mount.options.split(',').any(|one| one == "blkio")
        });
        let hierarchy =
            version_1.or_else(|| mounts.iter().find(|mount| mount.fs_type == "cgroup2"));
        Self {
            hierarchy: hierarchy.map(|mount| mount.point.clone()),
            known: HashMap::new(),
        }
    }

    /// Looks for the groups that are asked for and not known yet, all in one
    /// walk; forgets those that are not asked for any more.
    pub fn look_up(&mut self, asked: &BTreeSet<u64>) {
        self.known.retain(|id, _| asked.contains(id));
        let mut missing: BTreeSet<u64> = asked
            .iter()
            .copied()
            .filter(|id| !self.known.contains_key(id))
            .collect();
        let Some(hierarchy) = self.hierarchy.clone() else {
            return;
        };
        if !missing.is_empty() {
            self.walk(&hierarchy, "", &mut missing, 0);
        }
        self.known.extend(missing.into_iter().map(|id| (id, None)));
    }

    /// The path below the hierarchy, as in `/system.slice/cron.service`, of a
    /// group that was looked up.
    #[must_use]
    pub fn path(&self, id: u64) -> Option<Arc<str>> {
        self.known.get(&id).cloned().flatten()
    }

    /// What may not be read, or goes away meanwhile, is left out.
    fn walk(&mut self, directory: &Path, path: &str, missing: &mut BTreeSet<u64>, depth: usize) {
        let Ok(metadata) = fs::symlink_metadata(directory) else {
            return;
        };
        if missing.remove(&metadata.ino()) {
            let path = if path.is_empty() { "/" } else { path };
            self.known.insert(metadata.ino(), Some(path.into()));
        }
        if missing.is_empty() || depth == MAX_DEPTH {
            return;
        }
        let Ok(entries) = fs::read_dir(directory) else {
            return;
        };
        for entry in entries.flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                let name = entry.file_name();
                let below = format!("{path}/{}", printable(&name.to_string_lossy()));
                self.walk(&entry.path(), &below, missing, depth + 1);
            }
        }
    }
}

/// Anybody who may make a group may call it anything: control characters must
/// not reach a terminal.
fn printable(name: &str) -> String {
    name.chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mounts(point: &Path) -> Mounts {
        Mounts::parse(&format!(
            "30 1 0:25 / /elsewhere rw - cgroup cgroup rw,cpu,cpuacct\n\
             31 1 0:26 / {} rw - cgroup2 cgroup2 rw\n",
            point.display()
        ))
    }

    #[test]
    fn groups_are_found_by_their_directories_number() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("user.slice/a\x1bb")).unwrap();
        fs::write(dir.path().join("cgroup.procs"), "").unwrap();
        let id = |path: &str| fs::metadata(dir.path().join(path)).unwrap().ino();
        let (root, slice, odd) = (id(""), id("user.slice"), id("user.slice/a\x1bb"));
        let mut paths = CgroupPaths::new(&mounts(dir.path()));
        paths.look_up(&[root, slice, odd, 1].into());
        assert_eq!(paths.path(root).as_deref(), Some("/"));
        assert_eq!(paths.path(slice).as_deref(), Some("/user.slice"));
        assert_eq!(paths.path(odd).as_deref(), Some("/user.slice/a\u{fffd}b"));
        assert_eq!(paths.path(1), None);
        assert_eq!(paths.known.len(), 4);

        // Known still, though it is gone; and what is not asked is forgotten.
        fs::remove_dir(dir.path().join("user.slice/a\x1bb")).unwrap();
        paths.look_up(&[odd].into());
        assert_eq!(paths.path(odd).as_deref(), Some("/user.slice/a\u{fffd}b"));
        assert_eq!(paths.known.len(), 1);
    }

    #[test]
    fn version_1_counts_where_it_has_the_controller() {
        let text = "31 1 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n\
                    30 1 0:25 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n";
        let paths = CgroupPaths::new(&Mounts::parse(text));
        assert_eq!(
            paths.hierarchy.as_deref(),
            Some(Path::new("/sys/fs/cgroup/blkio"))
        );
        let mut nowhere = CgroupPaths::new(&Mounts::default());
        nowhere.look_up(&[7].into());
        assert_eq!(nowhere.path(7), None);
    }
}
