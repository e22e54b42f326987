//! What doctor says of a device and of all around it, and its commands run by
//! a shell.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::harness::{
    device::Device,
    lab::Lab,
    process::{finished, run_from},
    tracer::iotrace,
};

/// What takes data with it, wherever it stands.
const DESTROYERS: [&str; 9] = [
    "mkfs",
    "mke2fs",
    "luksFormat",
    "pvcreate",
    "pvremove",
    "vgremove",
    "wipe",
    "--create",
    "--zero",
];

/// One look, without counting.
pub(super) struct Checkup {
    device: Device,
    findings: Vec<Value>,
}

impl Checkup {
    pub(super) fn of(device: &Device) -> Self {
        let args = ["doctor", "--format", "json", "--dev", device.name()];
        let output = finished(iotrace().args(args));
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "{args:?}: {}: {errors}",
            output.status
        );
        let said: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let not = said["not_looked_at"].as_array().expect("sentences");
        assert!(
            matches!(&not[..], [only] if only.as_str().is_some_and(|text| text.starts_with("nothing was counted"))),
            "{not:?}"
        );
        let findings = said["findings"].as_array().expect("findings").clone();
        for finding in &findings {
            says_what_it_destroys(finding);
        }
        Self {
            device: device.clone(),
            findings,
        }
    }

    pub(super) fn finding(&self, id: &str, device: &Device) -> &Value {
        let mut found = self.findings.iter();
        found
            .find(|one| one["id"] == id && one["device"] == device.name())
            .unwrap_or_else(|| panic!("no {id} of {}: {:#?}", device.name(), self.findings))
    }

    pub(super) fn is_silent(&self) {
        assert!(self.findings.is_empty(), "{:#?}", self.findings);
    }

    pub(super) fn has_no(&self, id: &str) {
        let left = self.findings.iter().find(|one| one["id"] == id);
        assert!(left.is_none(), "{left:#?}");
    }

    /// Looks again: nothing of that kind is left, and nothing as grave has come.
    pub(super) fn cured_of(&self, id: &str) {
        let after = Self::of(&self.device);
        after.has_no(id);
        let before = self.findings.iter().find(|one| one["id"] == id);
        let grave = severity(before.unwrap_or_else(|| panic!("no {id} before")));
        let of = |findings: &[Value]| -> BTreeSet<(String, String)> {
            let grave = findings.iter().filter(|one| severity(one) >= grave);
            grave
                .map(|one| (one["id"].to_string(), one["device"].to_string()))
                .collect()
        };
        let (before, now) = (of(&self.findings), of(&after.findings));
        assert!(now.is_subset(&before), "{now:?} after {before:?}");
    }
}

fn severity(finding: &Value) -> usize {
    let word = finding["severity"].as_str();
    let known = ["info", "warning", "error"];
    let place = known.iter().position(|known| Some(*known) == word);
    place.unwrap_or_else(|| panic!("a severity: {finding}"))
}

/// A repair destroys nothing; what does is marked, and warns.
fn says_what_it_destroys(finding: &Value) {
    let (repair, anew) = (&finding["repair"], &finding["build_anew"]);
    if !repair.is_null() {
        assert_eq!(repair["destroys_data"], false, "{finding}");
        for command in commands(repair) {
            let destroys = DESTROYERS.iter().any(|word| command.contains(word));
            assert!(!destroys, "{command}");
        }
    }
    if !anew.is_null() {
        assert_eq!(anew["destroys_data"], true, "{finding}");
        let steps = steps(anew);
        let warns = steps.iter().any(|step| step["warning"].is_string());
        assert!(warns || steps.is_empty(), "{finding}");
    }
}

fn steps(remedy: &Value) -> &[Value] {
    remedy["steps"].as_array().map_or(&[], Vec::as_slice)
}

pub(super) fn commands(remedy: &Value) -> Vec<&str> {
    let commands = steps(remedy).iter().map(|step| step["command"].as_str());
    commands
        .map(|command| command.expect("a command"))
        .collect()
}

/// The repair as it is printed.
pub(super) fn repair(finding: &Value) {
    run(&finding["repair"], Path::new("/dev/null"), |_| "");
}

/// The same with a person's answers given. `more`: what a test adds to a command
/// that would take long.
pub(super) fn repair_with(
    finding: &Value,
    lab: &Lab,
    answers: &str,
    more: impl Fn(&str) -> &'static str,
) {
    run(&finding["repair"], &file_of(lab, answers), more);
}

/// All anew as it is printed, likewise.
pub(super) fn build_anew(
    finding: &Value,
    lab: &Lab,
    answers: &str,
    more: impl Fn(&str) -> &'static str,
) {
    run(&finding["build_anew"], &file_of(lab, answers), more);
}

fn file_of(lab: &Lab, answers: &str) -> PathBuf {
    let file = lab.path("answers");
    fs::write(&file, answers).expect("answers");
    file
}

fn run(remedy: &Value, answers: &Path, more: impl Fn(&str) -> &'static str) {
    let commands = commands(remedy);
    assert!(!commands.is_empty(), "no commands: {remedy:#}");
    for command in commands {
        let command = format!("{command}{}", more(command));
        run_from("sh", &["-c", &command], answers);
    }
}
