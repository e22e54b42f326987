//! Reads every slot's cells and sums them into rows.
//!
//! Must not change maps, but for entries of processes that have ended.

use std::{collections::BTreeMap, time::Instant};

use jiff::Timestamp;
use tracer_ebpf::cells::CELLS;

use super::{Attached, LiveSource, MapsError, attach, maps::Maps, slots::Slots};
use crate::{
    plan::Kind,
    privileges::{Need, raise},
    snapshot::{Lost, Row, RowKey, Snapshot, Unknown},
    units::DevId,
};

/// One reading of everything.
pub(super) fn snapshot(source: &mut LiveSource) -> anyhow::Result<Snapshot> {
    let unknown = unknown(&source.attached);
    let rows = rows(&source.maps, &source.slots, unknown)?;
    let processes = match &mut source.processes {
        Some(processes) => processes.read(&mut source.maps, &mut source.slots)?,
        None => Vec::new(),
    };
    Ok(Snapshot {
        time: Timestamp::now(),
        elapsed: Instant::now().saturating_duration_since(source.started),
        rows,
        processes,
        lost: lost(source)?,
        unknown,
    })
}

/// A row while it is summed: what was put back may be more than what was
/// issued in one slot, never in all of a row's slots together.
struct Sum {
    disk: Option<DevId>,
    cells: Box<[i64; CELLS]>,
    requeues: u64,
    detail: Option<Box<[u64; tracer_ebpf::cells::detail::CELLS]>>,
}

fn rows(maps: &Maps, slots: &Slots, unknown: Unknown) -> Result<BTreeMap<RowKey, Row>, MapsError> {
    let mut sums: BTreeMap<RowKey, Sum> = BTreeMap::new();
    for (key, retired) in &slots.retired {
        let cells = retired.cells.clone();
        let sum = Sum {
            disk: retired.disk,
            cells,
            requeues: retired.requeues,
            detail: None,
        };
        sums.insert(key.clone(), sum);
    }
    for (slot, assigned) in slots.assigned() {
        let read = maps.cells(slot)?;
        let sum = sums.entry(assigned.key.clone()).or_insert_with(|| Sum {
            disk: assigned.disk,
            cells: Box::new([0; CELLS]),
            requeues: 0,
            detail: None,
        });
        sum.disk = assigned.disk;
        sum.requeues += read.requeues;
        for (cell, more) in sum.cells.iter_mut().zip(read.cells.iter()) {
            *cell += more;
        }
        if let Some(index) = assigned.detail {
            let read = maps.detail(index)?;
            match &mut sum.detail {
                None => sum.detail = Some(read),
                Some(cells) => {
                    for (cell, more) in cells.iter_mut().zip(read.iter()) {
                        *cell += more;
                    }
                }
            }
        }
    }
    Ok(sums
        .into_iter()
        .map(|(key, sum)| (key, sum.row(unknown)))
        .collect())
}

impl Sum {
    fn row(self, unknown: Unknown) -> Row {
        let mut cells = Box::new([0u64; CELLS]);
        for (cell, sum) in cells.iter_mut().zip(self.cells.iter()) {
            // Below 0 while a request that has grown smaller is put back and
            // not issued again yet.
            *cell = u64::try_from(*sum).unwrap_or(0);
        }
        Row {
            disk: self.disk,
            cells,
            requeued: (!unknown.requeues).then_some(self.requeues),
            detail: self.detail,
        }
    }
}

/// What the ways of attaching cannot tell.
fn unknown(attached: &[Attached]) -> Unknown {
    let classic = attached
        .iter()
        .any(|attached| attached.kind == Kind::Tracepoint);
    Unknown {
        operations: classic,
        requeues: classic,
        flush_bios: classic,
        latency: classic,
    }
}

fn lost(source: &LiveSource) -> Result<Lost, MapsError> {
    let _raised = raise(Need::KernelFiles);
    let mut by_recursion = Some(0);
    for attached in &source.attached {
        // A classic tracepoint's program is skipped without a count
        // (kernel/trace/bpf_trace.c, trace_call_bpf).
        let misses = match attached.kind {
            Kind::Tracepoint => None,
            Kind::Btf | Kind::Raw => attach::program_facts(&source.ebpf, attached)
                .and_then(|facts| facts.recursion_misses),
        };
        by_recursion = by_recursion.zip(misses).map(|(sum, misses)| sum + misses);
    }
    Ok(Lost {
        by_maps: Some(source.maps.lost()?.lost),
        by_recursion,
    })
}
