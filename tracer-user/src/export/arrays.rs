//! Samples of arrays and of their components: why they were read and written.
//!
//! Must not know requests.

use super::{families::Families, table};
use crate::{
    delta::{Causes, DeviceTotals, OriginFigures, RaidEstimate, RaidFigures, Rows},
    sysfs::device::{Device, MdArray},
};

/// What a device is as an array, and what it is as a component.
pub(super) fn add(families: &mut Families, totals: &DeviceTotals) {
    let figures = &totals.figures;
    let name = figures.name.as_str();
    if let Some(origin) = &figures.origin {
        component(families, name, origin);
    }
    if let Some(device) = &totals.device
        && let Some(md) = &device.md
    {
        about(families, device, md);
    }
    if let Some(raid) = &figures.raid {
        measured(families, name, raid);
    }
    if let Some(estimate) = &figures.raid_estimate {
        estimated(families, name, estimate);
    }
    let Some(array) = totals.array else { return };
    for (cause, bytes) in array.causes.iter().flat_map(Causes::by_name) {
        families.count(&table::ARRAY_CAUSES, &[name, cause], bytes);
    }
    if let Some(bytes) = array.estimated_preread_bytes {
        families.count(&table::ARRAY_PREREAD_ESTIMATED, &[name], bytes);
    }
}

fn component(families: &mut Families, name: &str, origin: &OriginFigures) {
    let reads = [
        (&table::COMPONENT_READ, &origin.read_bytes),
        (&table::COMPONENT_READ_BIOS, &origin.read_bios),
        (&table::COMPONENT_READ_MISALIGNED, &origin.read_misaligned),
    ];
    for (metric, parts) in reads {
        for (origin, value) in parts.by_name() {
            families.count(metric, &[name, origin], value);
        }
    }
    let writes = [
        (&table::COMPONENT_WRITE, &origin.write_bytes),
        (&table::COMPONENT_WRITE_BIOS, &origin.write_bios),
        (&table::COMPONENT_WRITE_MISALIGNED, &origin.write_misaligned),
    ];
    for (metric, parts) in writes {
        for (origin, value) in parts.by_name() {
            families.count(metric, &[name, origin], value);
        }
    }
}

fn measured(families: &mut Families, name: &str, raid: &RaidFigures) {
    families.count(&table::ARRAY_ESTIMATED, &[name], 0);
    user_bytes(families, name, raid.user_read_bytes, raid.user_write_bytes);
    if raid.rows.is_some() {
        for (kind, bytes) in raid.preread.by_kind() {
            families.count(&table::ARRAY_PREREAD, &[name, kind], bytes);
        }
    }
    for (origin, bytes) in raid.components.read_bytes.by_name() {
        families.count(&table::ARRAY_READ, &[name, origin], bytes);
    }
    for (origin, bytes) in raid.components.write_bytes.by_name() {
        families.count(&table::ARRAY_WRITE, &[name, origin], bytes);
    }
    for (kind, rows) in raid.rows.iter().flat_map(Rows::by_kind) {
        families.count(&table::ARRAY_ROWS, &[name, kind], rows);
    }
    families.count(&table::ARRAY_METADATA_BIOS, &[name], raid.metadata_writes);
    minimum(families, name, raid.ratios.write_amplification_minimum);
    if let Some(cache) = raid.stripe_cache {
        families.count(&table::ARRAY_CACHE_ROWS, &[name], cache.size_rows.into());
        families.count(
            &table::ARRAY_CACHE_ACTIVE,
            &[name],
            cache.active_rows.into(),
        );
    }
}

fn estimated(families: &mut Families, name: &str, estimate: &RaidEstimate) {
    families.count(&table::ARRAY_ESTIMATED, &[name], 1);
    let (read, written) = (estimate.user_read_bytes, estimate.user_write_bytes);
    user_bytes(families, name, read, written);
    minimum(families, name, estimate.write_amplification_minimum);
}

fn user_bytes(families: &mut Families, name: &str, read: u64, written: u64) {
    families.count(&table::ARRAY_USER_BYTES, &[name, "read"], read);
    families.count(&table::ARRAY_USER_BYTES, &[name, "write"], written);
}

fn minimum(families: &mut Families, name: &str, minimum: Option<f64>) {
    if let Some(minimum) = minimum {
        families.add(&table::ARRAY_MINIMUM, &[name], minimum);
    }
}

fn about(families: &mut Families, device: &Device, md: &MdArray) {
    let name = device.name.as_str();
    let number = |value: Option<i128>| value.map_or_else(String::new, |value| value.to_string());
    let bitmap = if md.bitmap.is_some() {
        "internal"
    } else {
        "none"
    };
    families.info(
        &table::ARRAY_INFO,
        &[
            name,
            &md.level,
            md.uuid.as_deref().unwrap_or_default(),
            md.metadata_version.as_deref().unwrap_or_default(),
            &number(md.layout.map(i128::from)),
            &number(md.chunk.map(|chunk| chunk.0.into())),
            &number(device.geometry.data_disks.map(i128::from)),
            &number(md.raid_disks.map(i128::from)),
            bitmap,
        ],
    );
    for part in &md.components {
        let slot = number(part.slot.map(i128::from));
        let labels = [part.name.as_str(), name, &slot, &part.state.join(",")];
        families.info(&table::ARRAY_MEMBER_INFO, &labels);
        if let Some(offset) = part.data_offset {
            let labels = [part.name.as_str(), name];
            families.count(&table::ARRAY_MEMBER_OFFSET, &labels, offset.bytes().0);
        }
    }
    if let Some(disks) = md.raid_disks {
        families.count(&table::ARRAY_DISKS, &[name], disks.into());
    }
    if let Some(degraded) = md.degraded {
        families.count(&table::ARRAY_DEGRADED, &[name], degraded.into());
    }
    if let Some(action) = &md.sync_action {
        let syncing = md.reshaping || !matches!(action.as_str(), "idle" | "frozen");
        families.count(&table::ARRAY_SYNCING, &[name], syncing.into());
    }
}
