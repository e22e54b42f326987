//! `iotrace doctor` for people: what is wrong, how it was seen, what it costs,
//! and the commands that repair it.
//!
//! Must not compute, nor choose what is told.

pub mod json;

use std::io::{self, Write};

use super::format::{counted, size, wrap};
use crate::doctor::{Cost, Diagnosis, Finding, Remedy, Severity, WhatIf, what_if::Modelled};

/// Of a line of text; commands are not cut.
const WIDTH: usize = 96;

/// Prints all of it.
///
/// # Errors
/// Where `out` cannot be written.
pub fn print(diagnosis: &Diagnosis, out: &mut impl Write) -> io::Result<()> {
    for finding in &diagnosis.findings {
        one(finding, out)?;
        writeln!(out)?;
    }
    for what_if in &diagnosis.what_if {
        modelled(what_if, out)?;
        writeln!(out)?;
    }
    for line in wrap(&foot(diagnosis), WIDTH) {
        writeln!(out, "{line}")?;
    }
    for said in &diagnosis.not_looked {
        indented("not looked at: ", said, "    ", out)?;
    }
    Ok(())
}

/// A mark that needs no color.
const fn mark(severity: Severity) -> &'static str {
    match severity {
        Severity::Info => " i",
        Severity::Warning => " !",
        Severity::Error => "!!",
    }
}

fn one(finding: &Finding, out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "{} {}  {}  ({}, {})",
        mark(finding.severity),
        finding.device,
        finding.id,
        finding.severity.word(),
        finding.sure.word()
    )?;
    for evidence in &finding.evidence {
        indented("   ", evidence, "   ", out)?;
    }
    match &finding.cost {
        Cost::Measured(text) => indented("   cost, measured: ", text, "     ", out)?,
        Cost::Expected(text) => indented("   cost, expected: ", text, "     ", out)?,
        Cost::Unknown => {}
    }
    if let Some(repair) = &finding.repair {
        remedy("repair", repair, out)?;
    }
    if let Some(anew) = &finding.build_anew {
        remedy("or build anew, DESTROYS DATA", anew, out)?;
    }
    writeln!(out, "   more: {}", finding.docs)
}

fn remedy(head: &str, remedy: &Remedy, out: &mut impl Write) -> io::Result<()> {
    indented(&format!("   {head}: "), &remedy.text, "     ", out)?;
    for step in &remedy.steps {
        writeln!(out, "     # {}", step.command)?;
        if let Some(warning) = &step.warning {
            indented("       (", &format!("{warning})"), "        ", out)?;
        }
    }
    Ok(())
}

fn modelled(what_if: &WhatIf, out: &mut impl Write) -> io::Result<()> {
    let measured = what_if.measured_preread_bytes.map_or_else(
        || "pre-reads were not measured".to_owned(),
        |bytes| format!("{} pre-read, measured", size(bytes)),
    );
    let head = format!(
        "what if: {}, {} written in {} writes, {measured}. Modelled by md's row model, not \
         measured:",
        what_if.device,
        size(what_if.written_bytes),
        what_if.writes
    );
    indented("   ", &head, "   ", out)?;
    let mut row = |what: &str, cost: &Modelled| {
        writeln!(
            out,
            "     {what:<44} {:>12} pre-read  {:>5.1}%",
            size(cost.preread_bytes),
            cost.preread_ratio * 100.0
        )
    };
    row("as it is", &what_if.as_it_is)?;
    if let Some(phase) = &what_if.phase {
        let what = format!("all moved by {}", size(phase.move_by_bytes));
        row(&what, &phase.cost)?;
    }
    for other in &what_if.chunks {
        let what = format!(
            "chunks of {}, stripes of {}",
            size(other.chunk_bytes),
            size(other.stripe_bytes)
        );
        row(&what, &other.cost)?;
    }
    if let Some(cost) = &what_if.larger_cache {
        row("a stripe cache that misses nothing, at best", cost)?;
    }
    for caveat in &what_if.caveats {
        indented("     ", caveat, "     ", out)?;
    }
    Ok(())
}

fn foot(diagnosis: &Diagnosis) -> String {
    let count = |severity| {
        let findings = diagnosis.findings.iter();
        findings
            .filter(|finding| finding.severity == severity)
            .count()
    };
    let found = if diagnosis.findings.is_empty() {
        "nothing found".to_owned()
    } else {
        format!(
            "{} found: {} error, {} warning, {} info",
            diagnosis.findings.len(),
            count(Severity::Error),
            count(Severity::Warning),
            count(Severity::Info)
        )
    };
    let measured = diagnosis
        .measured_seconds
        .map_or_else(String::new, |seconds| format!(", {seconds:.1} s measured"));
    let layers = counted(diagnosis.devices as u64, "layer");
    format!("{layers}, {} rules{measured}: {found}", diagnosis.rules)
}

fn indented(head: &str, text: &str, indent: &str, out: &mut impl Write) -> io::Result<()> {
    let first = head.chars().count();
    let words = format!("{}{text}", "x".repeat(first));
    // The head keeps its blanks, which wrapping would drop.
    for (index, line) in wrap(&words, WIDTH - indent.len()).iter().enumerate() {
        if index == 0 {
            writeln!(out, "{head}{}", line.get(first..).unwrap_or_default())?;
        } else {
            writeln!(out, "{indent}{line}")?;
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "../findings_tests.rs"]
mod tests;
