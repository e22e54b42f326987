//! Where the things on a device begin: what a superblock says lies further in.
//!
//! Pure. Must not judge a place.

use super::phase::{Against, Places};
use crate::{
    superblock::{BcacheRole, Content, Contents, Luks, Xfs, XfsLogPlace},
    units::{Bytes, Sectors},
};

/// One thing on a device, and where it lies.
#[derive(Clone, Debug)]
pub struct Thing<'a> {
    pub content: &'a Content,
    /// See [`data_start`].
    pub start: Option<Bytes>,
    /// Where it begins against the device's own boundaries and those of every
    /// layer below; none where it begins nowhere.
    pub against: Vec<Against>,
    /// XFS: one allocation group's length modulo the width of each boundary
    /// that `against` lists: how much further in the next one begins.
    pub group_steps: Option<Vec<Bytes>>,
}

impl<'a> Thing<'a> {
    /// All that was found on a device.
    #[must_use]
    pub fn all(contents: &'a Contents, places: &Places) -> Vec<Self> {
        let one = |content: &'a Content| {
            let start = data_start(content);
            let against = start.map_or_else(Vec::new, |start| places.inside(start));
            let steps = |xfs: &Xfs| {
                let group = group_bytes(xfs).0;
                let step =
                    |against: &Against| Bytes(group.checked_rem(against.width.0).unwrap_or(0));
                against.iter().map(step).collect()
            };
            Self {
                content,
                start,
                group_steps: match content {
                    Content::Xfs(xfs) => Some(steps(xfs)),
                    _ => None,
                },
                against,
            }
        };
        contents.found.iter().map(one).collect()
    }
}

/// Where the data of what lies on a device begin, from the device's first
/// byte. `None`: a table of places, or it keeps none here.
#[must_use]
pub fn data_start(content: &Content) -> Option<Bytes> {
    match content {
        Content::Partitions(_) => None,
        Content::MdMember(member) => Some(member.data_offset.bytes()),
        Content::LvmPv(pv) => pv.pe_start(),
        Content::Luks(luks) => payload_start(luks),
        Content::Bcache(bcache) => Some(match bcache.role {
            BcacheRole::Backing { data_offset } => data_offset.bytes(),
            BcacheRole::Cache {
                bucket_size,
                first_bucket,
                ..
            } => Bytes(bucket_size.0.saturating_mul(first_bucket.into())),
        }),
        Content::Xfs(_) | Content::Ext(_) | Content::Btrfs(_) | Content::Swap(_) => Some(Bytes(0)),
    }
}

/// Where encrypted data begin; `None` where they lie on another device than
/// their header, or there are none.
#[must_use]
pub fn payload_start(luks: &Luks) -> Option<Bytes> {
    match luks {
        Luks::V1(luks) => Some(luks.payload_offset)
            .filter(|offset| *offset != Sectors(0))
            .map(Sectors::bytes),
        Luks::V2(luks) => {
            let mut in_use = luks.segments.iter().filter(|segment| !segment.is_backup);
            in_use.next().map(|segment| segment.offset)
        }
    }
}

/// What is encrypted at once.
#[must_use]
pub fn luks_sector_size(luks: &Luks) -> Option<Bytes> {
    match luks {
        Luks::V1(_) => Some(Bytes(512)),
        Luks::V2(luks) => {
            let mut in_use = luks.segments.iter().filter(|segment| !segment.is_backup);
            in_use.find_map(|segment| segment.sector_size)
        }
    }
}

/// How far one allocation group of an XFS lies from the next.
#[must_use]
pub const fn group_bytes(xfs: &Xfs) -> Bytes {
    Bytes(xfs.block_size.0.saturating_mul(xfs.ag_blocks as u64))
}

/// Where the log of an XFS begins, if it is on the same device.
#[must_use]
pub const fn log_start(xfs: &Xfs) -> Option<Bytes> {
    match xfs.log.place {
        XfsLogPlace::Internal(start) => Some(start),
        XfsLogPlace::External => None,
    }
}
