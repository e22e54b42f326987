//! What lies on a device, in words: superblocks, mounts, swap.
//!
//! Must not compute.

use super::{Said, places};
use crate::{
    report::format::size,
    stack::{
        Stack,
        mounted::MountedAs,
        phase::Places,
        place::{self, Thing},
    },
    superblock::{
        BcacheRole, Btrfs, Content, Ext, ExtJournal, ExtKind, Luks, LvmPv, MdMember, MdRole,
        MdVersion, TableKind, Xfs,
    },
    sysfs::{device::Device, mounts::Mount},
    units::Bytes,
};

/// A thing, and where its data begin where that is further in.
pub(super) fn said(stack: &Stack, thing: &Thing<'_>, places: &Places) -> Vec<Said> {
    let mut said = vec![Said::plain(format!("holds {}", words(thing)))];
    // What begins with the device lies where the device does.
    if thing.start.is_none_or(|start| start.0 == 0) {
        return said;
    }
    let own = places.own.len().min(thing.against.len());
    let (own, below) = thing.against.split_at(own);
    if below == places.below {
        said.extend(places::said(stack, "its data ", own));
        if !below.is_empty() {
            let text = "its data against the layers below as the device itself";
            said.push(Said::plain(text.to_owned()));
        }
    } else {
        said.extend(places::said(stack, "its data ", &thing.against));
    }
    said
}

fn words(thing: &Thing<'_>) -> String {
    match thing.content {
        Content::Partitions(table) => match table.kind {
            TableKind::Mbr { .. } => "an MBR partition table".to_owned(),
            TableKind::Gpt { block_size, .. } => {
                format!("a GPT partition table, blocks of {}", size(block_size.0))
            }
        },
        Content::MdMember(member) => of_member(member),
        Content::LvmPv(pv) => of_pv(pv),
        Content::Luks(luks) => of_luks(luks),
        Content::Bcache(bcache) => match bcache.role {
            BcacheRole::Backing { data_offset } => format!(
                "a bcache backing device, data at {}",
                size(data_offset.bytes().0)
            ),
            BcacheRole::Cache { bucket_size, .. } => {
                format!("a bcache cache, buckets of {}", size(bucket_size.0))
            }
        },
        Content::Xfs(xfs) => of_xfs(xfs, thing),
        Content::Ext(ext) => of_ext(ext),
        Content::Btrfs(btrfs) => of_btrfs(btrfs),
        Content::Swap(swap) => format!("swap space, pages of {}", size(swap.page_size.0)),
    }
}

fn of_member(member: &MdMember) -> String {
    let version = match member.version {
        MdVersion::V0_90 => "0.90",
        MdVersion::V1_0 => "1.0",
        MdVersion::V1_1 => "1.1",
        MdVersion::V1_2 => "1.2",
    };
    let role = match member.role {
        MdRole::Active(slot) => format!("slot {slot}"),
        MdRole::Spare => "a spare".to_owned(),
        MdRole::Faulty => "faulty".to_owned(),
        MdRole::Journal => "the journal".to_owned(),
    };
    format!(
        "an md member, metadata {version} at {}, {role}, data at {}",
        size(member.super_offset.bytes().0),
        size(member.data_offset.bytes().0)
    )
}

fn of_pv(pv: &LvmPv) -> String {
    let start = pv.pe_start();
    let start = start.map_or_else(|| "not known where".to_owned(), |start| size(start.0));
    match &pv.group {
        Some(group) => format!(
            "an LVM physical volume of {}: extents of {} from {start} on",
            group.name,
            size(group.extent_size.bytes().0)
        ),
        None => format!("an LVM physical volume of no group: data from {start} on"),
    }
}

fn of_luks(luks: &Luks) -> String {
    let version = match luks {
        Luks::V1(_) => 1,
        Luks::V2(_) => 2,
    };
    let payload = place::payload_start(luks).map_or_else(
        || "no data here".to_owned(),
        |start| format!("payload at {}", size(start.0)),
    );
    let sector = place::luks_sector_size(luks);
    let sector = sector.map_or_else(String::new, |bytes| {
        format!(", encrypted in sectors of {}", size(bytes.0))
    });
    format!("LUKS{version}, {payload}{sector}")
}

fn of_xfs(xfs: &Xfs, thing: &Thing<'_>) -> String {
    let stripe = match (xfs.stripe_unit, xfs.stripe_width) {
        (Some(unit), Some(width)) => format!("sunit {}, swidth {}", size(unit.0), size(width.0)),
        _ => "no stripe unit".to_owned(),
    };
    let log = match (place::log_start(xfs), xfs.log.stripe_unit) {
        (None, _) => "log on another device".to_owned(),
        (Some(_), None) => "log unpadded".to_owned(),
        (Some(_), Some(unit)) => format!("log sunit {}", size(unit.0)),
    };
    let ragged = thing.group_steps.iter().flatten().zip(&thing.against);
    let ragged = ragged
        .filter(|(step, _)| step.0 > 0)
        .map(|(step, against)| {
            format!(
                "{} past a multiple of {}",
                size(step.0),
                size(against.width.0)
            )
        });
    let mut ragged: Vec<String> = ragged.collect();
    ragged.dedup();
    let ragged = if ragged.is_empty() {
        String::new()
    } else {
        format!(" ({})", ragged.join(", "))
    };
    format!(
        "XFS: blocks of {}, sectors of {}, {stripe}, {log}, {} groups of {}{ragged}",
        size(xfs.block_size.0),
        size(xfs.sector_size.0),
        xfs.ag_count,
        size(place::group_bytes(xfs).0),
    )
}

fn of_ext(ext: &Ext) -> String {
    let kind = match ext.kind {
        ExtKind::Ext2 => "ext2",
        ExtKind::Ext3 => "ext3",
        ExtKind::Ext4 => "ext4",
        ExtKind::JournalDevice => "the journal of an ext4",
    };
    let told = |name: &str, value: Option<Bytes>| {
        value.map_or_else(
            || format!("no {name}"),
            |bytes| format!("{name} {}", size(bytes.0)),
        )
    };
    let journal = match ext.journal {
        ExtJournal::None => "no journal",
        ExtJournal::Inode(_) => "journal inside",
        ExtJournal::Device(_) => "journal on another device",
    };
    let cluster = ext.cluster_size.map_or_else(String::new, |bytes| {
        format!(" in clusters of {}", size(bytes.0))
    });
    format!(
        "{kind}: blocks of {}{cluster}, {}, {}, {journal}",
        size(ext.block_size.0),
        told("stride", ext.stride),
        told("stripe width", ext.stripe_width),
    )
}

fn of_btrfs(btrfs: &Btrfs) -> String {
    format!(
        "btrfs on {} devices: sectors of {}, nodes of {}",
        btrfs.devices,
        size(btrfs.sector_size.0),
        size(btrfs.node_size.0)
    )
}

/// Where the device is in use, and by what geometry.
pub(super) fn mounted(stack: &Stack, device: &Device) -> Vec<Said> {
    let mounts = stack.mounts_of(device.id);
    let mut said: Vec<Said> = mounts
        .first()
        .map(|first| {
            let more = match mounts.len() {
                1 => String::new(),
                count => format!(" and {} other places", count - 1),
            };
            Said::plain(format!(
                "mounted on {}{more}{}",
                first.point.display(),
                as_mounted(first)
            ))
        })
        .into_iter()
        .collect();
    said.extend(
        stack
            .swap_on(device.id)
            .map(|area| Said::plain(format!("in use for swapping, priority {}", area.priority))),
    );
    said
}

fn as_mounted(mount: &Mount) -> String {
    let now = MountedAs::of(mount);
    let bytes =
        |name: &str, value: Option<Bytes>| value.map(|value| format!("{name} {}", size(value.0)));
    let told = [
        bytes("sunit", now.stripe_unit),
        bytes("swidth", now.stripe_width),
        now.stripe_blocks
            .map(|blocks| format!("stripe {blocks} blocks")),
    ];
    let told: Vec<String> = told.into_iter().flatten().collect();
    let how = if told.is_empty() {
        String::new()
    } else {
        format!(" with {}", told.join(", "))
    };
    format!(" ({}{how})", mount.fs_type)
}
