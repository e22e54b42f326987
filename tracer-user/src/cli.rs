//! The command line: what can be typed, and what it means.
//!
//! Must not do any of it.

use std::{path::PathBuf, time::Duration};

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::{
    commands::{
        live::{By, Format},
        probe::ProbeFormat,
        schema::SchemaOf,
    },
    doctor::Severity,
    geometry_spec::GeometrySpec,
    plan::Kind,
    serve::ListenAddress,
};

const EXAMPLES: &str = "\
Examples:
  iotrace                                    every device, live
  iotrace --dev md127                        an array, its members, and what sits on top
  iotrace --dev /home --by process           who writes misaligned below a mount point
  iotrace --dev sda --count 10 --format json ten lines and a summary, for a program
  iotrace --dev sda --geometry sda=boundary:16k
                                             classify by a 16 KiB flash page as well
  iotrace serve                              metrics for Prometheus on port 19127
  iotrace stack                              how the storage is built, layer by layer
  iotrace doctor                             what was built wrong, and what repairs it
  iotrace probe                              what this kernel offers

Needs CAP_BPF and CAP_PERFMON (or root). Exit status: 0 fine, 1 failed, 2 usage.";

/// Finds misaligned block IO and read-modify-write, and says why.
///
/// Counts every request of the devices asked for and classifies it by its
/// offset modulo physical block, chunk and stripe.
#[derive(Debug, Parser)]
#[command(name = "iotrace", version, after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub live: LiveArgs,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serves metrics for Prometheus over HTTP.
    Serve(ServeArgs),
    /// What this kernel offers, what would be attached, and why.
    Probe(ProbeArgs),
    /// The storage as it was built: every layer, and where it lies on those
    /// below.
    Stack(StackArgs),
    /// What was built wrong, what it costs, and the commands that repair it.
    Doctor(DoctorArgs),
    /// The JSON Schema of what `--format json` prints.
    Schema(SchemaArgs),
}

/// Which devices, and what the user knows of them.
#[derive(Debug, Args)]
pub struct DeviceArgs {
    /// A device: md127, /dev/sda1, /dev/mapper/x, a symlink, 9:127, or a mount
    /// point. May be given several times; without it, all devices.
    #[arg(long = "dev", value_name = "NAME")]
    pub devices: Vec<String>,
    /// What the kernel does not know of a device: DEV=key:value,... with
    /// physical, alignment, chunk, data, level, disks, boundary; sizes as
    /// 64k, 1m, 63s (sectors).
    #[arg(long, value_name = "SPEC")]
    pub geometry: Vec<GeometrySpec>,
}

/// Whose storage is looked at, and which of it.
#[derive(Debug, Args)]
pub struct StackSource {
    #[command(flatten)]
    pub named: DeviceArgs,
    /// Look at another machine: DIR is a copy of its /sys, or an unpacked
    /// capture.
    #[arg(long, value_name = "DIR")]
    pub sysfs: Option<PathBuf>,
    /// Look at another machine, in a file that `iotrace stack --capture` wrote
    /// there.
    #[arg(long, value_name = "FILE", conflicts_with = "sysfs")]
    pub from: Option<PathBuf>,
}

/// What is counted.
#[derive(Debug, Args)]
pub struct SourceArgs {
    #[command(flatten)]
    pub named: DeviceArgs,
    /// Attach in this way only, to test it.
    #[arg(long, value_enum, value_name = "KIND")]
    pub attach: Option<AttachArg>,
    /// Read the devices below DIR, a copy of some machine's /sys.
    #[arg(long, value_name = "DIR", requires = "events")]
    pub sysfs: Option<PathBuf>,
    /// Count the events listed in FILE instead of those of the kernel: one a
    /// line, `DEVICE OP START LENGTH` in bytes, as in `sda1 write 4096 4096`.
    #[arg(long, value_name = "FILE", conflicts_with = "attach")]
    pub events: Option<PathBuf>,
}

/// The live view.
#[derive(Debug, Args)]
pub struct LiveArgs {
    #[command(flatten)]
    pub source: SourceArgs,
    /// Time between readings, as in 1s, 500ms, 2m.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = interval)]
    pub interval: Duration,
    /// End after so many intervals.
    #[arg(long, value_name = "N", conflicts_with = "duration", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// End after so much time.
    #[arg(long, value_name = "TIME", value_parser = interval)]
    pub duration: Option<Duration>,
    /// auto: a screen on a terminal, else plain text.
    #[arg(long, value_enum, default_value_t = Format::Auto)]
    pub format: Format,
    /// process: also who issues misaligned and partial-stripe IO.
    #[arg(long, value_enum, default_value_t = By::Device)]
    pub by: By,
    /// Print each event of the devices asked for to standard error, as the
    /// programs see it: to debug iotrace itself.
    #[arg(long, conflicts_with = "events")]
    pub bpf_log: bool,
}

/// `iotrace serve`.
#[derive(Debug, Args)]
#[command(after_help = SERVE_EXAMPLES)]
pub struct ServeArgs {
    /// HOST:PORT, :PORT for every address, or fd:// for the sockets that
    /// systemd hands over. May be given several times.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:19127")]
    pub listen: Vec<ListenAddress>,
    /// TLS and passwords, in the format of Prometheus' exporters; read again
    /// when it changes.
    #[arg(long = "web.config.file", value_name = "FILE")]
    pub web_config: Option<PathBuf>,
    /// Tell only devices whose name matches. Without it, and without --dev, no
    /// loop, ram and zram devices.
    #[arg(long, value_name = "REGEX")]
    pub device_include: Option<String>,
    /// Tell no devices whose name matches.
    #[arg(long, value_name = "REGEX")]
    pub device_exclude: Option<String>,
    #[command(flatten)]
    pub source: SourceArgs,
}

const SERVE_EXAMPLES: &str = "\
Examples:
  iotrace serve                                  http://127.0.0.1:19127/metrics, all devices
  iotrace serve --listen :19127 --web.config.file web.yml
                                                 for the network: TLS and passwords by web.yml
  iotrace serve --dev md127                      an array, its members, and what sits on top
  iotrace serve --device-exclude '^(dm-|nbd)'    whatever else there is
  iotrace serve --listen fd://                   started by a systemd socket unit

A pattern matches anywhere in a name: ^sda$ is sda alone. Needs the same privileges as the live view.";

/// `iotrace probe`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  iotrace probe                      for people
  iotrace probe --format json        to send with a bug report; also a test fixture
  iotrace probe --attach tracepoint  what is lost without BTF")]
pub struct ProbeArgs {
    #[arg(long, value_enum, default_value_t = ProbeFormat::Plain)]
    pub format: ProbeFormat,
    /// Plan for this way only.
    #[arg(long, value_enum, value_name = "KIND")]
    pub attach: Option<AttachArg>,
}

/// `iotrace stack`.
#[derive(Debug, Args)]
#[command(after_help = STACK_EXAMPLES)]
pub struct StackArgs {
    #[command(flatten)]
    pub source: StackSource,
    #[arg(long, value_enum, default_value_t = PrintFormat::Plain)]
    pub format: PrintFormat,
    /// Write what was read to FILE instead, a compressed tar archive to send to
    /// somebody else: no data, no keys, and no serial numbers or uuids.
    #[arg(long, value_name = "FILE", conflicts_with = "devices")]
    pub capture: Option<PathBuf>,
    /// Leave serial numbers and uuids in the capture.
    #[arg(long, requires = "capture")]
    pub with_serials: bool,
}

const STACK_EXAMPLES: &str = "\
Examples:
  iotrace stack                            every device of this machine
  iotrace stack --dev md127                an array, its members, and what sits on top
  iotrace stack --dev /home --format json  for a program; `iotrace schema stack` describes it
  iotrace stack --geometry sda=chunk:64k,data:6
                                           a hardware RAID that says nothing of itself
  iotrace stack --capture host.tar.gz      for somebody else to look at, elsewhere by
  iotrace stack --from host.tar.gz

Reads only. What lies on a device is told to who may read it (root, the group disk), where mapped devices
lie to root, or with CAP_SYS_ADMIN and CAP_DAC_READ_SEARCH. The rest needs no privilege.";

/// `iotrace doctor`.
#[derive(Debug, Args)]
#[command(after_help = DOCTOR_EXAMPLES)]
pub struct DoctorArgs {
    #[command(flatten)]
    pub source: StackSource,
    /// Count IO for so long, too, as in 10s: what is done to the storage, and
    /// what it costs.
    #[arg(long, value_name = "TIME", value_parser = interval, conflicts_with_all = ["sysfs", "from", "events"])]
    pub duration: Option<Duration>,
    /// Take the events listed in FILE for what was counted, as the live view
    /// does: with --sysfs.
    #[arg(long, value_name = "FILE", requires = "sysfs")]
    pub events: Option<PathBuf>,
    #[arg(long, value_enum, default_value_t = PrintFormat::Plain)]
    pub format: PrintFormat,
    /// Exit with status 3 where something at least so grave is found.
    #[arg(long, value_enum, value_name = "SEVERITY")]
    pub fail_on: Option<Severity>,
}

const DOCTOR_EXAMPLES: &str = "\
Examples:
  iotrace doctor                           every device of this machine, as it was built
  iotrace doctor --dev md127               an array, its members, and what sits on top
  iotrace doctor --duration 10s            and what is done to it meanwhile: costs, measured
  iotrace doctor --fail-on warning         status 3 where there is one, for a script
  iotrace doctor --format json             for a program; `iotrace schema doctor` describes it
  iotrace doctor --from host.tar.gz        another machine, by `iotrace stack --capture` there

Reads only: commands are printed, never run. --duration needs CAP_BPF and CAP_PERFMON (or root); what
lies on devices is told to whoever may read them; what could not be looked at is told.
Exit status: 0 fine, 1 failed, 2 usage, 3 found (--fail-on).";

/// `iotrace schema`.
#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// Of which command's output: without one, of the live view's lines.
    #[arg(value_enum, value_name = "COMMAND", default_value_t = SchemaOf::Live)]
    pub of: SchemaOf,
}

/// What `--format` can be where something is printed once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PrintFormat {
    /// For people.
    Plain,
    /// One object.
    Json,
}

/// How programs are attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AttachArg {
    /// BTF tracepoint: typed, fastest.
    Btf,
    /// Raw tracepoint: the same figures by helper calls.
    Raw,
    /// Classic tracepoint: works without kernel BTF, tells less.
    Tracepoint,
}

impl From<AttachArg> for Kind {
    fn from(arg: AttachArg) -> Self {
        match arg {
            AttachArg::Btf => Self::Btf,
            AttachArg::Raw => Self::Raw,
            AttachArg::Tracepoint => Self::Tracepoint,
        }
    }
}

/// A length of time that is longer than none.
fn interval(text: &str) -> Result<Duration, String> {
    const SHORTEST: Duration = Duration::from_millis(10);
    let time = humantime::parse_duration(text)
        .map_err(|error| format!("{error} (as in 1s, 500ms, 2m)"))?;
    if time < SHORTEST {
        return Err("must be 10ms or longer".to_owned());
    }
    Ok(time)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn times() {
        assert_eq!(interval("1s"), Ok(Duration::from_secs(1)));
        assert_eq!(interval("1m 30s"), Ok(Duration::from_secs(90)));
        assert!(interval("0s").is_err());
        assert!(interval("1").is_err());
        assert!(interval("-1s").is_err());
    }

    #[test]
    fn options_of_the_live_view_and_subcommands_do_not_mix() {
        assert!(Cli::try_parse_from(["iotrace", "--dev", "sda", "probe"]).is_err());
        assert!(Cli::try_parse_from(["iotrace", "--sysfs", "/x"]).is_err());
        assert!(Cli::try_parse_from(["iotrace", "--count", "3", "--duration", "1s"]).is_err());
        assert!(Cli::try_parse_from(["iotrace", "--count", "0"]).is_err());
    }
}
