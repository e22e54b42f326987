//! Partitions that lie right or wrong by what a drive may be, whatever it says.
//!
//! Must not decide whether it is so.

use super::{Finding, Severity, patient::Patient};
use crate::{
    sysfs::{device::Device, start::ASSUMED_PHYSICAL},
    units::SECTOR_BYTES,
};

/// With the partitions that were put at a multiple of a hint that is none, and
/// lie right only as long as the drive's report of short blocks is true.
pub(super) fn made_by(patient: &Patient<'_>, device: &Device, finding: Finding) -> Finding {
    let hint = device.limits.io_opt.map_or(0, |io_opt| io_opt.0);
    let short = device
        .geometry
        .physical_block
        .is_none_or(|block| block < ASSUMED_PHYSICAL);
    let mut finding = finding;
    for (partition, start) in starts(patient, device).filter(|_| short) {
        let rest = start % ASSUMED_PHYSICAL.0;
        if start != 0 && start.checked_rem(hint) == Some(0) && rest != 0 {
            finding = finding
                .severity(Severity::Warning)
                .and(format!(
                    "{} starts at a multiple of it, sector {}: if the drive is 4096 inside, as \
                     behind such bridges it often is, that is {rest} bytes past a block; sector \
                     2048 is right for both",
                    partition.name,
                    start / SECTOR_BYTES
                ))
                .number("assumed_remainder_bytes", rest);
        }
    }
    finding
}

/// Partitions of a device whose blocks begin nobody knows where: they are held
/// against its first byte.
pub(super) fn from_first_byte(patient: &Patient<'_>, device: &Device, finding: Finding) -> Finding {
    let Some(block) = device.geometry.physical_block else {
        return finding;
    };
    let mut finding = finding;
    for (partition, start) in starts(patient, device) {
        let rest = start.checked_rem(block.0).unwrap_or(0);
        if rest != 0 {
            finding = finding
                .severity(Severity::Warning)
                .and(format!(
                    "if they begin with the device, {}, which starts at sector {}, is {rest} bytes \
                     past a block of {}",
                    partition.name,
                    start / SECTOR_BYTES,
                    block.words()
                ))
                .number("assumed_remainder_bytes", rest);
        }
    }
    finding
}

/// The partitions of a device, and the byte that each starts at.
fn starts<'a>(
    patient: &Patient<'a>,
    device: &Device,
) -> impl Iterator<Item = (&'a Device, u64)> + use<'a> {
    let (patient, partitions) = (*patient, patient.stack.topology.partitions_of(device.id));
    partitions.into_iter().filter_map(move |id| {
        let partition = patient.device(id)?;
        Some((partition, partition.partition?.start.bytes().0))
    })
}
