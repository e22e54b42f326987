//! `--geometry DEV=key:value,...`: what a user knows of a device and sysfs
//! does not.
//!
//! The one grammar everywhere. Must not know what the device is: laying a
//! spec over a topology is [`Override`]'s.
//!
//! | key | value |
//! |---|---|
//! | `physical` | physical block |
//! | `alignment` | position of the first aligned byte, less than the block |
//! | `chunk` | bytes on one disk before the next disk's turn |
//! | `data` | number of data disks |
//! | `level`, `disks` | the same by RAID level and number of all disks |
//! | `boundary` | any other boundary: an erase block, an indirection unit |
//!
//! Sizes as in [`crate::size`]; all are whole sectors, and count from the
//! first byte of the device named. `level:raid10` stands for md's default, two
//! copies side by side; for another layout give `data`.

use std::{collections::BTreeMap, fmt, str::FromStr};

use crate::{
    size::{self, SizeError},
    sysfs::{
        Lookup, ResolveError,
        geometry::data_disks,
        geometry_override::{Override, Striping},
    },
    units::{Bytes, DevId, SECTOR_BYTES},
};

/// md's layout number of a raid10 with two copies side by side, its default.
const RAID10_NEAR_2: i64 = 0x102;

/// One `--geometry`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeometrySpec {
    /// As in `--dev`.
    pub device: String,
    pub geometry: Override,
}

/// A `--geometry` that makes no sense by itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GeometrySpecError {
    #[error("expected DEV=key:value,... as in sda=physical:4k, not {0:?}")]
    Form(String),
    #[error("expected key:value, not {0:?}")]
    Pair(String),
    #[error(
        "unknown key {0:?}: there are physical, alignment, chunk, data, level, disks, boundary"
    )]
    UnknownKey(String),
    #[error("{0} is given twice")]
    Twice(Key),
    #[error("{key}: {source}")]
    Size {
        key: Key,
        #[source]
        source: SizeError,
    },
    #[error("{key}: {} bytes are no whole sectors of {SECTOR_BYTES}", bytes.0)]
    NotSectors { key: Key, bytes: Bytes },
    #[error("{0} must not be 0")]
    Zero(Key),
    #[error("{key}: not a number of disks: {value:?}")]
    Disks { key: Key, value: String },
    #[error("unknown level {0:?}: there are raid0, raid1, raid4, raid5, raid6, raid10, linear")]
    UnknownLevel(String),
    #[error("{given} needs {missing} too")]
    Needs { given: Key, missing: Key },
    #[error("{level} of {disks} disks has no data disk")]
    TooFewDisks { level: String, disks: u32 },
    #[error("data:{data} contradicts {level} of {disks} disks, which has {}", match from_level {
        Some(count) => format!("{count} data disks"),
        None => "no stripe".to_owned(),
    })]
    DataContradictsLevel {
        data: u32,
        level: String,
        disks: u32,
        from_level: Option<u32>,
    },
    #[error("{0} has no chunk")]
    ChunkContradictsLevel(String),
    #[error("alignment {} is not less than physical {}", alignment.0, physical.0)]
    AlignmentTooLarge { alignment: Bytes, physical: Bytes },
}

/// A `--geometry` of a device that is not there.
#[derive(Debug, thiserror::Error)]
#[error("--geometry {device}")]
pub struct UnknownDevice {
    pub device: String,
    #[source]
    pub source: ResolveError,
}

/// What can be said of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    Physical,
    Alignment,
    Chunk,
    Data,
    Level,
    Disks,
    Boundary,
}

impl Key {
    const ALL: [Self; 7] = [
        Self::Physical,
        Self::Alignment,
        Self::Chunk,
        Self::Data,
        Self::Level,
        Self::Disks,
        Self::Boundary,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Physical => "physical",
            Self::Alignment => "alignment",
            Self::Chunk => "chunk",
            Self::Data => "data",
            Self::Level => "level",
            Self::Disks => "disks",
            Self::Boundary => "boundary",
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The values as written, each key once.
#[derive(Default)]
struct Values<'a>([Option<&'a str>; Key::ALL.len()]);

impl<'a> Values<'a> {
    fn parse(pairs: &'a str) -> Result<Self, GeometrySpecError> {
        let mut values = Self::default();
        for pair in pairs.split(',').map(str::trim) {
            let (name, value) = pair
                .split_once(':')
                .ok_or_else(|| GeometrySpecError::Pair(pair.to_owned()))?;
            let key = Key::ALL
                .into_iter()
                .find(|key| key.name() == name.trim())
                .ok_or_else(|| GeometrySpecError::UnknownKey(name.to_owned()))?;
            let slot = values.0.get_mut(key as usize);
            if slot.and_then(|slot| slot.replace(value.trim())).is_some() {
                return Err(GeometrySpecError::Twice(key));
            }
        }
        Ok(values)
    }

    fn text(&self, key: Key) -> Option<&'a str> {
        self.0.get(key as usize).copied().flatten()
    }

    /// A size of whole sectors.
    fn size(&self, key: Key) -> Result<Option<Bytes>, GeometrySpecError> {
        let Some(text) = self.text(key) else {
            return Ok(None);
        };
        let bytes = size::parse(text).map_err(|source| GeometrySpecError::Size { key, source })?;
        if bytes.0 % SECTOR_BYTES != 0 {
            return Err(GeometrySpecError::NotSectors { key, bytes });
        }
        if bytes.0 == 0 && key != Key::Alignment {
            return Err(GeometrySpecError::Zero(key));
        }
        Ok(Some(bytes))
    }

    fn disks(&self, key: Key) -> Result<Option<u32>, GeometrySpecError> {
        let Some(text) = self.text(key) else {
            return Ok(None);
        };
        match text.parse() {
            Ok(0) => Err(GeometrySpecError::Zero(key)),
            Ok(disks) => Ok(Some(disks)),
            Err(_not_a_number) => Err(GeometrySpecError::Disks {
                key,
                value: text.to_owned(),
            }),
        }
    }

    /// Data disks: given as such, or by level and disks.
    fn striping(&self) -> Result<Option<Striping>, GeometrySpecError> {
        let data = self.disks(Key::Data)?;
        let (level, disks) = match (self.text(Key::Level), self.disks(Key::Disks)?) {
            (None, None) => return Ok(data.map(Striping::Data)),
            (Some(level), Some(disks)) => (level_name(level)?, disks),
            (Some(_), None) => return Err(needs(Key::Level, Key::Disks)),
            (None, Some(_)) => return Err(needs(Key::Disks, Key::Level)),
        };
        let from_level = data_disks(level, disks, Some(RAID10_NEAR_2));
        if let Some(data) = data.filter(|data| Some(*data) != from_level) {
            return Err(GeometrySpecError::DataContradictsLevel {
                data,
                level: level.to_owned(),
                disks,
                from_level,
            });
        }
        match (from_level, level) {
            (Some(data), _) => Ok(Some(Striping::Data(data))),
            (None, "raid1" | "linear" | "raid10") => Ok(Some(Striping::None)),
            (None, _) => Err(GeometrySpecError::TooFewDisks {
                level: level.to_owned(),
                disks,
            }),
        }
    }

    fn check_chunk(&self) -> Result<(), GeometrySpecError> {
        let level = self.text(Key::Level).map(level_name).transpose()?;
        match level.filter(|level| matches!(*level, "raid1" | "linear")) {
            Some(level) if self.text(Key::Chunk).is_some() => {
                Err(GeometrySpecError::ChunkContradictsLevel(level.to_owned()))
            }
            _ => Ok(()),
        }
    }
}

impl FromStr for GeometrySpec {
    type Err = GeometrySpecError;

    fn from_str(text: &str) -> Result<Self, GeometrySpecError> {
        let form = || GeometrySpecError::Form(text.to_owned());
        // The last `=`: no value has one, and a path below /dev/disk may.
        let (device, pairs) = text.rsplit_once('=').ok_or_else(form)?;
        let device = device.trim();
        if device.is_empty() || pairs.trim().is_empty() {
            return Err(form());
        }
        let values = Values::parse(pairs)?;
        values.check_chunk()?;
        let geometry = Override {
            physical_block: values.size(Key::Physical)?,
            alignment_offset: values.size(Key::Alignment)?,
            chunk: values.size(Key::Chunk)?,
            striping: values.striping()?,
            boundary: values.size(Key::Boundary)?,
        };
        if let (Some(alignment), Some(physical)) =
            (geometry.alignment_offset, geometry.physical_block)
            && alignment >= physical
        {
            return Err(GeometrySpecError::AlignmentTooLarge {
                alignment,
                physical,
            });
        }
        Ok(Self {
            device: device.to_owned(),
            geometry,
        })
    }
}

/// What the specs say of each device that `lookup` sees, for
/// [`crate::sysfs::Topology::set_overrides`]. Where two speak of one device,
/// the later wins, key by key.
///
/// # Errors
/// At the first that names no device.
pub fn overrides(
    specs: &[GeometrySpec],
    lookup: &Lookup<'_>,
) -> Result<BTreeMap<DevId, Override>, UnknownDevice> {
    let mut overrides: BTreeMap<DevId, Override> = BTreeMap::new();
    for spec in specs {
        let ids = lookup
            .resolve(&spec.device)
            .map_err(|source| UnknownDevice {
                device: spec.device.clone(),
                source,
            })?;
        for id in ids {
            let earlier = overrides.entry(id).or_default();
            *earlier = spec.geometry.over(*earlier);
        }
    }
    Ok(overrides)
}

/// md's name of a level, written with or without `raid`.
fn level_name(text: &str) -> Result<&'static str, GeometrySpecError> {
    const LEVELS: [&str; 7] = [
        "raid0", "raid1", "raid4", "raid5", "raid6", "raid10", "linear",
    ];
    LEVELS
        .into_iter()
        .find(|level| *level == text || level.strip_prefix("raid") == Some(text))
        .ok_or_else(|| GeometrySpecError::UnknownLevel(text.to_owned()))
}

const fn needs(given: Key, missing: Key) -> GeometrySpecError {
    GeometrySpecError::Needs { given, missing }
}

#[cfg(test)]
#[path = "geometry_spec_tests.rs"]
mod tests;
