//! `iotrace doctor`: whether a stack was built as it should be, and what repairs
//! it. Rules are pure functions of a stack and of what was counted on it.
//!
//! Must not read a device or a file, run a command, or format for people beyond
//! sentences: [`crate::report::findings`] does. What sysfs alone tells is decided
//! once, in [`crate::sysfs::notes`].

mod array;
mod assumed;
mod encryption;
mod filesystem;
mod finding;
mod hints;
mod members;
mod patient;
mod release;
pub mod rules;
mod starts;
pub mod what_if;
mod workload;

use std::{cmp::Reverse, collections::BTreeSet};

pub use finding::{Cost, Finding, Remedy, Severity, Step, Sure};
pub use patient::Patient;
pub use what_if::WhatIf;

use crate::{delta::Interval, stack::Stack, units::DevId};

/// What doctor looked at, and what it found.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnosis {
    /// Devices that were looked at.
    pub devices: usize,
    /// Rules that were tried.
    pub rules: usize,
    /// How long IO was counted; `None`: it was not.
    pub measured_seconds: Option<f64>,
    /// What could not be looked at, each in a sentence.
    pub not_looked: Vec<String>,
    /// The gravest first.
    pub findings: Vec<Finding>,
    /// Of each array with parity that was written to.
    pub what_if: Vec<WhatIf>,
}

impl Diagnosis {
    /// The gravest.
    #[must_use]
    pub fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).max()
    }
}

/// Looks at the devices `asked` for, with all below and on top of them; at every
/// device if there are none.
#[must_use]
pub fn examine(stack: &Stack, asked: &[DevId], interval: Option<&Interval>) -> Diagnosis {
    let patient = Patient { stack, interval };
    let topology = &stack.topology;
    let scope: BTreeSet<DevId> = if asked.is_empty() {
        topology.devices.keys().copied().collect()
    } else {
        topology.around(asked.to_vec()).all().collect()
    };
    let in_scope = |name: &str| {
        let device = topology.by_name(name);
        device.is_some_and(|device| scope.contains(&device.id))
    };
    let mut findings = findings(&patient);
    findings.retain(|finding| in_scope(&finding.device));
    findings.sort_by_key(|finding| (Reverse(finding.severity), finding.device.clone()));
    let measured = interval.is_some();
    let rules = rules::ALL.iter().filter(|rule| measured || !rule.measured);
    let mut what_if = what_if(&patient);
    what_if.retain(|what_if| in_scope(&what_if.device));
    Diagnosis {
        devices: scope.len(),
        rules: rules.count(),
        measured_seconds: interval.map(|interval| interval.length.as_secs_f64()),
        not_looked: not_looked(&patient, &scope),
        findings,
        what_if,
    }
}

fn findings(patient: &Patient<'_>) -> Vec<Finding> {
    let mut found = starts::findings(patient);
    found.extend(hints::findings(patient));
    found.extend(members::findings(patient));
    found.extend(array::findings(patient));
    found.extend(filesystem::findings(patient));
    found.extend(encryption::findings(patient));
    let of_workload = workload::findings(patient, &found);
    found.extend(of_workload);
    found
}

fn what_if(patient: &Patient<'_>) -> Vec<WhatIf> {
    let arrays = patient.devices().filter_map(|device| {
        let md = device.md.as_ref()?;
        WhatIf::of(md, patient.figures(device)?)
    });
    arrays.collect()
}

/// What was counted is then less than what happened.
fn lost(interval: &Interval) -> Option<String> {
    let lost = interval.lost;
    let known = lost.by_maps.unwrap_or(0) + lost.by_recursion.unwrap_or(0);
    if known != 0 {
        return Some(format!(
            "{known} events were lost: costs that were measured are too low"
        ));
    }
    let all_told = lost.total().is_some();
    (!all_told).then(|| "this kernel does not tell whether it skipped events".to_owned())
}

fn not_looked(patient: &Patient<'_>, scope: &BTreeSet<DevId>) -> Vec<String> {
    let stack = patient.stack;
    let mut said = stack.missing.clone();
    said.extend(stack.topology.unreadable.iter().cloned());
    for id in scope {
        let Some(device) = patient.device(*id) else {
            continue;
        };
        if let Some(Err(why)) = stack.contents.get(id) {
            said.push(format!("{}: {why}", device.name));
        }
        said.extend(device.unreadable.iter().cloned());
    }
    match patient.interval {
        None => said.push("nothing was counted: --duration 10s looks at writes, too".to_owned()),
        Some(interval) => said.extend(lost(interval)),
    }
    said
}
