//! Partitions that start off an `optimal_io_size` which may be the stripe of
//! something that hides it: a hardware RAID, a SAN, a thin pool.
//!
//! Must not take it for one: such a start is told as possible only.

use crate::{
    doctor::{Finding, Severity, Sure, hints::own_io_opt, rules},
    stack::hints::IoOpt,
    sysfs::{
        device::{Device, Kind},
        start::{self, Against, StartCheck},
    },
    units::Bytes,
};

/// Off nothing but the hint. No remedy: first somebody has to say what it is.
pub(super) fn finding(device: &Device, disk: &Device) -> Option<Finding> {
    let off = off(device, disk)?;
    let severity = if is_striped(disk) {
        Severity::Warning
    } else {
        Severity::Info
    };
    let finding = Finding::new(&rules::PARTITION, &device.name, text(&off, disk))
        .severity(severity)
        .sure(Sure::Possible)
        .number("start_sector", off.start_sector.0)
        .expected("if it is a stripe, no write of its length fills one");
    let next = [
        ("next_aligned_sector", off.next_aligned_sector),
        ("next_mib_aligned_sector", off.next_mib_aligned_sector),
    ];
    let finding = next.into_iter().fold(finding, |finding, (name, sector)| {
        sector
            .iter()
            .fold(finding, |finding, sector| finding.number(name, sector.0))
    });
    Some(
        numbers(finding, &off).remedy(crate::doctor::Remedy::repair(format!(
            "ask the controller, the SAN or the host what it is. `iotrace doctor --geometry \
         {}=chunk:64k,data:3`, with its own numbers, tells what follows and how to move {}",
            disk.name, device.name
        ))),
    )
}

/// A finding of other boundaries, with what the hint adds.
pub(super) fn with(finding: Finding, device: &Device, disk: &Device) -> Finding {
    match off(device, disk) {
        Some(off) => numbers(finding.and(text(&off, disk)), &off),
        None => finding,
    }
}

fn off(device: &Device, disk: &Device) -> Option<StartCheck> {
    let worth = worth(disk)?;
    let io_opt = disk.limits.io_opt?;
    // What the user said of it holds instead.
    let said = disk.overridden.is_some() || device.overridden.is_some();
    if said || !matches!(worth, IoOpt::Plausible | IoOpt::IoMin) {
        return None;
    }
    start::check(Against::Boundary, io_opt, Bytes(0), device.partition?.start)
        .filter(|check| !check.is_aligned())
}

/// Of a device that lies on nothing that is known. A thin volume has its pool's
/// blocks from its own first byte on.
fn worth(disk: &Device) -> Option<IoOpt> {
    let table = disk.dm_table.as_deref();
    let is_thin = table.is_some_and(|table| {
        let mut targets = table.iter().map(|segment| segment.target.name());
        targets.all(|name| name == "thin")
    });
    let hidden = disk.kind == Kind::Dm && table.is_none() && IoOpt::of(disk) == IoOpt::IoMin;
    own_io_opt(disk).or_else(|| (is_thin || hidden).then(|| IoOpt::of(disk)))
}

/// Both hints as an array with stripes has them.
fn is_striped(disk: &Device) -> bool {
    let limits = &disk.limits;
    let (Some(io_min), Some(io_opt)) = (limits.io_min, limits.io_opt) else {
        return false;
    };
    let chunk = limits.physical_block.is_some_and(|block| io_min > block);
    chunk && io_opt > io_min && io_opt.0.checked_rem(io_min.0) == Some(0)
}

fn text(off: &StartCheck, disk: &Device) -> String {
    let next = off.next_aligned_sector.map_or_else(String::new, |sector| {
        format!("; the next start on one: sector {}", sector.0)
    });
    format!(
        "starts {} bytes past a multiple of the optimal_io_size of {} ({}), which may be a stripe \
         or a cluster below{next}",
        off.remainder_bytes.0,
        disk.name,
        off.boundary_bytes.words()
    )
}

fn numbers(finding: Finding, off: &StartCheck) -> Finding {
    finding
        .number("io_opt_bytes", off.boundary_bytes.0)
        .number("io_opt_remainder_bytes", off.remainder_bytes.0)
}
