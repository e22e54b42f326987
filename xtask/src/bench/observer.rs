//! Tools that observe block IO: started, waited for until their programs are
//! attached, ended.
//!
//! Must not measure.

use std::{
    fs::File,
    io::{Read as _, Seek as _},
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
/// A tool is taken to be attached when it has loaded nothing for so long.
const STEADY: Duration = Duration::from_secs(1);
const POLL: Duration = Duration::from_millis(50);

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
        Observer::start("iotrace", command, interrupt)
    }
}

/// Another tool, that of libbpf-tools with this name; it prints once, long
/// after it has been ended.
pub fn peer(name: &'static str, interrupt: &Interrupt) -> Result<Observer> {
    let program = process::find(name).with_context(|| format!("no `{name}` here"))?;
    let mut command = Command::new(program);
    command.args(["100000", "1"]);
    Observer::start(name, command, interrupt)
}

/// A tool that runs; ended when dropped.
pub struct Observer {
    pub name: &'static str,
    child: Child,
    errors: File,
}

impl Observer {
    fn start(name: &'static str, mut command: Command, interrupt: &Interrupt) -> Result<Self> {
        interrupt.check()?;
        let errors = tempfile::tempfile().context("a file for error messages")?;
        let line = process::line(&command);
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(errors.try_clone()?)
            .spawn()
            .with_context(|| format!("starting `{line}`"))?;
        let mut observer = Self {
            name,
            child,
            errors,
        };
        observer
            .wait_until_attached(interrupt)
            .with_context(|| format!("`{line}`"))?;
        Ok(observer)
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    fn wait_until_attached(&mut self, interrupt: &Interrupt) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        let mut loaded = 0;
        let mut since = Instant::now();
        while loaded == 0 || since.elapsed() < STEADY {
            interrupt.check()?;
            self.expect_running()?;
            let now = programs::runs(self.pid())?.len();
            if now != loaded {
                (loaded, since) = (now, Instant::now());
            }
            if Instant::now() > deadline {
                bail!("has loaded no programs after {} s", PATIENCE.as_secs());
            }
            thread::sleep(POLL);
        }
        Ok(())
    }

    /// An error, with what it said, when it has ended.
    pub fn expect_running(&mut self) -> Result<()> {
        let Some(status) = self.child.try_wait()? else {
            return Ok(());
        };
        let mut said = String::new();
        self.errors.rewind()?;
        self.errors.read_to_string(&mut said)?;
        bail!("ended by itself ({status}): {}", said.trim_end())
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
