//! The part of a kernel's modules that a guest needs, laid out for the
//! guest's root.
//!
//! Must not know which of them are loaded when: that is `init.sh`.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail};

use super::kernel::Kernel;
use crate::process;

/// Paths below `kernel/` of what is kept: block devices and what stacks on
/// them, file systems, and ciphers and checksums, which the kernel asks for by
/// itself. What these depend on comes along.
const KEPT: [&str; 26] = [
    "arch/x86/crypto/",
    "arch/x86/lib/",
    "block/",
    "crypto/",
    "drivers/block/brd",
    "drivers/block/loop",
    "drivers/block/nbd",
    "drivers/block/null_blk",
    "drivers/block/virtio_blk",
    "drivers/block/zram/",
    "drivers/char/hw_random/virtio-rng",
    "drivers/char/virtio_console",
    "drivers/md/",
    "drivers/nvme/host/",
    "drivers/scsi/scsi_debug",
    "drivers/scsi/sd_mod",
    "drivers/scsi/sg.",
    "drivers/scsi/virtio_scsi",
    "drivers/virtio/",
    "fs/btrfs/",
    "fs/configfs/",
    "fs/ext4/",
    "fs/fat/",
    "fs/nls/",
    "fs/xfs/",
    "lib/",
];

/// Without these an array can't be built, so a guest would be of no use.
const NEEDED: [&str; 4] = ["raid456", "dm-mod", "scsi_debug", "null_blk"];

/// Lays out the kept modules of `kernel` below `root`.
pub(super) fn lay_out(kernel: &Kernel, root: &Path) -> Result<()> {
    let folder = root.join("usr/lib/modules").join(&kernel.release);
    fs::create_dir_all(&folder)?;
    symlink("usr/lib", root.join("lib"))?;
    for list in [
        "modules.order",
        "modules.builtin",
        "modules.builtin.modinfo",
    ] {
        // The last is younger than 5.10's build system.
        if kernel.modules.join(list).exists() {
            fs::copy(kernel.modules.join(list), folder.join(list))?;
        }
    }
    // All of them at first, to have their dependencies worked out.
    let all = folder.join("kernel");
    symlink(kernel.modules.join("kernel"), &all)?;
    depmod(root, kernel)?;
    let modules_dep = fs::read_to_string(folder.join("modules.dep"))?;
    let kept = kept(&modules_dep);
    check_needed(
        &kept,
        kernel,
        &fs::read_to_string(folder.join("modules.builtin"))?,
    )?;

    fs::remove_file(&all)?;
    let mut compressed = Vec::new();
    for module in &kept {
        let target = folder.join(module);
        fs::create_dir_all(target.parent().unwrap_or(&folder))?;
        fs::copy(kernel.modules.join(module), &target)
            .with_context(|| format!("copying the module {module}"))?;
        if module.ends_with(".xz") {
            compressed.push(target);
        }
    }
    unpack(&compressed)?;
    depmod(root, kernel)
}

fn depmod(root: &Path, kernel: &Kernel) -> Result<()> {
    let depmod = process::find("depmod").context("depmod (package kmod) is not installed")?;
    process::output(
        Command::new(depmod)
            .arg("-b")
            .arg(root)
            .arg(&kernel.release),
    )?;
    Ok(())
}

/// Unpacked once here they need not be in every guest, where it is slow.
fn unpack(files: &[PathBuf]) -> Result<()> {
    if !files.is_empty() {
        process::output(Command::new("xz").arg("--decompress").args(files))?;
    }
    Ok(())
}

/// The kept modules and all they depend on, out of a `modules.dep`. Its lines
/// name a module and everything that must be loaded before it.
fn kept(modules_dep: &str) -> BTreeSet<&str> {
    let mut kept = BTreeSet::new();
    for line in modules_dep.lines() {
        let Some((module, dependencies)) = line.split_once(':') else {
            continue;
        };
        let path = module.strip_prefix("kernel/").unwrap_or(module);
        if KEPT.iter().any(|prefix| path.starts_with(prefix)) {
            kept.insert(module);
            kept.extend(dependencies.split_whitespace());
        }
    }
    kept
}

fn check_needed(kept: &BTreeSet<&str>, kernel: &Kernel, builtin: &str) -> Result<()> {
    let is_there = |name: &str| {
        let file = format!("/{name}.ko");
        kept.iter().any(|module| module.contains(&file)) || builtin.contains(&file)
    };
    let missing: Vec<_> = NEEDED.into_iter().filter(|name| !is_there(name)).collect();
    if !missing.is_empty() {
        bail!(
            "the kernel {} in {} has no {}: take a package with md, dm, scsi_debug and null_blk",
            kernel.release,
            kernel.modules.display(),
            missing.join(", ")
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_of_kept_modules_are_kept() {
        let dep = "\
kernel/drivers/md/raid456.ko: kernel/drivers/md/md-mod.ko kernel/net/odd.ko
kernel/drivers/md/md-mod.ko:
kernel/net/odd.ko:
kernel/net/other.ko: kernel/drivers/md/md-mod.ko
";
        let kept: Vec<_> = kept(dep).into_iter().collect();
        assert_eq!(
            kept,
            [
                "kernel/drivers/md/md-mod.ko",
                "kernel/drivers/md/raid456.ko",
                "kernel/net/odd.ko"
            ]
        );
    }
}
