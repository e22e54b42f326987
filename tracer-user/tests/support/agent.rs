//! A running `iotrace serve`, and somebody who scrapes it.

use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    process::{Child, Command, ExitStatus, Stdio},
    thread::JoinHandle,
};

const SERVING: &str = "iotrace: serving http://";

/// Ended when dropped.
pub(crate) struct Agent {
    child: Child,
    pub(crate) address: String,
    /// What it says after that it serves.
    rest: Option<JoinHandle<String>>,
}

impl Agent {
    /// Returns when it serves; fails with what it said where it does not.
    pub(crate) fn start(command: &mut Command) -> Self {
        let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
        // Its drop ends the child, however this ends.
        let mut agent = Self {
            child: child.expect("iotrace"),
            address: String::new(),
            rest: None,
        };
        let stderr = agent.child.stderr.take().expect("a pipe");
        let mut stderr = BufReader::new(stderr);
        let mut said = String::new();
        while agent.address.is_empty() {
            let begin = said.len();
            let read = stderr.read_line(&mut said).expect("a line");
            assert!(read != 0, "iotrace ended at once: {said}");
            let line = said.get(begin..).unwrap_or_default();
            if let Some(rest) = line.strip_prefix(SERVING) {
                agent.address = rest.split('/').next().unwrap_or_default().to_owned();
            }
        }
        agent.rest = Some(std::thread::spawn(move || {
            let mut rest = String::new();
            let _ = stderr.read_to_string(&mut rest);
            rest
        }));
        agent
    }

    pub(crate) fn pid(&self) -> libc::pid_t {
        self.child.id().try_into().expect("a pid")
    }

    /// `VmRSS`, what it holds of memory now.
    pub(crate) fn resident_kib(&self) -> u64 {
        let path = format!("/proc/{}/status", self.pid());
        let status = std::fs::read_to_string(path).expect("its status");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.split_whitespace().next());
        kib.expect("VmRSS").parse().expect("a number")
    }

    /// The body of an answer of status 200.
    pub(crate) fn get(&self, path: &str) -> String {
        get(&self.address, path)
    }

    pub(crate) fn metrics(&self) -> Metrics {
        Metrics(self.get("/metrics"))
    }

    /// Ends it as a service manager does; what it said meanwhile.
    pub(crate) fn stop(mut self) -> (ExitStatus, String) {
        // SAFETY: the child is not waited for yet, so its pid is its own.
        let sent = unsafe { libc::kill(self.pid(), libc::SIGTERM) };
        assert_eq!(sent, 0, "SIGTERM");
        let status = self.child.wait().expect("its status");
        let rest = self
            .rest
            .take()
            .map(|rest| rest.join().expect("its output"));
        (status, rest.unwrap_or_default())
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // After `stop` both do nothing; after a failed test nothing may stay.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Asks an agent from anywhere.
pub(crate) fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("a connection");
    let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    body.to_owned()
}

/// One scrape.
pub(crate) struct Metrics(pub(crate) String);

impl Metrics {
    /// The value of a series, as it is written: `name{label="value"}`.
    pub(crate) fn value(&self, series: &str) -> Option<f64> {
        let lines = self.0.lines().filter(|line| !line.starts_with('#'));
        let mut series_of = lines.filter_map(|line| line.rsplit_once(' '));
        let (_, value) = series_of.find(|(name, _)| *name == series)?;
        Some(value.parse().expect("a number"))
    }

    /// All series of counters, histograms' among them.
    pub(crate) fn counters(&self) -> BTreeMap<&str, f64> {
        let is_counter = |series: &str| {
            let name = series.split('{').next().unwrap_or_default();
            ["_total", "_bucket", "_sum", "_count"]
                .iter()
                .any(|end| name.ends_with(end))
        };
        let lines = self.0.lines().filter(|line| !line.starts_with('#'));
        lines
            .filter_map(|line| line.rsplit_once(' '))
            .filter(|(series, _)| is_counter(series))
            .map(|(series, value)| (series, value.parse().expect("a number")))
            .collect()
    }
}
