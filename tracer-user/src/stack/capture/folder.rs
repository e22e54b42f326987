//! Another machine's storage in a folder: a copy of its `/sys`, or an unpacked
//! capture.
//!
//! Must not look at this machine's devices.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tempfile::TempDir;

use super::{ABOUT, FORMAT, MOUNTS, SUPERBLOCKS, SWAPS, SYS, TABLES};
use crate::{
    dm::Segment,
    stack::Unread,
    superblock::Contents,
    sysfs::{SysRoot, mounts::Mounts, swaps::Swaps},
    units::DevId,
};

/// A longer file is none of a capture's.
const MOST_FILE_BYTES: u64 = 64 << 20;

/// What a folder has of a machine.
#[derive(Debug)]
pub struct Folder {
    pub sys: SysRoot,
    pub tables: BTreeMap<DevId, Vec<Segment>>,
    pub contents: BTreeMap<DevId, Result<Contents, Unread>>,
    pub mounts: Mounts,
    pub swaps: Swaps,
    /// What was not read there, each in a sentence.
    pub missing: Vec<String>,
    /// Removed with this.
    pub(super) unpacked: Option<TempDir>,
}

/// A folder is not what it should be.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    #[error("{} is neither a copy of /sys (no block/ in it) nor an unpacked capture", .0.display())]
    Neither(PathBuf),
    #[error("cannot read {}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{} is no such file of a capture", path.display())]
    Malformed {
        path: PathBuf,
        #[source]
        source: serde_json::Error,
    },
    #[error("{} is longer than a capture's can be", .0.display())]
    TooLong(PathBuf),
    #[error("the capture is of format {0}, this iotrace knows {FORMAT} only")]
    Format(u32),
}

/// `capture.json`.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct About {
    pub(super) format: u32,
    pub(super) iotrace: String,
    pub(super) missing: Vec<String>,
}

/// An entry of `dm.json`.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct TableOf {
    pub(super) device: DevId,
    pub(super) table: Vec<Segment>,
}

/// An entry of `superblocks.json`.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ContentsOf {
    pub(super) device: DevId,
    pub(super) read: Result<Contents, Unread>,
}

impl Folder {
    /// Opens a copy of `/sys`, or an unpacked capture.
    ///
    /// # Errors
    /// Where it is neither, or one of a capture's files is not what it should be.
    pub fn open(dir: &Path) -> Result<Self, FolderError> {
        if dir.join(SYS).join("block").is_dir() {
            Self::open_capture(dir)
        } else if dir.join("block").is_dir() {
            Ok(Self::attributes_only(dir))
        } else {
            Err(FolderError::Neither(dir.to_owned()))
        }
    }

    fn attributes_only(dir: &Path) -> Self {
        let missing = "tables of mapped devices, superblocks, mounts and swap areas: a copy of \
                       /sys alone was read";
        Self {
            sys: SysRoot::new(dir),
            tables: BTreeMap::new(),
            contents: BTreeMap::new(),
            mounts: Mounts::default(),
            swaps: Swaps::default(),
            missing: vec![missing.to_owned()],
            unpacked: None,
        }
    }

    fn open_capture(dir: &Path) -> Result<Self, FolderError> {
        let about: About = json(&dir.join(ABOUT))?;
        if about.format != FORMAT {
            return Err(FolderError::Format(about.format));
        }
        let tables: Vec<TableOf> = json(&dir.join(TABLES))?;
        let contents: Vec<ContentsOf> = json(&dir.join(SUPERBLOCKS))?;
        let checked = |of: TableOf| {
            let table = of.table.into_iter().map(Segment::checked);
            (of.device, table.collect())
        };
        Ok(Self {
            sys: SysRoot::new(dir.join(SYS)),
            tables: tables.into_iter().map(checked).collect(),
            contents: contents
                .into_iter()
                .map(|of| (of.device, of.read))
                .collect(),
            mounts: Mounts::parse(&text(&dir.join(MOUNTS))?),
            swaps: Swaps::parse(&text(&dir.join(SWAPS))?),
            missing: about.missing,
            unpacked: None,
        })
    }
}

fn json<T: DeserializeOwned>(path: &Path) -> Result<T, FolderError> {
    serde_json::from_str(&text(path)?).map_err(|source| FolderError::Malformed {
        path: path.to_owned(),
        source,
    })
}

fn text(path: &Path) -> Result<String, FolderError> {
    let failed = |source| FolderError::Read {
        path: path.to_owned(),
        source,
    };
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(failed)?;
    let mut file = file.take(MOST_FILE_BYTES + 1);
    let count = file.read_to_end(&mut bytes).map_err(failed)?;
    if count as u64 > MOST_FILE_BYTES {
        return Err(FolderError::TooLong(path.to_owned()));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
