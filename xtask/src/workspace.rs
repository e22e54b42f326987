//! Where things are: the workspace, what is built in it, and what is kept
//! between workspaces.
//!
//! Must not create anything.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

/// The workspace's root folder.
pub fn root() -> Result<PathBuf> {
    // Cargo sets it for `cargo run`; what was compiled in is for a moved or
    // directly started xtask.
    let xtask = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    let root = xtask.parent().map(Path::to_path_buf);
    root.with_context(|| format!("{} has no parent folder", xtask.display()))
}

/// Where the host's programs are built.
pub fn target_dir() -> Result<PathBuf> {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(dir) => Ok(root()?.join(dir)),
        None => Ok(root()?.join("target")),
    }
}

/// Where `cargo` builds the eBPF programs. Apart from the host's, because
/// their compiler and flags are others.
pub fn bpf_build_dir() -> Result<PathBuf> {
    Ok(root()?.join("target/bpf-build"))
}

/// The finished eBPF object. In the workspace whatever `CARGO_TARGET_DIR`
/// says: `tracer-user/build.rs` must find it without being told.
pub fn bpf_object() -> Result<PathBuf> {
    Ok(root()?.join("target/bpf/iotrace.bpf.o"))
}

/// What is fetched once for all workspaces: `IOTRACE_CACHE`, else `iotrace` in
/// the user's cache folder. An empty variable counts as none.
pub fn cache_dir() -> Result<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    if let Some(dir) = variable("IOTRACE_CACHE") {
        return std::path::absolute(dir).context("IOTRACE_CACHE");
    }
    let caches = match variable("XDG_CACHE_HOME") {
        Some(dir) => PathBuf::from(dir),
        None => std::env::home_dir()
            .context("no home folder for the cache: set IOTRACE_CACHE to a folder of your choice")?
            .join(".cache"),
    };
    Ok(caches.join("iotrace"))
}
