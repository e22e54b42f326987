//! md's bitmap and superblock: how often, in what pieces.

use crate::{
    delta::{DeviceFigures, RaidFigures},
    doctor::{
        Finding, Remedy, Severity, Sure,
        patient::{Patient, node},
        rules,
    },
    sysfs::device::{Device, MdArray},
    units::Bytes,
};

/// mdadm's own least for an internal bitmap.
const USUAL_BITMAP_CHUNK: u64 = 64 << 20;
/// Less than this was chosen, or is from long ago.
const FINE_BITMAP_CHUNK: u64 = 32 << 20;

pub(super) fn too_fine(patient: &Patient<'_>, device: &Device, md: &MdArray) -> Option<Finding> {
    let chunk = md.bitmap?.chunk;
    if chunk.0 >= FINE_BITMAP_CHUNK {
        return None;
    }
    let raid = patient
        .figures(device)
        .and_then(|figures| figures.raid.as_ref());
    let measured = raid.filter(|raid| raid.metadata_writes != 0).map(|raid| {
        format!(
            "{} writes of md's books ({}) meanwhile",
            raid.metadata_writes,
            Bytes(raid.metadata_write_bytes).words()
        )
    });
    Some(
        Finding::new(
            &rules::BITMAP_FINE,
            &device.name,
            format!(
                "a bit of its bitmap stands for {}; mdadm takes {} at least",
                chunk.words(),
                Bytes(USUAL_BITMAP_CHUNK).words()
            ),
        )
        .number("bitmap_chunk_bytes", chunk.0)
        .expected(
            "the first write to each such piece waits for a write of the bitmap to every member: \
             scattered small writes may become several times slower",
        )
        .measured(measured)
        .remedy(coarser(device, USUAL_BITMAP_CHUNK)),
    )
}

/// A bitmap of another chunk, in place.
fn coarser(device: &Device, chunk: u64) -> Remedy {
    Remedy::repair(format!(
        "a bitmap whose bits stand for {}; the array stays in use",
        Bytes(chunk).words()
    ))
    .run(format!("mdadm --grow {} --bitmap=none", node(device)))
    .warn("a crash before the next command means a whole resync")
    .run(format!(
        "mdadm --grow {} --bitmap=internal --bitmap-chunk={}M",
        node(device),
        chunk >> 20
    ))
}

pub(super) fn too_many(
    device: &Device,
    md: &MdArray,
    figures: &DeviceFigures,
    raid: &RaidFigures,
) -> Option<Finding> {
    let asked = figures.write.requests;
    // A fine bitmap is told already, with these figures.
    let chunk = md.bitmap?.chunk.0;
    if asked == 0 || raid.metadata_writes <= asked || chunk < FINE_BITMAP_CHUNK {
        return None;
    }
    let larger = (chunk.max(USUAL_BITMAP_CHUNK)).saturating_mul(4) >> 20 << 20;
    Some(
        Finding::new(
            &rules::BITMAP_WRITES,
            &device.name,
            format!(
                "{} writes of md's books for {asked} writes to it: superblock and bitmap, on every \
                 member",
                raid.metadata_writes
            ),
        )
        .number("metadata_writes", raid.metadata_writes)
        .number("array_writes", asked)
        .measured(Some(format!(
            "{} of md's books for {} written",
            Bytes(raid.metadata_write_bytes).words(),
            Bytes(raid.user_write_bytes).words()
        )))
        .remedy(coarser(device, larger)),
    )
}

/// `__write_sb_page`, drivers/md/md-bitmap.c.
pub(super) fn io_opt_units(
    patient: &Patient<'_>,
    device: &Device,
    md: &MdArray,
) -> Option<Finding> {
    md.bitmap?;
    let components = md.components.iter().filter_map(|part| part.device);
    let members = components.chain(device.members.iter().copied());
    let members = members.filter_map(|id| patient.device(id));
    let unit = members.filter_map(|member| member.limits.io_opt).max()?;
    let pages = unit.0 / 4096;
    if pages < 2 {
        return None;
    }
    let raid = patient
        .figures(device)
        .and_then(|figures| figures.raid.as_ref());
    let mean = raid.and_then(|raid| {
        let bitmap = raid.components.write_metadata_bytes.bitmap;
        bitmap
            .checked_div(raid.metadata_writes)
            .filter(|mean| *mean > 8192)
    });
    let severity = if mean.is_some() {
        Severity::Warning
    } else {
        Severity::Info
    };
    Some(
        Finding::new(
            &rules::BITMAP_IO_OPT,
            &device.name,
            format!(
                "it has a bitmap, and its members report an optimal_io_size of {}: newer kernels \
                 write the bitmap in such units, {pages} times a page",
                unit.words()
            ),
        )
        .severity(severity)
        .number("io_opt_bytes", unit.0)
        .number("times_a_page", pages)
        .sure(Sure::Possible)
        .expected(format!("{} to each member for a bit", unit.words()))
        .measured(mean.map(|mean| format!("bitmap writes of {} on average", Bytes(mean).words())))
        .remedy(coarser(
            device,
            md.bitmap
                .map_or(USUAL_BITMAP_CHUNK, |bitmap| {
                    bitmap.chunk.0.max(USUAL_BITMAP_CHUNK)
                })
                .saturating_mul(4),
        )),
    )
}

/// Of a member: superblock and bitmap are written in logical blocks.
pub(super) fn short_books(patient: &Patient<'_>, device: &Device) -> Option<Finding> {
    let (small, sure) = books(patient, device)?;
    let physical = device.geometry.physical_block?;
    Some(
        Finding::new(
            &rules::BOOKS,
            &device.name,
            format!(
                "{small} writes of md's superblock and bitmap were shorter than its physical block \
                 ({}): md writes them in logical blocks of {}",
                physical.words(),
                device.geometry.logical_block.map_or(512, |block| block.0),
            ),
        )
        .number("metadata_sub_block_writes", small)
        .sure(sure)
        .measured(Some(format!(
            "up to {small} read-modify-writes of the drive"
        )))
        .remedy(Remedy::repair(
            "no command changes that; a larger bitmap chunk makes them fewer",
        )),
    )
}

/// Writes of a member's books that were shorter than its block, and how sure
/// that is: where nobody looked into its bios, what the array was not asked for
/// is md's own.
pub(in crate::doctor) fn books(patient: &Patient<'_>, device: &Device) -> Option<(u64, Sure)> {
    let figures = patient.figures(device)?;
    let (small, sure) = match figures.origin {
        Some(origin) => (origin.write_misaligned.metadata, Sure::Certain),
        None => {
            let on_top = patient.on_top(device);
            let array = on_top.iter().find(|above| above.md.is_some())?;
            let asked = patient.figures(array)?.write.physical.misaligned;
            let small = figures.write.physical.sub_block;
            (if asked == 0 { small } else { 0 }, Sure::Likely)
        }
    };
    (small != 0).then_some((small, sure))
}
