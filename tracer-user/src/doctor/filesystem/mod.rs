//! File systems against what they lie on: their stripes, as in the superblock
//! and as mounted, and their blocks.

mod ext;
mod xfs;

use super::{
    Finding, Remedy,
    hints::own_io_opt,
    patient::{Patient, named, node, quoted},
    release::unmounted,
    rules,
};
use crate::{
    stack::hints::IoOpt,
    superblock::Content,
    sysfs::{
        device::{Device, Kind},
        mounts::Mount,
        notes::LARGEST_DRIVE_BLOCK,
    },
    units::Bytes,
};

/// Deeper than any stack.
const MOST_LAYERS: usize = 32;

pub(super) fn findings(patient: &Patient<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for device in patient.devices() {
        found.extend(xfs::finding(patient, device));
        found.extend(ext::finding(patient, device));
        found.extend(small_blocks(patient, device));
    }
    found
}

/// What a file system on a device should have been told.
enum Below<'a> {
    Striped {
        owner: &'a Device,
        chunk: Bytes,
        stripe: Bytes,
        parity: bool,
    },
    /// Nothing below has stripes.
    Plain,
    /// It may have: a device hides what it is made of.
    NotKnown,
}

fn below<'a>(patient: &Patient<'a>, device: &'a Device) -> Below<'a> {
    match patient.grid(device) {
        Some(grid) => match (grid.chunk, grid.owner.geometry.stripe, grid.offset) {
            (Some(chunk), Some(stripe), Some(_)) => Below::Striped {
                owner: grid.owner,
                chunk,
                stripe,
                parity: grid.stripe.is_some(),
            },
            _ => Below::NotKnown,
        },
        None if is_plain(patient, device, MOST_LAYERS) => Below::Plain,
        None => Below::NotKnown,
    }
}

/// Whether everything below is known, and keeps bytes in their order.
fn is_plain(patient: &Patient<'_>, device: &Device, left: usize) -> bool {
    if left == 0 {
        return false;
    }
    let deeper =
        |device: Option<&Device>| device.is_some_and(|device| is_plain(patient, device, left - 1));
    if let Some(partition) = device.partition {
        return deeper(patient.device(partition.disk));
    }
    match device.kind {
        Kind::Dm => {
            let in_order = device.dm_table.as_ref().is_some_and(|table| {
                table.iter().all(|segment| {
                    // A cache or a pool has blocks of its own.
                    matches!(segment.target.name(), "linear" | "crypt" | "multipath")
                })
            });
            in_order && device.members.iter().all(|id| deeper(patient.device(*id)))
        }
        Kind::Md => {
            let level = device.md.as_ref().map(|md| md.level.as_str());
            level == Some("raid1") && device.members.iter().all(|id| deeper(patient.device(*id)))
        }
        Kind::Bcache | Kind::Other | Kind::Nbd => false,
        Kind::Loop if !device.members.is_empty() => {
            device.members.iter().all(|id| deeper(patient.device(*id)))
        }
        // Any other hint may be that of a hardware RAID.
        _ => matches!(
            own_io_opt(device),
            Some(IoOpt::None | IoOpt::Block | IoOpt::Odd | IoOpt::TransferLimit)
        ),
    }
}

fn has_option(mount: &Mount, name: &str) -> bool {
    mount.options.split(',').any(|option| option == name)
}

/// Where it is mounted, as a shell takes it.
fn point(mount: &Mount) -> String {
    quoted(&mount.point.to_string_lossy())
}

/// Why a stripe may have been taken for one that is none: a hint of a device
/// below.
fn from_hint(patient: &Patient<'_>, device: &Device, stripe: u64, block: u64) -> Option<String> {
    let mut at = device;
    for _ in 0..MOST_LAYERS {
        // A partition repeats what its disk reports.
        if let Some(partition) = at.partition {
            at = patient.device(partition.disk)?;
        }
        if let Some(io_opt) = at.limits.io_opt.filter(|io_opt| io_opt.0 != 0)
            && io_opt.0 / block.max(1) * block == stripe
            && at.geometry.stripe != Some(io_opt)
        {
            return Some(format!(
                "it is the optimal_io_size of {}, {}, which is no stripe",
                named(at),
                io_opt.0
            ));
        }
        at = patient.device(*at.members.first()?)?;
    }
    None
}

/// 65535 × 512 bytes in blocks, rounded down.
fn from_bridge(stripe: u64, block: u64) -> Option<String> {
    const BRIDGE: u64 = 65535 * 512;
    (block != 0 && BRIDGE / block * block == stripe)
        .then(|| format!("it is 33553920 / {block} rounded down, a USB bridge's hint: no stripe"))
}

/// Blocks, sectors or a log that are shorter than the physical block.
fn small_blocks(patient: &Patient<'_>, device: &Device) -> Option<Finding> {
    let physical = device.geometry.physical_block?;
    let given = device
        .overridden
        .is_some_and(|over| over.physical_block.is_some());
    if physical.0 > LARGEST_DRIVE_BLOCK && !given {
        return None;
    }
    let (name, parts, make): (_, Vec<(&str, Bytes)>, _) =
        patient
            .found(device)
            .iter()
            .find_map(|content| match content {
                Content::Xfs(xfs) => Some((
                    "XFS",
                    vec![
                        ("blocks", xfs.block_size),
                        ("sectors", xfs.sector_size),
                        ("log sectors", xfs.log.sector_size),
                    ],
                    format!(
                        "mkfs.xfs -f -b size=4096 -s size={} {}",
                        physical.0,
                        node(device)
                    ),
                )),
                Content::Ext(ext) => Some((
                    "ext",
                    vec![("blocks", ext.block_size)],
                    format!("mke2fs -t ext4 -b {} {}", physical.0, node(device)),
                )),
                _ => None,
            })?;
    let small: Vec<String> = parts
        .iter()
        .filter(|(_, bytes)| *bytes < physical)
        .map(|(what, bytes)| format!("{what} of {}", bytes.words()))
        .collect();
    if small.is_empty() {
        return None;
    }
    let least = parts.iter().map(|(_, bytes)| bytes.0).min().unwrap_or(0);
    let sub_block = patient
        .figures(device)
        .map(|figures| figures.write.physical.sub_block);
    let measured = sub_block.filter(|writes| *writes != 0);
    let anew = Remedy::anew("the file system anew, in whole physical blocks");
    Some(
        Finding::new(
            &rules::FS_BLOCK,
            &device.name,
            format!(
                "{name} has {}, and the physical block is {}",
                small.join(", "),
                physical.words()
            ),
        )
        .number("fs_block_bytes", least)
        .number("physical_block_bytes", physical.0)
        .expected(format!(
            "each write of {} costs the drive a read-modify-write, however well it is placed",
            Bytes(least).words()
        ))
        .measured(measured.map(|writes| format!("{writes} writes shorter than a physical block")))
        .remedy(
            anew.after(unmounted(patient, device))
                .run(make)
                .warn("what lies on it is lost"),
        ),
    )
}
