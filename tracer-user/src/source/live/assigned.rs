//! One slot in use, and whose it is.
//!
//! Must not touch maps or sysfs.

use tracer_ebpf::abi::{Place, Ranges, SlotOwner};

use crate::{snapshot::RowKey, units::DevId};

/// A slot in use.
pub(super) struct Assigned {
    pub(super) key: RowKey,
    /// The whole disk, for a partition.
    pub(super) disk: Option<DevId>,
    /// Index in `DETAIL`.
    pub(super) detail: Option<u32>,
    pub(super) owner: SlotOwner,
    /// Which of the slot's two places is current, and what it holds.
    pub(super) place: Option<(u32, Place)>,
    pub(super) ranges: Option<Ranges>,
    /// Not there at the last look.
    pub(super) gone: bool,
}

impl Assigned {
    pub(super) fn new(key: RowKey, disk: Option<DevId>, owner: SlotOwner) -> Self {
        Self {
            key,
            disk,
            detail: None,
            owner,
            place: None,
            ranges: None,
            gone: false,
        }
    }
}

/// The gendisk's name, where a program has written it down.
pub(super) fn disk_name(owner: &SlotOwner) -> Option<String> {
    let name = owner.disk_name.split(|byte| *byte == 0).next()?;
    let name = std::str::from_utf8(name).ok()?;
    (!name.is_empty()).then(|| name.to_owned())
}
