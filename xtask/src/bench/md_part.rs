//! Half of `cargo xtask bench md`: run times of iotrace's programs beside
//! bitesize's, on a loop device of this machine, or in a guest on an array too;
//! printed as JSON.
//!
//! Must not compare or compute: [`super::md`] does.

use std::{
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use super::{
    disk::Disk,
    fio,
    interrupt::Interrupt,
    machine,
    observer::Iotrace,
    programs::Runs,
    run_time::{self, ByProgram, Load},
    stats_switch::StatsSwitch,
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measured {
    pub load: String,
    pub programs: Vec<Program>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    pub tool: String,
    pub name: String,
    pub runs: Runs,
}

pub const RANDOM: &str = "4 KiB random writes on a loop device in memory";
pub const FULL_STRIPES: &str = "full-stripe writes on the array";
pub const PARTIAL: &str = "4 KiB random writes on the array";

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
    let mut loads: Vec<(&str, Load<'_>)> = vec![(RANDOM, &random)];
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
    let runs: Vec<Load<'_>> = loads.iter().map(|(_, load)| *load).collect();
    let all = run_time::in_both_orders(&start, &["bitesize"], &runs, length, &interrupt)?;
    let names = loads.iter().map(|(name, _)| *name);
    println!("{}", to_json(&machine, names.zip(&all)));
    Ok(())
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

fn to_json<'a>(machine: &str, loads: impl Iterator<Item = (&'static str, &'a ByProgram)>) -> Value {
    let program = |((tool, name), runs): (&(&'static str, String), &Runs)| json!({"tool": tool, "name": name, "runs": runs.count, "time_ns": runs.time_ns});
    let load = |(load, programs): (&str, &'a ByProgram)| {
        let programs: Vec<Value> = programs.iter().map(program).collect();
        json!({"load": load, "programs": programs})
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
            runs: Runs {
                count: one["runs"].as_u64()?,
                time_ns: one["time_ns"].as_u64()?,
            },
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
    fn figures_come_back_as_they_were() {
        let runs = Runs {
            count: 3,
            time_ns: 210,
        };
        let name = "member_bio_queue_btf".to_owned();
        let programs = ByProgram::from([(("iotrace", name.clone()), runs)]);
        let printed = to_json("m", [(FULL_STRIPES, &programs)].into_iter()).to_string();
        let (machine, loads) = from_json(&format!("{printed}\n")).unwrap();
        assert_eq!(machine, "m");
        let expected = Measured {
            load: FULL_STRIPES.to_owned(),
            programs: vec![Program {
                tool: "iotrace".to_owned(),
                name,
                runs,
            }],
        };
        assert_eq!(loads, [expected]);
        assert!(from_json("{}").is_err());
    }
}
