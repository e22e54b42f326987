//! Half of `cargo xtask bench md`: run times of iotrace's programs beside
//! bitesize's, on a loop device of this machine, or in a guest on an array too;
//! printed as JSON.
//!
//! The host of an emulated machine stops it now and then, for milliseconds, and
//! a program that runs then seems to take so long: one such run in thousands
//! doubles their mean. So the statistics are read many times a second, and the
//! median of what a run took between two readings counts.
//!
//! Must not compare or compute: [`super::md`] does.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, anyhow, bail};
use serde_json::{Value, json};

use super::{
    disk::Disk,
    fio,
    interrupt::Interrupt,
    machine,
    observer::{Iotrace, Observer},
    programs::{self, Runs},
    run_time,
    stats_switch::StatsSwitch,
    table,
};
use crate::process;

/// The array: RAID6 of 8 data disks, 64 KiB chunks.
pub const MEMBERS: u32 = 10;
pub const DATA_DISKS: u32 = 8;
const CHUNK_KIB: u32 = 64;
const STRIPE_BYTES: u64 = (DATA_DISKS * CHUNK_KIB) as u64 * 1024;
const ARRAY: &str = "/dev/md127";
/// Of each member; all of them are in the guest's memory.
const MEMBER_MIB: u32 = 64;

/// How long devices may take to come.
const PATIENCE: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(100);

/// Between two readings of the statistics.
const SAMPLE: Duration = Duration::from_millis(50);

/// As much as keeps md's own threads busy.
const STRIPES_AT_ONCE: u32 = 8;

/// Which half.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Part {
    Native,
    Guest,
}

#[derive(Debug, clap::Args)]
pub struct Args {
    part: Part,
    #[arg(long)]
    seconds: u64,
    #[arg(long)]
    iotrace: PathBuf,
}

/// One load, and what each program took during it.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    pub load: String,
    pub programs: Vec<Program>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    pub tool: String,
    pub name: String,
    pub runs: u64,
    /// Of a run: the median between readings.
    pub ns: f64,
}

pub const RANDOM: &str = "4 KiB random writes on a loop device in memory";
pub const FULL_STRIPES: &str = "full-stripe writes on the array";
pub const PARTIAL: &str = "4 KiB random writes on the array";

/// A load of so long.
type Load<'a> = &'a (dyn Fn(Duration) -> Result<f64> + Sync);
/// What a program did between two readings, of which there are many.
type Samples = BTreeMap<(&'static str, String), Vec<Runs>>;

pub fn run(args: &Args) -> Result<()> {
    let interrupt = Interrupt::watch()?;
    let machine = machine::describe()?;
    let iotrace = Iotrace::new(args.iotrace.clone());
    let length = Duration::from_secs(args.seconds);
    let _stats = StatsSwitch::on()?;
    let disk = Disk::new()?;
    let array = Path::new(ARRAY);
    let random = |length| fio::random_writes(disk.device(), fio::MANY, length, &interrupt);
    let full = |length| {
        let at_once = STRIPES_AT_ONCE;
        fio::sequential_writes(array, STRIPE_BYTES, at_once, length, &interrupt)
    };
    let partial = |length| fio::random_writes(array, fio::MANY, length, &interrupt);
    let mut loads: Vec<(&'static str, Load<'_>)> = vec![(RANDOM, &random)];
    // In both parts another device than the loop device is asked for: without
    // histograms it is measured alike.
    let idle = Disk::new()?;
    let mut asked = idle.device();
    if args.part == Part::Guest {
        make_array()?;
        loads.extend([(FULL_STRIPES, &full as Load<'_>), (PARTIAL, &partial)]);
        asked = array;
    }
    let start = || iotrace.start(asked, Some("btf"), &interrupt);
    let mut all = vec![Samples::new(); loads.len()];
    run_time::in_both_orders(&start, &["bitesize"], &interrupt, |tools| {
        for ((_, load), samples) in loads.iter().zip(&mut all) {
            sample(tools, *load, length / 2, samples)?;
        }
        Ok(())
    })?;
    let loads = loads.iter().zip(&all).map(|((load, _), samples)| Measured {
        load: (*load).to_owned(),
        programs: samples.iter().filter_map(program).collect(),
    });
    println!("{}", to_json(&machine, loads));
    Ok(())
}

/// Adds what the programs of all `tools` do during so long a load.
fn sample(
    tools: &mut [Observer],
    load: Load<'_>,
    length: Duration,
    samples: &mut Samples,
) -> Result<()> {
    // What happens once only, at the first event, is none of the figures.
    load(length / 4)?;
    let names = programs::program_names()?;
    thread::scope(|scope| {
        let running = scope.spawn(move || load(length));
        let mut before = run_time::read(tools)?;
        while !running.is_finished() {
            thread::sleep(SAMPLE);
            let after = run_time::read(tools)?;
            for (tool, (before, after)) in tools.iter().zip(before.iter().zip(&after)) {
                for (id, runs) in after {
                    let name = names
                        .get(id)
                        .with_context(|| format!("bpftool does not name program {id}"))?;
                    let runs = runs.since(before.get(id).copied().unwrap_or_default());
                    let key = (tool.name, name.clone());
                    samples.entry(key).or_default().push(runs);
                }
            }
            before = after;
        }
        let done = running.join();
        done.map_err(|_panic| anyhow!("the load panicked"))?
            .map(|_requests| ())
    })
}

/// `None` for one that never ran.
fn program(((tool, name), samples): (&(&'static str, String), &Vec<Runs>)) -> Option<Program> {
    let each: Vec<f64> = samples.iter().filter_map(|runs| runs.ns_a_run()).collect();
    Some(Program {
        tool: (*tool).to_owned(),
        name: name.clone(),
        runs: samples.iter().map(|runs| runs.count).sum(),
        ns: table::median(&each)?,
    })
}

fn make_array() -> Result<()> {
    let more = MEMBERS - 1;
    shell(&format!(
        "modprobe raid456 && modprobe scsi_debug dev_size_mb={MEMBER_MIB} sector_size=512 \
         physblk_exp=3 per_host_store=1 delay=0 && \
         echo {more} >/sys/bus/pseudo/drivers/scsi_debug/add_host"
    ))?;
    let last = Path::new("/sys/block/sdj/queue/physical_block_size");
    wait_for(last)?;
    shell(&format!(
        "mdadm --create {ARRAY} --run --assume-clean --level=6 --chunk={CHUNK_KIB} \
         --raid-devices={MEMBERS} --bitmap=internal /dev/sd[a-j]"
    ))?;
    wait_for(Path::new(ARRAY))
}

fn shell(line: &str) -> Result<()> {
    process::output(Command::new("sh").args(["-c", line])).map(|_said| ())
}

fn wait_for(file: &Path) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    while !file.exists() {
        if Instant::now() > deadline {
            bail!("no {} after {} s", file.display(), PATIENCE.as_secs());
        }
        thread::sleep(POLL);
    }
    Ok(())
}

fn to_json(machine: &str, loads: impl Iterator<Item = Measured>) -> Value {
    let program = |program: &Program| {
        json!({
            "tool": program.tool,
            "name": program.name,
            "runs": program.runs,
            "ns": program.ns,
        })
    };
    let load = |measured: Measured| {
        let programs: Vec<Value> = measured.programs.iter().map(program).collect();
        json!({"load": measured.load, "programs": programs})
    };
    let loads: Vec<Value> = loads.map(load).collect();
    json!({"machine": machine, "loads": loads})
}

/// What [`run`] printed: the machine, and each load.
pub fn from_json(text: &str) -> Result<(String, Vec<Measured>)> {
    let value: Value = serde_json::from_str(text.trim()).context("a part's figures")?;
    let program = |one: &Value| {
        Some(Program {
            tool: one["tool"].as_str()?.to_owned(),
            name: one["name"].as_str()?.to_owned(),
            runs: one["runs"].as_u64()?,
            ns: one["ns"].as_f64()?,
        })
    };
    let load = |one: &Value| {
        let programs = one["programs"].as_array()?.iter().map(program);
        Some(Measured {
            load: one["load"].as_str()?.to_owned(),
            programs: programs.collect::<Option<_>>()?,
        })
    };
    let parsed = || {
        let loads = value["loads"].as_array()?.iter().map(load);
        Some((
            value["machine"].as_str()?.to_owned(),
            loads.collect::<Option<_>>()?,
        ))
    };
    parsed().context("a part's figures lack something")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_was_stopped_does_not_count() {
        let runs = |count, time_ns| Runs { count, time_ns };
        let samples = vec![
            runs(10, 2000),
            runs(1, 9_000_000),
            runs(0, 0),
            runs(20, 4200),
        ];
        let key = ("iotrace", "member_bio_queue_btf".to_owned());
        let found = program((&key, &samples)).unwrap();
        assert_eq!((found.runs, found.ns), (31, 210.0));
        assert_eq!(program((&key, &vec![runs(0, 0)])), None);
    }

    #[test]
    fn figures_come_back_as_they_were() {
        let measured = Measured {
            load: FULL_STRIPES.to_owned(),
            programs: vec![Program {
                tool: "iotrace".to_owned(),
                name: "member_bio_queue_btf".to_owned(),
                runs: 3,
                ns: 210.5,
            }],
        };
        let printed = to_json("m", [measured.clone()].into_iter()).to_string();
        let (machine, loads) = from_json(&format!("{printed}\n")).unwrap();
        assert_eq!(machine, "m");
        assert_eq!(loads, [measured]);
        assert!(from_json("{}").is_err());
    }
}
