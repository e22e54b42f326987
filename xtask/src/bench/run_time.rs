//! Run time of each program, by the kernel's statistics, beside the programs
//! of libbpf-tools on the same events at the same time.
//!
//! Programs on one event run one after another, and the first pays for what
//! it brings into the cache: each measurement is made in both orders.

use std::{collections::BTreeMap, time::Duration};

use anyhow::{Context as _, Result};

use super::{
    disk::Disk,
    fio,
    interrupt::Interrupt,
    observer::{self, Iotrace, Observer},
    programs::{self, Runs},
    stats_switch::StatsSwitch,
    table::{Table, thousands, verdict},
};

const KINDS: [&str; 3] = ["btf", "raw", "tracepoint"];
const PEERS: [&str; 2] = ["bitesize", "biolatency"];

/// What iotrace's program at this event may take of the time of bitesize's.
const BAR: f64 = 0.6;
const BAR_EVENT: &str = "block_rq_issue";
const BAR_PEER: &str = "bitesize";

/// Programs that ran less often are left out of the tables: nearly all of such
/// a time is what comes into the cache first.
const FEW_RUNS: u64 = 1000;

/// Runs by tool and program.
type ByProgram = BTreeMap<(&'static str, String), Runs>;

/// One way to run iotrace, measured.
pub struct Figures {
    kind: &'static str,
    histograms: bool,
    programs: ByProgram,
}

/// Measures every way of attaching, with and without histograms for the disk
/// that is written to.
pub fn measure(
    iotrace: &Iotrace,
    disk: &Disk,
    idle: &Disk,
    length: Duration,
    interrupt: &Interrupt,
) -> Result<Vec<Figures>> {
    let _stats = StatsSwitch::on()?;
    let mut figures = Vec::new();
    for kind in KINDS {
        for histograms in [false, true] {
            let asked = if histograms { disk } else { idle };
            let start = || iotrace.start(asked.device(), Some(kind), interrupt);
            let mut programs = ByProgram::new();
            in_both_orders(&start, &PEERS, interrupt, |tools| {
                observe(tools, disk, length / 2, interrupt, &mut programs)
            })?;
            eprintln!("xtask: measured run time, {}", title(kind, histograms));
            figures.push(Figures {
                kind,
                histograms,
                programs,
            });
        }
    }
    Ok(figures)
}

/// Measures twice: with iotrace attached before `peers`, and after them.
pub fn in_both_orders(
    start: &dyn Fn() -> Result<Observer>,
    peers: &[&'static str],
    interrupt: &Interrupt,
    mut measure: impl FnMut(&mut [Observer]) -> Result<()>,
) -> Result<()> {
    for iotrace_first in [true, false] {
        let mut tools = Vec::new();
        if iotrace_first {
            tools.push(start()?);
        }
        for &name in peers {
            tools.push(observer::peer(name, interrupt)?);
        }
        if !iotrace_first {
            tools.push(start()?);
        }
        measure(&mut tools)?;
    }
    Ok(())
}

/// Adds the runs of all `tools` during so long a load.
fn observe(
    tools: &mut [Observer],
    disk: &Disk,
    length: Duration,
    interrupt: &Interrupt,
    sums: &mut ByProgram,
) -> Result<()> {
    // What happens once only, at the first event, is none of the figures.
    fio::random_writes(disk.device(), fio::MANY, length / 4, interrupt)?;
    let before = read(tools)?;
    fio::random_writes(disk.device(), fio::MANY, length, interrupt)?;
    let after = read(tools)?;
    let names = programs::program_names()?;
    for (tool, (before, after)) in tools.iter().zip(before.iter().zip(after)) {
        for (id, runs) in after {
            let name = names
                .get(&id)
                .with_context(|| format!("bpftool does not name program {id}"))?;
            let runs = runs.since(before.get(&id).copied().unwrap_or_default());
            sums.entry((tool.name, name.clone())).or_default().add(runs);
        }
    }
    Ok(())
}

/// The runs of each tool's programs so far, by the program's number.
pub fn read(tools: &mut [Observer]) -> Result<Vec<BTreeMap<u64, Runs>>> {
    let each = tools.iter_mut().map(|tool| {
        tool.expect_running().context(tool.name)?;
        programs::runs(tool.pid())
    });
    each.collect()
}

fn title(kind: &str, histograms: bool) -> String {
    let with = if histograms { "with" } else { "without" };
    format!("attached by {kind}, {with} histograms of the disk")
}

impl Figures {
    /// Nanoseconds a run of a tool's program at the event of the bar.
    fn at_the_bar(&self, tool: &str) -> Result<f64> {
        let of_event = self.programs.iter().filter(|((owner, name), runs)| {
            *owner == tool && BAR_EVENT.starts_with(event_of(name)) && runs.count != 0
        });
        let (_, runs) = of_event
            .max_by_key(|(_, runs)| runs.count)
            .with_context(|| format!("no program of {tool} ran at {BAR_EVENT}"))?;
        runs.ns_a_run().context("no runs")
    }

    fn table(&self, bitesize: f64) -> String {
        let mut table = Table::new(&["program", "runs", "ns a run", "to bitesize"]);
        let often = self
            .programs
            .iter()
            .filter(|(_, runs)| runs.count >= FEW_RUNS);
        let (own, others): (Vec<_>, Vec<_>) = often.partition(|((tool, _), _)| *tool == "iotrace");
        for ((tool, name), runs) in own.into_iter().chain(others) {
            let Some(ns) = runs.ns_a_run() else { continue };
            table.row(vec![
                format!("{tool} `{name}`"),
                thousands(runs.count),
                format!("{ns:.0}"),
                format!("{:.2}", ns / bitesize),
            ]);
        }
        table.render()
    }
}

/// The event of a program: iotrace's are named after it and their kind. Old
/// kernels cut names off after 15 letters.
fn event_of(program: &str) -> &str {
    let cut = KINDS
        .iter()
        .map(|kind| if *kind == "tracepoint" { "tp" } else { kind })
        .find_map(|suffix| program.strip_suffix(suffix)?.strip_suffix('_'));
    cut.unwrap_or(program)
}

/// The tables, and the bar for each.
pub fn report(figures: &[Figures]) -> Result<String> {
    let mut text = String::from("## Run time of the programs\n");
    let mut bars = String::new();
    for figures in figures {
        let title = title(figures.kind, figures.histograms);
        let measure = |tool| figures.at_the_bar(tool).with_context(|| title.clone());
        let bitesize = measure(BAR_PEER)?;
        let ratio = measure("iotrace")? / bitesize;
        text.push_str(&format!(
            "\niotrace {title}:\n\n{}",
            figures.table(bitesize)
        ));
        let verdict = verdict(ratio <= BAR);
        bars.push_str(&format!("- {title}: {ratio:.2}: **{verdict}**\n"));
    }
    Ok(format!(
        "{text}\niotrace's `{BAR_EVENT}` takes at most {BAR:.2} of the time of {BAR_PEER}'s:\n\n{bars}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(count: u64, time_ns: u64) -> Runs {
        Runs { count, time_ns }
    }

    #[test]
    fn programs_of_the_same_event_are_compared() {
        let mut programs = ByProgram::new();
        for (tool, name, runs) in [
            ("iotrace", "block_rq_issue_btf", runs(1000, 50_000)),
            ("iotrace", "block_rq_complete_btf", runs(1000, 900_000)),
            ("iotrace", "block_rq_requeue_btf", runs(9, 90_000)),
            ("bitesize", "block_rq_issue", runs(1000, 100_000)),
        ] {
            programs.insert((tool, name.to_owned()), runs);
        }
        let figures = [Figures {
            kind: "btf",
            histograms: true,
            programs,
        }];
        let report = report(&figures).unwrap();
        assert!(report.contains("0.50: **MET**"), "{report}");
        assert!(report.contains("`block_rq_complete_btf` | 1,000 |      900 |"));
        assert!(!report.contains("requeue"));
        assert_eq!(event_of("block_rq_issue_tp"), "block_rq_issue");
        assert_eq!(event_of("block_rq_issue_"), "block_rq_issue_");
    }

    #[test]
    fn what_did_not_run_is_an_error() {
        let figures = [Figures {
            kind: "raw",
            histograms: false,
            programs: ByProgram::new(),
        }];
        let message = format!("{:#}", report(&figures).unwrap_err());
        assert!(message.contains("no program of bitesize ran"), "{message}");
    }
}
