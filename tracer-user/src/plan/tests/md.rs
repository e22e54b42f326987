//! What is planned for md's components on recorded kernels.

use std::collections::BTreeSet;

use tracer_ebpf::{
    abi::ABSENT,
    origin::{EndIo, abi::MdLayout},
};

use super::*;
use crate::{
    facts::{MdFacts, md_wanted::END_FUNCTIONS, symbols},
    plan::md::{MdPlan, Rows},
};

/// Kernels with md, of those that were recorded.
const WITH_MD: [&str; 4] = ["5.10", "6.1", "6.12", "7.2"];

fn md(name: &str) -> MdFacts {
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/kernels");
    let json = std::fs::read_to_string(format!("{fixtures}/debian-{name}-md.json")).unwrap();
    serde_json::from_str(&json).unwrap()
}

fn plan(name: &str) -> MdPlan {
    MdPlan::new(&kernel(name), &md(name)).unwrap()
}

#[test]
fn rows_are_looked_into_by_what_there_is() {
    let rows = WITH_MD.map(|name| plan(name).rows);
    let measured = Rows::Measured;
    assert_eq!(rows, [Rows::Table, measured, measured, measured]);
    for name in &WITH_MD[1..] {
        assert_eq!(plan(name).missing, [""; 0], "{name}");
    }
    let told = plan("5.10").missing.join("; ");
    assert!(told.contains("taken from a table instead"), "{told}");
}

/// The table was read off a source; a kernel that says itself what it has must
/// say the same of what did not change since.
#[test]
fn the_table_is_what_the_next_kernels_btf_says() {
    let (table, next) = (plan("5.10").layout, plan("6.1").layout);
    assert_eq!((table.unsure, next.unsure), (1, 0));
    let of_rows = |layout: MdLayout| MdLayout {
        unsure: 0,
        by_range: 0,
        // Only where modules have BTF.
        recovery: MdLayout::NONE.recovery,
        conf_mddev: ABSENT,
        mddev_recovery: ABSENT,
        mddev_resync_offset: ABSENT,
        resync_raid_bio: ABSENT,
        r1bio_mddev: ABSENT,
        r10bio_mddev: ABSENT,
        clone_orig_bio: ABSENT,
        clone_bio: ABSENT,
        bio_chain: 0,
        ..layout
    };
    assert_eq!(of_rows(table), of_rows(next));
}

/// What moved between kernels, and must not be taken from another.
#[test]
fn bits_and_offsets_are_this_kernels_own() {
    let layouts = ["6.1", "6.12", "7.2"].map(|name| plan(name).layout);
    assert_eq!(
        layouts.map(|layout| layout.recovery.check),
        [1 << 7, 1 << 9, 1 << 8]
    );
    let expanding = layouts.map(|layout| layout.stripe_expanding);
    assert_eq!(expanding, [0b111 << 10, 0b111 << 9, 0b111 << 9]);
    assert_eq!(layouts.map(|layout| layout.bio_end_io), [56, 56, 64]);
    assert_eq!(layouts.map(|layout| layout.r1bio_mddev), [40, 32, 32]);
    assert_eq!(
        layouts.map(|layout| layout.mddev_resync_offset),
        [584, 616, 616]
    );
    assert_eq!(layouts.map(|layout| layout.clone_bio), [16, 40, 48]);
    assert_eq!(layouts.map(|layout| layout.by_range), [0; 3]);
    assert_eq!(plan("5.10").layout.by_range, 1);
}

/// A function that was renamed would make its IO `direct`.
#[test]
fn every_purpose_of_a_bio_has_a_function() {
    for name in WITH_MD {
        let found: BTreeSet<String> = md(name).functions.into_iter().collect();
        let purposes = END_FUNCTIONS
            .iter()
            .filter(|function| found.contains(&symbols::key(function)))
            .map(|function| function.end_io as u32);
        let purposes: BTreeSet<u32> = purposes.collect();
        // Before 5.14 raid0 and linear sent the user's own bio on.
        let wrapped = EndIo::Clone as u32;
        let all = (1..).take_while(|number| EndIo::from_number(*number).is_some());
        let expected: BTreeSet<u32> = all
            .filter(|number| name != "5.10" || *number != wrapped)
            .collect();
        assert_eq!(purposes, expected, "{name}");
    }
}

#[test]
fn without_module_btf_a_later_kernels_rows_are_not_guessed() {
    let mut facts = md("6.12");
    facts.sizes.clear();
    let plan = MdPlan::new(&kernel("6.12"), &facts).unwrap();
    assert_eq!(plan.rows, Rows::Unknown);
    let told = plan.missing.join("; ");
    assert!(
        told.contains("no IO of raid4/5/6 can be told apart"),
        "{told}"
    );
}

#[test]
fn hidden_addresses_are_said_with_what_shows_them() {
    let mut facts = md("6.12");
    let path = "/proc/kallsyms".into();
    facts.no_addresses = Some(Absence::NotThere { path });
    let error = MdPlan::new(&kernel("6.12"), &facts).unwrap_err();
    assert!(error.contains("CAP_SYSLOG"), "{error}");
}
