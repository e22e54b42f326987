//! One line of a table: from a target's words to a typed value.
//!
//! Pure. What is not understood is kept by the target's name alone: no word of
//! a line is kept that is not named here, so that no key can be.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::raid::{self, RaidTarget};
use crate::units::{Bytes, DevId, Sectors};

/// Words of one line that are looked at; a stripe has two, a path a few.
const MAX_WORDS: usize = 4096;

/// A part of a mapped device, and what it is mapped by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    /// Where it begins on the mapped device.
    pub start: Sectors,
    pub len: Sectors,
    pub target: Target,
}

/// A place on a device below.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    pub device: DevId,
    pub start: Sectors,
}

/// What a target does, as far as places are concerned (the kernel's
/// Documentation/admin-guide/device-mapper, and each target's `status` function
/// for what it prints).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    Linear(Place),
    Striped {
        chunk: Sectors,
        stripes: Vec<Place>,
    },
    Crypt {
        origin: Place,
        /// `None`: 512 bytes, the default.
        sector_size: Option<Bytes>,
    },
    Raid(RaidTarget),
    Thin {
        pool: DevId,
        external_origin: Option<DevId>,
    },
    ThinPool {
        metadata: DevId,
        data: DevId,
        block: Sectors,
    },
    Cache {
        metadata: DevId,
        cache: DevId,
        origin: DevId,
        block: Sectors,
    },
    /// Data lies between the tags, unless these have a device of their own.
    Integrity(Place),
    Multipath {
        paths: Vec<DevId>,
    },
    SnapshotOrigin(DevId),
    /// Not known, or not understood.
    Other {
        name: String,
    },
}

impl Segment {
    /// One that came from elsewhere, held to what parsing a line would let
    /// through: what a line cannot say is kept by its target's name alone.
    #[must_use]
    pub fn checked(mut self) -> Self {
        let fits = match &self.target {
            Target::Striped { chunk, stripes } => chunk.0 > 0 && !stripes.is_empty(),
            Target::Raid(raid) => raid.chunk.is_none_or(|chunk| chunk.0 > 0),
            Target::Other { name } => plain(name) == name,
            _ => true,
        };
        if !fits {
            self.target = Target::Other {
                name: plain(self.target.name()).to_owned(),
            };
        }
        self
    }
}

impl Target {
    /// From the target's name and the rest of its line.
    #[must_use]
    pub fn parse(name: &str, parameters: &str) -> Self {
        let words: Vec<&str> = parameters.split_whitespace().take(MAX_WORDS).collect();
        let parsed = match name {
            "linear" => origin(&words).map(Self::Linear),
            "striped" => striped(&words),
            "crypt" => crypt(&words),
            "raid" => raid::parse(&words).map(Self::Raid),
            "thin" => thin(&words),
            "thin-pool" => thin_pool(&words),
            "cache" => cache(&words),
            "integrity" => origin(&words).map(Self::Integrity),
            "multipath" => multipath(&words),
            "snapshot-origin" => number(&words, 0).map(Self::SnapshotOrigin),
            _ => None,
        };
        parsed.unwrap_or_else(|| Self::Other {
            name: plain(name).to_owned(),
        })
    }

    /// The kernel's name of the target.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Linear(_) => "linear",
            Self::Striped { .. } => "striped",
            Self::Crypt { .. } => "crypt",
            Self::Raid(_) => "raid",
            Self::Thin { .. } => "thin",
            Self::ThinPool { .. } => "thin-pool",
            Self::Cache { .. } => "cache",
            Self::Integrity(_) => "integrity",
            Self::Multipath { .. } => "multipath",
            Self::SnapshotOrigin(_) => "snapshot-origin",
            Self::Other { name } => name,
        }
    }

    /// The places below that hold the target's bytes in their own order, so
    /// that its first byte is theirs; none where it rearranges them.
    #[must_use]
    pub fn in_order(&self) -> Vec<Place> {
        let whole = |device: DevId| Place {
            device,
            start: Sectors(0),
        };
        match self {
            Self::Linear(origin) | Self::Crypt { origin, .. } => vec![*origin],
            Self::Striped { stripes, .. } if stripes.len() == 1 => stripes.clone(),
            Self::ThinPool { data, .. } => vec![whole(*data)],
            Self::Cache { origin, .. } | Self::SnapshotOrigin(origin) => vec![whole(*origin)],
            Self::Multipath { paths } => paths.iter().copied().map(whole).collect(),
            Self::Striped { .. }
            | Self::Raid(_)
            | Self::Thin { .. }
            | Self::Integrity(_)
            | Self::Other { .. } => Vec::new(),
        }
    }
}

impl Target {
    /// A chunk, or the block of a pool or a cache: bytes keep their order within
    /// it.
    #[must_use]
    pub fn piece(&self) -> Option<Sectors> {
        match self {
            Self::Striped { chunk, .. } => Some(*chunk),
            Self::Raid(raid) => raid.chunk,
            Self::ThinPool { block, .. } | Self::Cache { block, .. } => Some(*block),
            _ => None,
        }
    }

    /// What is encrypted at once; 512 bytes unless the table says so.
    #[must_use]
    pub fn encrypted_sector(&self) -> Option<Bytes> {
        match self {
            Self::Crypt { sector_size, .. } => Some(sector_size.unwrap_or(Bytes(512))),
            _ => None,
        }
    }

    /// Every place below that holds its data, in order or not.
    #[must_use]
    pub fn places(&self) -> Vec<Place> {
        let at = |device: DevId, start| Place { device, start };
        match self {
            Self::Striped { stripes, .. } => stripes.clone(),
            Self::Integrity(place) => vec![*place],
            Self::Raid(raid) => {
                let legs = raid.legs.iter().filter_map(|leg| leg.data);
                legs.map(|leg| at(leg, raid.data_offset)).collect()
            }
            Self::Thin { pool, .. } => vec![at(*pool, Sectors(0))],
            _ => self.in_order(),
        }
    }
}

/// A target's name is a word; what else a table may hold is not repeated.
fn plain(name: &str) -> &str {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !name.is_empty() && name.len() <= 16 && name.chars().all(word) {
        name
    } else {
        "unknown"
    }
}

pub(super) fn number<T: FromStr>(words: &[&str], at: usize) -> Option<T> {
    words.get(at)?.parse().ok()
}

/// `DEV START`.
fn origin(words: &[&str]) -> Option<Place> {
    Some(Place {
        device: number(words, 0)?,
        start: number(words, 1).map(Sectors)?,
    })
}

/// `STRIPES CHUNK [DEV START]...`.
fn striped(words: &[&str]) -> Option<Target> {
    let count: usize = number(words, 0)?;
    let places = words.get(2..)?;
    if count == 0 || places.len() / 2 != count {
        return None;
    }
    Some(Target::Striped {
        chunk: number(words, 1).map(Sectors).filter(|chunk| chunk.0 > 0)?,
        stripes: places.chunks(2).map(origin).collect::<Option<_>>()?,
    })
}

/// `CIPHER KEY IV_OFFSET DEV START [N OPTIONS...]`. The key is never looked at.
fn crypt(words: &[&str]) -> Option<Target> {
    let options = words.get(6..).unwrap_or_default();
    let sector_size = options
        .iter()
        .find_map(|option| option.strip_prefix("sector_size:")?.parse().ok());
    Some(Target::Crypt {
        origin: origin(words.get(3..)?)?,
        sector_size: sector_size.map(Bytes),
    })
}

/// `POOL ID [EXTERNAL_ORIGIN]`.
fn thin(words: &[&str]) -> Option<Target> {
    Some(Target::Thin {
        pool: number(words, 0)?,
        external_origin: number(words, 2),
    })
}

/// `METADATA DATA BLOCK ...`.
fn thin_pool(words: &[&str]) -> Option<Target> {
    Some(Target::ThinPool {
        metadata: number(words, 0)?,
        data: number(words, 1)?,
        block: number(words, 2).map(Sectors)?,
    })
}

/// `METADATA CACHE ORIGIN BLOCK ...`.
fn cache(words: &[&str]) -> Option<Target> {
    Some(Target::Cache {
        metadata: number(words, 0)?,
        cache: number(words, 1)?,
        origin: number(words, 2)?,
        block: number(words, 3).map(Sectors)?,
    })
}

/// `N FEATURES.. N HANDLER.. GROUPS FIRST` and, for each group,
/// `SELECTOR N ARGS.. PATHS N_ARGS [DEV ARGS..]...`.
fn multipath(words: &[&str]) -> Option<Target> {
    let mut words = words.iter();
    let mut take = |count: usize| -> Option<Vec<&str>> {
        let taken: Vec<&str> = words.by_ref().take(count).copied().collect();
        (taken.len() == count).then_some(taken)
    };
    for _ in ["features", "handler"] {
        let count = number(&take(1)?, 0)?;
        take(count)?;
    }
    let groups: usize = number(&take(2)?, 0)?;
    let mut paths = Vec::new();
    for _ in 0..groups {
        let selector_args = number(&take(2)?, 1)?;
        take(selector_args)?;
        let head = take(2)?;
        let (count, args): (usize, usize) = (number(&head, 0)?, number(&head, 1)?);
        for _ in 0..count {
            paths.push(number(&take(args.checked_add(1)?)?, 0)?);
        }
    }
    Some(Target::Multipath { paths })
}

#[cfg(test)]
#[path = "target_tests.rs"]
mod tests;
