//! Arrays: what runs on them, their bitmap, their stripe cache, and their chunk
//! against the writes that were seen.

pub(super) mod bitmap;

use super::{
    Finding, Remedy, Sure, WhatIf,
    patient::{Patient, is_mdadms, named, node},
    rules,
};
use crate::{
    delta::{DeviceFigures, MainCause, RaidFigures},
    sysfs::device::{Device, MdArray},
    units::Bytes,
};

/// Requests of less are no workload.
const FEW: u64 = 16;
/// Longer ones read or write in order, as a rule.
const LONG_REQUEST: u64 = 1 << 20;

pub(super) fn findings(patient: &Patient<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for device in patient.devices() {
        if let Some(md) = &device.md {
            found.extend(sync(device, md));
            found.extend(bitmap::too_fine(patient, device, md));
            found.extend(bitmap::io_opt_units(patient, device, md));
            let figures = patient.figures(device);
            if let Some((figures, raid)) = figures.and_then(|all| Some((all, all.raid.as_ref()?))) {
                found.extend(bitmap::too_many(device, md, figures, raid));
                found.extend(cache(device, raid).filter(|_| is_mdadms(device)));
                found.extend(prereads(device, md, figures, raid));
                let chunk = chunk_large(device, md, figures, raid);
                found.extend(chunk.filter(|_| is_mdadms(device)));
            }
            found.extend(figures.and_then(|figures| chunk_small(patient, device, md, figures)));
        }
        found.extend(bitmap::short_books(patient, device));
    }
    found
}

fn sync(device: &Device, md: &MdArray) -> Option<Finding> {
    let action = md.sync_action.as_deref();
    let action = action.filter(|action| !matches!(*action, "idle" | "frozen"));
    let action = action.or(md.reshaping.then_some("reshape"))?;
    let mut text = format!("a {action} is running");
    if let Some((done, all)) = md.sync_completed.filter(|(_, all)| all.0 != 0) {
        text.push_str(&format!(
            ", {}% done",
            u128::from(done.0) * 100 / u128::from(all.0)
        ));
    }
    text.push_str(": its reads and writes are no pre-reads, and speeds are not typical");
    Some(
        Finding::new(&rules::SYNC, &device.name, text)
            .expected("until it has ended, a share of what the members can do; look again then"),
    )
}

fn cache(device: &Device, raid: &RaidFigures) -> Option<Finding> {
    let (cache, larger) = (raid.stripe_cache?, raid.larger_cache?);
    let read = raid.preread.sum();
    if read == 0 {
        return None;
    }
    let memory = larger.memory_bytes.map_or_else(String::new, |bytes| {
        format!(" of {} of memory", Bytes(bytes).words())
    });
    let file = device.name.replace('/', "-");
    Some(
        Finding::new(
            &rules::CACHE,
            &device.name,
            format!(
                "{} of {} rows of its stripe cache were in use while it read {} before writing",
                cache.active_rows,
                cache.size_rows,
                Bytes(read).words()
            ),
        )
        .number("stripe_cache_rows", cache.size_rows.into())
        .number("larger_rows", larger.rows.into())
        .sure(Sure::Possible)
        .measured(Some(format!("{} read before writing", Bytes(read).words())))
        .remedy(
            Remedy::repair(format!(
                "a cache of {} rows{memory}, which may let more writes meet",
                larger.rows
            ))
            .run(format!(
                "echo {} > /sys/block/{}/md/stripe_cache_size",
                larger.rows,
                device.sysfs_name()
            ))
            .warn(format!(
                "takes rows × 4 KiB × members{memory}, until it is set back"
            ))
            .run(format!(
                "echo 'SUBSYSTEM==\"block\", KERNEL==\"{}\", ACTION==\"add|change\", \
                 TEST==\"md/stripe_cache_size\", ATTR{{md/stripe_cache_size}}=\"{}\"' > \
                 /etc/udev/rules.d/60-stripe-cache-{file}.rules",
                device.name, larger.rows
            ))
            .warn("keeps it at each start, for whatever has this name then"),
        ),
    )
}

/// Why md read, where no other finding has it.
fn prereads(
    device: &Device,
    md: &MdArray,
    figures: &DeviceFigures,
    raid: &RaidFigures,
) -> Option<Finding> {
    let read = raid.preread.sum();
    let (main, bytes) = raid.causes.and_then(|causes| causes.main())?;
    if read == 0 {
        return None;
    }
    let stripe = device
        .geometry
        .stripe
        .map_or_else(String::new, Bytes::words);
    let why = match main {
        MainCause::SubBlock => "writes cover 4 KiB blocks only in part".to_owned(),
        MainCause::SmallerThanStripe => format!("writes are shorter than a stripe ({stripe})"),
        MainCause::StartsInsideStripe => format!("writes start inside a stripe ({stripe})"),
        MainCause::EndsInsideStripe => format!("writes end inside a stripe ({stripe})"),
        MainCause::SplitByMd => "md cuts longer writes inside a stripe".to_owned(),
        MainCause::NotSynced => "the array is not synchronized yet".to_owned(),
        MainCause::RmwLevel => "rmw_level is 0".to_owned(),
        MainCause::NotTold => "the writes could not be found any more".to_owned(),
    };
    let written = Bytes(raid.user_write_bytes);
    let finding = Finding::new(
        &rules::PREREADS,
        &device.name,
        format!(
            "{} read before writing, for {} written; most ({}) because {why}",
            Bytes(read).words(),
            written.words(),
            Bytes(bytes).words()
        ),
    )
    .number("preread_bytes", read)
    .number("user_write_bytes", written.0)
    .measured(Some(format!(
        "{} read from the members (normal: 0)",
        Bytes(read).words()
    )));
    let better = WhatIf::of(md, figures);
    let finding = match better.and_then(|what_if| Some(what_if.phase?.move_by_bytes)) {
        Some(by) if main == MainCause::StartsInsideStripe => finding.and(format!(
            "most begin alike: moved by {} they would begin at a stripe",
            Bytes(by).words()
        )),
        _ => finding,
    };
    Some(match main {
        MainCause::RmwLevel => finding.remedy(Remedy::repair("lets md choose").run(format!(
            "echo 1 > /sys/block/{}/md/rmw_level",
            device.sysfs_name()
        ))),
        MainCause::NotSynced | MainCause::NotTold => finding,
        _ => finding.remedy(Remedy::repair(format!(
            "write multiples of {stripe} that start at one, or buffered and in order; the what-if \
             shows what else would help"
        ))),
    })
}

fn chunk_large(
    device: &Device,
    md: &MdArray,
    figures: &DeviceFigures,
    raid: &RaidFigures,
) -> Option<Finding> {
    let chunk = md.chunk?;
    let read = raid.preread.sum();
    if figures.write.requests < FEW || read * 20 < raid.user_write_bytes {
        return None;
    }
    let better = WhatIf::of(md, figures)?.better_chunk(chunk)?;
    let file = device.name.replace('/', "-");
    Some(
        Finding::new(
            &rules::CHUNK_LARGE,
            &device.name,
            format!(
                "{} written in {} writes, {} on average, on stripes of {} ({} chunks): {} read \
                 before writing",
                Bytes(figures.write.bytes).words(),
                figures.write.requests,
                Bytes(figures.write.bytes / figures.write.requests).words(),
                device
                    .geometry
                    .stripe
                    .map_or_else(String::new, Bytes::words),
                chunk.words(),
                Bytes(read).words()
            ),
        )
        .and(format!(
            "modelled: with chunks of {} (stripes of {}) it would have read {}",
            Bytes(better.chunk_bytes).words(),
            Bytes(better.stripe_bytes).words(),
            Bytes(better.cost.preread_bytes).words()
        ))
        .number("chunk_bytes", chunk.0)
        .number("better_chunk_bytes", better.chunk_bytes)
        .sure(Sure::Possible)
        .measured(Some(format!("{} read before writing", Bytes(read).words())))
        .remedy(
            Remedy::repair(format!(
                "chunks of {}, in place",
                Bytes(better.chunk_bytes).words()
            ))
            .run(format!(
                "mdadm --grow {} --chunk={}K --backup-file=/root/{file}-grow.backup",
                node(device),
                better.chunk_bytes >> 10
            ))
            .warn(
                "rewrites the whole array, which takes hours; the backup file must lie on \
                     another device. Reads of more than a chunk then keep more members busy, and \
                     file systems have to be told the new stripe",
            ),
        ),
    )
}

/// Without parity a small chunk only cuts requests into pieces.
fn chunk_small(
    patient: &Patient<'_>,
    device: &Device,
    md: &MdArray,
    figures: &DeviceFigures,
) -> Option<Finding> {
    let chunk = md.chunk?;
    let requests = figures.read.requests + figures.write.requests;
    let mean = (figures.read.bytes + figures.write.bytes).checked_div(requests)?;
    let turning = device
        .members
        .iter()
        .filter_map(|id| patient.device(*id))
        .any(|member| member.limits.rotational == Some(true));
    let striped = matches!(md.level.as_str(), "raid0" | "raid10");
    let pieces = mean.checked_div(chunk.0)?;
    // Long sequential requests are to keep all members busy.
    if requests < FEW || !turning || !striped || pieces < 2 || mean >= LONG_REQUEST {
        return None;
    }
    let better = mean.next_power_of_two().saturating_mul(4);
    Some(
        Finding::new(
            &rules::CHUNK_SMALL,
            &device.name,
            format!(
                "{requests} requests were {} long on average and chunks are {}: each keeps {} \
                 members of {} busy, and each of them seeks",
                Bytes(mean).words(),
                chunk.words(),
                pieces.min(md.raid_disks.map_or(pieces, u64::from)),
                named(device)
            ),
        )
        .number("chunk_bytes", chunk.0)
        .number("mean_request_bytes", mean)
        .number("better_chunk_bytes", better)
        .sure(Sure::Possible)
        .measured(Some(format!("{pieces} pieces to a request")))
        .remedy(Remedy::repair(format!(
            "for scattered requests of this length chunks of {} or more; mdadm reshapes raid10, \
             and raid0 through raid4",
            Bytes(better).words()
        ))),
    )
}
