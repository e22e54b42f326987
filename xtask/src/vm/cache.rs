//! What is kept between runs: kernels, archives, verdicts.
//!
//! Things appear under their names whole or not at all, so that two runs at
//! once do no harm. Must not know what is kept.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};
use tempfile::{NamedTempFile, TempDir};

use crate::workspace;

/// The cache itself; made if needed.
pub(super) fn dir() -> Result<PathBuf> {
    let dir = workspace::cache_dir()?;
    make(&dir)?;
    Ok(dir)
}

/// A folder of the cache.
pub(super) fn folder(name: &str) -> Result<PathBuf> {
    let folder = dir()?.join(name);
    make(&folder)?;
    Ok(folder)
}

fn make(dir: &Path) -> Result<()> {
    fs::create_dir_all(dir).with_context(|| {
        format!(
            "making {}; set IOTRACE_CACHE to a folder that can be written",
            dir.display()
        )
    })
}

/// The file `name`, made by `build` unless it is there and was made from the
/// same `stamp`.
pub(super) fn file(
    name: &str,
    stamp: &str,
    build: impl FnOnce(&fs::File) -> Result<()>,
) -> Result<PathBuf> {
    let dir = folder("archives")?;
    let (path, stamp_path) = (dir.join(name), dir.join(format!("{name}.stamp")));
    if path.exists() && fs::read_to_string(&stamp_path).is_ok_and(|kept| kept == stamp) {
        return Ok(path);
    }
    let new = NamedTempFile::new_in(&dir)?;
    build(new.as_file())?;
    new.persist(&path)
        .with_context(|| format!("writing {}", path.display()))?;
    // Last: an archive without its stamp is only made again.
    write(&stamp_path, stamp)?;
    Ok(path)
}

/// Writes a small file whole.
pub(super) fn write(path: &Path, text: &str) -> Result<()> {
    let dir = path.parent().unwrap_or(Path::new("."));
    let new = NamedTempFile::new_in(dir)?;
    fs::write(new.path(), text)?;
    new.persist(path)
        .with_context(|| format!("writing {}", path.display()))?;
    Ok(())
}

/// The folder `path`, filled by `fill` unless it is there; with `anew` it is
/// replaced, and stays if `fill` fails.
pub(super) fn filled_folder(
    path: &Path,
    anew: bool,
    fill: impl FnOnce(&Path) -> Result<()>,
) -> Result<()> {
    if path.exists() && !anew {
        return Ok(());
    }
    let parent = path.parent().unwrap_or(Path::new("."));
    let new = TempDir::new_in(parent)?;
    fill(new.path())?;
    if anew && path.exists() {
        fs::remove_dir_all(path).with_context(|| format!("removing {}", path.display()))?;
    }
    let renamed = fs::rename(new.path(), path);
    match renamed {
        // Its name is gone: nothing is left to be removed.
        Ok(()) => drop(new.keep()),
        // Somebody else was faster, with the same thing.
        Err(_) if path.exists() => {}
        Err(error) => return Err(error).with_context(|| format!("writing {}", path.display())),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_could_not_be_filled_is_not_there() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("kernel");
        let fill = |text: &'static str| {
            move |new: &Path| -> Result<()> {
                fs::write(new.join("file"), text)?;
                anyhow::ensure!(!text.is_empty(), "nothing to write");
                Ok(())
            }
        };
        let text = || fs::read_to_string(path.join("file")).unwrap();
        filled_folder(&path, false, fill("")).unwrap_err();
        assert!(!path.exists());
        filled_folder(&path, false, fill("one")).unwrap();
        filled_folder(&path, false, fill("two")).unwrap();
        assert_eq!(text(), "one");
        filled_folder(&path, true, fill("")).unwrap_err();
        assert_eq!(text(), "one");
        filled_folder(&path, true, fill("two")).unwrap();
        assert_eq!(text(), "two");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
