//! Encryption in sectors shorter than the physical block.

use super::{
    Finding, Remedy,
    patient::{Patient, node, quoted},
    release::released,
    rules,
    starts::{LUKS2_HEADER, next_start},
};
use crate::{
    dm::Target,
    superblock::{Content, Luks},
    sysfs::{device::Device, notes::LARGEST_DRIVE_BLOCK},
    units::{Bytes, SECTOR_BYTES},
};

/// dm-crypt's largest sector.
const LARGEST_SECTOR: u64 = 4096;

pub(super) fn findings(patient: &Patient<'_>) -> Vec<Finding> {
    let devices = patient.devices();
    devices
        .filter_map(|device| finding(patient, device))
        .collect()
}

fn finding(patient: &Patient<'_>, device: &Device) -> Option<Finding> {
    let segment = device.dm_table.as_deref()?.first()?;
    let Target::Crypt {
        origin,
        sector_size,
    } = &segment.target
    else {
        return None;
    };
    let below = patient.device(origin.device)?;
    let sector = sector_size.map_or(SECTOR_BYTES, |sector| sector.0);
    let physical = below.geometry.physical_block?.0.min(LARGEST_SECTOR);
    if sector >= physical || below.geometry.physical_block?.0 > LARGEST_DRIVE_BLOCK {
        return None;
    }
    Some(
        Finding::new(
            &rules::CRYPT_SECTOR,
            &device.name,
            format!(
                "encrypts in sectors of {sector} bytes, and the physical block of {} is {}",
                below.name,
                Bytes(physical).words()
            ),
        )
        .number("sector_bytes", sector)
        .number("physical_block_bytes", physical)
        .expected(format!(
            "{} times as many sectors to encrypt, and a logical block that lets writes be shorter \
             than a physical one",
            physical / sector
        ))
        .maybe(reencrypt(patient, device, below, physical))
        .remedy(anew(patient, device, below, physical)),
    )
}

fn luks<'a>(patient: &Patient<'a>, below: &Device) -> Option<&'a Luks> {
    patient
        .found(below)
        .iter()
        .find_map(|content| match content {
            Content::Luks(luks) => Some(luks),
            _ => None,
        })
}

/// In place, where what lies on it has blocks that are as long.
fn reencrypt(
    patient: &Patient<'_>,
    device: &Device,
    below: &Device,
    sector: u64,
) -> Option<Remedy> {
    let luks = luks(patient, below)?;
    let fits = patient.found(device).iter().any(|content| match content {
        Content::Ext(ext) => ext.block_size.0 >= sector,
        Content::Xfs(xfs) => xfs.sector_size.0 >= sector,
        Content::Btrfs(btrfs) => btrfs.sector_size.0 >= sector,
        _ => false,
    });
    if !fits || !device.size?.bytes().0.is_multiple_of(sector) {
        return None;
    }
    let name = quoted(device.dm_name.as_deref()?);
    let mut remedy = Remedy::repair(format!(
        "encrypts it again in sectors of {}, data kept",
        Bytes(sector).words()
    ));
    remedy = remedy.after(released(patient, device));
    if matches!(luks, Luks::V1(_)) {
        remedy = remedy
            .run(format!("cryptsetup close {name}"))
            .run(format!("cryptsetup convert --type luks2 {}", node(below)))
            .warn("save the header first: `cryptsetup luksHeaderBackup`")
            .run(format!("cryptsetup open {} {name}", node(below)));
    }
    // Open, or cryptsetup refuses: it looks at the blocks of what lies on it.
    Some(
        remedy
            .run(format!(
                "cryptsetup reencrypt --sector-size {sector} {}",
                node(below)
            ))
            .warn(
                "rewrites the whole device, which takes hours; save the data and the header first \
                 (`cryptsetup luksHeaderBackup`)",
            ),
    )
}

fn anew(patient: &Patient<'_>, device: &Device, below: &Device, sector: u64) -> Remedy {
    let name = quoted(device.dm_name.as_deref().unwrap_or(&device.name));
    let remedy = Remedy::anew(format!(
        "encryption anew in sectors of {}",
        Bytes(sector).words()
    ))
    .after(released(patient, device))
    .run(format!("cryptsetup close {name}"));
    let uuid = device.dm_uuid.as_deref().unwrap_or_default();
    let format = if luks(patient, below).is_some() || uuid.starts_with("CRYPT-LUKS") {
        // Where it has to be told, for a stripe.
        let at = next_start(patient, below, LUKS2_HEADER).filter(|at| *at != LUKS2_HEADER);
        let offset = at.map_or_else(String::new, |at| format!(" --offset {}", at / SECTOR_BYTES));
        format!(
            "cryptsetup luksFormat --type luks2 --sector-size {sector}{offset} {}",
            node(below)
        )
    } else {
        format!(
            "cryptsetup open --type plain --sector-size {sector} {} {name}",
            node(below)
        )
    };
    remedy.run(format).warn("what is encrypted there is lost")
}
