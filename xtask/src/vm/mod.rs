//! `cargo xtask vm`: one of Debian's kernels in an emulated machine with md,
//! dm, scsi_debug, null_blk, mdadm, fio and iotrace in it.
//!
//! Holds the order of the steps; how each is done is in the modules below.
//! Must not know what is run in the guest.

mod accel;
mod apt;
mod cache;
mod debian_kernel;
pub mod debian_root;
#[cfg(test)]
mod guest_tests;
mod initramfs;
mod kernel;
mod marked;
mod modules;
mod qemu;
mod sites;
mod tools;

use std::{
    io::IsTerminal as _,
    path::{Path, PathBuf},
    process::ExitCode,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};

pub use accel::Accel;
pub use kernel::MATRIX;

use crate::{build::host, debian};
use initramfs::Overlay;
use kernel::Kernel;
use qemu::{Io, Machine};

const DEFAULT_MEMORY_MIB: u32 = 2500;
/// All tests in one emulated guest take minutes; a busy machine doubles that.
const TESTS_TIMEOUT_SECONDS: u64 = 1500;
const DEFAULT_TIMEOUT_SECONDS: u64 = 15 * 60;

/// Boots a Debian kernel in an emulated machine and runs a command in it.
///
/// The guest's output and its exit status come back as the command's own. The
/// first run with a kernel downloads its package; later runs need no network.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  cargo xtask vm --kernel 6.12                       a shell in the guest
  cargo xtask vm --kernel 5.10 -- uname -r
  cargo xtask vm --kernel sid -- 'modprobe scsi_debug && iotrace --dev sda --count 1'
  cargo xtask vm --kernel ./unpacked-package --file target/debug/probe -- probe

One COMMAND word is a shell line; several are a program and its arguments.")]
pub struct Args {
    /// 5.10, 6.1, 6.12 or sid: Debian's newest of that line. Or the folder of
    /// an unpacked kernel package.
    #[arg(long, value_name = "5.10|6.1|6.12|sid|PATH")]
    kernel: String,

    /// Look for a newer package of that kernel.
    #[arg(long)]
    refresh: bool,

    /// A file to put into the guest's /bin; may be given again.
    #[arg(long = "file", value_name = "FILE")]
    files: Vec<PathBuf>,

    /// The guest's memory in MiB.
    #[arg(long, value_name = "MIB", default_value_t = DEFAULT_MEMORY_MIB)]
    memory: u32,

    /// Seconds after which the guest is ended; a terminal session has no end.
    #[arg(long, value_name = "SECONDS", default_value_t = DEFAULT_TIMEOUT_SECONDS)]
    timeout: u64,

    /// Who runs the guest's instructions. `auto` takes KVM where a trial boot
    /// under it succeeds.
    #[arg(long, value_enum, default_value_t = Accel::Auto)]
    accel: Accel,

    /// What to run in the guest; a shell without it.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Runs the command line's guest.
pub fn run(args: Args) -> Result<ExitCode> {
    let io = Io::of_this_process();
    let command = match shell_line(&args.command) {
        Some(command) => command,
        None if io == Io::Terminal => "exec bash".to_owned(),
        None => bail!("no COMMAND, and no terminal for a shell: add `-- COMMAND`"),
    };
    let kernel = kernel::get(&args.kernel, args.refresh)?;
    let mut payload = args.files;
    payload.push(host::build_static()?);
    let guest = Guest {
        kernel,
        payload,
        memory_mib: args.memory,
        timeout: Duration::from_secs(args.timeout),
        accel: args.accel,
    };
    let report = guest.run(&command, io)?;
    Ok(ExitCode::from(report.code))
}

/// For tests: runs the shell line `command` in a guest with `kernel` (a name
/// of [`MATRIX`] or a folder) and `payload` in its /bin; returns its status.
pub fn run_in_guest(kernel: &str, payload: &[PathBuf], command: &str) -> Result<i32> {
    let guest = Guest::new(kernel, payload)?;
    Ok(guest.run(command, Io::Streams)?.code.into())
}

/// Runs the shell line `command` as [`run_in_guest`] does and returns what it
/// prints; an error where it fails.
pub fn output_of_guest(kernel: &str, payload: &[PathBuf], command: &str) -> Result<String> {
    let report = Guest::new(kernel, payload)?.run(command, Io::Kept)?;
    let output = String::from_utf8(report.output).context("the guest's output")?;
    ensure!(
        report.code == 0,
        "{output}\n`{command}` failed in the guest, exit status {}",
        report.code
    );
    Ok(output)
}

/// The same, where others run beside it: each line of its output begins with
/// the kernel's name.
pub fn run_in_guest_beside_others(
    kernel: &'static str,
    payload: &[PathBuf],
    command: &str,
) -> Result<i32> {
    let guest = Guest::new(kernel, payload)?;
    Ok(guest.run(command, Io::Marked(kernel))?.code.into())
}

/// Fetches and makes all that guests with this kernel need: afterwards several
/// can be started at the same time.
pub fn prepare(kernel: &str) -> Result<()> {
    debian::ensure(&tools::packages())?;
    initramfs::base(&kernel::get(kernel, false)?).map(|_base| ())
}

struct Guest {
    kernel: Kernel,
    payload: Vec<PathBuf>,
    memory_mib: u32,
    timeout: Duration,
    accel: Accel,
}

impl Guest {
    /// For tests.
    fn new(kernel: &str, payload: &[PathBuf]) -> Result<Self> {
        Ok(Self {
            kernel: kernel::get(kernel, false)?,
            payload: payload.to_vec(),
            memory_mib: DEFAULT_MEMORY_MIB,
            timeout: Duration::from_secs(TESTS_TIMEOUT_SECONDS),
            accel: Accel::Auto,
        })
    }

    fn run(&self, command: &str, io: Io) -> Result<qemu::Report> {
        debian::ensure(&tools::packages())?;
        let base = initramfs::base(&self.kernel)?;
        let accel = self
            .accel
            .resolve(|accel, limit| self.boot(&base, "true", Io::Discard, accel, limit))?;
        let begin = Instant::now();
        let report = self.boot(&base, command, io, accel, self.timeout)?;
        eprintln!(
            "xtask: Linux {} under {accel}: {:.1} s to the command, exit status {} after {:.1} s",
            self.kernel.release,
            report.ready_seconds,
            report.code,
            begin.elapsed().as_secs_f64()
        );
        Ok(report)
    }

    fn boot(
        &self,
        base: &[PathBuf],
        command: &str,
        io: Io,
        accel: &str,
        timeout: Duration,
    ) -> Result<qemu::Report> {
        let overlay = Overlay {
            command,
            payload: &self.payload,
            terminal: io == Io::Terminal,
        };
        let initrd = initramfs::assemble(base, &overlay)?;
        let machine = Machine {
            image: &self.kernel.image,
            initrd: &initrd,
            memory_mib: self.memory_mib,
            accel,
            io,
        };
        machine.run(timeout)
    }
}

impl Io {
    /// A terminal is handed through only whole: with one end redirected the
    /// other is a stream too.
    fn of_this_process() -> Self {
        if std::io::stdin().is_terminal() && std::io::stdout().is_terminal() {
            Self::Terminal
        } else {
            Self::Streams
        }
    }
}

/// One word is a line for the shell, as with `sh -c`; several arrive in the
/// guest as they are.
fn shell_line(words: &[String]) -> Option<String> {
    match words {
        [] => None,
        [line] => Some(line.clone()),
        words => Some(
            words
                .iter()
                .map(|word| format!("'{}'", word.replace('\'', r"'\''")))
                .collect::<Vec<_>>()
                .join(" "),
        ),
    }
}

/// The name of a file as it shows in the guest's /bin.
fn file_name(path: &Path) -> Result<&Path> {
    path.file_name()
        .map(Path::new)
        .with_context(|| format!("{} is no file", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Option<String> {
        shell_line(&words.iter().map(|&w| w.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn one_word_is_a_line_and_several_are_a_program() {
        assert_eq!(words(&[]), None);
        assert_eq!(words(&["a | b"]).as_deref(), Some("a | b"));
        assert_eq!(
            words(&["a", "b c", "it's"]).as_deref(),
            Some(r"'a' 'b c' 'it'\''s'")
        );
    }
}
