//! Plans for kernels that were recorded (`tests/fixtures/kernels`), and for
//! what is left of them when something is taken away.

mod layout;
mod md;
mod ways;

use super::*;
use crate::facts::{Absence, BtfFacts, Finding, Privileges, TracefsFacts};

/// What the tests call a kernel, and the file of its facts.
const KERNELS: [(&str, &str); 5] = [
    ("5.10", "debian-5.10"),
    ("6.1", "debian-6.1"),
    ("6.12", "debian-6.12"),
    ("6.18", "microvm-6.18"),
    ("7.2", "debian-7.2"),
];

const EVERYTHING: Request = Request {
    attach: None,
    by_process: true,
    bio_latency: true,
    bio_remap_needed: true,
};

fn kernel(name: &str) -> KernelFacts {
    let (_, file) = KERNELS.iter().find(|(known, _)| *known == name).unwrap();
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/kernels");
    let json = std::fs::read_to_string(format!("{fixtures}/{file}.json")).unwrap();
    serde_json::from_str(&json).unwrap()
}

fn btf(facts: &mut KernelFacts) -> &mut BtfFacts {
    match &mut facts.btf {
        Finding::Found(btf) => btf,
        Finding::Missing(absence) => panic!("{absence}"),
    }
}

fn tracefs(facts: &mut KernelFacts) -> &mut TracefsFacts {
    match &mut facts.tracefs {
        Finding::Found(tracefs) => tracefs,
        Finding::Missing(absence) => panic!("{absence}"),
    }
}

fn without_btf(mut facts: KernelFacts) -> KernelFacts {
    let path = "/sys/kernel/btf/vmlinux".into();
    facts.btf = Finding::Missing(Absence::NotThere { path });
    facts
}

fn without_tracefs(mut facts: KernelFacts) -> KernelFacts {
    let path = "/sys/kernel/tracing".into();
    facts.tracefs = Finding::Missing(Absence::NotMounted { path });
    facts
}

fn with_capabilities(mut facts: KernelFacts, permitted: &[&str]) -> KernelFacts {
    facts.privileges = Finding::Found(Privileges {
        uid: 1000,
        effective: Vec::new(),
        permitted: permitted.iter().map(ToString::to_string).collect(),
    });
    facts
}

fn event(plan: &ProbePlan, event: Event) -> &EventPlan {
    plan.events.iter().find(|e| e.event == event).unwrap()
}

fn kinds(plan: &ProbePlan, of: Event) -> Vec<Kind> {
    let candidates = &event(plan, of).candidates;
    candidates.iter().map(|candidate| candidate.kind).collect()
}

fn lost(plan: &ProbePlan, what: &str) -> bool {
    plan.missing
        .iter()
        .any(|missing| missing.what.contains(what))
}
