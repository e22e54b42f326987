//! What a device reports of itself and should not be believed, or not be taken
//! for a stripe.

use super::{
    Finding, Remedy, Severity, Sure, assumed,
    patient::{Patient, named, node},
    rules,
};
use crate::{
    stack::hints::IoOpt,
    sysfs::{
        device::{AlignmentOffset, Device, Kind},
        notes::NoteKind,
        start::{ASSUMED_PHYSICAL, Against},
    },
    units::{Bytes, SECTOR_BYTES},
};

/// What the kernel reads ahead unless it knows better (`VM_READAHEAD_PAGES`).
const USUAL_READ_AHEAD: u64 = 128 << 10;

pub(super) fn findings(patient: &Patient<'_>) -> Vec<Finding> {
    let whole = patient
        .devices()
        .filter(|device| device.partition.is_none());
    let mut found = Vec::new();
    for device in whole {
        found.extend(of_io_opt(patient, device));
        found.extend(io_min(device));
        found.extend(array(patient, device));
        found.extend(read_ahead(patient, device));
        found.extend(inconsistent(patient, device));
        found.extend(may_hide(patient, device));
        found.extend(large_block(device));
    }
    found
}

/// What `optimal_io_size` is worth, of a device that lies on no other; `None`
/// for other devices, which only pass it on.
pub(super) fn own_io_opt(device: &Device) -> Option<IoOpt> {
    // Memory has no stripes, and nobody takes it for a disk.
    let memory = matches!(device.kind, Kind::Ram | Kind::Zram);
    let alone = device.members.is_empty() && device.partition.is_none() && !memory;
    alone.then(|| IoOpt::of(device))
}

fn of_io_opt(patient: &Patient<'_>, device: &Device) -> Option<Finding> {
    let io_opt = device.limits.io_opt?;
    let say = |rule, text: String| {
        Finding::new(rule, &device.name, text).number("io_opt_bytes", io_opt.0)
    };
    Some(match own_io_opt(device)? {
        IoOpt::Odd => {
            let note = device
                .notes
                .iter()
                .find(|note| note.kind == NoteKind::IoOpt);
            let text = note.map_or_else(
                || {
                    format!(
                        "optimal_io_size {} ({} × 512) is the most that a counter holds, in \
                         whole blocks: not a stripe, to be ignored",
                        io_opt.0,
                        io_opt.0 / SECTOR_BYTES
                    )
                },
                |note| note.text.clone(),
            );
            assumed::made_by(patient, device, say(&rules::IO_OPT, text))
                .expected(
                    "nothing by itself; partitions, file systems and read-ahead that were made \
                     by it are told apart",
                )
                .remedy(Remedy::repair(
                    "none is needed: iotrace ignores it. What is made here does not: start \
                     partitions at sector 2048, make XFS with `-d noalign`, and ext4's stripe \
                     nothing afterwards (`tune2fs -E stride=0,stripe_width=0`)",
                ))
        }
        IoOpt::TransferLimit => say(
            &rules::IO_OPT_LIMIT,
            format!(
                "optimal_io_size {} is the longest transfer that the drive and its adapter take \
                 (queue/max_hw_sectors_kb {}): not a stripe",
                io_opt.words(),
                io_opt.0 >> 10
            ),
        )
        .sure(Sure::Likely),
        // zram's is the page that it compresses: nobody takes that for a stripe.
        IoOpt::Block if device.kind != Kind::Zram => say(
            &rules::IO_OPT_BLOCK,
            format!(
                "optimal_io_size {} is the physical block: not a stripe",
                io_opt.0
            ),
        ),
        _ => return None,
    })
}

/// Of what lies on nothing that is known: a hardware RAID, a SAN.
fn io_min(device: &Device) -> Option<Finding> {
    let io_opt = device.limits.io_opt?;
    let known = device.geometry.chunk.is_some();
    (!known && own_io_opt(device) == Some(IoOpt::IoMin)).then(|| {
        Finding::new(
            &rules::IO_MIN_OPT,
            &device.name,
            format!(
                "minimum_io_size and optimal_io_size are both {}: the one stands for the chunk and \
                 the other for the stripe, so one of them is not told",
                io_opt.words()
            ),
        )
        .number("io_opt_bytes", io_opt.0)
        .sure(Sure::Likely)
        .remedy(Remedy::repair(format!(
            "say what the array below has, from its own tools: `iotrace doctor --geometry \
             {}=chunk:64k,data:3`, and to mkfs",
            device.name
        )))
    })
}

/// An array has its stripe from md; what it reports upward may be another.
fn array(patient: &Patient<'_>, device: &Device) -> Option<Finding> {
    let md = device.md.as_ref().filter(|md| !md.reshaping)?;
    let stripe = device.geometry.stripe?;
    let io_opt = device.limits.io_opt.filter(|io_opt| io_opt.0 != 0)?;
    if io_opt == stripe || device.overridden.is_some() {
        return None;
    }
    let of_members = md.components.iter().filter_map(|part| {
        let member = patient.device(part.device?)?;
        let hint = member.limits.io_opt.filter(|hint| hint.0 != 0)?;
        let whole = member.partition.map_or(member, |partition| {
            patient.device(partition.disk).unwrap_or(member)
        });
        Some(format!("{} {}", whole.name, hint.0))
    });
    let of_members: Vec<String> = of_members.collect();
    let why = if io_opt.0.is_multiple_of(stripe.0) && !of_members.is_empty() {
        format!(
            ": the least common multiple of the stripe and the members' own ({})",
            of_members.join(", ")
        )
    } else {
        String::new()
    };
    Some(
        Finding::new(
            &rules::ARRAY_HINTS,
            &device.name,
            format!(
                "optimal_io_size is {}, and the stripe {} ({}){why}",
                io_opt.0,
                stripe.0,
                stripe.words()
            ),
        )
        .number("io_opt_bytes", io_opt.0)
        .number("stripe_bytes", stripe.0)
        .expected(
            "a file system that is made without being told otherwise takes it for the stripe; one \
             that did is told apart",
        )
        .remedy(Remedy::repair(made_on(device, stripe))),
    )
}

/// How file systems are told a stripe when they are made.
fn made_on(device: &Device, stripe: Bytes) -> String {
    let chunk = device.geometry.chunk.map_or(0, |chunk| chunk.0);
    let data = device.geometry.data_disks.unwrap_or(1);
    format!(
        "the report cannot be changed. Tell mkfs when a file system is made: `mkfs.xfs -d \
         su={}k,sw={data}`, `mke2fs -t ext4 -b 4096 -E stride={},stripe_width={}`",
        chunk >> 10,
        chunk >> 12,
        stripe.0 >> 12
    )
}

/// The kernel reads ahead twice the `optimal_io_size` (`blk_apply_bdi_limits`,
/// block/blk-settings.c).
fn read_ahead(patient: &Patient<'_>, device: &Device) -> Option<Finding> {
    let ahead = device.limits.read_ahead?;
    let (hint, whose) = bogus(patient, device)?;
    (ahead.0 > USUAL_READ_AHEAD && ahead >= hint).then(|| {
        let usual = device
            .geometry
            .stripe
            .map_or(USUAL_READ_AHEAD, |stripe| (2 * stripe.0).max(USUAL_READ_AHEAD));
        let sectors = usual / SECTOR_BYTES;
        Finding::new(
            &rules::READ_AHEAD,
            &device.name,
            format!(
                "read_ahead_kb is {}, made of an optimal_io_size of {} that {whose} reports and \
                 that is no stripe",
                ahead.0 >> 10,
                hint.0
            ),
        )
        .number("read_ahead_bytes", ahead.0)
        .number("io_opt_bytes", hint.0)
        .sure(Sure::Likely)
        .expected(format!(
            "up to {} read for a program that wanted a little, and so much of the page cache",
            ahead.words()
        ))
        .remedy(
            Remedy::repair("sets what is usual, until the next start")
                .run(format!("blockdev --setra {sectors} {}", node(device)))
                .run(format!(
                    "echo 'ACTION==\"add|change\", KERNEL==\"{}\", ATTR{{bdi/read_ahead_kb}}=\"{}\"' \
                     > /etc/udev/rules.d/60-read-ahead-{}.rules",
                    device.name,
                    usual >> 10,
                    device.name.replace('/', "-")
                ))
                .warn("keeps it at each start, for whatever has this name then"),
        )
    })
}

/// An `optimal_io_size` of the device, or of one below it, that is no stripe.
fn bogus(patient: &Patient<'_>, device: &Device) -> Option<(Bytes, String)> {
    let mut at = device;
    // Deeper than any stack.
    for _ in 0..32 {
        let io_opt = at.limits.io_opt;
        let wrong = own_io_opt(at) == Some(IoOpt::Odd)
            || at.md.is_some()
                && at
                    .geometry
                    .stripe
                    .is_some_and(|stripe| io_opt.is_some_and(|io_opt| io_opt.0 > stripe.0));
        if wrong {
            return Some((io_opt?, named(at)));
        }
        at = patient.device(*at.members.first()?)?;
        at = at
            .partition
            .and_then(|partition| patient.device(partition.disk))
            .unwrap_or(at);
    }
    None
}

fn inconsistent(patient: &Patient<'_>, device: &Device) -> Option<Finding> {
    if device.limits.alignment_offset != Some(AlignmentOffset::Inconsistent) {
        return None;
    }
    let note = device
        .notes
        .iter()
        .find(|note| note.kind == NoteKind::Inconsistent)?;
    let finding = Finding::new(&rules::INCONSISTENT, &device.name, note.text.clone());
    Some(match device.geometry.alignment_offset {
        Some(first) => {
            finding
                .number("alignment_offset_bytes", first.0)
                .expected(if first.0 == 0 {
                    "nothing: its first byte lies on a physical block"
                } else {
                    "writes at multiples of the block, counted from its start, are off it"
                })
        }
        None => assumed::from_first_byte(patient, device, finding).sure(Sure::Possible),
    })
}

/// Told where it would matter: where something that lies right on 512 would lie
/// wrong on 4096, or is written so.
fn may_hide(patient: &Patient<'_>, device: &Device) -> Option<Finding> {
    let mut notes = device.notes.iter();
    let note = notes.find(|note| note.kind == NoteKind::MayHide4096)?;
    let mut finding =
        Finding::new(&rules::MAY_HIDE, &device.name, note.text.clone()).sure(Sure::Possible);
    let partitions = patient.stack.topology.partitions_of(device.id);
    for partition in partitions.iter().filter_map(|id| patient.device(*id)) {
        let off = partition
            .start_checks
            .iter()
            .find(|check| check.against == Against::AssumedPhysicalBlock && !check.is_aligned());
        if let Some(off) = off {
            finding = finding
                .severity(Severity::Warning)
                .and(format!(
                    "{} starts at sector {}: if the drive is 4096 inside, that is {} bytes past a \
                     block",
                    partition.name, off.start_sector.0, off.remainder_bytes.0
                ))
                .number("assumed_remainder_bytes", off.remainder_bytes.0)
                .expected("if it is so, 2 read-modify-writes of the drive for each aligned write");
        }
    }
    let small = small_writes(patient, device);
    if finding.evidence.len() == 1 && small == 0 {
        return None;
    }
    if small != 0 {
        finding = finding.and(format!("{small} writes were no multiples of 4096 bytes"));
    }
    Some(finding.remedy(Remedy::repair(format!(
        "look into the drive's data sheet; if it is 4096 inside, `iotrace doctor --geometry \
         {}=physical:4k` tells what follows",
        device.name
    ))))
}

/// Writes whose start or length is no multiple of 4096.
fn small_writes(patient: &Patient<'_>, device: &Device) -> u64 {
    let figures = patient.figures(device);
    let histograms = figures.and_then(|figures| figures.histograms.as_ref());
    let grains = histograms.map_or(&[][..], |histograms| histograms.grain_bytes.as_slice());
    let small = grains
        .iter()
        .filter(|bin| bin.le.is_some_and(|le| le < ASSUMED_PHYSICAL.0));
    small.map(|bin| bin.writes).sum()
}

fn large_block(device: &Device) -> Option<Finding> {
    let note = device
        .notes
        .iter()
        .find(|note| note.kind == NoteKind::LargeBlock)?;
    let physical = device.geometry.physical_block?;
    Some(
        Finding::new(&rules::LARGE_BLOCK, &device.name, note.text.clone())
            .number("physical_block_bytes", physical.0)
            .sure(Sure::Likely)
            .expected("not known: smaller writes may be gathered by the drive")
            .remedy(Remedy::repair(format!(
                "if the data sheet says that it is a hint: `iotrace --geometry {}=physical:4k`",
                device.name
            ))),
    )
}
