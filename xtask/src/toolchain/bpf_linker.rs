//! `bpf-linker`: the release that reads a compiler's LLVM, found or installed.
//!
//! Must not choose a compiler.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result};

use crate::{cargo, process, workspace};

/// The release for each LLVM major version. A linker reads bitcode of the
/// LLVM it was made for; with another it stops at "Invalid record". Only what
/// was seen to work is listed. 0.13 (LLVM 23) has to be linked with LLVM's own
/// development libraries, which `cargo install` alone does not bring.
const RELEASES: [(u32, &str); 1] = [(22, "0.10.3")];

/// The release for an LLVM.
pub fn release_for(llvm: u32) -> Option<&'static str> {
    let found = RELEASES.iter().find(|(major, _)| *major == llvm);
    found.map(|(_, release)| *release)
}

/// The table, for messages.
pub fn known() -> String {
    let entry = |(llvm, release): &(u32, &str)| format!("LLVM {llvm}: bpf-linker {release}");
    RELEASES.iter().map(entry).collect::<Vec<_>>().join(", ")
}

/// The linker for an LLVM: on `PATH`, from the cache, or installed there.
pub fn obtain(llvm: u32) -> Result<PathBuf> {
    let release = release_for(llvm)
        .with_context(|| format!("no known bpf-linker for LLVM {llvm} (known: {})", known()))?;
    let tools = workspace::cache_dir()?.join("tools");
    let kept = tools.join("bin/bpf-linker");
    for linker in process::find("bpf-linker")
        .into_iter()
        .chain([kept.clone()])
    {
        if is_release(&linker, release) {
            return Ok(linker);
        }
    }
    install(release, &tools)?;
    Ok(kept)
}

fn is_release(linker: &Path, release: &str) -> bool {
    process::output(Command::new(linker).arg("--version"))
        .is_ok_and(|version| version.split_whitespace().last() == Some(release))
}

fn install(release: &str, root: &Path) -> Result<()> {
    eprintln!("xtask: installing bpf-linker {release}: once, takes a minute or two");
    let mut command = cargo::cargo()?;
    command
        .args(["install", "--locked", &format!("bpf-linker@{release}")])
        .arg("--root")
        .arg(root)
        // Its build is not this workspace's.
        .env_remove("CARGO_TARGET_DIR");
    process::run(&mut command).with_context(|| {
        format!(
            "the eBPF programs are linked with bpf-linker {release}, which could not be \
             installed. This would do: cargo install --locked bpf-linker@{release}"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_release_is_found_and_named() {
        for (llvm, release) in RELEASES {
            assert_eq!(release_for(llvm), Some(release));
            assert!(known().contains(release));
        }
        assert_eq!(release_for(9), None);
    }
}
