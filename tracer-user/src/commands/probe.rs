//! `iotrace probe`: what this kernel offers, what would be attached, and why.
//!
//! Must not load or attach anything. Needs no privilege: what it may not read,
//! it says so of.

use std::io::Write;

use serde::Serialize;

use crate::{
    facts::{Finding, KernelFacts, KernelRoot, MdFacts, Privileges},
    plan::{
        EventPlan, ProbePlan, Request,
        md::{MdPlan, Rows},
    },
    privileges::{self, Need},
};

/// How to write it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum ProbeFormat {
    /// For people.
    #[default]
    Plain,
    /// `{"facts": ..., "plan": ..., "md": ...}` on one line. The facts are a
    /// test fixture as they are.
    Json,
}

/// What to probe for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProbeOptions {
    pub root: KernelRoot,
    pub request: Request,
    pub format: ProbeFormat,
}

#[derive(Serialize)]
struct Report<'a> {
    facts: &'a KernelFacts,
    plan: &'a ProbePlan,
    /// null: no module of md's is loaded.
    md: Option<&'a Md>,
}

/// What md's modules offer, and what would be done with it.
#[derive(Serialize)]
struct Md {
    facts: MdFacts,
    plan: Option<MdPlan>,
    /// Why there is no plan.
    error: Option<String>,
}

impl Md {
    fn new(facts: MdFacts, kernel: &KernelFacts) -> Option<Self> {
        if facts.modules.is_empty() {
            return None;
        }
        let (plan, error) = match MdPlan::new(kernel, &facts) {
            Ok(plan) => (Some(plan), None),
            Err(error) => (None, Some(error)),
        };
        Some(Self { facts, plan, error })
    }

    fn write(md: Option<&Self>, out: &mut dyn Write) -> std::io::Result<()> {
        let Some(md) = md else {
            return writeln!(out, "md          no module of md's is loaded");
        };
        let modules: Vec<&str> = md.facts.modules.keys().map(String::as_str).collect();
        writeln!(
            out,
            "md          {}: {} functions, {} fields, {} constants",
            modules.join(" "),
            md.facts.functions.len(),
            md.facts.fields.len(),
            md.facts.constants.len(),
        )?;
        if let Some(error) = &md.error {
            writeln!(
                out,
                "            why members are read and written: not told: {error}"
            )?;
        }
        if let Some(plan) = &md.plan {
            let rows = match plan.rows {
                Rows::Measured => "by the BTF of its modules",
                Rows::Table => "by a table, each structure checked",
                Rows::Unknown => "not told",
            };
            writeln!(out, "            rows of raid4/5/6: {rows}")?;
            for missing in &plan.missing {
                writeln!(out, "            {missing}")?;
            }
        }
        Ok(())
    }
}

/// Reads the facts, plans, and writes both.
///
/// # Errors
/// When `out` cannot be written. A kernel that offers nothing is no error: that
/// is what was asked.
pub fn run(options: &ProbeOptions, out: &mut dyn Write) -> anyhow::Result<()> {
    let facts = KernelFacts::read(&options.root);
    let plan = ProbePlan::new(&facts, &options.request);
    let md = {
        let _raised = privileges::raise(Need::Symbols);
        Md::new(MdFacts::read(&options.root), &facts)
    };
    match options.format {
        ProbeFormat::Plain => plain(&facts, &plan, md.as_ref(), out)?,
        ProbeFormat::Json => {
            let report = Report {
                facts: &facts,
                plan: &plan,
                md: md.as_ref(),
            };
            serde_json::to_writer(&mut *out, &report)?;
            writeln!(out)?;
        }
    }
    Ok(())
}

fn plain(
    facts: &KernelFacts,
    plan: &ProbePlan,
    md: Option<&Md>,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    found(facts, out)?;
    Md::write(md, out)?;
    writeln!(out)?;
    table(plan, out)?;
    lost(plan, out)?;
    if let Some(error) = &plan.error {
        writeln!(out, "\nNothing can be counted: {error}.")?;
    }
    Ok(())
}

fn found(facts: &KernelFacts, out: &mut dyn Write) -> std::io::Result<()> {
    let release = facts.release.as_deref().unwrap_or("not known");
    writeln!(out, "kernel      {release}")?;
    line(out, "BTF", &facts.btf, |btf| {
        format!(
            "{}: {} tracepoints, {} fields, {} constants",
            btf.path.display(),
            btf.prototypes.len(),
            btf.fields.len(),
            btf.constants.len(),
        )
    })?;
    line(out, "tracefs", &facts.tracefs, |tracefs| {
        format!(
            "{}: {} tracepoints",
            tracefs.path.display(),
            tracefs.records.len()
        )
    })?;
    line(out, "privileges", &facts.privileges, privileges)
}

fn line<T>(
    out: &mut dyn Write,
    label: &str,
    finding: &Finding<T>,
    text: impl FnOnce(&T) -> String,
) -> std::io::Result<()> {
    match finding {
        Finding::Found(found) => writeln!(out, "{label:<11} {}", text(found)),
        Finding::Missing(absence) => writeln!(out, "{label:<11} none: {absence}"),
    }
}

/// A full set is told by its size: forty names tell nobody anything.
fn privileges(privileges: &Privileges) -> String {
    let user = format!("user {}", privileges.uid);
    match privileges.permitted.as_slice() {
        [] => format!("{user}, no capabilities"),
        few if few.len() <= 8 => format!("{user}, {}", few.join(" ")),
        many => format!("{user}, {} capabilities", many.len()),
    }
}

fn table(plan: &ProbePlan, out: &mut dyn Write) -> std::io::Result<()> {
    row(out, "event", "attach, best first", "arg", "why")?;
    for event in &plan.events {
        rows(event, out)?;
    }
    Ok(())
}

/// The ways to be tried, explained by the best; then those that are closed.
fn rows(plan: &EventPlan, out: &mut dyn Write) -> std::io::Result<()> {
    let name = plan.event.name();
    if let Some(why) = plan.not_wanted {
        return row(out, name, "-", "", why);
    }
    match plan.candidates.first() {
        Some(best) => {
            let ways: Vec<_> = plan.candidates.iter().map(|c| c.kind.name()).collect();
            let argument = best.argument.map(|index| index.to_string());
            let argument = argument.unwrap_or_default();
            row(out, name, &ways.join(", "), &argument, &best.why)?;
        }
        None => row(out, name, "nothing", "", plan.event.lost_without())?,
    }
    for refusal in &plan.refusals {
        row(out, "", &format!("not {}", refusal.kind), "", &refusal.why)?;
    }
    Ok(())
}

fn row(
    out: &mut dyn Write,
    event: &str,
    attach: &str,
    argument: &str,
    why: &str,
) -> std::io::Result<()> {
    writeln!(out, "{event:<18}  {attach:<20}  {argument:<3}  {why}")
}

fn lost(plan: &ProbePlan, out: &mut dyn Write) -> std::io::Result<()> {
    if plan.missing.is_empty() && plan.error.is_none() {
        return writeln!(out, "\nNothing is lost.");
    }
    if plan.missing.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "\nNot to be had here, and what is not known without it:"
    )?;
    let mut shown = None;
    for missing in &plan.missing {
        if shown != Some(&missing.what) {
            writeln!(out, "  {}", missing.what)?;
        }
        writeln!(out, "      {}", missing.lost)?;
        shown = Some(&missing.what);
    }
    Ok(())
}

#[cfg(test)]
#[path = "probe_tests.rs"]
mod tests;
