//! The programs of this machine that a guest has too, with their libraries.
//!
//! Must not know about kernels, nor what the programs are used for.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result};

use super::file_name;
use crate::{debian::Package, process};

/// Programs in the guest's /bin, beside busybox's own, and who brings them.
const PROGRAMS: [(&str, &str); 38] = [
    ("bash", "bash"),
    ("blktrace", "blkparse"),
    ("blktrace", "blktrace"),
    ("busybox-static", "busybox"),
    // busybox's own shell, env and other starters of programs would take
    // busybox's losetup, modprobe and so on, even with better ones in PATH.
    ("coreutils", "env"),
    ("coreutils", "timeout"),
    ("cryptsetup-bin", "cryptsetup"),
    ("dash", "dash"),
    ("dmsetup", "dmsetup"),
    ("e2fsprogs", "dumpe2fs"),
    ("e2fsprogs", "mkfs.ext4"),
    ("e2fsprogs", "tune2fs"),
    ("fdisk", "sfdisk"),
    ("findutils", "xargs"),
    ("fio", "fio"),
    // busybox's modprobe knows no soft dependencies; the kernel calls this
    // one too, for ciphers and checksums.
    ("kmod", "depmod"),
    ("kmod", "insmod"),
    ("kmod", "lsmod"),
    ("kmod", "modinfo"),
    ("kmod", "modprobe"),
    ("kmod", "rmmod"),
    ("lvm2", "lvm"),
    ("mdadm", "mdadm"),
    // busybox's own knows other options.
    ("mount", "mount"),
    ("mount", "umount"),
    ("prometheus", "prometheus"),
    ("util-linux", "blkdiscard"),
    ("util-linux", "blockdev"),
    ("util-linux", "losetup"),
    ("util-linux", "lsblk"),
    ("util-linux", "partx"),
    ("util-linux", "setpriv"),
    ("util-linux", "setsid"),
    ("util-linux", "taskset"),
    ("util-linux", "wipefs"),
    ("xfsprogs", "mkfs.xfs"),
    ("xfsprogs", "xfs_db"),
    ("xfsprogs", "xfs_io"),
];

/// Programs this machine needs to build and run guests.
const BUILDERS: [(&str, &str); 6] = [
    ("cpio", "cpio"),
    ("dpkg", "dpkg-deb"),
    ("kmod", "depmod"),
    ("qemu-system-x86", "qemu-system-x86_64"),
    ("util-linux", "setpriv"),
    ("xz-utils", "xz"),
];

/// Loaded by name at run time, so `ldd` does not show them: pthread_cancel's
/// unwinder and the OpenSSL provider with LUKS1's older hashes.
const HIDDEN_LIBRARIES: [&str; 2] = ["libgcc_s.so.1", "ossl-modules/legacy.so"];

/// For an editable line in the guest's shell.
const TERMINAL_TYPES: [&str; 2] = ["lib/terminfo/l/linux", "lib/terminfo/x/xterm"];

/// The merged root of today's distributions, with one folder for programs, and
/// names that a program is called by.
const LINKS: [(&str, &str); 12] = [
    ("bin", "usr/bin"),
    ("sbin", "usr/bin"),
    ("lib", "usr/lib"),
    ("lib64", "usr/lib64"),
    ("usr/sbin", "bin"),
    ("usr/bin/lvcreate", "lvm"),
    ("usr/bin/pvcreate", "lvm"),
    ("usr/bin/pvmove", "lvm"),
    ("usr/bin/pvremove", "lvm"),
    ("usr/bin/sh", "dash"),
    ("usr/bin/vgcreate", "lvm"),
    ("usr/bin/vgremove", "lvm"),
];

const PASSWD: &str = "root:x:0:0:root:/root:/bin/sh\n\
                      nobody:x:65534:65534:nobody:/nonexistent:/bin/sh\n";
/// There is neither udev nor a daemon of LVM's, and nobody to wait for a report
/// of `pvmove` every 15 s.
const LVM_CONF: &str = "activation { udev_sync=0 udev_rules=0 monitoring=0 polling_interval=1 }\n\
                        global { event_activation=0 use_lvmpolld=0 }\n\
                        devices { use_devicesfile=0 scan_lvs=0 }\n\
                        backup { backup=0 archive=0 }\n";
const GROUP: &str = "root:x:0:\ndisk:x:6:\nnogroup:x:65534:\n";

/// What has to be installed here; one program of each package is proof of it.
pub(super) fn packages() -> Vec<Package> {
    let mut packages = [&PROGRAMS[..], &BUILDERS[..]].concat();
    packages.sort_unstable();
    packages.dedup_by_key(|(package, _)| *package);
    packages
        .into_iter()
        .map(|(package, program)| Package::command(package, program))
        .collect()
}

/// Changes whenever one of the programs does.
pub(super) fn stamp() -> Result<String> {
    let mut stamp = String::new();
    for (_, program) in PROGRAMS {
        let path = path_of(program)?;
        let meta = path.metadata()?;
        stamp += &format!("{} {} {:?}\n", path.display(), meta.len(), meta.modified()?);
    }
    Ok(stamp)
}

/// Lays out a root folder with all programs but without a kernel's modules.
pub(super) fn lay_out(root: &Path) -> Result<()> {
    for dir in [
        "dev", "etc", "mnt", "proc", "root", "run", "sys", "tmp", "var",
    ] {
        fs::create_dir_all(root.join(dir))?;
    }
    for dir in ["usr/bin", "usr/lib", "usr/lib64"] {
        fs::create_dir_all(root.join(dir))?;
    }
    for (link, target) in LINKS {
        symlink(target, root.join(link))?;
    }
    fs::write(root.join("etc/passwd"), PASSWD)?;
    fs::write(root.join("etc/group"), GROUP)?;
    fs::create_dir_all(root.join("etc/lvm"))?;
    fs::write(root.join("etc/lvm/lvm.conf"), LVM_CONF)?;
    let mut libraries = BTreeSet::new();
    for (_, program) in PROGRAMS {
        let path = path_of(program)?;
        add_program(&path, program, root)?;
        libraries.extend(libraries_of(&path));
    }
    libraries.extend(hidden_libraries(&libraries));
    libraries.extend(
        TERMINAL_TYPES
            .iter()
            .map(|file| Path::new("/").join(file))
            .filter(|file| file.exists()),
    );
    add_libraries(&libraries, root)
}

/// Puts the file into the guest's /bin, with the libraries it is linked to.
pub(super) fn add_payload(file: &Path, root: &Path) -> Result<()> {
    let name = file_name(file)?;
    fs::create_dir_all(root.join("usr/bin"))?;
    add_program(file, name, root)?;
    add_libraries(&libraries_of(file), root)
}

fn path_of(program: &str) -> Result<PathBuf> {
    process::find(program).with_context(|| format!("{program} is not installed"))
}

fn add_program(file: &Path, name: impl AsRef<Path>, root: &Path) -> Result<()> {
    fs::copy(file, root.join("usr/bin").join(name))
        .with_context(|| format!("copying {} into the guest", file.display()))?;
    Ok(())
}

/// The shared libraries a program is linked to; none for a static one and for
/// a script, both of which `ldd` refuses.
fn libraries_of(program: &Path) -> BTreeSet<PathBuf> {
    let listing = process::output(Command::new("ldd").arg(program)).unwrap_or_default();
    parse_ldd(&listing)
}

fn parse_ldd(listing: &str) -> BTreeSet<PathBuf> {
    listing
        .split_whitespace()
        .filter(|word| word.starts_with('/'))
        .map(PathBuf::from)
        .collect()
}

/// The hidden libraries lie in the folders of the others.
fn hidden_libraries(libraries: &BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
    libraries
        .iter()
        .filter_map(|library| library.parent())
        .flat_map(|dir| HIDDEN_LIBRARIES.map(|name| dir.join(name)))
        .filter(|library| library.exists())
        .collect()
}

/// Copies each to the path it has here, which is where it is looked for.
fn add_libraries(libraries: &BTreeSet<PathBuf>, root: &Path) -> Result<()> {
    for library in libraries {
        let path = library.strip_prefix("/")?;
        // Into usr/ directly: an archive may not have its own `lib` folder in
        // the place of the link of that name.
        let path = if path.starts_with("usr") {
            path.to_owned()
        } else {
            Path::new("usr").join(path)
        };
        let target = root.join(path);
        fs::create_dir_all(target.parent().unwrap_or(root))?;
        fs::copy(library, &target)
            .with_context(|| format!("copying the library {}", library.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_the_paths_in_the_output_of_ldd() {
        let listing = "\tlinux-vdso.so.1 (0x00007ffd)\n\
                       \tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f)\n\
                       \t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n";
        let libraries: Vec<_> = parse_ldd(listing).into_iter().collect();
        assert_eq!(
            libraries,
            [
                Path::new("/lib/x86_64-linux-gnu/libc.so.6"),
                Path::new("/lib64/ld-linux-x86-64.so.2")
            ]
        );
    }
}
