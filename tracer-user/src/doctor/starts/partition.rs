//! Partitions that start where they should not, and where they should.

use super::{Fault, Off, hinted, measured, next_start, with_faults};
use crate::{
    dm::Target,
    doctor::{
        Finding, Remedy, Severity, Step,
        patient::{Patient, node},
        release::released,
        rules,
    },
    superblock::{Content, TableKind},
    sysfs::{
        device::Device,
        notes::one_start,
        start::{Against, StartCheck},
    },
    units::{SECTOR_BYTES, Sectors},
};

/// Sectors that a GPT keeps at the end of its disk.
const GPT_TAIL: u64 = 34;
/// Where a step of a search ends: longer than any stripe there is.
const FARTHEST: u64 = 1 << 20;

pub(super) fn findings(patient: &Patient<'_>) -> Vec<Finding> {
    let partitions = patient.devices();
    partitions
        .filter_map(|device| finding(patient, device))
        .collect()
}

fn finding(patient: &Patient<'_>, device: &Device) -> Option<Finding> {
    let partition = device.partition?;
    let disk = patient.device(partition.disk)?;
    // What is found on a component is the table of what is made of it, which
    // has the partition.
    if !disk.holders.is_empty() {
        return None;
    }
    let checks = relevant(patient, device);
    let wrong: Vec<&StartCheck> = checks.iter().filter(|check| !check.is_aligned()).collect();
    if all_above_right(patient, device) {
        return None;
    }
    // What may be 4096 inside is told of the drive.
    let Some((first, more)) = wrong.split_first() else {
        return hinted::finding(device, disk);
    };
    let faults: Vec<Fault> = wrong.iter().filter_map(|check| fault(check)).collect();
    let mut finding = Finding::new(&rules::PARTITION, &device.name, one_start(first));
    for check in more {
        finding = finding.and(one_start(check));
    }
    finding = if faults.is_empty() {
        // Only off what the user gave.
        finding.severity(Severity::Warning)
    } else {
        with_faults(finding, patient, disk, &faults)
    };
    for check in &wrong {
        if check.against == Against::Boundary {
            finding = finding
                .number("boundary_bytes", check.boundary_bytes.0)
                .number("boundary_remainder_bytes", check.remainder_bytes.0);
        }
    }
    let least = next(&checks, partition.start, false);
    let better = next(&checks, partition.start, true);
    finding = finding.number("start_sector", partition.start.0);
    for (name, sector) in [
        ("next_aligned_sector", least),
        ("next_mib_aligned_sector", better),
    ] {
        if let Some(sector) = sector {
            finding = finding.number(name, sector);
        }
    }
    let finding = hinted::with(finding, device, disk).measured(measured(patient, device));
    let room = Room::of(patient, device, disk);
    Some(
        finding
            .maybe(room.moved(better.into_iter().chain(least)))
            .maybe(
                better
                    .into_iter()
                    .chain(least)
                    .find_map(|start| room.anew(start)),
            ),
    )
}

/// Whether it only carries mappings, each of which begins on every boundary: to
/// move it would put those wrong.
fn all_above_right(patient: &Patient<'_>, device: &Device) -> bool {
    let above = patient.on_top(device);
    let right = |mapping: &&Device| {
        let table = mapping.dm_table.as_deref().unwrap_or_default();
        let places = table.iter().map(|segment| match &segment.target {
            Target::Linear(place) | Target::Crypt { origin: place, .. } => Some(place),
            _ => None,
        });
        let here = places.filter(|place| place.is_none_or(|place| place.device == device.id));
        let mut starts = here.peekable();
        starts.peek().is_some()
            && starts.all(|place| {
                place.is_some_and(|place| {
                    let start = place.start.bytes().0;
                    next_start(patient, device, start) == Some(start)
                })
            })
    };
    !above.is_empty() && above.iter().all(right)
}

/// The boundaries that matter: a stripe does where filling it saves reads, and
/// a report that may be untrue is told of the drive.
fn relevant(patient: &Patient<'_>, device: &Device) -> Vec<StartCheck> {
    let stripes_matter = patient
        .grid(device)
        .is_some_and(|grid| grid.stripe.is_some());
    let checks = device.start_checks.iter().copied();
    checks
        .filter(|check| check.against != Against::AssumedPhysicalBlock)
        .filter(|check| check.against != Against::Stripe || stripes_matter)
        .collect()
}

fn fault(check: &StartCheck) -> Option<Fault> {
    let off = match check.against {
        Against::PhysicalBlock => Off::Block,
        Against::Chunk => Off::Chunk,
        Against::Stripe => Off::Stripe,
        Against::AssumedPhysicalBlock | Against::Boundary => return None,
    };
    Some(Fault {
        off,
        width: check.boundary_bytes,
        remainder: check.remainder_bytes.0,
    })
}

/// The first sector at or after `start` on every boundary; `mib`: and whole MiB
/// away from an aligned position.
fn next(checks: &[StartCheck], start: Sectors, mib: bool) -> Option<u64> {
    let on = |check: &StartCheck, sector: u64| {
        // Past the last sector there is nothing to be had.
        let Some(past) = sector.checked_sub(check.start_sector.0) else {
            return false;
        };
        let past = u128::from(past) * u128::from(SECTOR_BYTES);
        let past = past + u128::from(check.remainder_bytes.0);
        past.checked_rem(check.boundary_bytes.0.into()) == Some(0)
    };
    let from = start.0;
    let step = if mib { (1 << 20) / SECTOR_BYTES } else { 1 };
    let from = if mib {
        checks
            .iter()
            .filter_map(|check| check.next_mib_aligned_sector)
            .map(|s| s.0)
            .min()?
    } else {
        from
    };
    let candidates = (0..FARTHEST).map_while(|turn| from.checked_add(turn * step));
    candidates
        .into_iter()
        .find(|sector| checks.iter().all(|check| on(check, *sector)))
}

/// A partition, and the room behind it.
struct Room<'a> {
    device: &'a Device,
    disk: &'a Device,
    number: u32,
    start: u64,
    size: Option<u64>,
    /// The first sector that is another's.
    limit: Option<u64>,
    /// Commands that make whatever uses it let go.
    users: Vec<Step>,
    /// It lies within an extended one, or is one.
    logical: bool,
}

impl<'a> Room<'a> {
    fn of(patient: &Patient<'a>, device: &'a Device, disk: &'a Device) -> Self {
        let partition = device.partition;
        let start = partition.map_or(0, |partition| partition.start.0);
        let table = patient
            .found(disk)
            .iter()
            .find_map(|content| match content {
                Content::Partitions(table) => Some(table),
                _ => None,
            });
        let end = match table.map(|table| table.kind) {
            Some(TableKind::Gpt { last_usable, .. }) => Some(last_usable.0.saturating_add(1)),
            Some(TableKind::Mbr { .. }) => disk.size.map(|size| size.0),
            None => disk.size.map(|size| size.0.saturating_sub(GPT_TAIL)),
        };
        let others = patient.devices().filter_map(|other| other.partition);
        let next = others
            .filter(|other| other.disk == disk.id && other.start.0 > start)
            .map(|other| other.start.0)
            .min();
        let number = partition.map_or(0, |partition| partition.number);
        let gpt = matches!(table.map(|table| table.kind), Some(TableKind::Gpt { .. }));
        // An extended partition shows a length of two sectors.
        let extended = device.size.is_some_and(|size| size.0 <= 2);
        Self {
            device,
            disk,
            number,
            start,
            size: device.size.map(|size| size.0),
            limit: next.into_iter().chain(end).min(),
            users: released(patient, device),
            logical: !gpt && number > 4 || extended,
        }
    }

    /// The partition moved to the first of `starts` that there is room for, its
    /// data with it.
    fn moved(&self, starts: impl Iterator<Item = u64>) -> Option<Remedy> {
        let (size, limit) = (self.size?, self.limit?);
        if self.logical || size == 0 {
            return None;
        }
        let mut starts = starts;
        let start = starts.find(|start| start.checked_add(size).is_some_and(|end| end <= limit))?;
        let remedy = Remedy::repair(format!(
            "moves {} and its data from sector {} to {start}",
            self.device.name, self.start
        ))
        .after(self.users.clone());
        Some(
            remedy
                .run(format!(
                    "echo '{start},' | sfdisk --move-data --no-reread --no-tell-kernel -N {} {}",
                    self.number,
                    node(self.disk)
                ))
                .warn(
                    "copies the whole partition within the disk: data are lost if it is \
                     interrupted, so save them first. Nothing may use the partition meanwhile",
                )
                .run(format!(
                    "partx --update --nr {} {}",
                    self.number,
                    node(self.disk)
                )),
        )
    }

    fn anew(&self, start: u64) -> Option<Remedy> {
        if self.logical {
            return None;
        }
        let size = self.size?.min(self.limit?.checked_sub(start)?) / 8 * 8;
        let remedy = Remedy::anew(format!("{} anew, at sector {start}", self.device.name))
            .after(self.users.clone());
        (size > 0).then(|| {
            remedy
                .run(format!(
                    "echo 'start={start}, size={size}' | sfdisk --no-reread --no-tell-kernel \
                     --wipe-partitions always -N {} {}",
                    self.number,
                    node(self.disk)
                ))
                .warn("what lies on the partition is lost")
                .run(format!(
                    "partx --update --nr {} {}",
                    self.number,
                    node(self.disk)
                ))
        })
    }
}
