//! The program under test, counting.

use std::{
    env,
    ffi::OsString,
    io::{BufRead as _, BufReader, Read},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex},
    thread::{self, JoinHandle},
};

use serde_json::Value;

use super::{device::Device, wait};

/// What iotrace says on standard error when every program is attached.
const ATTACHED: &str = "iotrace: counting";

/// How its programs are attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attach {
    Btf,
    Raw,
    Tracepoint,
}

impl Attach {
    pub(crate) const ALL: [Self; 3] = [Self::Btf, Self::Raw, Self::Tracepoint];
    /// The ways that tell everything. A classic tracepoint sees a request that
    /// is issued again, and can't tell.
    pub(crate) const TELLING: [Self; 2] = [Self::Btf, Self::Raw];

    /// Those of `ways` that are to be tried on this kernel: all, or those that
    /// `IOTRACE_WAYS` names, with commas between them.
    pub(crate) fn tried(ways: &[Self]) -> Vec<Self> {
        let Ok(named) = env::var("IOTRACE_WAYS") else {
            return ways.to_vec();
        };
        for word in named.split(',') {
            let known = Self::ALL.iter().any(|way| way.word() == word);
            assert!(known, "IOTRACE_WAYS names {word:?}");
        }
        let is_named = |way: &&Self| named.split(',').any(|word| word == way.word());
        ways.iter().filter(is_named).copied().collect()
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Btf => "btf",
            Self::Raw => "raw",
            Self::Tracepoint => "tracepoint",
        }
    }
}

/// The program: `IOTRACE_BIN`, or the one built with this test.
pub(crate) fn iotrace() -> Command {
    let built = || OsString::from(env!("CARGO_BIN_EXE_iotrace"));
    Command::new(env::var_os("IOTRACE_BIN").unwrap_or_else(built))
}

/// Lines as they come.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

impl Lines {
    fn read(&self, from: impl Read + Send + 'static) -> JoinHandle<()> {
        let lines = self.clone();
        thread::spawn(move || {
            for line in BufReader::new(from).lines() {
                let line = line.expect("a line of UTF-8");
                lines.0.lock().expect("no panic in between").push(line);
            }
        })
    }

    fn all(&self) -> Vec<String> {
        self.0.lock().expect("no panic in between").clone()
    }
}

/// A running `iotrace`.
pub(crate) struct Tracer {
    child: Child,
    stdout: Lines,
    stderr: Lines,
    readers: Vec<JoinHandle<()>>,
}

/// How it ended.
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: Vec<String>,
    pub(crate) stderr: Vec<String>,
}

impl Tracer {
    /// `iotrace` in JSON for these devices, attached in this way. Counts as soon
    /// as [`Tracer::wait_until_attached`] returns.
    pub(crate) fn of(devices: &[&Device], attach: Attach, more: &[&str]) -> Self {
        Self::every("250ms", devices, attach, more)
    }

    /// The same with another interval.
    pub(crate) fn every(
        interval: &str,
        devices: &[&Device],
        attach: Attach,
        more: &[&str],
    ) -> Self {
        let mut command = iotrace();
        command.args(["--format", "json", "--interval", interval]);
        command.args(["--attach", attach.word()]);
        for device in devices {
            command.args(["--dev", device.name()]);
        }
        Self::start(command.args(more))
    }

    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("starting {:?}: {error}", command.get_program()));
        let (stdout, stderr) = (Lines::default(), Lines::default());
        let readers = vec![
            stdout.read(child.stdout.take().expect("a pipe")),
            stderr.read(child.stderr.take().expect("a pipe")),
        ];
        Self {
            child,
            stdout,
            stderr,
            readers,
        }
    }

    /// Returns when every probe is attached. Apart from the start, so that
    /// several can do that at the same time.
    pub(crate) fn wait_until_attached(mut self) -> Self {
        wait::until_true("iotrace to attach", || {
            let said = self.stderr.all();
            if said.iter().any(|line| line.starts_with(ATTACHED)) {
                return true;
            }
            if let Some(status) = self.child.try_wait().expect("its status") {
                panic!("iotrace ended at once: {status}\n{}", said.join("\n"));
            }
            false
        });
        self
    }

    pub(crate) fn pid(&self) -> libc::pid_t {
        self.child.id().try_into().expect("a pid")
    }

    pub(crate) fn signal(&self, signal: libc::c_int) {
        // SAFETY: the child is not waited for yet, so its pid is its own.
        let sent = unsafe { libc::kill(self.pid(), signal) };
        assert_eq!(sent, 0, "sending a signal to iotrace");
    }

    /// The interval lines printed so far, parsed.
    pub(crate) fn lines(&self) -> Vec<Value> {
        parsed(&self.stdout.all())
    }

    /// Waits for two more lines: the second one's interval begins after this
    /// call, so that everything counted before it is in a printed line.
    pub(crate) fn print_twice(&self) {
        let before = self.stdout.all().len();
        wait::until_true("two more intervals", || {
            self.stdout.all().len() >= before + 2
        });
    }

    pub(crate) fn wait(mut self) -> Ended {
        let status = wait::until("iotrace to end", || {
            self.child.try_wait().expect("its status")
        });
        for reader in self.readers.drain(..) {
            reader.join().expect("its output");
        }
        Ended {
            status,
            stdout: self.stdout.all(),
            stderr: self.stderr.all(),
        }
    }

    /// Ends it as a person does.
    pub(crate) fn stop(self) -> Report {
        self.signal(libc::SIGINT);
        let ended = self.wait();
        assert_eq!(
            ended.status.code(),
            Some(0),
            "iotrace after SIGINT: {}\n{}",
            ended.status,
            ended.stderr.join("\n")
        );
        Report::new(&ended.stdout)
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        // After `wait` both do nothing; after a failed test nothing may stay.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn parsed(lines: &[String]) -> Vec<Value> {
    lines
        .iter()
        .map(|line| {
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in line: {line}"))
        })
        .collect()
}

/// All that it printed.
pub(crate) struct Report {
    pub(crate) intervals: Vec<Value>,
    pub(crate) summary: Value,
}

impl Report {
    fn new(lines: &[String]) -> Self {
        let mut intervals = parsed(lines);
        let summary = intervals.pop().expect("a summary line");
        assert_eq!(summary["summary"], true, "the last line is the summary");
        for line in &intervals {
            assert_eq!(line["summary"], false, "only the last line is a summary");
        }
        Self { intervals, summary }
    }
}

/// The row of a device in a line.
pub(crate) fn row<'a>(line: &'a Value, name: &str) -> Option<&'a Value> {
    line["devices"]
        .as_array()
        .expect("devices")
        .iter()
        .find(|row| row["device"] == name)
}
