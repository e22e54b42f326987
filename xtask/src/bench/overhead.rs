//! `cargo xtask bench overhead`: run time of the programs, throughput of what
//! is observed, kernel memory; each against its bar, beside libbpf-tools.
//!
//! A bar that is not met is printed and no error; what could not be measured
//! is one.

use std::{
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, Result};

use super::{
    disk::{Disk, OnDisk},
    fio,
    interrupt::Interrupt,
    machine, memory,
    observer::Iotrace,
    run_time,
    throughput::{self, Load},
};
use crate::{
    build::host::{self, Profile},
    debian::{self, Package},
    process, workspace,
};

/// What the bench uses beside iotrace.
const TOOLS: [Package; 4] = [
    Package::command("fio", "fio"),
    Package::command("bpftool", "bpftool"),
    Package::command("libbpf-tools", "bitesize"),
    Package::command("libbpf-tools", "biolatency"),
];

/// Run time of iotrace's programs beside those of libbpf-tools' bitesize and
/// biolatency, throughput of 4 KiB random writes with and without iotrace, and
/// kernel memory. Prints Markdown; takes a few minutes as root.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Length of one measurement.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..))]
    seconds: u64,
    /// Throughput with and without iotrace is measured so often.
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..))]
    pairs: u32,
    /// The iotrace to measure, instead of building one.
    #[arg(long, value_name = "FILE")]
    iotrace: Option<PathBuf>,
}

pub fn run(args: &Args) -> Result<()> {
    debian::ensure(&TOOLS)?;
    let iotrace = match &args.iotrace {
        Some(file) => std::path::absolute(file)?,
        None => host::build(Profile::Release)?,
    };
    if !rustix::process::geteuid().is_root() {
        return again_as_root(args, iotrace);
    }
    measure(args, &Iotrace::new(iotrace))
}

/// All that follows reads other processes' descriptors and writes below
/// `/proc/sys`: one program as root is simpler than many.
fn again_as_root(args: &Args, iotrace: PathBuf) -> Result<()> {
    let xtask = std::env::current_exe().context("finding this program")?;
    let mut command = process::as_root(&xtask)?;
    command
        .args(["bench", "overhead", "--iotrace"])
        .arg(iotrace)
        .args(["--seconds", &args.seconds.to_string()])
        .args(["--pairs", &args.pairs.to_string()]);
    process::announce(&command);
    let error = command.exec();
    Err(error).with_context(|| format!("starting {} as root", xtask.display()))
}

fn measure(args: &Args, iotrace: &Iotrace) -> Result<()> {
    let interrupt = Interrupt::watch()?;
    let length = Duration::from_secs(args.seconds);
    // The first takes the IO; the second is another device to ask for.
    let disk = Disk::new()?;
    let idle = Disk::new()?;
    println!("{}", machine::describe()?);
    let figures = run_time::measure(iotrace, &disk, &idle, length, &interrupt)?;
    println!("{}", run_time::report(&figures)?);
    let on_disk = OnDisk::new(&workspace::target_dir()?)?;
    for load in loads(&disk, on_disk.as_ref()) {
        let rounds = throughput::measure(iotrace, &load, length, args.pairs, &interrupt)?;
        println!("{}", throughput::report(&load.name, &rounds, length));
    }
    if on_disk.is_none() {
        println!("No throughput on a real disk: the target folder lies on no block device.\n");
    }
    println!("{}", memory::report(iotrace, &disk, &interrupt)?);
    Ok(())
}

/// Without any device time, and with that of the disk the workspace is on.
fn loads<'a>(memory: &'a Disk, on_disk: Option<&'a OnDisk>) -> Vec<Load<'a>> {
    let mut loads = vec![Load {
        name: format!("a loop device in memory, {} at once", fio::MANY),
        to: memory.device(),
        device: memory.device(),
        depth: fio::MANY,
    }];
    for depth in [fio::MANY, 1] {
        loads.extend(on_disk.map(|file| Load {
            name: format!("a file on {}, {depth} at once", file.device),
            to: file.path(),
            device: Path::new(&file.device),
            depth,
        }));
    }
    loads
}
