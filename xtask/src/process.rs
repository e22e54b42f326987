//! Starting other programs: found, printed, checked, as root where needed.
//!
//! Must not know which programs there are.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};

/// Where administrators' programs are when `PATH` is a plain user's.
const SYSTEM_DIRS: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// How often a program with a time limit is looked at.
const POLL: Duration = Duration::from_millis(50);

/// The full path of `program`, from `PATH` and the administrators' folders.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(SYSTEM_DIRS.iter().map(PathBuf::from))
        .map(|dir| dir.join(program))
        .find(|file| is_executable(file))
}

fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    file.metadata()
        .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// A command that runs as root: through `sudo` unless this already is root.
pub fn as_root(program: impl AsRef<OsStr>) -> Result<Command> {
    let program = program.as_ref();
    if rustix::process::geteuid().is_root() {
        return Ok(Command::new(program));
    }
    let Some(sudo) = find("sudo") else {
        bail!(
            "{} needs root, and there is no `sudo` here: run this command as root",
            program.display()
        );
    };
    let mut command = Command::new(sudo);
    // `--` also keeps a program whose name has a `=` from being taken for a
    // variable.
    command.arg("--").arg(program);
    Ok(command)
}

/// Prints the command, runs it and waits.
pub fn run(command: &mut Command) -> Result<()> {
    announce(command);
    let line = line(command);
    let status = command
        .status()
        .with_context(|| format!("starting `{line}`"))?;
    if !status.success() {
        bail!("`{line}` failed: {status}");
    }
    Ok(())
}

/// As [`run`], but ends the program after `limit`.
pub fn run_within(command: &mut Command, limit: Duration) -> Result<()> {
    announce(command);
    let line = line(command);
    let mut child = command
        .stdin(Stdio::null())
        .spawn()
        .with_context(|| format!("starting `{line}`"))?;
    let deadline = Instant::now() + limit;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if Instant::now() >= deadline {
            child.kill()?;
            child.wait()?;
            bail!("`{line}` was ended after {} s", limit.as_secs());
        }
        thread::sleep(POLL);
    };
    if !status.success() {
        bail!("`{line}` failed: {status}");
    }
    Ok(())
}

/// Runs a command quietly and returns what it wrote to standard output.
pub fn output(command: &mut Command) -> Result<String> {
    let line = line(command);
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("starting `{line}`"))?;
    if !output.status.success() {
        bail!(
            "`{line}` failed: {}\n{}",
            output.status,
            String::from_utf8_lossy(&output.stderr).trim_end()
        );
    }
    String::from_utf8(output.stdout).with_context(|| format!("output of `{line}`"))
}

/// Whether a command succeeds; its output is thrown away.
pub fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Prints the command to standard error, as a shell would with `set -x`.
pub fn announce(command: &Command) {
    eprintln!("+ {}", line(command));
}

/// The command as one would type it, with the variables set for it.
pub fn line(command: &Command) -> String {
    let variables = command.get_envs().filter_map(|(name, value)| {
        let value = quote(&value?.display().to_string());
        Some(format!("{}={value}", name.display()))
    });
    let words = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| quote(&word.display().to_string()));
    variables.chain(words).collect::<Vec<_>>().join(" ")
}

/// Quotes a word where a shell would need it.
fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%^".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    // The second is what separates flags in `CARGO_ENCODED_RUSTFLAGS`.
    let inner = word.replace('\'', r"'\''").replace('\u{1f}', r"'$'\x1f''");
    format!("'{inner}'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_can_be_typed_again() {
        let mut command = Command::new("echo");
        command
            .args(["a b", "it's", "-x=1", ""])
            .env("A", "1\u{1f}2");
        assert_eq!(
            line(&command),
            r"A='1'$'\x1f''2' echo 'a b' 'it'\''s' -x=1 ''"
        );
    }

    #[test]
    fn a_program_over_its_time_is_ended() {
        let begin = Instant::now();
        let result = run_within(Command::new("sleep").arg("600"), Duration::from_millis(100));
        let message = format!("{:#}", result.unwrap_err());
        assert!(message.contains("was ended after"), "{message}");
        assert!(begin.elapsed() < Duration::from_secs(60));
    }

    #[test]
    fn failures_name_the_command_and_its_reason() {
        let result = output(Command::new("sh").args(["-c", "echo no disk >&2; exit 3"]));
        let message = format!("{:#}", result.unwrap_err());
        assert!(message.contains("exit status: 3"), "{message}");
        assert!(message.contains("no disk"), "{message}");
    }
}
