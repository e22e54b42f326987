//! Tools that observe block IO: started, waited for until their programs are
//! attached, ended.
//!
//! Must not measure.

use std::{
    fs::File,
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use rustix::process::{Pid, Signal};

use super::{interrupt::Interrupt, programs};
use crate::process;

/// How long a tool may take to attach, or to end.
const PATIENCE: Duration = Duration::from_secs(30);
/// A tool that does not say so is taken to be attached when it has loaded
/// nothing for so long.
const STEADY: Duration = Duration::from_secs(1);
const POLL: Duration = Duration::from_millis(50);

/// What iotrace says on standard error as soon as it counts.
const COUNTS: &str = "counting";

/// The iotrace that is measured.
pub struct Iotrace {
    program: PathBuf,
}

impl Iotrace {
    pub fn new(program: PathBuf) -> Self {
        Self { program }
    }

    /// Observes everything, with histograms for `device`; attached as the
    /// kernel allows or as `attach` says.
    pub fn start(
        &self,
        device: &Path,
        attach: Option<&str>,
        interrupt: &Interrupt,
    ) -> Result<Observer> {
        let mut command = Command::new(&self.program);
        command.args(["--format", "json", "--dev"]).arg(device);
        if let Some(attach) = attach {
            command.args(["--attach", attach]);
        }
        let observer = Observer::start("iotrace", command)?;
        observer.attached(interrupt, |iotrace| Ok(iotrace.said()?.contains(COUNTS)))
    }
}

/// Another tool, that of libbpf-tools with this name; it prints once, long
/// after it has been ended.
pub fn peer(name: &'static str, interrupt: &Interrupt) -> Result<Observer> {
    let program = process::find(name).with_context(|| format!("no `{name}` here"))?;
    let mut command = Command::new(program);
    command.args(["100000", "1"]);
    let (mut loaded, mut since) = (0, Instant::now());
    Observer::start(name, command)?.attached(interrupt, |peer| {
        let now = programs::runs(peer.pid())?.len();
        if now != loaded {
            (loaded, since) = (now, Instant::now());
        }
        Ok(loaded != 0 && since.elapsed() >= STEADY)
    })
}

/// A tool that runs; ended when dropped.
pub struct Observer {
    pub name: &'static str,
    child: Child,
    errors: File,
}

impl Observer {
    fn start(name: &'static str, mut command: Command) -> Result<Self> {
        let errors = tempfile::tempfile().context("a file for error messages")?;
        let line = process::line(&command);
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(errors.try_clone()?)
            .spawn()
            .with_context(|| format!("starting `{line}`"))?;
        Ok(Self {
            name,
            child,
            errors,
        })
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until it is.
    fn attached(
        mut self,
        interrupt: &Interrupt,
        mut is_attached: impl FnMut(&mut Self) -> Result<bool>,
    ) -> Result<Self> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            interrupt.check()?;
            self.expect_running().context(self.name)?;
            if is_attached(&mut self)? {
                return Ok(self);
            }
            if Instant::now() > deadline {
                let patience = PATIENCE.as_secs();
                bail!("{} is not attached after {patience} s", self.name);
            }
            thread::sleep(POLL);
        }
    }

    /// What it has written to standard error.
    fn said(&self) -> Result<String> {
        // Not by seeking: the tool writes at the same position.
        let length = usize::try_from(self.errors.metadata()?.len())?;
        let mut said = vec![0; length];
        self.errors.read_exact_at(&mut said, 0)?;
        Ok(String::from_utf8_lossy(&said).into_owned())
    }

    /// An error, with what it said, when it has ended.
    pub fn expect_running(&mut self) -> Result<()> {
        let Some(status) = self.child.try_wait()? else {
            return Ok(());
        };
        bail!("ended by itself ({status}): {}", self.said()?.trim_end())
    }
}

impl Drop for Observer {
    fn drop(&mut self) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid {
            // It may have ended before.
            let _ = rustix::process::kill_process(pid, Signal::TERM);
        }
        let deadline = Instant::now() + PATIENCE;
        while matches!(self.child.try_wait(), Ok(None)) {
            if Instant::now() > deadline {
                let _ = self.child.kill();
                let _ = self.child.wait();
                return;
            }
            thread::sleep(POLL);
        }
    }
}
