//! What the writes that were seen show: off the grid, shorter than a block, or
//! less than a page at a time; and the length that makes them so.

use super::{
    Finding, Remedy, Severity,
    array::bitmap,
    patient::{Patient, node},
    rules,
};
use crate::{
    delta::DeviceFigures,
    sysfs::{device::Device, notes::NoteKind},
    units::Bytes,
};

/// Deeper than any stack.
const MOST_LAYERS: usize = 32;
const PAGE: u64 = 4096;

/// `told`: what the other rules found; it is not told a second time.
pub(super) fn findings(patient: &Patient<'_>, told: &[Finding]) -> Vec<Finding> {
    let mut found = Vec::new();
    for device in patient.devices() {
        found.extend(odd_length(patient, device));
        if let Some(figures) = patient.figures(device) {
            found.extend(off_grid(patient, device, figures, told));
            found.extend(sub_block(patient, device, figures, told));
            found.extend(fills(device, figures));
        }
    }
    found
}

/// All that lies on a device, partitions too.
fn above<'a>(patient: &Patient<'a>, device: &'a Device) -> Vec<&'a Device> {
    let mut all: Vec<&Device> = Vec::new();
    let mut next = vec![device];
    for _ in 0..MOST_LAYERS {
        let mut higher = Vec::new();
        for device in next {
            higher.extend(patient.on_top(device));
            let partitions = patient.stack.topology.partitions_of(device.id);
            higher.extend(partitions.iter().filter_map(|id| patient.device(*id)));
        }
        higher.retain(|device| !all.iter().any(|known| known.id == device.id));
        if higher.is_empty() {
            break;
        }
        all.extend(&higher);
        next = higher;
    }
    all
}

/// Told of the topmost device that shows it, unless a start is to blame.
fn off_grid(
    patient: &Patient<'_>,
    device: &Device,
    figures: &DeviceFigures,
    told: &[Finding],
) -> Option<Finding> {
    let physical = figures.write.physical;
    let above = above(patient, device);
    let seen = |device: &&Device| {
        patient
            .figures(device)
            .is_some_and(|figures| figures.write.physical.off_grid != 0)
    };
    let blamed = told.iter().any(|finding| {
        finding.id.starts_with("misaligned-")
            && finding.severity == Severity::Error
            && (finding.device == device.name
                || above.iter().any(|above| above.name == finding.device))
    });
    if physical.off_grid == 0 || blamed || above.iter().any(seen) {
        return None;
    }
    let block = device.geometry.physical_block?;
    Some(
        Finding::new(
            &rules::OFF_GRID,
            &device.name,
            format!(
                "{} of {} writes were a block or more long and started or ended off the physical \
                 block ({}); what iotrace knows of starts right here, so a program, or a layer \
                 that it cannot see, starts wrong",
                physical.off_grid,
                figures.write.requests,
                block.words()
            ),
        )
        .number("off_grid_writes", physical.off_grid)
        .number("partial_blocks", physical.partial_blocks)
        .measured(Some(format!(
            "{} physical blocks written in part: as many read-modify-writes of the drive",
            physical.partial_blocks
        )))
        .remedy(Remedy::repair("shows who writes so").run(format!(
            "iotrace --dev {} --by process --duration 10s",
            device.name
        ))),
    )
}

fn sub_block(
    patient: &Patient<'_>,
    device: &Device,
    figures: &DeviceFigures,
    told: &[Finding],
) -> Option<Finding> {
    // md's own books are told apart.
    let books = bitmap::books(patient, device).map_or(0, |(books, _)| books);
    let small = figures.write.physical.sub_block.saturating_sub(books);
    let seen = |device: &&Device| {
        patient
            .figures(device)
            .is_some_and(|figures| figures.write.physical.sub_block != 0)
    };
    let by_block = told
        .iter()
        .any(|finding| finding.id == rules::FS_BLOCK.id && finding.device == device.name);
    let by_length = odd_length(patient, device).is_some();
    if small == 0 || by_block || by_length || above(patient, device).iter().any(seen) {
        return None;
    }
    let block = device.geometry.physical_block?;
    Some(
        Finding::new(
            &rules::SUB_BLOCK,
            &device.name,
            format!(
                "{small} of {} writes were shorter than the physical block ({})",
                figures.write.requests,
                block.words()
            ),
        )
        .number("sub_block_writes", small)
        .number("physical_block_bytes", block.0)
        .measured(Some(format!(
            "{} blocks written in part",
            figures.write.physical.partial_blocks
        )))
        .remedy(
            Remedy::repair(format!(
                "shows who writes so; a database's or a log's block is to be {} (InnoDB: \
                 innodb_log_write_ahead_size, PostgreSQL: wal_block_size)",
                block.words()
            ))
            .run(format!(
                "iotrace --dev {} --by process --duration 10s",
                device.name
            )),
        ),
    )
}

fn fills(device: &Device, figures: &DeviceFigures) -> Option<Finding> {
    let fills = figures.fills.filter(|fills| fills.write_fill_bytes != 0)?;
    // A component's are its array's.
    if figures.origin.is_some() {
        return None;
    }
    Some(
        Finding::new(
            &rules::FILLS,
            &device.name,
            format!(
                "{} reads came out of write calls: somebody writes less than a page at a time \
                 through the page cache, and the rest of each page is read first",
                fills.write_fill_requests
            ),
        )
        .number("write_fill_requests", fills.write_fill_requests)
        .number("write_fill_bytes", fills.write_fill_bytes)
        .measured(Some(format!(
            "{} read for it",
            Bytes(fills.write_fill_bytes).words()
        )))
        .remedy(
            Remedy::repair("shows who; write whole blocks of 4 KiB (`dd bs=1M`)").run(format!(
                "iotrace --dev {} --by process --duration 10s",
                device.name
            )),
        ),
    )
}

/// Of a device whose own page cache is, or may be, in use: nothing lies on it
/// that sets a block of its own.
fn odd_length(patient: &Patient<'_>, device: &Device) -> Option<Finding> {
    let note = device
        .notes
        .iter()
        .find(|note| note.kind == NoteKind::Length)?;
    // What is found on a component is the table of what is made of it.
    let disk = device
        .partition
        .and_then(|partition| patient.device(partition.disk));
    let used = !patient.on_top(device).is_empty()
        || disk.is_some_and(|disk| !disk.holders.is_empty())
        || patient.mount(device).is_some()
        || !patient.found(device).is_empty()
        || !patient.stack.topology.partitions_of(device.id).is_empty();
    if used {
        return None;
    }
    let block = device.page_cache_block()?;
    let size = device.size?.0;
    let small = patient
        .figures(device)
        .map_or(0, |figures| figures.write.physical.sub_block);
    let finding = Finding::new(&rules::ODD_LENGTH, &device.name, note.text.clone())
        .number("size_sectors", size)
        .number("page_cache_block_bytes", block.0)
        .expected(format!(
            "write-back of the device itself in pieces of {}",
            block.words()
        ))
        .measured(
            (small != 0).then(|| format!("{small} writes were shorter than a physical block")),
        );
    let finding = if small == 0 {
        finding
    } else {
        finding.severity(Severity::Warning)
    };
    Some(match device.partition {
        Some(_) => finding
            .maybe(longer(patient, device))
            .maybe(shorter(patient, device)),
        None => finding.remedy(Remedy::repair(
            "put a partition on it whose length is a multiple of 4096, or a file system",
        )),
    })
}

/// A partition's length set to so many sectors: the commands.
fn resized(patient: &Patient<'_>, device: &Device, sectors: u64) -> Option<[String; 2]> {
    let partition = device.partition?;
    let (number, disk) = (partition.number, node(patient.device(partition.disk)?));
    Some([
        format!("echo ',{sectors}' | sfdisk --no-reread --no-tell-kernel -N {number} {disk}"),
        format!("partx --update --nr {number} {disk}"),
    ])
}

/// Up to the next multiple, where there is room.
fn longer(patient: &Patient<'_>, device: &Device) -> Option<Remedy> {
    let partition = device.partition?;
    let disk = patient.device(partition.disk)?;
    let sectors = device.size?.0.checked_next_multiple_of(PAGE / 512)?;
    let others = patient.devices().filter_map(|other| other.partition);
    let next = others
        .filter(|other| other.disk == disk.id && other.start > partition.start)
        .map(|other| other.start.0)
        .min();
    // What a GPT keeps at the end.
    let limit = next.unwrap_or(disk.size?.0.saturating_sub(34));
    let end = partition.start.0.checked_add(sectors)?;
    let fits = end <= limit;
    let [table, kernel] = resized(patient, device, sectors).filter(|_| fits)?;
    let remedy = Remedy::repair(format!("{} made longer, its data kept", device.name));
    Some(remedy.run(table).run(kernel))
}

fn shorter(patient: &Patient<'_>, device: &Device) -> Option<Remedy> {
    let sectors = device.size?.0 / (PAGE / 512) * (PAGE / 512);
    let [table, kernel] = resized(patient, device, sectors).filter(|_| sectors > 0)?;
    let remedy = Remedy::anew(format!("{} made shorter", device.name)).run(table);
    let remedy = remedy.warn("what lies in its last sectors is lost");
    Some(remedy.run(kernel))
}
