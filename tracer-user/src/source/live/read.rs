//! Reads every slot's cells and sums them into rows.
//!
//! Must not change maps, but for entries of processes that have ended.

use std::{collections::BTreeMap, time::Instant};

use super::{Attached, LiveSource, MapsError, attach, counted::Counted, maps::Maps, slots::Slots};
use crate::{
    plan::{Event, Kind, md::Rows},
    privileges::{Need, raise},
    snapshot::{Lost, Origins, Row, RowKey, Snapshot, Unknown},
};
use jiff::Timestamp;
use tracer_ebpf::abi::ABSENT;

/// One reading of everything.
pub(super) fn snapshot(source: &mut LiveSource) -> anyhow::Result<Snapshot> {
    let mut unknown = unknown(&source.attached);
    unknown.callers |= source.plan.layout.regs_call == ABSENT || !source.fills;
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
        origins: origins(source)?,
        stripe_caches: (source.read_stripe_caches)(&source.topology),
        lost: lost(source)?,
        unknown,
    })
}

fn origins(source: &LiveSource) -> Result<Option<Origins>, MapsError> {
    let Some(origins) = &source.origins else {
        return Ok(None);
    };
    Ok(Some(Origins {
        components: origins.read()?,
        rows: origins.rows() != Rows::Unknown,
    }))
}

fn rows(maps: &Maps, slots: &Slots, unknown: Unknown) -> Result<BTreeMap<RowKey, Row>, MapsError> {
    let mut rows = slots.retired.clone();
    for (slot, assigned) in slots.assigned() {
        let cells = maps.cells(slot)?;
        let detail = assigned
            .detail
            .map(|index| maps.detail(index))
            .transpose()?;
        let row = rows.entry(assigned.key.clone());
        row.or_insert_with(|| Counted::nothing(assigned.disk))
            .add(&cells, detail);
    }
    Ok(rows
        .into_iter()
        .map(|(key, counted)| (key, counted.row(unknown)))
        .collect())
}

/// What these programs cannot tell: a classic record leaves much out, and
/// without a program for an event nobody says what it would have.
fn unknown(attached: &[Attached]) -> Unknown {
    let untold = |event: Event| {
        let program = attached.iter().find(|attached| attached.event == event);
        program.is_none_or(|program| program.kind == Kind::Tracepoint)
    };
    Unknown {
        operations: untold(Event::BlockRqIssue) || untold(Event::BlockBioQueue),
        requeues: untold(Event::BlockRqRequeue),
        flush_bios: untold(Event::BlockBioQueue),
        latency: untold(Event::BlockRqComplete),
        callers: untold(Event::BlockBioQueue),
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
    let mut by_maps = source.maps.lost()?.lost;
    if let Some(origins) = &source.origins {
        by_maps += origins.lost_by_maps()?;
        let misses = origins.recursion_misses();
        by_recursion = by_recursion.zip(misses).map(|(sum, misses)| sum + misses);
    }
    Ok(Lost {
        by_maps: Some(by_maps),
        by_recursion,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_without_a_program_is_not_known() {
        let attached = |kinds: &[(Event, Kind)]| -> Vec<Attached> {
            let attached = kinds.iter().map(|&(event, kind)| Attached {
                event,
                kind,
                refusals: Vec::new(),
            });
            attached.collect()
        };
        let all = attached(&Event::ALL.map(|event| (event, Kind::Btf)));
        assert_eq!(unknown(&all), Unknown::default());
        let some = attached(&[
            (Event::BlockRqIssue, Kind::Btf),
            (Event::BlockBioQueue, Kind::Tracepoint),
        ]);
        let expected = Unknown {
            operations: true,
            requeues: true,
            flush_bios: true,
            latency: true,
            callers: true,
        };
        assert_eq!(unknown(&some), expected);
    }
}
