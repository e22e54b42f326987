//! Loads the programs without attaching them, in every shape that the frozen
//! globals can give them: what the verifier drops as dead at the defaults it
//! must accept when it is not.
//!
//! For tests. Must not count anything.

use tracer_ebpf::{
    abi::Config,
    origin::abi::{MAX_DISKS, MdLayout},
};

use super::{attach, object, object::Sizes, origins};
use crate::plan::{Event, Kind, ProbePlan, md};

/// One program in one shape, and what the kernel said to it.
#[derive(Debug)]
pub struct Loaded {
    pub event: Event,
    pub kind: Kind,
    pub config: Config,
    /// Instructions that the verifier walked; `None` before 5.16.
    pub outcome: Result<Option<u32>, String>,
}

/// Every configuration that changes the programs.
#[must_use]
pub fn shapes() -> Vec<Config> {
    (0_u32..16)
        .map(|bits| Config {
            by_process: bits & 1,
            bio_latency: bits >> 1 & 1,
            log: bits >> 2 & 1,
            fills: bits >> 3,
        })
        .collect()
}

/// Half of [`shapes`]: any three of the switches stand in every way to each
/// other.
#[must_use]
pub fn shapes_of_any_three() -> Vec<Config> {
    let mut shapes = shapes();
    shapes.retain(|one| one.fills == one.by_process ^ one.bio_latency ^ one.log);
    shapes
}

/// Loads every candidate of the plan in one shape.
///
/// # Errors
/// When not even the maps can be made.
pub fn load(plan: &ProbePlan, config: Config) -> Result<Vec<Loaded>, object::ObjectError> {
    let sizes = Sizes {
        slots: 64,
        details: 1,
    };
    let _held_meanwhile = attach::kernel_btf();
    let mut ebpf = object::open(&plan.layout, &config, sizes)?;
    let mut loaded = Vec::new();
    for event in &plan.events {
        for candidate in &event.candidates {
            let (event, kind) = (event.event, candidate.kind);
            let outcome = attach::load_only(&mut ebpf, &event.program(kind), event);
            loaded.push(Loaded {
                event,
                kind,
                config,
                outcome,
            });
        }
    }
    Ok(loaded)
}

/// Every layout of md's structures that changes the programs on its
/// components, whatever modules this kernel has.
#[must_use]
pub fn md_layouts() -> Vec<(&'static str, MdLayout)> {
    let bio = MdLayout {
        bio_end_io: 56,
        bio_private: 64,
        row_disks: MAX_DISKS,
        ..MdLayout::NONE
    };
    let mut rows = bio;
    md::fill_from_table(&mut rows);
    let all = MdLayout {
        conf_mddev: 40,
        mddev_recovery: 600,
        mddev_resync_offset: 608,
        resync_raid_bio: 0,
        r1bio_mddev: 40,
        r10bio_mddev: 32,
        clone_orig_bio: 8,
        clone_bio: 48,
        bio_chain: 8,
        unsure: 0,
        ..rows
    };
    let by_range = MdLayout { by_range: 1, ..all };
    let few_disks = MdLayout {
        row_disks: 16,
        ..all
    };
    vec![
        ("bios only", bio),
        ("rows from a table", rows),
        ("everything", all),
        ("everything, by range", by_range),
        ("everything, rows of 16 disks", few_disks),
    ]
}

/// One program on md's components, and what the kernel said to it.
#[derive(Debug)]
pub struct LoadedOnComponents {
    pub program: String,
    /// As in [`Loaded`].
    pub outcome: Result<Option<u32>, String>,
}

/// Loads the programs on md's components with one layout.
///
/// # Errors
/// When not even the maps can be made.
pub fn load_for_md(
    plan: &ProbePlan,
    layout: &MdLayout,
) -> Result<Vec<LoadedOnComponents>, object::ObjectError> {
    let _held_meanwhile = attach::kernel_btf();
    let mut ebpf = object::open_for_md(&plan.layout, layout, 64)?;
    let mut loaded = Vec::new();
    for event in [Event::BlockBioQueue, Event::BlockBioRemap] {
        for kind in [Kind::Btf, Kind::Raw] {
            let program = origins::program(event, kind);
            let outcome = attach::load_only(&mut ebpf, &program, event);
            loaded.push(LoadedOnComponents { program, outcome });
        }
    }
    Ok(loaded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_three_switches_stand_in_every_way_to_each_other() {
        let shapes: Vec<[u32; 4]> = shapes_of_any_three()
            .into_iter()
            .map(|one| [one.by_process, one.bio_latency, one.log, one.fills])
            .collect();
        for left_out in 0..4 {
            let mut seen: Vec<Vec<u32>> = shapes
                .iter()
                .map(|shape| {
                    let kept = shape.iter().enumerate();
                    let kept = kept.filter(|(index, _)| *index != left_out);
                    kept.map(|(_, switch)| *switch).collect()
                })
                .collect();
            seen.sort_unstable();
            seen.dedup();
            assert_eq!(seen.len(), 8);
        }
    }
}
