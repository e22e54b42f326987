//! Layers that begin where they should not: on partitions, LVM, LUKS, bcache,
//! loop devices and arrays' members.
//!
//! A layer is told only for what it adds itself: what begins at a multiple of a
//! boundary is not to blame for the one below.

mod hinted;
mod lvm;
mod others;
mod partition;
mod together;

use std::collections::BTreeSet;

use super::{
    Finding, Severity, Sure,
    patient::{Grid, Patient, model, named},
    rules::{self, Rule},
};
use crate::{
    dm::{Place, Target},
    raid::{ArraySector, Extent, Preread},
    superblock::{BcacheRole, Content, Luks},
    sysfs::{device::Device, notes::LARGEST_DRIVE_BLOCK},
    units::{Bytes, DevId, SECTOR_BYTES, Sectors},
};

/// What cryptsetup keeps for a LUKS2 header.
pub(super) const LUKS2_HEADER: u64 = 16 << 20;

/// Where one layer begins on the device below it.
struct Start<'a> {
    rule: &'static Rule,
    /// The finding's.
    device: &'a Device,
    below: &'a Device,
    /// As in "its payload".
    what: &'static str,
    start: Bytes,
    /// What the layer adds itself, if another that is told already begins at
    /// `start − own`.
    own: i128,
}

/// A boundary that a start lies off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Off {
    Block,
    Chunk,
    Stripe,
}

/// How far past a boundary a start lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    off: Off,
    width: Bytes,
    remainder: u64,
}

pub(super) fn findings(patient: &Patient<'_>) -> Vec<Finding> {
    let mut found = lvm::physical_volumes(patient);
    // Where each finding of members is in the list.
    let mut of_members: Vec<(DevId, Vec<Fault>, usize)> = Vec::new();
    for start in starts(patient) {
        let faults = start.faults(patient);
        if faults.is_empty() {
            continue;
        }
        // Members that lie alike are told by the first.
        if start.rule == &rules::MEMBER_DATA {
            let mut known = of_members.iter();
            let alike = known.find(|(id, known, _)| *id == start.device.id && *known == faults);
            if let Some(first) = alike.and_then(|(.., at)| found.get_mut(*at)) {
                first
                    .evidence
                    .push(format!("the same on {}", named(start.below)));
                continue;
            }
            of_members.push((start.device.id, faults.clone(), found.len()));
        }
        found.push(others::finding(patient, &start, &faults));
    }
    let mut partitions = partition::findings(patient);
    let told: BTreeSet<DevId> = found
        .iter()
        .chain(&partitions)
        .filter(|finding| finding.severity == Severity::Error)
        .filter_map(|finding| {
            let device = patient.stack.topology.by_name(&finding.device)?;
            Some(device.id)
        })
        .collect();
    partitions.retain(|finding| !together::is_anothers(patient, finding, &told));
    partitions.extend(found);
    together::one_by_one(patient, &mut partitions);
    partitions
}

/// Every layer that is no partition and no physical volume.
fn starts<'a>(patient: &Patient<'a>) -> Vec<Start<'a>> {
    let mut starts = Vec::new();
    for device in patient.devices() {
        starts.extend(contained(patient, device));
        starts.extend(mapped(patient, device));
        starts.extend(looped(patient, device));
        starts.extend(members(patient, device));
    }
    starts
}

/// What a superblock says of where data begin behind it.
fn contained<'a>(patient: &Patient<'a>, device: &'a Device) -> Vec<Start<'a>> {
    let of = |rule, what, start: Bytes| Start {
        rule,
        device,
        below: device,
        what,
        start,
        own: start.0.into(),
    };
    let found = patient.found(device).iter();
    found
        .filter_map(|content| match content {
            Content::Luks(luks) => Some(of(&rules::LUKS, "its LUKS payload", payload(luks)?)),
            Content::Bcache(bcache) => match bcache.role {
                BcacheRole::Backing { data_offset } => {
                    Some(of(&rules::BCACHE, "its bcache data", data_offset.bytes()))
                }
                BcacheRole::Cache { .. } => None,
            },
            _ => None,
        })
        .collect()
}

/// Where encrypted data begin. `None`: with their device, the header being
/// elsewhere.
pub(super) fn payload(luks: &Luks) -> Option<Bytes> {
    let start = match luks {
        Luks::V1(luks) => luks.payload_offset.bytes(),
        Luks::V2(luks) => {
            let mut now = luks.segments.iter().filter(|segment| !segment.is_backup);
            now.next()?.offset
        }
    };
    (start.0 != 0).then_some(start)
}

/// Linear and encrypted mappings, by the first segment of each, and every leg
/// of a striped one.
fn mapped<'a>(patient: &Patient<'a>, device: &'a Device) -> Vec<Start<'a>> {
    let first = device.dm_table.as_deref().and_then(<[_]>::first);
    let (rule, what, places) = match first.map(|segment| &segment.target) {
        Some(Target::Linear(place)) => (&rules::VOLUME, "it", std::slice::from_ref(place)),
        Some(Target::Crypt { origin, .. }) => (&rules::LUKS, "it", std::slice::from_ref(origin)),
        Some(Target::Striped { stripes, .. }) => (&rules::VOLUME, "its stripe", stripes.as_slice()),
        _ => return Vec::new(),
    };
    let start = |place: &Place| {
        let below = patient.device(place.device)?;
        let start = place.start.bytes();
        // What its superblock says is told of the device below.
        let mut found = patient.found(below).iter();
        let told = found.find_map(|content| match content {
            Content::Luks(luks) if rule == &rules::LUKS => payload(luks),
            Content::LvmPv(pv) if rule == &rules::VOLUME => pv.pe_start(),
            _ => None,
        });
        Some(Start {
            rule,
            device,
            below,
            what,
            start,
            own: i128::from(start.0) - told.map_or(0, |told| told.0.into()),
        })
    };
    places.iter().filter_map(start).collect()
}

fn looped<'a>(patient: &Patient<'a>, device: &'a Device) -> Option<Start<'a>> {
    let place = device.loop_on?;
    Some(Start {
        rule: &rules::LOOP,
        device,
        below: patient.device(place.device)?,
        what: "it",
        start: place.start.bytes(),
        own: place.start.bytes().0.into(),
    })
}

/// Where an array's data begin on each member.
fn members<'a>(patient: &Patient<'a>, device: &'a Device) -> Vec<Start<'a>> {
    let components = device.md.iter().flat_map(|md| &md.components);
    components
        .filter(|part| part.slot.is_some() && !part.books_only)
        .filter_map(|part| {
            let start = part.data_offset?.bytes();
            Some(Start {
                rule: &rules::MEMBER_DATA,
                device,
                below: patient.device(part.device?)?,
                what: "its data",
                start,
                own: start.0.into(),
            })
        })
        .collect()
}

impl Start<'_> {
    /// The boundaries of what is below that it lies off by its own doing.
    fn faults(&self, patient: &Patient<'_>) -> Vec<Fault> {
        let mut faults = Vec::new();
        let geometry = &self.below.geometry;
        if let (Some(block), Some(first)) = (geometry.physical_block, geometry.alignment_offset) {
            let past = i128::from(self.start.0) - i128::from(first.0);
            faults.extend(self.fault(Off::Block, block, past));
        }
        if let Some(grid) = patient.grid(self.below) {
            faults.extend(self.in_grid(&grid));
        }
        faults
    }

    fn in_grid(&self, grid: &Grid<'_>) -> Vec<Fault> {
        let Some(offset) = grid.offset else {
            return Vec::new();
        };
        let past = i128::from(offset) + i128::from(self.start.0);
        let chunk = grid.chunk.map(|width| (Off::Chunk, width));
        let stripe = grid.stripe.map(|width| (Off::Stripe, width));
        let both = [chunk, stripe].into_iter().flatten();
        both.filter_map(|(off, width)| self.fault(off, width, past))
            .collect()
    }

    /// `past`: the start, counted from a position on the boundary.
    fn fault(&self, off: Off, width: Bytes, past: i128) -> Option<Fault> {
        let modulo = |value: i128| value.checked_rem_euclid(width.0.into());
        let remainder = u64::try_from(modulo(past)?).ok()?;
        (remainder != 0 && modulo(self.own)? != 0).then_some(Fault {
            off,
            width,
            remainder,
        })
    }

    /// The first start at or after `least` that lies on all boundaries below.
    fn next(&self, patient: &Patient<'_>, least: u64) -> Option<u64> {
        next_start(patient, self.below, least)
    }
}

/// The first start at or after `least` bytes on `below` that lies on its
/// physical block, and on the chunks and stripes that it lies on.
pub(super) fn next_start(patient: &Patient<'_>, below: &Device, least: u64) -> Option<u64> {
    let geometry = &below.geometry;
    let block = geometry.physical_block.zip(geometry.alignment_offset);
    let (block, first) = block.map_or((SECTOR_BYTES, 0), |(block, first)| (block.0, first.0));
    let grid = patient.grid(below);
    let offset = grid.as_ref().and_then(|grid| grid.offset).unwrap_or(0);
    // Not `stripe.or(chunk)`: where there is no grid at all, rustc 1.95 (LLVM 22)
    // at opt-level 1 loads by the tag of a stripe that nobody has set.
    let width = match grid {
        Some(Grid {
            stripe: Some(width),
            ..
        })
        | Some(Grid {
            chunk: Some(width), ..
        }) => width.0,
        _ => block,
    };
    let (wide, on_block) = (i128::from(width), i128::from(block));
    let least = i128::from(least);
    let first_try = least + (-(i128::from(offset) + least)).checked_rem_euclid(wide)?;
    // Chunks are multiples of a block as a rule: the first try is it.
    const TRIES: i128 = 4096;
    let aligned = |start: &i128| (start - i128::from(first)).rem_euclid(on_block.max(1)) == 0;
    let grid_is_block = width == block;
    let candidates = (0..TRIES).map(|turn| {
        if grid_is_block {
            least + (i128::from(first) - least).rem_euclid(on_block.max(1)) + turn * on_block
        } else {
            first_try + turn * wide
        }
    });
    let found = candidates
        .into_iter()
        .find(|start| aligned(start) && start % i128::from(SECTOR_BYTES) == 0)?;
    u64::try_from(found).ok()
}

impl Fault {
    /// `3584 bytes past a physical block (4 KiB)`.
    fn text(&self, grid: Option<&Grid<'_>>) -> String {
        let boundary = match self.off {
            Off::Block => "physical block",
            Off::Chunk => "chunk",
            Off::Stripe => "stripe",
        };
        let owner = grid
            .filter(|_| self.off != Off::Block)
            .map_or_else(String::new, |grid| format!(" of {}", named(grid.owner)));
        format!(
            "{} past a {boundary}{owner} ({})",
            Bytes(self.remainder).words(),
            self.width.words()
        )
    }

    /// A "block" larger than any sector is a hint, and missing it may cost
    /// nothing.
    fn severity(&self) -> Severity {
        match self.off {
            Off::Block if self.width.0 <= LARGEST_DRIVE_BLOCK => Severity::Error,
            Off::Block => Severity::Info,
            Off::Chunk | Off::Stripe => Severity::Warning,
        }
    }
}

/// Puts severity, numbers and cost of several faults into a finding.
fn with_faults(
    finding: Finding,
    patient: &Patient<'_>,
    below: &Device,
    faults: &[Fault],
) -> Finding {
    let worst = faults.iter().map(Fault::severity).max();
    let mut finding = match worst {
        Some(worst) => finding.severity(worst),
        None => finding,
    };
    if worst == Some(Severity::Info) {
        finding = finding.sure(Sure::Possible);
    }
    for fault in faults {
        let (width, remainder) = match fault.off {
            Off::Block => ("physical_block_bytes", "physical_remainder_bytes"),
            Off::Chunk => ("chunk_bytes", "chunk_remainder_bytes"),
            Off::Stripe => ("stripe_bytes", "stripe_remainder_bytes"),
        };
        finding = finding
            .number(width, fault.width.0)
            .number(remainder, fault.remainder);
    }
    let costs: Vec<String> = faults
        .iter()
        .filter_map(|fault| cost(patient, below, fault))
        .collect();
    if costs.is_empty() {
        finding
    } else {
        finding.expected(costs.join("; "))
    }
}

/// What a write as long as the boundary costs, begun with the layer.
fn cost(patient: &Patient<'_>, below: &Device, fault: &Fault) -> Option<String> {
    match fault.off {
        Off::Block => Some(format!(
            "a write of {} that is aligned to the layer touches 2 physical blocks in part: 2 \
             read-modify-writes of the drive instead of none",
            fault.width.words()
        )),
        Off::Chunk => Some(format!(
            "a write of one chunk ({}) keeps two members busy instead of one",
            fault.width.words()
        )),
        Off::Stripe => {
            let model = model(patient.grid(below)?.owner.md.as_ref()?)?;
            let at = |start: u64| {
                let len = Sectors(fault.width.0 / SECTOR_BYTES);
                Extent::new(ArraySector(start / SECTOR_BYTES), len).map(|write| model.write(&write))
            };
            let (here, there) = (at(fault.remainder)?, at(0)?);
            let read = |preread: Preread| preread.total().words();
            let written = |cost: crate::raid::WriteCost| {
                Bytes(cost.data_write.0 + cost.parity_write.0).words()
            };
            Some(format!(
                "a cold write of one stripe ({}) costs {} of reads and {} of writes, aligned {} \
                 and {}",
                fault.width.words(),
                read(here.preread),
                written(here),
                read(there.preread),
                written(there),
            ))
        }
    }
}

/// What was counted of writes off the physical block on a device.
fn measured(patient: &Patient<'_>, device: &Device) -> Option<String> {
    let write = &patient.figures(device)?.write;
    (write.physical.off_grid != 0).then(|| {
        format!(
            "{} of {} writes were off the physical block, and {} blocks written in part",
            write.physical.off_grid, write.requests, write.physical.partial_blocks
        )
    })
}
