//! Compilers that rustup keeps, and fetching one through it.
//!
//! Must not decide which compiler will do.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context as _, Result, bail};

use crate::{process, workspace};

/// The toolchain that is fetched where none is there: the newest that was
/// seen to work with a `bpf-linker` of our table (rustc 1.97, LLVM 22). A
/// plain `nightly` would one day bring an LLVM that none of them reads.
const NIGHTLY: &str = "nightly-2026-05-20";

/// What a person can type where we could not.
pub const INSTALL: &str =
    "rustup toolchain install nightly-2026-05-20 --profile minimal --component rust-src";

/// The sources are a few MB.
const COMPONENT_LIMIT: Duration = Duration::from_secs(60);

/// A compiler is some 100 MB; its progress is shown.
const TOOLCHAIN_LIMIT: Duration = Duration::from_secs(600);

/// How long a failure is remembered, so that the next run starts at once.
const MEMORY: Duration = Duration::from_secs(24 * 60 * 60);

/// An installed toolchain.
#[derive(Debug, PartialEq, Eq)]
struct Installed {
    name: String,
    rustc: PathBuf,
}

/// The compilers of all installed toolchains: the active one, nightly, the
/// others. None without rustup.
pub fn compilers() -> Vec<PathBuf> {
    installed().into_iter().map(|found| found.rustc).collect()
}

fn installed() -> Vec<Installed> {
    process::output(&mut rustup(&["toolchain", "list", "--verbose"]))
        .map(|list| parse_list(&list))
        .unwrap_or_default()
}

/// A rustup that gives up at the first refusal and does nothing unasked.
fn rustup(args: &[&str]) -> Command {
    let mut command = Command::new("rustup");
    command
        .args(args)
        .env("RUSTUP_MAX_RETRIES", "0")
        .env("RUSTUP_AUTO_INSTALL", "0")
        // Its errors say enough without.
        .env_remove("RUST_BACKTRACE");
    command
}

/// Lines are `NAME (active, default) PATH`, the parenthesis where it applies.
fn parse_list(list: &str) -> Vec<Installed> {
    let mut found: Vec<_> = list.lines().filter_map(parse_line).collect();
    found.sort_by_key(|(rank, _)| *rank);
    found.into_iter().map(|(_, installed)| installed).collect()
}

fn parse_line(line: &str) -> Option<(u8, Installed)> {
    let (name, rest) = line.split_once(char::is_whitespace)?;
    let path = Path::new(rest.get(rest.find('/')?..)?);
    let rank = match rest {
        _ if rest.contains("active") => 0,
        _ if name.starts_with("nightly") => 1,
        _ => 2,
    };
    let installed = Installed {
        name: name.to_owned(),
        rustc: path.join("bin/rustc"),
    };
    Some((rank, installed))
}

/// Adds the sources to a toolchain that `will_do` with them, else installs
/// one that will. Not again for a day after a failure.
pub fn fetch(will_do: impl Fn(&Path) -> bool) -> Result<()> {
    if process::find("rustup").is_none() {
        bail!("rustup is not there to fetch a compiler");
    }
    let memory = workspace::cache_dir()?.join("rustup-failed");
    if is_recent(&memory) {
        let reason = fs::read_to_string(&memory).unwrap_or_default();
        bail!(
            "not asking rustup again today: {reason} (to ask again, remove {})",
            memory.display()
        );
    }
    let result = add_sources(will_do).or_else(|error| {
        eprintln!("xtask: {error:#}");
        install_toolchain()
    });
    if let Err(error) = &result {
        remember(&memory, &format!("{error:#}"))?;
    }
    result
}

fn add_sources(will_do: impl Fn(&Path) -> bool) -> Result<()> {
    let toolchain = installed()
        .into_iter()
        .find(|toolchain| will_do(&toolchain.rustc))
        .context("no installed toolchain would do with its sources added")?;
    process::run_within(
        &mut rustup(&[
            "component",
            "add",
            "rust-src",
            "--toolchain",
            &toolchain.name,
        ]),
        COMPONENT_LIMIT,
    )
}

fn install_toolchain() -> Result<()> {
    let args = ["toolchain", "install", NIGHTLY, "--profile", "minimal"];
    process::run_within(
        rustup(&args).args(["--component", "rust-src", "--no-self-update"]),
        TOOLCHAIN_LIMIT,
    )
}

fn is_recent(file: &Path) -> bool {
    let age = |file: &Path| file.metadata().ok()?.modified().ok()?.elapsed().ok();
    age(file).is_some_and(|age| age < MEMORY)
}

fn remember(file: &Path, reason: &str) -> Result<()> {
    let write = || {
        fs::create_dir_all(file.parent().unwrap_or(file))?;
        fs::write(file, reason)
    };
    write().with_context(|| format!("writing {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_active_toolchain_comes_first_then_nightly() {
        let list = "1.95.0-x86_64-unknown-linux-gnu /r/toolchains/1.95.0\n\
                    nightly-x86_64-unknown-linux-gnu\t/r/toolchains/nightly\n\
                    stable-x86_64-unknown-linux-gnu (active, default) /r/tool chains/stable\n\
                    no installed toolchains\n";
        let found = parse_list(list);
        let names: Vec<_> = found.iter().map(|found| found.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "stable-x86_64-unknown-linux-gnu",
                "nightly-x86_64-unknown-linux-gnu",
                "1.95.0-x86_64-unknown-linux-gnu"
            ]
        );
        assert_eq!(found[0].rustc, Path::new("/r/tool chains/stable/bin/rustc"));
    }

    #[test]
    fn the_advice_names_the_toolchain_we_install() {
        assert!(INSTALL.contains(NIGHTLY));
    }

    #[test]
    fn a_failure_is_remembered() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("cache/rustup-failed");
        assert!(!is_recent(&file));
        remember(&file, "no route").unwrap();
        assert!(is_recent(&file));
    }
}
