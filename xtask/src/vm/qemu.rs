//! One run of the emulated machine: its devices, its channels, how it ended.
//!
//! The guest reports on a channel of its own, so that nothing a command
//! prints can pass for a report; the kernel's console goes to a log. Must not
//! know what the guest does.

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    mem,
    os::fd::AsRawFd as _,
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{self, RecvTimeoutError, Sender},
    },
    thread,
    time::Duration,
};

use anyhow::{Context as _, Result, bail};
use rustix::io::FdFlags;

use super::marked::Marked;

/// How much of the kernel's console an error shows.
const LOG_TAIL_LINES: usize = 40;

/// The kernel's command line.
///
/// * `edd=off`: the BIOS's disks are of no interest, and asking is slow.
/// * `panic=-1` with QEMU's `-no-reboot`: a panic ends the machine;
///   `oops=panic`: and so does what a test must not survive unseen.
/// * `nowatchdog`: under emulation a late processor is no lock-up.
/// * `random.trust_cpu=on`: no wait for entropy before LUKS keys.
const KERNEL_ARGUMENTS: &str = "console=ttyS0 loglevel=4 edd=off panic=-1 oops=panic nowatchdog \
                                random.trust_cpu=on rdinit=/init";

/// Where the command's input and output go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Io {
    /// This process's terminal is the guest's.
    Terminal,
    /// The command's output and errors come out as this process's.
    Streams,
    /// The same, each line with this in front.
    Marked(&'static str),
    /// The command's output is in the report, its errors come out as this
    /// process's.
    Kept,
    /// Nowhere.
    Discard,
}

/// A machine to start.
pub(super) struct Machine<'a> {
    pub(super) image: &'a Path,
    pub(super) initrd: &'a File,
    pub(super) memory_mib: u32,
    pub(super) accel: &'a str,
    pub(super) io: Io,
}

/// What the guest reported.
#[derive(Debug, PartialEq)]
pub(super) struct Report {
    /// The command's exit status, as a shell has it.
    pub(super) code: u8,
    /// The kernel's uptime when the command was started.
    pub(super) ready_seconds: f64,
    /// What the command printed, with [`Io::Kept`].
    pub(super) output: Vec<u8>,
}

/// Keeps what is written to it.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Kept {
    fn taken(&self) -> Vec<u8> {
        mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Machine<'_> {
    /// Runs the machine; ends it after `timeout` unless somebody sits at it.
    pub(super) fn run(&self, timeout: Duration) -> Result<Report> {
        let dir = tempfile::tempdir().context("making a folder for the guest's report")?;
        let dir = dir.path();
        // QEMU gets the file by its number.
        rustix::io::fcntl_setfd(self.initrd, FdFlags::empty())?;
        let mut child = self.command(dir).spawn().context("starting QEMU")?;
        let kept = Kept::default();
        let end = match self.io {
            Io::Terminal => End::Itself(child.wait()?),
            Io::Streams => forward(&mut child, timeout, io::stdout(), io::stderr())?,
            Io::Marked(mark) => {
                let out = Marked::new(mark, io::stdout());
                forward(&mut child, timeout, out, Marked::new(mark, io::stderr()))?
            }
            Io::Kept => forward(&mut child, timeout, kept.clone(), io::stderr())?,
            Io::Discard => forward(&mut child, timeout, io::sink(), io::sink())?,
        };
        let status = fs::read_to_string(dir.join("status")).unwrap_or_default();
        if let Some(report) = parse_report(&status) {
            return Ok(Report {
                output: kept.taken(),
                ..report
            });
        }
        let console = fs::read(dir.join("console")).unwrap_or_default();
        let console = String::from_utf8_lossy(&console);
        bail!(
            "{}\n{}",
            failure(&end, &console, status.contains("ready ")),
            log_of(&console, self.io)?
        );
    }

    fn command(&self, dir: &Path) -> Command {
        // If this process is killed, nobody would end the machine.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--", "qemu-system-x86_64"]);
        command.args(["-nodefaults", "-no-user-config", "-no-reboot"]);
        command.args(["-display", "none", "-monitor", "none"]);
        command.args([
            "-accel",
            accel_option(self.accel),
            "-cpu",
            "max",
            "-smp",
            "2",
        ]);
        command.args(["-m", &self.memory_mib.to_string()]);
        command.arg("-kernel").arg(self.image);
        command.args(["-initrd", &format!("/dev/fd/{}", self.initrd.as_raw_fd())]);
        command.args(["-append", KERNEL_ARGUMENTS]);
        command.args([
            "-serial",
            &format!("file:{}", dir.join("console").display()),
        ]);
        command.args(["-device", "virtio-serial-pci"]);
        let mut channel = |name: &str, backend: &str, device: &str| {
            command.args(["-chardev", &format!("{backend},id={name}")]);
            command.args(["-device", &format!("{device},chardev={name},name={name}")]);
        };
        if self.io == Io::Terminal {
            channel("terminal", "stdio,signal=off", "virtconsole");
        } else {
            // These are pipes to us, which unlike a terminal or a socket can
            // be opened by name.
            channel("stdout", "file,path=/dev/fd/1", "virtserialport");
            channel("stderr", "file,path=/dev/fd/2", "virtserialport");
        }
        let status = format!("file,path={}", dir.join("status").display());
        channel("status", &status, "virtserialport");
        if self.io != Io::Terminal {
            command
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
        }
        command
    }
}

/// How a machine ended that sent no report.
enum End {
    Itself(ExitStatus),
    OutOfTime(Duration),
}

fn accel_option(accel: &str) -> &str {
    // One host thread for each of the guest's processors.
    if accel == "tcg" {
        "tcg,thread=multi"
    } else {
        accel
    }
}

/// Passes on what the guest prints, as it comes, until the machine ends.
fn forward(
    child: &mut Child,
    timeout: Duration,
    out: impl Write + Send + 'static,
    err: impl Write + Send + 'static,
) -> Result<End> {
    let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
        bail!("QEMU was started without pipes");
    };
    // Nothing is ever sent: the channel closes when both have ended.
    let (alive, ended) = mpsc::channel::<()>();
    let also_alive = alive.clone();
    let copies = [
        thread::spawn(move || copy(stdout, out, alive)),
        thread::spawn(move || copy(stderr, err, also_alive)),
    ];
    let out_of_time = ended.recv_timeout(timeout) == Err(RecvTimeoutError::Timeout);
    if out_of_time {
        child.kill().context("ending QEMU")?;
    }
    let status = child.wait()?;
    for copy in copies {
        match copy.join() {
            // Whoever read our output has had enough.
            Ok(Err(error)) if error.kind() == io::ErrorKind::BrokenPipe => {}
            Ok(result) => result.context("passing on the guest's output")?,
            Err(_) => bail!("passing on the guest's output panicked"),
        }
    }
    Ok(if out_of_time {
        End::OutOfTime(timeout)
    } else {
        End::Itself(status)
    })
}

/// `io::copy` would keep the last line back until its end has come.
fn copy(mut from: impl Read, mut to: impl Write, _alive: Sender<()>) -> io::Result<()> {
    let mut buffer = [0; 64 * 1024];
    loop {
        let length = from.read(&mut buffer)?;
        if length == 0 {
            return Ok(());
        }
        to.write_all(&buffer[..length])?;
        to.flush()?;
    }
}

/// The guest's two lines, `ready SECONDS` and `exit CODE`. Without the second
/// there is no report.
fn parse_report(status: &str) -> Option<Report> {
    let value = |key| status.lines().find_map(|line| line.strip_prefix(key));
    Some(Report {
        ready_seconds: value("ready ")?.parse().ok()?,
        code: value("exit ")?.parse().ok()?,
        output: Vec::new(),
    })
}

/// What went wrong, in a line.
fn failure(end: &End, console: &str, started: bool) -> String {
    let when = if started {
        "while the command ran"
    } else {
        "before the command was started"
    };
    let panic = console.lines().find(|line| line.contains("Kernel panic"));
    match (panic, end) {
        (Some(line), _) => format!("the guest's kernel panicked {when}: {}", line.trim()),
        (None, End::OutOfTime(limit)) => format!(
            "the guest was ended {when}, after {} s; --timeout gives it longer",
            limit.as_secs()
        ),
        (None, End::Itself(status)) => {
            format!("the guest ended {when}, without a report (QEMU: {status})")
        }
    }
}

/// The end of the kernel's console, and where all of it is kept.
fn log_of(console: &str, io: Io) -> Result<String> {
    if console.trim().is_empty() {
        return Ok("the guest's kernel said nothing on its console".to_owned());
    }
    if io == Io::Discard {
        return Ok(String::new());
    }
    let (mut file, path) = tempfile::Builder::new()
        .prefix("iotrace-vm-")
        .suffix(".log")
        .tempfile()?
        .keep()?;
    file.write_all(console.as_bytes())?;
    let lines: Vec<_> = console.lines().collect();
    let tail = &lines[lines.len().saturating_sub(LOG_TAIL_LINES)..];
    Ok(format!(
        "the end of its kernel's console (all of it: {}):\n{}",
        path.display(),
        tail.join("\n")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_has_both_lines() {
        assert_eq!(
            parse_report("ready 8.25\nexit 7\n"),
            Some(Report {
                code: 7,
                ready_seconds: 8.25,
                output: Vec::new(),
            })
        );
        assert_eq!(parse_report("ready 8.25\n"), None);
        assert_eq!(parse_report(""), None);
    }

    #[test]
    fn a_panic_is_named_before_anything_else() {
        let end = End::OutOfTime(Duration::from_secs(9));
        let console = "[    1.0] Kernel panic - not syncing: sysrq\nrebooting";
        let text = failure(&end, console, true);
        assert!(text.contains("panicked while the command ran"), "{text}");
        assert!(text.contains("sysrq"), "{text}");
        assert!(failure(&end, "", false).contains("before the command"));
    }

    #[test]
    fn a_guest_that_does_not_end_is_ended() {
        let mut child = Command::new("sh")
            .args(["-c", "echo out; echo err >&2; exec sleep 600"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let limit = Duration::from_millis(200);
        let end = forward(&mut child, limit, io::sink(), io::sink()).unwrap();
        assert!(matches!(end, End::OutOfTime(_)));
    }
}
