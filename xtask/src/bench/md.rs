//! `cargo xtask bench md`: what a bio on an array's member costs, and which
//! share of a core that is when ten members take 1 GB/s.
//!
//! md is in a guest only, and emulation distorts times. So both are measured
//! relative to the same program under the same load, in the guest and here;
//! the ratio of the guest times the nanoseconds of this machine is *computed*,
//! and called so. Must not measure.

use std::{path::Path, process::Command};

use anyhow::{Context as _, Result};

use super::{
    md_part::{self, DATA_DISKS, FULL_STRIPES, MEMBERS, Measured, PARTIAL, Program, RANDOM},
    table::{Table, thousands},
};
use crate::{
    build::host::{self, Profile},
    debian::{self, Package},
    process, vm,
};

const TOOLS: [Package; 3] = [
    Package::command("fio", "fio"),
    Package::command("bpftool", "bpftool"),
    Package::command("libbpf-tools", "bitesize"),
];

/// Programs of iotrace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    Member,
    All,
}

/// On each bio that reaches a component.
const MEMBER: &str = "member_bio_queue_btf";
/// What both machines run, a longer program and a shorter one: tool and name.
const BASES: [(&str, &str); 2] = [
    ("bitesize", "block_rq_issue"),
    ("iotrace", "block_rq_issue_btf"),
];

/// What users write, in bytes a second.
const WRITTEN: f64 = 1e9;
/// md reads and writes members in blocks of this size (`RAID5_STRIPE_SIZE`,
/// drivers/md/raid5.h).
const BLOCK_BYTES: f64 = 4096.0;

/// What iotrace's programs cost on the members of an array: measured in a
/// guest with a RAID6 of ten disks, as a ratio to a program that is measured on
/// this machine too, and computed from that for 1 GB/s of full-stripe writes.
/// Prints Markdown; takes two minutes, the first time also a download.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Length of one measurement.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..))]
    seconds: u64,
    /// As for `cargo xtask vm`.
    #[arg(long, value_name = "5.10|6.1|6.12|sid|PATH", default_value = "6.12")]
    kernel: String,
}

pub fn run(args: &Args) -> Result<()> {
    debian::ensure(&TOOLS)?;
    vm::prepare(&args.kernel)?;
    let iotrace = host::build(Profile::Release)?;
    let xtask = std::env::current_exe().context("finding this program")?;
    let native = part(args, process::as_root(&xtask)?, "native", &iotrace)?;
    let mut guest = Command::new(&xtask);
    guest.args(["vm", "--kernel", &args.kernel]);
    for file in ["bitesize", "bpftool"] {
        let file = process::find(file).with_context(|| format!("no `{file}` here"))?;
        guest.arg("--file").arg(file);
    }
    guest.arg("--file").arg(&xtask).arg("--");
    guest.arg(xtask.file_name().unwrap_or_default());
    let guest = part(args, guest, "guest", Path::new("/bin/iotrace"))?;
    let (here, native) = md_part::from_json(&native)?;
    let (there, guest) = md_part::from_json(&guest)?;
    println!("On this machine: {here}\nIn the guest, emulated: {there}");
    println!("{}", report(&native, &guest)?);
    Ok(())
}

/// Runs one half of the measurement, and returns what it printed.
fn part(args: &Args, mut start: Command, part: &str, iotrace: &Path) -> Result<String> {
    start
        .args(["bench", "md-part", part, "--seconds"])
        .arg(args.seconds.to_string())
        .arg("--iotrace")
        .arg(iotrace)
        .stderr(std::io::stderr());
    process::announce(&start);
    process::output(&mut start)
}

fn during<'a>(measured: &'a [Measured], load: &str) -> Result<&'a Measured> {
    let found = measured.iter().find(|measured| measured.load == load);
    found.with_context(|| format!("nothing measured of {load}"))
}

impl Measured {
    fn program(&self, (tool, name): (&str, &str)) -> Result<&Program> {
        let mut programs = self.programs.iter();
        let found = programs.find(|program| program.tool == tool && program.name == name);
        found.with_context(|| format!("no {name} of {tool} ran during {}", self.load))
    }

    fn ns_a_run(&self, program: (&str, &str)) -> Result<f64> {
        self.program(program).map(|program| program.ns)
    }

    /// Nanoseconds of iotrace's programs for each bio of a component, after
    /// `here` has made those of a run on this machine out of those of a run.
    fn ns_a_member_bio(&self, which: Which, here: impl Fn(f64) -> f64) -> Result<f64> {
        let bios = self.program(("iotrace", MEMBER))?.runs;
        let own = self.programs.iter().filter(|one| one.tool == "iotrace");
        let own = own.filter(|one| which == Which::All || one.name == MEMBER);
        let all: f64 = own.map(|one| one.runs as f64 * here(one.ns)).sum();
        Ok(all / bios as f64)
    }

    fn table(&self, base: f64) -> String {
        let mut table = Table::new(&["program", "runs", "ns a run, median", "to bitesize"]);
        for program in &self.programs {
            table.row(vec![
                format!("{} `{}`", program.tool, program.name),
                thousands(program.runs),
                format!("{:.0}", program.ns),
                format!("{:.2}", program.ns / base),
            ]);
        }
        table.render()
    }
}

/// Bios that reach members in a second: data and parity, a block each.
fn member_bios_a_second() -> f64 {
    WRITTEN / BLOCK_BYTES * f64::from(MEMBERS) / f64::from(DATA_DISKS)
}

fn report(native: &[Measured], guest: &[Measured]) -> Result<String> {
    let here = during(native, RANDOM)?;
    let there = during(guest, RANDOM)?;
    let bitesize = BASES[0];
    let mut text = format!(
        "### Measured on this machine\n\n{RANDOM}:\n\n{}\n### Measured in the guest\n",
        here.table(here.ns_a_run(bitesize)?)
    );
    let base = there.ns_a_run(bitesize)?;
    for measured in [there, during(guest, FULL_STRIPES)?, during(guest, PARTIAL)?] {
        let load = &measured.load;
        text.push_str(&format!("\n{load}:\n\n{}", measured.table(base)));
    }
    text.push_str(&format!(
        "\n*To bitesize* is to bitesize's program during the {RANDOM}, of the same machine.\n\
         \n### Computed for this machine\n\n\
         1 GB/s in full stripes on {MEMBERS} members, {DATA_DISKS} of data, are {} bios of 4 KiB a \
         second on them. For each, in ns, and as a share of a core: the program on members, and \
         all of iotrace's together.\n\n{}",
        thousands(member_bios_a_second().round() as u64),
        computed(here, there, during(guest, FULL_STRIPES)?)?
    ));
    Ok(text)
}

/// From nanoseconds in the guest to nanoseconds here.
struct Rule {
    name: String,
    offset_ns: f64,
    factor: f64,
}

impl Rule {
    /// By the ratio to one program.
    fn ratio(base: (&str, &str), here: &Measured, there: &Measured) -> Result<Self> {
        let (here, there) = (here.ns_a_run(base)?, there.ns_a_run(base)?);
        Ok(Self {
            name: format!(
                "ratio to {} `{}`: {here:.0} here, {there:.0} there",
                base.0, base.1
            ),
            offset_ns: 0.0,
            factor: here / there,
        })
    }

    /// By the line through two: what each run costs before it does anything is
    /// another part of a figure here than there.
    fn line(here: &Measured, there: &Measured) -> Result<Self> {
        let [long, short] = BASES;
        let (x1, y1) = (there.ns_a_run(short)?, here.ns_a_run(short)?);
        let (x2, y2) = (there.ns_a_run(long)?, here.ns_a_run(long)?);
        let factor = (y2 - y1) / (x2 - x1);
        Ok(Self {
            name: "the line through these two".to_owned(),
            offset_ns: y1 - factor * x1,
            factor,
        })
    }

    fn here(&self, ns: f64) -> f64 {
        self.offset_ns + self.factor * ns
    }
}

fn computed(here: &Measured, there: &Measured, full: &Measured) -> Result<String> {
    let mut table = Table::new(&[
        "by",
        "`member_bio_queue`, ns",
        "of one core",
        "all, ns",
        "of one core",
    ]);
    let [long, short] = BASES;
    let rules = [
        Rule::ratio(long, here, there)?,
        Rule::ratio(short, here, there)?,
        Rule::line(here, there)?,
    ];
    for rule in rules {
        let mut row = vec![rule.name.clone()];
        for which in [Which::Member, Which::All] {
            let ns = full.ns_a_member_bio(which, |ns| rule.here(ns))?;
            let share = ns * 1e-9 * member_bios_a_second();
            row.extend([format!("{ns:.0}"), format!("{:.1}%", share * 100.0)]);
        }
        table.row(row);
    }
    Ok(table.render())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(load: &str, programs: &[(&str, &str, u64, f64)]) -> Measured {
        let program = |&(tool, name, runs, ns): &(&str, &str, u64, f64)| Program {
            tool: tool.to_owned(),
            name: name.to_owned(),
            runs,
            ns,
        };
        Measured {
            load: load.to_owned(),
            programs: programs.iter().map(program).collect(),
        }
    }

    #[test]
    fn the_share_is_ratio_times_native_times_bios() {
        let issue = ("iotrace", "block_rq_issue_btf");
        let random = |bitesize, own| {
            let programs = [
                ("bitesize", "block_rq_issue", 1000, bitesize),
                (issue.0, issue.1, 1000, own),
            ];
            measured(RANDOM, &programs)
        };
        let member = |load| {
            let programs = [
                ("iotrace", MEMBER, 16_000, 3000.0),
                (issue.0, issue.1, 1000, 1600.0),
            ];
            measured(load, &programs)
        };
        let native = [random(200.0, 100.0)];
        let guest = [
            random(1500.0, 1000.0),
            member(FULL_STRIPES),
            member(PARTIAL),
        ];
        let report = report(&native, &guest).unwrap();
        assert!(report.contains("are 305,176 bios"), "{report}");
        let row = |name: &str| {
            let found = report.lines().find(|line| line.contains(name)).unwrap();
            let cells: Vec<&str> = found.split('|').map(str::trim).collect();
            cells[2..6].join(" ")
        };
        // 3000 / 1500 × 200 = 400 ns, × 305,176 = 12.2% of a second; for all a
        // sixteenth of a request's 1600 ns more.
        assert_eq!(row("ratio to bitesize"), "400 12.2% 413 12.6%");
        assert_eq!(row("ratio to iotrace"), "300 9.2% 310 9.5%");
        // 100 ns at 1000, 200 at 1500: 0.2 a ns, less 100.
        assert_eq!(row("the line"), "500 15.3% 514 15.7%");
        assert!(super::report(&native, &guest[..1]).is_err());
    }
}
