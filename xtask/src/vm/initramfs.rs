//! The guest's root, as a chain of archives the kernel unpacks one over the
//! other: programs (one for this machine), modules (one per kernel), and what
//! belongs to a single run.
//!
//! Must not know what is in the folders it packs.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, bail};

use super::{cache, kernel::Kernel, modules, tools};

/// What makes the archives, as part of their stamps: an archive of an older
/// make is never taken for a current one.
const RECIPES: [&str; 2] = [include_str!("tools.rs"), include_str!("modules.rs")];

const INIT: &str = include_str!("init.sh");

/// What one run adds.
pub(super) struct Overlay<'a> {
    /// A shell line.
    pub(super) command: &'a str,
    /// Files for /bin.
    pub(super) payload: &'a [PathBuf],
    /// Whether the command has a terminal rather than streams.
    pub(super) terminal: bool,
}

/// The archives that stay the same from run to run; made when needed.
pub(super) fn base(kernel: &Kernel) -> Result<Vec<PathBuf>> {
    let [tools_recipe, modules_recipe] = RECIPES;
    let stamp = format!("{}{tools_recipe}", tools::stamp()?);
    let programs = cache::file("programs.cpio", &stamp, |archive| {
        eprintln!("xtask: packing the guest's programs");
        pack(archive, tools::lay_out)
    })?;
    let made = kernel.image.metadata()?.modified()?;
    let stamp = format!("{} {made:?}\n{modules_recipe}", kernel.modules.display());
    let name = format!("modules-{}.cpio", kernel.release);
    let modules = cache::file(&name, &stamp, |archive| {
        eprintln!("xtask: packing the modules of {}", kernel.release);
        pack(archive, |root| modules::lay_out(kernel, root))
    })?;
    Ok(vec![programs, modules])
}

/// Writes the whole chain to a file without a name, which is gone with the
/// run however that ends.
pub(super) fn assemble(base: &[PathBuf], overlay: &Overlay<'_>) -> Result<File> {
    let mut chain = tempfile::tempfile_in(cache::dir()?)?;
    for archive in base {
        io::copy(&mut File::open(archive)?, &mut chain)
            .with_context(|| format!("copying {}", archive.display()))?;
    }
    pack(&chain, |root| lay_out_overlay(overlay, root))?;
    Ok(chain)
}

fn lay_out_overlay(overlay: &Overlay<'_>, root: &Path) -> Result<()> {
    let init = root.join("init");
    fs::write(&init, INIT)?;
    fs::set_permissions(&init, fs::Permissions::from_mode(0o755))?;
    fs::write(root.join("command"), format!("{}\n", overlay.command))?;
    if overlay.terminal {
        fs::write(root.join("terminal"), terminal_size().unwrap_or_default())?;
    }
    for file in overlay.payload {
        tools::add_payload(file, root)?;
    }
    Ok(())
}

/// This terminal's rows and columns, for the guest's, which can't ask.
fn terminal_size() -> Option<String> {
    let size = Command::new("stty")
        .arg("size")
        .stdin(Stdio::inherit())
        .output()
        .ok()?;
    String::from_utf8(size.stdout).ok()
}

/// Appends to `archive` the folder that `lay_out` fills.
fn pack(archive: &File, lay_out: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let root = tempfile::tempdir()?;
    fs::set_permissions(root.path(), fs::Permissions::from_mode(0o755))?;
    lay_out(root.path())?;
    // Uncompressed: an emulated guest would take longer to decompress it than
    // this machine takes to copy it.
    let status = Command::new("sh")
        .args([
            "-c",
            "find . -mindepth 1 -print0 | sort -z | cpio -o -0 -H newc -R 0:0 --quiet",
        ])
        .env("LC_ALL", "C")
        .current_dir(root.path())
        .stdin(Stdio::null())
        .stdout(archive.try_clone()?)
        .status()
        .context("starting cpio")?;
    if !status.success() {
        bail!("cpio could not pack the guest's files: {status}; is the disk full?");
    }
    Ok(())
}
