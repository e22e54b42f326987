//! Unpacks a capture that a stranger sent, into a folder of its own.
//!
//! Only files and folders are made, each of them new and below that folder;
//! an archive that holds anything else, or more than a machine can have, is
//! refused. Must not give a file any meaning.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Seek as _, SeekFrom},
    path::{Component, Path, PathBuf},
};

use flate2::read::MultiGzDecoder;
use tar::{Archive, EntryType};

use super::{Folder, FolderError, TOP};

/// Of all that is unpacked: 2,000 disks need some 40 MB as an archive.
const MOST_BYTES: u64 = 512 << 20;
/// Files and folders.
const MOST_ENTRIES: u64 = 400_000;
/// Folders within each other; a capture's deepest has 7.
const MOST_DEPTH: usize = 12;

/// A capture cannot be unpacked.
#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    #[error("cannot read {}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{} is no capture: it is no tar archive", path.display())]
    NoArchive {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("is no capture: {name} in it {why}")]
    Hostile { name: String, why: &'static str },
    #[error("is no capture: it holds more than {MOST_ENTRIES} files")]
    TooMany,
    #[error("is no capture: it is longer than {} MiB unpacked", MOST_BYTES >> 20)]
    TooLong,
    #[error("cannot unpack it")]
    Write(#[source] io::Error),
    #[error(transparent)]
    Folder(#[from] FolderError),
}

impl Folder {
    /// Unpacks a capture; the files are removed with the result.
    ///
    /// # Errors
    /// Where it cannot be read, or is none that iotrace can have written.
    pub fn unpack(file: &Path) -> Result<Self, UnpackError> {
        let unpacked = tempfile::Builder::new()
            .prefix("iotrace-")
            .tempdir()
            .map_err(UnpackError::Write)?;
        let archive = open(file).map_err(|source| UnpackError::Read {
            path: file.to_owned(),
            source,
        })?;
        unpack(archive, file, unpacked.path())?;
        let mut folder = Self::open(&unpacked.path().join(TOP))?;
        folder.unpacked = Some(unpacked);
        Ok(folder)
    }
}

/// Compressed or not: by what it begins with.
fn open(path: &Path) -> io::Result<Box<dyn Read>> {
    const GZIP: [u8; 2] = [0x1f, 0x8b];
    let mut file = File::open(path)?;
    let mut begin = Vec::new();
    file.by_ref().take(2).read_to_end(&mut begin)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(if begin == GZIP {
        Box::new(MultiGzDecoder::new(file))
    } else {
        Box::new(file)
    })
}

fn unpack(from: impl Read, file: &Path, dir: &Path) -> Result<(), UnpackError> {
    let no_archive = |source| UnpackError::NoArchive {
        path: file.to_owned(),
        source,
    };
    // One byte more than may be there, to tell a long one from its end.
    let mut archive = Archive::new(from.take(MOST_BYTES + 1));
    let mut count = 0;
    let mut left = MOST_BYTES;
    for entry in archive.entries().map_err(no_archive)? {
        let mut entry = entry.map_err(no_archive)?;
        count += 1;
        if count > MOST_ENTRIES {
            return Err(UnpackError::TooMany);
        }
        // What it says of itself may be untrue: the reader is held to it below.
        left = left.checked_sub(entry.size()).ok_or(UnpackError::TooLong)?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let hostile = |why| UnpackError::Hostile {
            name: name.escape_debug().take(80).collect(),
            why,
        };
        let path = dir.join(below(&name).map_err(hostile)?);
        match entry.header().entry_type() {
            EntryType::Directory => fs::create_dir_all(&path).map_err(UnpackError::Write)?,
            EntryType::Regular => {
                if let Some(parent) = path.parent() {
                    fs::create_dir_all(parent).map_err(UnpackError::Write)?;
                }
                let made = OpenOptions::new().write(true).create_new(true).open(&path);
                let mut file = match made {
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                        return Err(hostile("is there twice"));
                    }
                    other => other.map_err(UnpackError::Write)?,
                };
                io::copy(&mut entry, &mut file).map_err(no_archive)?;
            }
            EntryType::Symlink | EntryType::Link => return Err(hostile("is a link")),
            _ => return Err(hostile("is neither a file nor a folder")),
        }
    }
    if count == 0 {
        return Err(no_archive(io::ErrorKind::UnexpectedEof.into()));
    }
    Ok(())
}

/// A relative path that stays below where it begins.
fn below(name: &str) -> Result<PathBuf, &'static str> {
    let mut path = PathBuf::new();
    let mut depth = 0;
    for component in Path::new(name).components() {
        match component {
            Component::Normal(part) => path.push(part),
            Component::CurDir => continue,
            Component::ParentDir => return Err("leads out of it"),
            Component::RootDir | Component::Prefix(_) => return Err("begins at the root"),
        }
        depth += 1;
    }
    match depth {
        0 => Err("has no name"),
        1..=MOST_DEPTH => Ok(path),
        _ => Err("lies too deep"),
    }
}

#[cfg(test)]
#[path = "unpack_tests.rs"]
mod tests;
