//! LVM: extents that begin off a boundary, and volumes moved to extents that do
//! not.
//!
//! A physical volume is told where a volume on it lies wrong, or where none is
//! known: whatever its extents begin with, volumes may lie right.

use super::{Fault, Off, Start, next_start, with_faults};
use crate::{
    dm::Target,
    doctor::{
        Cost, Finding, Remedy, Step,
        patient::{Patient, lcm, named, node, quoted},
        release::unmounted,
        rules,
    },
    superblock::LvmPv,
    sysfs::device::Device,
    units::Bytes,
};

/// LVM takes extents of a multiple of this, or of a power of two.
const EXTENT_GRAIN: u64 = 128 << 10;
/// LVM's own choice.
const USUAL_EXTENT: u64 = 4 << 20;
/// More extents than that are not searched for a good one.
const MOST_EXTENTS: u64 = 1 << 20;

pub(super) fn physical_volumes(patient: &Patient<'_>) -> Vec<Finding> {
    let devices = patient.devices();
    devices
        .filter_map(|device| finding(patient, device, patient.pv(device)?))
        .collect()
}

fn finding(patient: &Patient<'_>, device: &Device, pv: &LvmPv) -> Option<Finding> {
    let first = pv.pe_start()?;
    let start = |at: Bytes| Start {
        rule: &rules::PV,
        device,
        below: device,
        what: "its first extent",
        start: at,
        own: at.0.into(),
    };
    let faults = start(first).faults(patient);
    let volumes = volumes(patient, device);
    let wrong: Vec<&Volume<'_>> = volumes
        .iter()
        .filter(|volume| !start(volume.start).faults(patient).is_empty())
        .collect();
    if faults.is_empty() || (!volumes.is_empty() && wrong.is_empty()) {
        return None;
    }
    let grid = patient.grid(device);
    let texts: Vec<String> = faults
        .iter()
        .map(|fault| fault.text(grid.as_ref()))
        .collect();
    let mut finding = Finding::new(
        &rules::PV,
        &device.name,
        format!(
            "its first extent begins at {}: {}",
            first.words(),
            texts.join(", ")
        ),
    );
    for volume in &wrong {
        let faults = start(volume.start).faults(patient);
        let texts: Vec<String> = faults
            .iter()
            .map(|fault| fault.text(grid.as_ref()))
            .collect();
        finding = finding.and(format!(
            "so {} begins {}",
            named(volume.device),
            texts.join(", ")
        ));
    }
    finding = with_faults(finding, patient, device, &faults).number("pe_start_bytes", first.0);
    if let Some(next) = next_start(patient, device, first.0) {
        finding = finding.number("next_aligned_bytes", next);
    }
    if let Some(cost) = measured(patient, device, &wrong) {
        finding.cost = Cost::Measured(cost);
    }
    let moved = moved(patient, device, pv, &volumes, &wrong);
    Some(
        finding
            .maybe(moved)
            .maybe(anew(patient, device, Some(pv), &faults)),
    )
}

/// Pre-reads of the array, where these volumes shift what is written to it.
fn measured(patient: &Patient<'_>, device: &Device, wrong: &[&Volume<'_>]) -> Option<String> {
    let owner = patient.grid(device)?.owner;
    let raid = patient.figures(owner)?.raid.as_ref()?;
    let mut shifts = raid.shifts().iter();
    let to_blame = shifts.any(|layer| wrong.iter().any(|one| one.device.name == layer.device));
    let read = raid.preread.sum();
    (to_blame && read != 0).then(|| {
        format!(
            "{} read before writing, for {} written to {}",
            Bytes(read).words(),
            Bytes(raid.user_write_bytes).words(),
            named(owner)
        )
    })
}

/// A logical volume that lies in one piece on a physical one.
struct Volume<'a> {
    device: &'a Device,
    start: Bytes,
    len: Bytes,
    whole: bool,
}

/// All pieces of mapped devices on a physical volume, in order; one of no length
/// lies nowhere.
fn volumes<'a>(patient: &Patient<'a>, on: &Device) -> Vec<Volume<'a>> {
    let mut volumes: Vec<Volume<'a>> = Vec::new();
    for device in patient.devices() {
        let table = device.dm_table.as_deref().unwrap_or_default();
        for segment in table {
            let Target::Linear(place) = &segment.target else {
                continue;
            };
            if place.device == on.id && segment.len.0 != 0 {
                volumes.push(Volume {
                    device,
                    start: place.start.bytes(),
                    len: segment.len.bytes(),
                    whole: table.len() == 1,
                });
            }
        }
    }
    volumes.sort_by_key(|volume| volume.start);
    volumes
}

/// All volumes of a physical one that lie wrong, moved.
fn moved(
    patient: &Patient<'_>,
    device: &Device,
    pv: &LvmPv,
    volumes: &[Volume<'_>],
    wrong: &[&Volume<'_>],
) -> Option<Remedy> {
    if wrong.is_empty() {
        return None;
    }
    let moves = moves(patient, device, pv, volumes, wrong)?;
    let all: Vec<Step> = moves.into_iter().collect::<Option<_>>()?;
    remedy(device, pv, all)
}

/// One volume moved, so that the others that lie wrong have room as well.
pub(super) fn volume_moved(
    patient: &Patient<'_>,
    volume: &Device,
    device: &Device,
    lies_right: impl Fn(Bytes) -> bool,
) -> Option<Remedy> {
    let pv = patient.pv(device)?;
    let volumes = volumes(patient, device);
    let wrong: Vec<&Volume<'_>> = volumes
        .iter()
        .filter(|volume| !lies_right(volume.start))
        .collect();
    let place = wrong
        .iter()
        .position(|wrong| wrong.device.id == volume.id)?;
    let mut moves = moves(patient, device, pv, &volumes, &wrong)?;
    remedy(device, pv, vec![moves.get_mut(place)?.take()?])
}

fn remedy(device: &Device, pv: &LvmPv, steps: Vec<Step>) -> Option<Remedy> {
    let mut remedy = Remedy::repair(format!(
        "moves the volumes of {} within {} to extents that lie on the boundary; they may stay in use",
        pv.group.as_ref()?.name,
        named(device)
    ));
    remedy.steps = steps;
    Some(remedy)
}

/// Each volume that lies wrong moved to free extents that lie right, on the same
/// physical volume, beside the others; `None` for one without room, or in
/// pieces.
fn moves(
    patient: &Patient<'_>,
    device: &Device,
    pv: &LvmPv,
    volumes: &[Volume<'_>],
    wrong: &[&Volume<'_>],
) -> Option<Vec<Option<Step>>> {
    let group = pv.group.as_ref()?;
    let (first, extent) = (pv.pe_start()?.0, group.extent_size.bytes().0);
    let count = group.pe_count?.min(MOST_EXTENTS);
    let extents = |volume: &Volume<'_>| {
        let begin = volume.start.0.checked_sub(first)?.checked_div(extent)?;
        Some((begin, volume.len.0.div_ceil(extent)))
    };
    let mut used: Vec<(u64, u64)> = volumes.iter().map(extents).collect::<Option<_>>()?;
    let good = |at: u64| {
        let start = at
            .checked_mul(extent)
            .and_then(|past| past.checked_add(first));
        start.is_some_and(|start| next_start(patient, device, start) == Some(start))
    };
    let mut one = |volume: &Volume<'_>| {
        let (begin, len) = extents(volume).filter(|_| volume.whole)?;
        // What a capture says may be any number.
        let free = |at: u64| {
            at.checked_add(len).is_some_and(|end| {
                let apart = |(b, n): &(u64, u64)| end <= *b || b.saturating_add(*n) <= at;
                end <= count && used.iter().all(apart)
            })
        };
        let to = (0..count).find(|at| free(*at) && good(*at))?;
        used.push((to, len));
        Some(Step {
            command: format!(
                "pvmove --alloc anywhere {dev}:{begin}-{} {dev}:{to}-{}",
                begin + len - 1,
                to + len - 1,
                dev = node(device)
            ),
            warning: Some(format!(
                "copies {} within the array; it goes on after a crash (`pvmove`)",
                volume.len.words()
            )),
        })
    };
    Some(wrong.iter().map(|volume| one(volume)).collect())
}

/// The physical volume and its group anew.
pub(super) fn anew(
    patient: &Patient<'_>,
    device: &Device,
    pv: Option<&LvmPv>,
    faults: &[Fault],
) -> Option<Remedy> {
    let width = faults.iter().map(|fault| fault.width.0).max()?;
    let stripe = faults.iter().any(|fault| fault.off != Off::Block);
    // Extents begin at a multiple of it, counted from the device's own start.
    let aligned = next_start(patient, device, width.max(1 << 20))?;
    let group = pv.and_then(|pv| pv.group.as_ref());
    let name = group.map_or_else(|| "VG".to_owned(), |group| quoted(&group.name));
    let mut remedy = Remedy::anew(format!(
        "the physical volume and its group anew, the first extent at {}",
        Bytes(aligned).words()
    ));
    remedy = remedy.after(unmounted(patient, device));
    if group.is_some() {
        remedy = remedy
            .run(format!("vgremove {name}"))
            .warn("every volume of the group is lost");
    }
    if pv.is_some() {
        remedy = remedy.run(format!("pvremove {}", node(device)));
    }
    remedy = remedy.run(format!(
        "pvcreate --dataalignment {}k {}",
        aligned >> 10,
        node(device)
    ));
    if pv.is_none() {
        remedy = remedy.warn("what lies on the device is lost");
    }
    let extent = stripe.then(|| extent(width)).flatten();
    Some(remedy.run(match extent {
        Some(extent) => format!(
            "vgcreate --physicalextentsize {}k {name} {}",
            extent >> 10,
            node(device)
        ),
        None => format!("vgcreate {name} {}", node(device)),
    }))
}

/// Extents of about the usual length that are multiples of `width`; `None` where
/// the usual ones are.
fn extent(width: u64) -> Option<u64> {
    if USUAL_EXTENT.is_multiple_of(width) {
        return None;
    }
    let least = lcm(width, EXTENT_GRAIN)?;
    Some(least * (USUAL_EXTENT / least).max(1))
}
