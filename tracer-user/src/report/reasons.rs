//! Why md read and wrote, in lines of text: of an array and of a component.
//!
//! Must not compute: every number is in [`DeviceFigures`].

use super::format::{fill, size, wrap};
use crate::delta::{DeviceFigures, OriginFigures, RaidEstimate, RaidFigures};

/// The reasons of the device's IO that there was, in lines of at most `width`
/// characters; none for a device that is no array and no component.
#[must_use]
pub(super) fn lines(device: &DeviceFigures, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(raid) = &device.raid {
        lines.extend(array(raid, width));
    }
    if let Some(raid) = &device.raid_estimate {
        lines.extend(estimated(raid, width));
    }
    if let Some(origin) = &device.origin {
        lines.extend(component(origin, width));
    }
    if let Some(fills) = device.fills {
        lines.extend(filled(
            "of the reads",
            &[
                ("out of write calls", fills.write_fill_bytes),
                ("out of page faults", fills.fault_bytes),
            ],
            width,
        ));
    }
    lines
}

fn array(raid: &RaidFigures, width: usize) -> Vec<String> {
    let mut lines = filled(
        "members read for",
        &[
            ("rmw", raid.preread.rmw),
            ("rcw", raid.preread.rcw),
            ("partial blocks", raid.preread.partial_block),
            ("a failed member", raid.degraded_read_bytes),
            ("sync", raid.sync_read_bytes),
            ("others", raid.direct_read_bytes),
            ("reasons not told", raid.unattributed_read_bytes),
        ],
        width,
    );
    lines.extend(filled(
        "members written with",
        &[
            ("data", raid.data_write_bytes),
            ("parity", raid.parity_write_bytes),
            ("md's books", raid.metadata_write_bytes),
            ("sync", raid.sync_write_bytes),
            ("others'", raid.direct_write_bytes),
            ("reasons not told", raid.unattributed_write_bytes),
        ],
        width,
    ));
    if let Some(written) = raid.ratios.write_amplification {
        let least = raid
            .ratios
            .write_amplification_minimum
            .map_or_else(String::new, |least| {
                format!(" (the least here is {least:.2})")
            });
        let mut text = format!("{written:.2} times what was written to it{least}");
        if let Some(rows) = raid.rows {
            text.push_str(&format!(
                ", rows: {} full, {} rmw, {} rcw",
                rows.full, rows.rmw, rows.rcw
            ));
        }
        lines.extend(wrap(&text, width));
    }
    if let Some(cache) = raid.stripe_cache {
        let text = format!(
            "stripe cache: {} of {} rows in use",
            cache.active_rows, cache.size_rows
        );
        lines.extend(wrap(&text, width));
    }
    lines
}

fn estimated(raid: &RaidEstimate, width: usize) -> Vec<String> {
    let mut lines = filled(
        "estimated: members read for",
        &[("pre-reads of any kind", raid.preread_bytes)],
        width,
    );
    lines.extend(filled(
        "members written with",
        &[("data, parity and books", raid.component_write_bytes)],
        width,
    ));
    lines
}

fn component(origin: &OriginFigures, width: usize) -> Vec<String> {
    let read = &origin.read_bytes;
    let mut lines = filled(
        "read for",
        &[
            ("users", read.user),
            ("rmw", read.rmw),
            ("rcw", read.rcw),
            ("partial blocks", read.partial_block),
            ("a failed member", read.degraded),
            ("sync", read.sync),
            ("md's books", read.metadata),
            ("another try", read.retry),
            ("none of md's", read.direct),
            ("reasons not told", read.unattributed),
        ],
        width,
    );
    let write = &origin.write_bytes;
    lines.extend(filled(
        "written with",
        &[
            ("data", write.data),
            ("parity", write.parity),
            ("sync", write.sync),
            ("md's books", write.metadata),
            ("corrections", write.retry),
            ("none of md's", write.direct),
            ("reasons not told", write.unattributed),
        ],
        width,
    ));
    lines
}

/// `head: 12 KiB rmw, 8 KiB rcw`, of the parts that there were.
fn filled(head: &str, parts: &[(&str, u64)], width: usize) -> Vec<String> {
    let parts: Vec<String> = parts
        .iter()
        .filter(|(_, bytes)| *bytes != 0)
        .map(|(name, bytes)| format!("{} {name}", size(*bytes)))
        .collect();
    match parts.split_first() {
        None => Vec::new(),
        Some((first, rest)) => {
            let first = format!("{head}: {first}");
            let all = std::iter::once(first.as_str()).chain(rest.iter().map(String::as_str));
            fill(all, ", ", width)
        }
    }
}
