//! What a device is, in words.
//!
//! Must not compute.

use crate::{
    dm::Segment,
    report::format::{amount, size},
    stack::{
        Stack,
        hints::{self, IoOpt},
    },
    superblock::{Content, Partition, PartitionKind, TableKind},
    sysfs::device::{self, AlignmentOffset, Device, MdArray, MdComponent},
    units::Bytes,
};

/// Segments of a mapped device that are shown.
const MOST_SEGMENTS: usize = 8;

/// Its first line: name, what it is, size, model.
pub(super) fn head(stack: &Stack, device: &Device) -> String {
    let dm_name = device.dm_name.iter().map(|name| format!(" {name}"));
    let name: String = std::iter::once(device.name.clone())
        .chain(dm_name)
        .collect();
    let mut parts = vec![what(stack, device)];
    parts.extend(device.size.map(|size| amount(size.bytes().0)));
    parts.extend(device.model.clone());
    format!("{name}: {}", parts.join(", "))
}

fn what(stack: &Stack, device: &Device) -> String {
    if let Some(partition) = device.partition {
        return of_partition(stack, partition);
    }
    if let Some(md) = device.md.as_ref().filter(|md| !md.level.is_empty()) {
        let disks = md
            .raid_disks
            .map_or_else(String::new, |disks| format!(" of {disks} disks"));
        return format!("{}{disks}", md.level);
    }
    if let Some(table) = &device.dm_table {
        let mut names: Vec<&str> = table.iter().map(|segment| segment.target.name()).collect();
        names.dedup();
        return format!("mapped by {}", names.join("+"));
    }
    if let Some(file) = &device.loop_file {
        return format!("loop over {file}");
    }
    let kind = device.kind.word();
    match device.limits.rotational {
        Some(true) if device.members.is_empty() => format!("{kind}, rotational"),
        _ => kind.to_owned(),
    }
}

fn of_partition(stack: &Stack, partition: device::Partition) -> String {
    let entry = entry(stack, partition);
    let kind = entry.map_or_else(String::new, |(table, entry)| {
        let table = match table {
            TableKind::Mbr { .. } => "MBR",
            TableKind::Gpt { .. } => "GPT",
        };
        format!(" ({table}, {})", purpose(entry.kind))
    });
    format!(
        "partition {} at sector {} ({}){kind}",
        partition.number,
        partition.start.0,
        size(partition.start.bytes().0)
    )
}

/// The partition's entry in its disk's table.
fn entry(stack: &Stack, partition: device::Partition) -> Option<(TableKind, &Partition)> {
    let found = &stack.contents_of(partition.disk)?.found;
    found.iter().find_map(|content| match content {
        Content::Partitions(table) => {
            let mut entries = table.partitions.iter();
            let entry = entries.find(|entry| entry.number == partition.number)?;
            Some((table.kind, entry))
        }
        _ => None,
    })
}

/// What the types that Linux makes are called; any other by its number.
fn purpose(kind: PartitionKind) -> String {
    const MBR: [(u8, &str); 6] = [
        (0x05, "extended"),
        (0x0f, "extended"),
        (0x82, "Linux swap"),
        (0x83, "Linux"),
        (0x8e, "Linux LVM"),
        (0xfd, "Linux RAID"),
    ];
    const GPT: [(&str, &str); 6] = [
        ("0657fd6d-a4ab-43c4-84e5-0933c84b4f4f", "Linux swap"),
        ("0fc63daf-8483-4772-8e79-3d69d8477de4", "Linux"),
        ("21686148-6449-6e6f-744e-656564454649", "BIOS boot"),
        ("a19d880f-05fc-4d3b-a006-743f0f84911e", "Linux RAID"),
        ("c12a7328-f81f-11d2-ba4b-00a0c93ec93b", "EFI system"),
        ("e6d6d379-f507-44c2-a23c-238f2a3df928", "Linux LVM"),
    ];
    match kind {
        PartitionKind::Mbr(kind) => MBR.iter().find(|(known, _)| *known == kind).map_or_else(
            || format!("type {kind:02x}"),
            |(_, name)| (*name).to_owned(),
        ),
        PartitionKind::Gpt(kind) => {
            let kind = kind.to_string();
            let known = GPT.iter().find(|(known, _)| *known == kind);
            known.map_or_else(|| format!("type {kind}"), |(_, name)| (*name).to_owned())
        }
    }
}

/// What is known of it, a sentence each.
pub(super) fn facts(stack: &Stack, device: &Device) -> Vec<String> {
    let mut facts = Vec::new();
    if let Some(md) = &device.md {
        facts.extend(of_array(device, md));
    }
    if let Some(table) = &device.dm_table {
        let shown = table.iter().take(MOST_SEGMENTS);
        facts.extend(shown.map(|segment| of_segment(stack, segment)));
        if table.len() > MOST_SEGMENTS {
            facts.push(format!("and {} more segments", table.len() - MOST_SEGMENTS));
        }
    }
    for (what, place) in [("offset", device.loop_on), ("data", device.bcache_on)] {
        facts.extend(place.map(|place| {
            let on = stack.topology.devices.get(&place.device);
            let on = on.map_or_else(|| place.device.to_string(), |on| on.name.clone());
            format!("{what} at {} on {on}", size(place.start.bytes().0))
        }));
    }
    if device.dm_suspended == Some(true) {
        facts.push("suspended".to_owned());
    }
    // A partition's are its disk's.
    if device.partition.is_none() {
        facts.extend(limits(device));
    }
    facts
}

fn limits(device: &Device) -> Option<String> {
    let limits = &device.limits;
    let told = |name: &str, value: Option<Bytes>| Some(format!("{name} {}", size(value?.0)));
    let blocks = limits.logical_block.zip(limits.physical_block);
    let io_opt = match IoOpt::of(device) {
        IoOpt::None => None,
        IoOpt::NotTheStripe => told("io_opt (not its stripe)", limits.io_opt),
        IoOpt::Odd => told("io_opt (implausible)", limits.io_opt),
        IoOpt::TransferLimit => told("io_opt (longest transfer)", limits.io_opt),
        IoOpt::Block | IoOpt::IoMin | IoOpt::Stripe | IoOpt::Plausible => {
            told("io_opt", limits.io_opt)
        }
    };
    let io_min = match hints::io_min_is_plausible(device) {
        Some(false) => told("io_min (implausible)", limits.io_min),
        _ => told("io_min", limits.io_min),
    };
    let shifted = match limits.alignment_offset {
        Some(AlignmentOffset::Bytes(Bytes(0))) | None => None,
        Some(AlignmentOffset::Bytes(offset)) => told("alignment offset", Some(offset)),
        Some(AlignmentOffset::Inconsistent) => Some("alignment offset −1".to_owned()),
    };
    let parts = [
        blocks.map(|(logical, physical)| format!("blocks {}/{} B", logical.0, physical.0)),
        shifted,
        io_min,
        io_opt,
        told("prefers writes of", hints::preferred_write(device)),
        told("discards", limits.discard_granularity),
        told("reads ahead", limits.read_ahead),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn of_array(device: &Device, md: &MdArray) -> Vec<String> {
    let geometry = &device.geometry;
    let told = |name: &str, value: Option<Bytes>| Some(format!("{name} {}", size(value?.0)));
    let stripe = geometry.stripe.zip(geometry.data_disks);
    let parts = [
        told("chunk", md.chunk),
        stripe.map(|(stripe, disks)| format!("stripe {} ({disks} data disks)", size(stripe.0))),
        md.layout.map(|layout| format!("layout {layout}")),
        md.metadata_version
            .as_ref()
            .map(|version| format!("metadata {version}")),
        data_offsets(&md.components),
        md.degraded
            .filter(|missing| *missing > 0)
            .map(|missing| format!("degraded by {missing}")),
    ];
    let keeps = [
        Some(md.bitmap.map_or_else(
            || "no bitmap on its members".to_owned(),
            |bitmap| {
                format!(
                    "bitmap at {:+} sectors, {} to a bit",
                    bitmap.location_sectors,
                    size(bitmap.chunk.0)
                )
            },
        )),
        md.stripe_cache_rows
            .map(|rows| format!("stripe cache of {rows} rows")),
        md.rmw_level.map(|level| format!("rmw_level {level}")),
        md.array_state.clone(),
        sync(md),
        reshape(md),
    ];
    [parts.to_vec(), keeps.to_vec()]
        .into_iter()
        .map(|parts| parts.into_iter().flatten().collect::<Vec<_>>())
        .filter(|parts| !parts.is_empty())
        .map(|parts| parts.join(", "))
        .collect()
}

/// Where data begin on the members, each place once.
fn data_offsets(components: &[MdComponent]) -> Option<String> {
    let in_use = components.iter().filter(|part| part.slot.is_some());
    let mut offsets: Vec<u64> = in_use
        .filter_map(|part| Some(part.data_offset?.bytes().0))
        .collect();
    offsets.sort_unstable();
    offsets.dedup();
    let offsets: Vec<String> = offsets.into_iter().map(size).collect();
    (!offsets.is_empty()).then(|| format!("data at {}", offsets.join(", ")))
}

fn sync(md: &MdArray) -> Option<String> {
    let action = md
        .sync_action
        .as_deref()
        .filter(|action| *action != "idle")?;
    Some(match md.sync_completed {
        Some((done, all)) => format!("{action} at {} of {} sectors", done.0, all.0),
        None => action.to_owned(),
    })
}

fn reshape(md: &MdArray) -> Option<String> {
    if !md.reshaping {
        return None;
    }
    let before = [
        md.raid_disks_before.map(|disks| format!("{disks} disks")),
        md.chunk_before
            .map(|chunk| format!("chunk {}", size(chunk.0))),
        md.layout_before.map(|layout| format!("layout {layout}")),
    ];
    let before: Vec<String> = before.into_iter().flatten().collect();
    let place = md.reshape_position;
    let place = place.map_or_else(String::new, |at| format!(" at sector {}", at.0));
    let from = if before.is_empty() {
        String::new()
    } else {
        format!(" from {}", before.join(", "))
    };
    Some(format!("reshaping{place}{from}"))
}

/// `linear: at 1 MiB on md127`.
fn of_segment(stack: &Stack, segment: &Segment) -> String {
    let target = &segment.target;
    let name = |id| {
        let device = stack.topology.devices.get(&id);
        device.map_or_else(|| id.to_string(), |device| device.name.clone())
    };
    let places = target.places();
    let at: Vec<String> = places
        .iter()
        .map(|place| format!("{} on {}", size(place.start.bytes().0), name(place.device)))
        .collect();
    let at = if at.is_empty() {
        String::new()
    } else {
        format!(" at {}", at.join(", "))
    };
    let piece = target.piece().map_or_else(String::new, |piece| {
        format!(", pieces of {}", size(piece.bytes().0))
    });
    let sector = target.encrypted_sector().map_or_else(String::new, |bytes| {
        format!(", encrypted in sectors of {}", size(bytes.0))
    });
    let from = match segment.start.0 {
        0 => String::new(),
        _ => format!(" from {} on", size(segment.start.bytes().0)),
    };
    format!("{}{from}{at}{piece}{sector}", target.name())
}
