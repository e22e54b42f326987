//! Expands a tree written as text into a temporary directory, so that
//! fixtures can be read in a diff.
//!
//! One entry a line: `path = value` (a file holding the value and a newline),
//! `path -> target` (a symbolic link), `path/` (a directory). Blank lines and
//! lines that begin with `#` are skipped.

use std::{
    fs, io,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

/// Writes the tree to a new directory that lives as long as the result.
///
/// # Errors
/// On a line of any other form, or where the directory cannot be written.
pub(crate) fn expand(text: &str) -> io::Result<TempDir> {
    let dir = tempfile::tempdir()?;
    for line in text.lines() {
        let line = line.trim();
        if !line.is_empty() && !line.starts_with('#') {
            entry(dir.path(), line)?;
        }
    }
    Ok(dir)
}

fn entry(root: &Path, line: &str) -> io::Result<()> {
    if let Some((path, target)) = line.split_once(" -> ") {
        symlink(target.trim(), place(root, path)?)
    } else if let Some((path, value)) = line.split_once(" =") {
        fs::write(place(root, path)?, format!("{}\n", value.trim()))
    } else if line.ends_with('/') {
        fs::create_dir_all(root.join(line))
    } else {
        Err(io::Error::other(format!(
            "neither `path = value`, `path -> target` nor `path/`: {line}"
        )))
    }
}

/// The path below the root, in a directory that exists.
fn place(root: &Path, path: &str) -> io::Result<PathBuf> {
    let path = root.join(path.trim());
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    Ok(path)
}
