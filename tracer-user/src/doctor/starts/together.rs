//! Findings of several layers of one stack: which is to blame, and which is to
//! be mended first.

use std::collections::BTreeSet;

use crate::{
    doctor::{
        Finding,
        patient::{Patient, named},
        rules,
    },
    units::DevId,
};

/// A partition that begins on a block of what it lies on, if that began on one
/// itself: what is below is to blame, and told.
pub(super) fn is_anothers(
    patient: &Patient<'_>,
    finding: &Finding,
    told: &BTreeSet<DevId>,
) -> bool {
    let on_block = || {
        let device = patient.stack.topology.by_name(&finding.device)?;
        let block = finding.numbers.get("physical_block_bytes")?;
        let start = device.partition?.start.bytes().0;
        let others = ["chunk_bytes", "stripe_bytes", "boundary_bytes"];
        let only = others
            .iter()
            .all(|name| !finding.numbers.contains_key(name));
        let around = patient.stack.topology.around(vec![device.partition?.disk]);
        // `around` has the partition itself on top, never below.
        let mut below = around.asked.iter().chain(&around.below);
        let blamed = below.any(|id| told.contains(id));
        Some(only && start.checked_rem(*block) == Some(0) && blamed)
    };
    on_block() == Some(true)
}

/// A layer's numbers hold for where what is below it lies now: to mend both by
/// them would be to put the upper one wrong again.
pub(super) fn one_by_one(patient: &Patient<'_>, findings: &mut [Finding]) {
    let topology = &patient.stack.topology;
    let told: Vec<(DevId, bool)> = findings
        .iter()
        .filter_map(|finding| {
            let id = topology.by_name(&finding.device)?.id;
            Some((id, finding.id == rules::PARTITION.id))
        })
        .collect();
    for finding in findings {
        let Some(device) = topology.by_name(&finding.device) else {
            continue;
        };
        let below = topology.around(vec![device.id]).below;
        // What lies on a partition is told of it, too.
        let inside = finding.id != rules::PARTITION.id;
        let mut lower = told.iter().filter(|(id, is_partition)| {
            below.contains(id) || *id == device.id && inside && *is_partition
        });
        if let Some(lower) = lower.find_map(|(id, _)| patient.device(*id)) {
            finding.evidence.push(format!(
                "{} below begins wrong too: mend that first, or leave it as it is, and let doctor \
                 look again; these numbers hold for where it lies now",
                named(lower)
            ));
        }
    }
}
