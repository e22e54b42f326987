//! Expands a tree written as text into a temporary directory, so that
//! fixtures can be read in a diff.
//!
//! One entry a line: `path = value` (a file holding the value and a newline),
//! `path -> target` (a symbolic link), `path/` (a directory). Blank lines and
//! lines that begin with `#` are skipped.

use std::{fs, os::unix::fs::symlink, path::Path};

use tempfile::TempDir;

/// Writes the tree to a new directory that lives as long as the result.
///
/// # Panics
/// On a line of any other form, or where the directory cannot be written.
pub(crate) fn expand(text: &str) -> TempDir {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for line in text.lines() {
        let line = line.trim();
        if !line.is_empty() && !line.starts_with('#') {
            entry(dir.path(), line);
        }
    }
    dir
}

fn entry(root: &Path, line: &str) {
    let place = |path: &str| {
        let path = root.join(path.trim());
        fs::create_dir_all(path.parent().expect("a parent")).expect(line);
        path
    };
    if let Some((path, target)) = line.split_once(" -> ") {
        symlink(target.trim(), place(path)).expect(line);
    } else if let Some((path, value)) = line.split_once(" =") {
        fs::write(place(path), format!("{}\n", value.trim())).expect(line);
    } else if line.ends_with('/') {
        fs::create_dir_all(place(line)).expect(line);
    } else {
        panic!("neither `path = value`, `path -> target` nor `path/`: {line}");
    }
}
