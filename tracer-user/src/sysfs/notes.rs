//! What a person should know about a device's geometry, in sentences with the
//! numbers that prove them.
//!
//! Must not compute geometry, nor warn of what is as it should be.

use super::{
    chain::{Boundary, Chain},
    derive::may_hide_4096,
    device::{AlignmentOffset, Device, MdArray, MdComponent, PAGE_BYTES},
    start::{Against, StartCheck},
};
use crate::{
    raid::{ArraySector, ParityLevel, Raid456, Slot},
    units::{SECTOR_BYTES, Sectors},
};

/// Physical blocks of drives; what is larger is another kind of hint.
pub(crate) const LARGEST_DRIVE_BLOCK: u64 = 4096;

/// One thing to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    pub kind: NoteKind,
    /// For people, with the numbers that prove it.
    pub text: String,
}

/// What a note is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoteKind {
    /// A partition's start lies off a boundary of its disk.
    Start(Against),
    /// A layer alone begins inside a stripe, or a chunk, of an array below.
    Layer,
    /// The length is no multiple of a page.
    Length,
    /// A drive that may have 4096-byte blocks, whatever it reports.
    MayHide4096,
    /// A physical block that is larger than any sector.
    LargeBlock,
    /// The first aligned position is not 0.
    Shifted,
    /// `alignment_offset` is −1.
    Inconsistent,
    /// `optimal_io_size` is a number that no stripe has.
    IoOpt,
    /// No one stripe, because a reshape is running.
    Reshaping,
    /// No one stripe, because the members differ in size.
    Zones,
    /// All P, or all Q, of an array lies on one member.
    FixedParity,
    /// Members disagree on the physical block.
    UnlikeMembers,
}

impl NoteKind {
    fn note(self, text: String) -> Note {
        Note { kind: self, text }
    }
}

/// All that is to be said about `device`, which is made of `members`.
pub(super) fn notes(device: &Device, members: &[&Device]) -> Vec<Note> {
    let mut notes = Vec::new();
    let md = device.md.as_ref();
    if device.partition.is_some() {
        notes.extend(start_note(&device.start_checks));
    } else {
        let whole = [
            (NoteKind::MayHide4096, old_report_note(device)),
            (NoteKind::LargeBlock, large_block_note(device, members)),
            (NoteKind::Shifted, shifted_note(device)),
            (NoteKind::Inconsistent, inconsistent_note(device)),
            (NoteKind::IoOpt, io_opt_note(device, members)),
        ];
        notes.extend(told(whole));
        notes.extend(md.and_then(|md| array_note(device, md)));
        notes.extend(told([
            (
                NoteKind::UnlikeMembers,
                unlike_members_note(device, members),
            ),
            (NoteKind::FixedParity, md.and_then(parity_note)),
        ]));
    }
    let chain = device.chain.as_ref();
    notes.extend(told([
        (
            NoteKind::Layer,
            chain.and_then(|chain| shift_note(device, chain)),
        ),
        (NoteKind::Length, length_note(device)),
    ]));
    notes
}

fn told<const N: usize>(all: [(NoteKind, Option<String>); N]) -> impl Iterator<Item = Note> {
    all.into_iter()
        .filter_map(|(kind, text)| Some(kind.note(text?)))
}

/// The starts of a partition that are not aligned, each said once: a wrong
/// chunk start is not repeated where the stripe's is told.
fn start_note(checks: &[StartCheck]) -> Vec<Note> {
    let stripe_told = checks
        .iter()
        .any(|check| check.against == Against::Stripe && !check.is_aligned());
    checks
        .iter()
        .filter(|check| !check.is_aligned())
        .filter(|check| check.against != Against::Chunk || !stripe_told)
        .map(|check| NoteKind::Start(check.against).note(one_start(check)))
        .collect()
}

/// Where a start lies against one boundary, and the next good one.
#[must_use]
pub fn one_start(check: &StartCheck) -> String {
    let remainder = check.remainder_bytes.0;
    let boundary = check.boundary_bytes;
    let size = boundary.words();
    let next = next_start(check);
    match check.against {
        Against::PhysicalBlock => format!(
            "starts {remainder} bytes past a {}-byte boundary: every {size} write touches 2 \
             partial blocks; {next}",
            boundary.0
        ),
        Against::AssumedPhysicalBlock => format!(
            "if the drive is {} inside, whatever it reports, start {} is {remainder} bytes past a \
             boundary and every {size} write touches 2 partial blocks; {next}",
            boundary.0, check.start_sector.0
        ),
        Against::Chunk => format!(
            "starts {remainder} bytes past a chunk boundary ({size}): a write of one \
             chunk's length crosses into the next; {next}"
        ),
        Against::Stripe => format!(
            "starts {remainder} bytes past a stripe boundary ({size}): a write of one \
             stripe's length covers no whole one; {next}"
        ),
        Against::Boundary => {
            format!("starts {remainder} bytes past the boundary of {size} that was given; {next}")
        }
    }
}

fn next_start(check: &StartCheck) -> String {
    let Some(next) = check.next_aligned_sector else {
        return "no sector is aligned".to_owned();
    };
    match check.next_mib_aligned_sector {
        Some(better) if better != next => {
            format!(
                "next aligned start: sector {}, better {}{}",
                next.0,
                better.0,
                mib(better)
            )
        }
        _ => format!("next aligned start: sector {}{}", next.0, mib(next)),
    }
}

/// ` (3 MiB)`; nothing where it is not a whole number of them.
fn mib(start: Sectors) -> String {
    let bytes = start.bytes().0;
    if bytes > 0 && bytes.is_multiple_of(1 << 20) {
        format!(" ({} MiB)", bytes >> 20)
    } else {
        String::new()
    }
}

/// Of a layer that alone begins inside a stripe. A partition of the array
/// itself has its start told.
fn shift_note(device: &Device, chain: &Chain) -> Option<String> {
    let layer = chain.top().filter(|layer| layer.shifts())?;
    if device.partition.is_some() && layer.below == chain.array {
        return None;
    }
    let place = layer
        .place
        .as_ref()
        .ok()
        .filter(|place| place.offset.0 != 0)?;
    let (boundary, costs) = match chain.boundary {
        Boundary::Stripe => ("stripe", "covers no whole one"),
        Boundary::Chunk => ("chunk", "crosses into the next"),
    };
    Some(format!(
        "begins {} into a {boundary} of {} ({}): a write of one {boundary}'s length {costs}; its \
         start on {} is {}, the next aligned one {}",
        place.offset.words(),
        chain.array,
        chain.width.words(),
        layer.below,
        place.start.words(),
        place.next_start.words(),
    ))
}

fn length_note(device: &Device) -> Option<String> {
    let size = device.size?;
    let block = device.page_cache_block()?.0;
    (block < PAGE_BYTES).then(|| {
        format!(
            "is {} sectors long, no multiple of {PAGE_BYTES} bytes ({} left over): without a file \
             system on it, buffered and mapped IO goes in blocks of {block} bytes, not {PAGE_BYTES}",
            size.0,
            size.bytes().0 % PAGE_BYTES
        )
    })
}

fn old_report_note(device: &Device) -> Option<String> {
    may_hide_4096(device).then(|| {
        "reported 512 may be untrue on a rotational drive ≥ 2 TB: many are 4096 inside; \
         --geometry sets it"
            .to_owned()
    })
}

fn large_block_note(device: &Device, members: &[&Device]) -> Option<String> {
    let physical = device.geometry.physical_block?;
    let given = device
        .overridden
        .is_some_and(|over| over.physical_block.is_some());
    // Devices on top only repeat what the one below reports.
    (physical.0 > LARGEST_DRIVE_BLOCK && members.is_empty() && !given).then(|| {
        format!(
            "reports a physical block of {} bytes: likely an indirection unit or an atomic-write \
             hint, no sector; a 4 KiB write covers {} of it",
            physical.0,
            fraction(LARGEST_DRIVE_BLOCK, physical.0)
        )
    })
}

fn shifted_note(device: &Device) -> Option<String> {
    let a = device.geometry.alignment_offset.filter(|a| a.0 > 0)?;
    let physical = device.geometry.physical_block?;
    Some(format!(
        "is shifted: its first {}-byte block begins {} bytes in{}, not at 0",
        physical.0,
        a.0,
        if a.0 % 512 == 0 {
            format!(" (sector {})", a.0 / 512)
        } else {
            String::new()
        }
    ))
}

fn inconsistent_note(device: &Device) -> Option<String> {
    if device.limits.alignment_offset != Some(AlignmentOffset::Inconsistent) {
        return None;
    }
    const SAYS: &str =
        "alignment_offset is −1: the kernel calls the layers below inconsistent (no byte count)";
    Some(match device.geometry.alignment_offset {
        Some(a) => format!("{SAYS}; the first aligned position is {}", a.0),
        None => format!(
            "{SAYS}; where its blocks begin is not known, so IO is in no alignment class until \
             --geometry {}=alignment:BYTES says it",
            device.name
        ),
    })
}

/// A hint that is no multiple of a page comes from a bridge (65535 × 512), and
/// one made of it is no better.
fn io_opt_note(device: &Device, members: &[&Device]) -> Option<String> {
    let io_opt = device.limits.io_opt?;
    let rest = io_opt.0 % PAGE_BYTES;
    (rest != 0 && members.is_empty()).then(|| {
        format!(
            "optimal_io_size {} is no multiple of {PAGE_BYTES} ({rest} left over): not a \
             stripe, to be ignored",
            io_opt.0
        )
    })
}

fn array_note(device: &Device, md: &MdArray) -> Option<Note> {
    let geometry = &device.geometry;
    if geometry.stripe.is_some() || md.chunk.is_none() {
        return None;
    }
    if md.reshaping {
        let text = "is being reshaped: no one stripe holds for all of it".to_owned();
        return Some(NoteKind::Reshaping.note(text));
    }
    (md.level == "raid0").then(|| {
        NoteKind::Zones.note(
            "its members differ in size (or a size is not known): the width of a stripe changes \
             along the array, so only chunks are classified"
                .to_owned(),
        )
    })
}

/// An array that keeps parity on one member throughout, as raid4 does, and what
/// was grown out of a raid0 or a raid5 and left so.
fn parity_note(md: &MdArray) -> Option<String> {
    let Some((p, q)) = fixed_parity(md) else {
        // Whatever else is not told of it.
        return (md.level == "raid4" && !md.reshaping).then(|| {
            "keeps all its parity on one member: every write to the array writes there too, and \
             that sets the pace"
                .to_owned()
        });
    };
    let name = |slot: Slot| {
        let holds = |part: &&MdComponent| part.slot == Some(slot.0);
        let part = md.components.iter().find(holds);
        part.map_or_else(|| format!("slot {}", slot.0), |part| part.name.clone())
    };
    let places = match (p.map(name), q.map(name)) {
        (Some(p), Some(q)) => format!("parity on {p} and {q}"),
        (Some(p), None) => format!("parity on {p}"),
        (None, Some(q)) => format!("Q parity on {q}"),
        (None, None) => return None,
    };
    Some(format!(
        "keeps all its {places}: every write to the array writes there too, and that sets the pace"
    ))
}

/// The members that hold the P and the Q of every stripe.
fn fixed_parity(md: &MdArray) -> Option<(Option<Slot>, Option<Slot>)> {
    let level = ParityLevel::from_md(&md.level).filter(|_| !md.reshaping)?;
    let (disks, chunk) = (md.raid_disks?, md.chunk?);
    let chunk = Sectors(chunk.0 / SECTOR_BYTES);
    let array = Raid456::new(level, md.layout?, disks, chunk).ok()?;
    let first_of = |chunk_number| array.locate(ArraySector(chunk_number * chunk.0));
    let first = first_of(0);
    // After as many stripes as there are members every layout begins again.
    let data_disks = u64::from(array.shape().data_disks());
    let mut stripes = (1..u64::from(disks)).map(|stripe| first_of(stripe * data_disks));
    let (p, q) = stripes.try_fold((Some(first.p), first.q), |(p, q), next| {
        let kept = (p.filter(|p| *p == next.p), q.filter(|q| Some(*q) == next.q));
        (kept != (None, None)).then_some(kept)
    })?;
    Some((p, q))
}

fn unlike_members_note(device: &Device, members: &[&Device]) -> Option<String> {
    device.md.as_ref()?;
    let block = |member: &&Device| Some((member.geometry.physical_block?.0, member.name.clone()));
    let mut blocks: Vec<_> = members.iter().filter_map(block).collect();
    blocks.sort();
    let (least, largest) = (blocks.first()?.0, blocks.last()?.0);
    if least == largest {
        return None;
    }
    let list: Vec<_> = blocks
        .iter()
        .map(|(bytes, name)| format!("{name} {bytes}"))
        .collect();
    Some(format!(
        "its members disagree on the physical block ({}): the larger, {largest}, is used; drives \
         of one model that disagree are likely all {largest}",
        list.join(", ")
    ))
}

/// `part / whole` as a fraction with 1 above, or a decimal.
fn fraction(part: u64, whole: u64) -> String {
    if whole.is_multiple_of(part) {
        format!("1/{}", whole / part)
    } else {
        format!("{part}/{whole}")
    }
}

#[cfg(test)]
#[path = "notes_tests.rs"]
mod tests;
