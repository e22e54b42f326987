//! Calling cargo for this workspace, and reading which files it made.

use std::{
    io::{BufRead as _, BufReader},
    path::PathBuf,
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::{process, workspace};

/// A program that cargo built.
#[derive(Debug, PartialEq, Eq)]
pub struct Executable {
    /// The target's name: `iotrace`, or a test file's without `.rs`.
    pub name: String,
    /// `bin`, `lib` (a library's unit tests), `test`, `bench`, ...
    pub kind: String,
    /// Its package's folder, in which its tests expect to be run.
    pub package_dir: PathBuf,
    pub path: PathBuf,
}

/// The cargo that runs this xtask, or the one on `PATH`; in the workspace.
pub fn cargo() -> Result<Command> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(workspace::root()?);
    Ok(command)
}

/// Runs a `cargo build` or `cargo test --no-run` and returns the programs it
/// made or found up to date. Its diagnostics go to standard error.
pub fn executables(command: &mut Command) -> Result<Vec<Executable>> {
    command.arg("--message-format=json-render-diagnostics");
    process::announce(command);
    let line = process::line(command);
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("starting `{line}`"))?;
    let stdout = child.stdout.take().context("cargo without an output")?;
    let mut executables = Vec::new();
    for message in BufReader::new(stdout).lines() {
        executables.extend(executable(&message?)?);
    }
    let status = child.wait()?;
    if !status.success() {
        bail!("`{line}` failed: {status}");
    }
    Ok(executables)
}

/// The program that a line of cargo's JSON announces, if it does.
fn executable(line: &str) -> Result<Option<Executable>> {
    let message: Value =
        serde_json::from_str(line).with_context(|| format!("cargo's message: {line}"))?;
    let Some(path) = message["executable"].as_str() else {
        return Ok(None);
    };
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let read = || {
        let manifest = PathBuf::from(message["manifest_path"].as_str()?);
        Some(Executable {
            name: text(&message["target"]["name"])?,
            kind: text(&message["target"]["kind"][0])?,
            package_dir: manifest.parent()?.to_path_buf(),
            path: path.into(),
        })
    };
    let executable = read().with_context(|| format!("unknown message from cargo: {line}"))?;
    Ok(Some(executable))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_programs_are_taken_from_cargos_messages() {
        let library = r#"{"reason":"compiler-artifact","executable":null,"target":{}}"#;
        assert_eq!(executable(library).unwrap(), None);
        let finished = r#"{"reason":"build-finished","success":true}"#;
        assert_eq!(executable(finished).unwrap(), None);
        let test = r#"{"reason":"compiler-artifact","manifest_path":"/w/tracer-user/Cargo.toml",
            "target":{"kind":["test"],"name":"loads"},"executable":"/w/target/debug/deps/loads-1"}"#;
        let expected = Executable {
            name: "loads".to_owned(),
            kind: "test".to_owned(),
            package_dir: "/w/tracer-user".into(),
            path: "/w/target/debug/deps/loads-1".into(),
        };
        assert_eq!(executable(test).unwrap(), Some(expected));
        assert!(executable(r#"{"executable":"/x"}"#).is_err());
        assert!(executable("not JSON").is_err());
    }
}
