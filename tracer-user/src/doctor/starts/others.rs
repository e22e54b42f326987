//! Findings of mappings, LUKS, bcache, loop devices and arrays' members that
//! begin where they should not, and how to build them anew.

use super::{Fault, LUKS2_HEADER, Start, lvm, measured, payload, with_faults};
use crate::{
    doctor::{
        Cost, Finding, Remedy,
        patient::{Patient, named, node, quoted},
        release::{released, unmounted},
        rules,
    },
    superblock::{Content, Luks},
    units::{Bytes, SECTOR_BYTES},
};

/// And for LUKS1, aligned to a MiB.
const LUKS1_HEADER: u64 = 2 << 20;

pub(super) fn finding(patient: &Patient<'_>, start: &Start<'_>, faults: &[Fault]) -> Finding {
    let grid = patient.grid(start.below);
    let texts: Vec<String> = faults
        .iter()
        .map(|fault| fault.text(grid.as_ref()))
        .collect();
    let next = start.next(patient, start.start.0);
    let mut evidence = format!(
        "{} {} {} into {}: {}",
        start.what,
        if start.what.ends_with("data") {
            "begin"
        } else {
            "begins"
        },
        start.start.words(),
        named(start.below),
        texts.join(", ")
    );
    if let Some(next) = next {
        evidence.push_str(&format!(
            "; the next aligned start is {}",
            Bytes(next).words()
        ));
    }
    let finding = Finding::new(start.rule, &start.device.name, evidence);
    let mut finding =
        with_faults(finding, patient, start.below, faults).number("start_bytes", start.start.0);
    if let Some(next) = next {
        finding = finding.number("next_aligned_bytes", next);
    }
    let cost = measured(patient, start.device).or_else(|| prereads(patient, start));
    if let Some(cost) = cost {
        finding.cost = Cost::Measured(cost);
    }
    finding
        .maybe(moved(patient, start))
        .maybe(anew(patient, start, faults))
}

/// What leaves the data: of logical volumes only.
fn moved(patient: &Patient<'_>, start: &Start<'_>) -> Option<Remedy> {
    let lies_right = |at: Bytes| {
        let there = Start {
            start: at,
            own: at.0.into(),
            ..*start
        };
        there.faults(patient).is_empty()
    };
    (start.rule == &rules::VOLUME)
        .then(|| lvm::volume_moved(patient, start.device, start.below, lies_right))?
}

/// Pre-reads of the array, where this layer shifts what is written to it.
fn prereads(patient: &Patient<'_>, start: &Start<'_>) -> Option<String> {
    let owner = patient.grid(start.below)?.owner;
    let raid = patient.figures(owner)?.raid.as_ref()?;
    let mut shifts = raid.shifts().iter();
    let on_top = |name: &str| {
        name == start.device.name
            || patient
                .on_top(start.device)
                .iter()
                .any(|above| above.name == name)
    };
    let read = raid.preread.sum();
    (shifts.any(|layer| on_top(&layer.device)) && read != 0).then(|| {
        format!(
            "{} read before writing, for {} written to {}",
            Bytes(read).words(),
            Bytes(raid.user_write_bytes).words(),
            named(owner)
        )
    })
}

fn anew(patient: &Patient<'_>, start: &Start<'_>, faults: &[Fault]) -> Option<Remedy> {
    match start.rule.id {
        id if id == rules::LUKS.id => luks(patient, start),
        id if id == rules::VOLUME.id => {
            let lvm = start.device.dm_uuid.as_deref();
            if lvm.is_some_and(|uuid| uuid.starts_with("LVM-")) {
                lvm::anew(patient, start.below, patient.pv(start.below), faults)
            } else {
                linear(patient, start)
            }
        }
        id if id == rules::BCACHE.id => bcache(patient, start),
        id if id == rules::LOOP.id => looped(patient, start),
        _ => members(patient, start),
    }
}

fn luks(patient: &Patient<'_>, start: &Start<'_>) -> Option<Remedy> {
    let found = patient
        .found(start.below)
        .iter()
        .find_map(|content| match content {
            Content::Luks(luks) if payload(luks).is_some() => Some(luks),
            _ => None,
        });
    let (version, least) = match found {
        Some(Luks::V1(_)) => ("luks1", LUKS1_HEADER),
        _ => ("luks2", LUKS2_HEADER),
    };
    let at = start.next(patient, least)?;
    let mut remedy = Remedy::anew(format!(
        "LUKS anew with its payload at {} (reencrypt does not move it)",
        Bytes(at).words()
    ));
    remedy = remedy.after(released(patient, start.below));
    Some(
        remedy
            .run(format!(
                "cryptsetup luksFormat --type {version} --offset {} {}",
                at / SECTOR_BYTES,
                node(start.below)
            ))
            .warn("what is encrypted there is lost, and its keys"),
    )
}

fn linear(patient: &Patient<'_>, start: &Start<'_>) -> Option<Remedy> {
    let name = start.device.dm_name.as_deref()?;
    let len = start.device.size?.0;
    let at = start.next(patient, start.start.0)? / SECTOR_BYTES;
    let room = start.below.size?.0.checked_sub(at)?;
    Some(
        Remedy::anew(format!(
            "the mapping anew at {}; what lies there has to be copied",
            Bytes(at * SECTOR_BYTES).words()
        ))
        .after(released(patient, start.device))
        .run(format!("dmsetup remove {}", quoted(name)))
        .run(format!(
            "dmsetup create {} --table '0 {} linear {} {at}'",
            quoted(name),
            len.min(room),
            node(start.below)
        ))
        .warn("shows other bytes than before"),
    )
}

fn bcache(patient: &Patient<'_>, start: &Start<'_>) -> Option<Remedy> {
    let at = start.next(patient, start.start.0)? / SECTOR_BYTES;
    Some(
        Remedy::anew(format!(
            "the backing device anew, its data at {}",
            Bytes(at * SECTOR_BYTES).words()
        ))
        .run(format!(
            "make-bcache --wipe-bcache --data-offset {at} -B {}",
            node(start.below)
        ))
        .warn("what lies on it is lost; write back and detach the cache first"),
    )
}

fn looped(patient: &Patient<'_>, start: &Start<'_>) -> Option<Remedy> {
    let at = start.next(patient, start.start.0)?;
    Some(
        Remedy::anew(format!(
            "the loop device anew at {}; what lies there has to be copied",
            Bytes(at).words()
        ))
        .after(unmounted(patient, start.device))
        .run(format!("losetup --detach {}", node(start.device)))
        .run(format!(
            "losetup --offset {at} {} {}",
            node(start.device),
            node(start.below)
        ))
        .warn("shows other bytes than before"),
    )
}

fn members(patient: &Patient<'_>, start: &Start<'_>) -> Option<Remedy> {
    let md = start.device.md.as_ref()?;
    let at = start.next(patient, start.start.0)?;
    let version = md.metadata_version.as_deref().unwrap_or("1.2");
    // The place of the data can only be chosen where metadata keeps it.
    let one = version.starts_with("1.");
    one.then(|| {
        Remedy::anew(format!(
            "an array whose data begin at {} on each member: `mdadm --create --data-offset={}K` \
             with its level, chunk and members",
            Bytes(at).words(),
            at >> 10
        ))
    })
}
