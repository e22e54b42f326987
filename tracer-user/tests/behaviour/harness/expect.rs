//! Runs `expect.awk` over blktrace's records.

use std::{
    collections::BTreeMap,
    io::Write as _,
    process::{Command, Stdio},
};

use super::process::{find, text};

/// The script travels inside the test program: guests have no source tree.
const SCRIPT: &str = include_str!("../expect.awk");

/// What the script needs to know, as it names it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Terms(BTreeMap<&'static str, u64>, &'static str);

impl Terms {
    /// Requests, counted when issued.
    pub(crate) fn of_requests() -> Self {
        Self(BTreeMap::new(), "D")
    }

    /// Bios, counted when queued.
    pub(crate) fn of_bios() -> Self {
        Self(BTreeMap::new(), "Q")
    }

    pub(crate) fn with(mut self, name: &'static str, value: u64) -> Self {
        self.0.insert(name, value);
        self
    }
}

/// Numbers by name; a name the script did not print is 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Expected(BTreeMap<String, u64>);

impl Expected {
    /// From records, in the terms given.
    pub(crate) fn new(records: &str, terms: &Terms) -> Self {
        let mut awk = awk();
        awk.arg("-v").arg(format!("event={}", terms.1));
        for (name, value) in &terms.0 {
            awk.arg("-v").arg(format!("{name}={value}"));
        }
        awk.arg(SCRIPT);
        Self::parse(&filtered(&mut awk, records))
    }

    pub(crate) fn parse(lines: &str) -> Self {
        Self(
            lines
                .lines()
                .map(|line| {
                    let (name, number) = line.split_once(' ').expect("NAME NUMBER");
                    (name.into(), number.parse().expect("a whole number"))
                })
                .collect(),
        )
    }

    pub(crate) fn get(&self, name: &str) -> u64 {
        self.0.get(name).copied().unwrap_or(0)
    }
}

/// The machine's awk, or busybox's.
fn awk() -> Command {
    if find("awk").is_some() {
        return Command::new("awk");
    }
    let mut busybox = Command::new("busybox");
    busybox.arg("awk");
    busybox
}

fn filtered(program: &mut Command, input: &str) -> String {
    let mut child = program
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("awk");
    let mut stdin = child.stdin.take().expect("a pipe");
    // The script prints only at the end, so this can't block both ways.
    stdin.write_all(input.as_bytes()).expect("awk to read all");
    drop(stdin);
    let output = child.wait_with_output().expect("awk to end");
    assert!(output.status.success(), "awk: {}", output.status);
    text(&output.stdout)
}
