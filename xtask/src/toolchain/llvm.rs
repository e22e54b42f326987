//! The LLVM library of a compiler, for `bpf-linker`, which loads one at run
//! time.
//!
//! It takes the first file named `libLLVM*` that it meets in the folders of
//! `LD_LIBRARY_PATH`, and says "unable to find LLVM" without one. The one the
//! compiler uses itself is the only one sure to read what it writes.

use std::{
    fs, io,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result};

use super::rust::Compiler;
use crate::{process, workspace};

/// A folder whose only `libLLVM*` is the compiler's.
pub fn library_dir(compiler: &Compiler) -> Result<PathBuf> {
    let own = compiler.sysroot.join("lib");
    // Of rustup's compilers each has its own; a distribution's shares the
    // system's folder with other LLVMs.
    if compiler.sysroot != Path::new("/usr") && has_llvm(&own) {
        return Ok(own);
    }
    let linked = process::output(Command::new("ldd").arg(&compiler.rustc))?;
    let library = parse_ldd(&linked).with_context(|| {
        format!(
            "{compiler} is linked with no shared LLVM library, and bpf-linker needs one. \
             Use a toolchain of rustup"
        )
    })?;
    let dir = workspace::cache_dir()?.join(format!("llvm-{}", compiler.llvm));
    link(&library, &dir.join("libLLVM.so"))
        .with_context(|| format!("linking {} into {}", library.display(), dir.display()))?;
    Ok(dir)
}

fn has_llvm(dir: &Path) -> bool {
    let is_llvm =
        |entry: fs::DirEntry| entry.file_name().as_encoded_bytes().starts_with(b"libLLVM");
    dir.read_dir()
        .is_ok_and(|entries| entries.flatten().any(is_llvm))
}

/// The path in `libLLVM.so.22.1 => /lib/x86_64-linux-gnu/libLLVM.so.22.1 (0x7f…)`.
fn parse_ldd(text: &str) -> Option<PathBuf> {
    let (_, found) = text
        .lines()
        .filter(|line| line.trim_start().starts_with("libLLVM"))
        .find_map(|line| line.split_once("=> "))?;
    let path = found.rsplit_once(" (").map_or(found, |(path, _)| path);
    path.starts_with('/').then(|| PathBuf::from(path))
}

fn link(library: &Path, link: &Path) -> io::Result<()> {
    if fs::read_link(link).is_ok_and(|target| target == library) {
        return Ok(());
    }
    if let Some(dir) = link.parent() {
        fs::create_dir_all(dir)?;
    }
    match fs::remove_file(link) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => symlink(library, link),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_is_read_from_ldd() {
        let text = "\tlinux-vdso.so.1 (0x00007ff2a3d03000)\n\
                    \tlibLLVM.so.22.1 => /lib/x86_64-linux-gnu/libLLVM.so.22.1 (0x00007ff295000000)\n\
                    \tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007ff29e01e000)\n";
        assert_eq!(
            parse_ldd(text),
            Some("/lib/x86_64-linux-gnu/libLLVM.so.22.1".into())
        );
        assert_eq!(parse_ldd("\tlibLLVM.so.22.1 => not found\n"), None);
        assert_eq!(parse_ldd("\tstatically linked\n"), None);
    }

    #[test]
    fn a_link_follows_a_library_that_moved() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("llvm-22/libLLVM.so");
        for target in ["/a", "/b", "/b"] {
            link(Path::new(target), &path).unwrap();
            assert_eq!(fs::read_link(&path).unwrap(), Path::new(target));
        }
    }
}
