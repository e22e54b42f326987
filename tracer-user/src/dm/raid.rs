//! The `raid` target: md under a mapped device, as LVM makes it.
//!
//! Pure. Must not know what md makes of a level.

use serde::{Deserialize, Deserializer, Serialize, de};

use super::target::number;
use crate::units::{DevId, Sectors};

/// An array without a device of md's own (drivers/md/dm-raid.c).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RaidTarget {
    /// As md names it: `raid6`, ...
    #[serde(deserialize_with = "known_level")]
    pub level: String,
    /// md's number.
    pub layout: Option<i64>,
    /// `None`: the level has none.
    pub chunk: Option<Sectors>,
    /// Bytes to a bit of the bitmap, in sectors.
    pub region: Option<Sectors>,
    /// Where the array's data begins on each leg.
    pub data_offset: Sectors,
    pub legs: Vec<Leg>,
}

/// What holds one part of the array; `None` for a leg that is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leg {
    /// md's books: superblock and bitmap.
    pub metadata: Option<DevId>,
    pub data: Option<DevId>,
}

/// `TYPE N PARAMETERS.. LEGS [METADATA DATA]...`; a parameter is a word alone
/// or a name and its value (`raid_status`, drivers/md/dm-raid.c).
pub(super) fn parse(words: &[&str]) -> Option<RaidTarget> {
    let kind = *words.first()?;
    let count: usize = number(words, 1)?;
    let rest = words.get(2..)?;
    if count > rest.len() {
        return None;
    }
    let (parameters, legs) = rest.split_at(count);
    let value = |name: &str| {
        let at = parameters.iter().position(|word| *word == name)?;
        parameters.get(at + 1).copied()
    };
    let sectors = |name| value(name).and_then(|text| text.parse().ok().map(Sectors));
    let (level, layout) = level(kind, value("raid10_format"), value("raid10_copies"))?;
    Some(RaidTarget {
        level: level.to_owned(),
        layout,
        chunk: number(parameters, 0).map(Sectors).filter(|c| c.0 > 0),
        region: sectors("region_size"),
        data_offset: sectors("data_offset").unwrap_or_default(),
        legs: parse_legs(legs)?,
    })
}

fn parse_legs(words: &[&str]) -> Option<Vec<Leg>> {
    let count: usize = number(words, 0)?;
    let pairs = words.get(1..)?;
    if pairs.len() / 2 != count || pairs.len() % 2 != 0 {
        return None;
    }
    let device = |word: &str| match word {
        "-" => Some(None),
        word => word.parse().ok().map(Some),
    };
    pairs
        .chunks(2)
        .map(|pair| {
            Some(Leg {
                metadata: device(pair.first()?)?,
                data: device(pair.get(1)?)?,
            })
        })
        .collect()
}

/// One of the names that [`level`] gives.
fn known_level<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    const LEVELS: [&str; 6] = ["raid0", "raid1", "raid4", "raid5", "raid6", "raid10"];
    let name = String::deserialize(from)?;
    if LEVELS.contains(&name.as_str()) {
        Ok(name)
    } else {
        Err(de::Error::custom("no level of the raid target"))
    }
}

/// md's level and layout (`raid_types`, drivers/md/dm-raid.c; the numbers are
/// those of drivers/md/raid5.h).
fn level(
    kind: &str,
    format: Option<&str>,
    copies: Option<&str>,
) -> Option<(&'static str, Option<i64>)> {
    const TYPES: [(&str, &str, i64); 16] = [
        ("raid4", "raid4", 4),
        ("raid5_la", "raid5", 0),
        ("raid5_ra", "raid5", 1),
        ("raid5_ls", "raid5", 2),
        ("raid5_rs", "raid5", 3),
        ("raid5_0", "raid5", 4),
        ("raid5_n", "raid5", 5),
        ("raid6_n_6", "raid6", 5),
        ("raid6_zr", "raid6", 8),
        ("raid6_nr", "raid6", 9),
        ("raid6_nc", "raid6", 10),
        ("raid6_la_6", "raid6", 16),
        ("raid6_ra_6", "raid6", 17),
        ("raid6_ls_6", "raid6", 18),
        ("raid6_rs_6", "raid6", 19),
        ("raid6_0_6", "raid6", 20),
    ];
    if let Some((_, level, layout)) = TYPES.iter().find(|(name, ..)| *name == kind) {
        return Some((level, Some(*layout)));
    }
    match kind {
        "raid0" | "raid0_meta" => Some(("raid0", None)),
        "raid1" => Some(("raid1", None)),
        "raid10" => Some(("raid10", raid10_layout(format, copies))),
        _ => None,
    }
}

/// `raid10_format_to_md_layout`, drivers/md/dm-raid.c.
fn raid10_layout(format: Option<&str>, copies: Option<&str>) -> Option<i64> {
    let copies: i64 = copies.map_or(Some(2), |text| text.parse().ok())?;
    if !(1..=0xff).contains(&copies) {
        return None;
    }
    Some(match format.unwrap_or("near") {
        "near" => copies | 1 << 8,
        "offset" => 1 | copies << 8 | 1 << 16,
        "far" => 1 | copies << 8 | 1 << 17,
        _ => return None,
    })
}
