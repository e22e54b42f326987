//! The eBPF object: `target/bpf/iotrace.bpf.o`, which `tracer-user/build.rs`
//! embeds.

use std::{fs, path::Path};

use anyhow::{Context as _, Result, bail};
use object::{Object as _, ObjectSymbol as _, SymbolKind};

use crate::{
    cargo, process,
    toolchain::{self, Toolchain},
    workspace,
};

/// The programs' target, as cargo is told.
const TARGET: [&str; 6] = [
    "--package",
    "tracer-ebpf",
    "--bin",
    "iotrace-ebpf",
    "--features",
    "programs",
];

/// Builds the object and checks it.
pub fn build() -> Result<()> {
    let build_dir = workspace::bpf_build_dir()?;
    let mut command = Toolchain::obtain()?.cargo("build")?;
    command.args(TARGET).arg("--release");
    command.arg("--target-dir").arg(&build_dir);
    process::run(&mut command).context("building the eBPF programs")?;

    let built = build_dir.join("bpfel-unknown-none/release/iotrace-ebpf");
    let data = fs::read(&built).with_context(|| format!("reading {}", built.display()))?;
    check(&data).with_context(|| format!("the eBPF object {}", built.display()))?;
    publish(&data, &workspace::bpf_object()?)
}

/// Has clippy look at the programs. By the host's compiler and for the host:
/// the one that builds them may come without clippy (Debian's does), and what
/// `aya-ebpf` offers has the same types there.
pub fn clippy() -> Result<()> {
    let mut command = cargo::cargo()?;
    command.arg("clippy").args(TARGET);
    command
        .arg("--target-dir")
        .arg(workspace::target_dir()?.join("bpf-clippy"))
        .args(["--", "--deny=warnings"])
        .env("CARGO_ENCODED_RUSTFLAGS", toolchain::architecture_flag())
        // The programs use features that are not stable yet.
        .env("RUSTC_BOOTSTRAP", "1")
        // Nothing unwinds without the standard library.
        .env("CARGO_PROFILE_DEV_PANIC", "abort");
    process::run(&mut command)
}

/// Writes the object only when it differs: a new time stamp would rebuild
/// everything that embeds it.
fn publish(data: &[u8], object: &Path) -> Result<()> {
    if fs::read(object).is_ok_and(|published| published == data) {
        return Ok(());
    }
    let write = || {
        if let Some(dir) = object.parent() {
            fs::create_dir_all(dir)?;
        }
        fs::write(object, data)
    };
    write().with_context(|| format!("writing {}", object.display()))
}

/// Refuses an object in which a panic is left: a call that never returns, of
/// which the verifier only says "last insn is not an exit or jmp".
fn check(data: &[u8]) -> Result<()> {
    let object = object::File::parse(data)?;
    let panics: Vec<_> = object
        .symbols()
        .filter(|symbol| symbol.kind() == SymbolKind::Text)
        .filter_map(|symbol| symbol.name().ok())
        .filter(|name| is_panic(name))
        .collect();
    if !panics.is_empty() {
        bail!(
            "can panic, and the kernel would refuse it. Look for a division, an index, an \
             arithmetic overflow check or an unwrap in the programs; what is linked: {}",
            panics.join(", ")
        );
    }
    Ok(())
}

/// Every panic, also that of an `unwrap` or a slice, ends in
/// `core::panicking`, whose functions are never inlined.
fn is_panic(symbol: &str) -> bool {
    symbol.contains("panicking")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unchanged_object_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let object = dir.path().join("bpf/iotrace.bpf.o");
        publish(b"one", &object).unwrap();
        let time = || object.metadata().unwrap().modified().unwrap();
        fs::File::options()
            .append(true)
            .open(&object)
            .unwrap()
            .set_modified(std::time::UNIX_EPOCH)
            .unwrap();
        publish(b"one", &object).unwrap();
        assert_eq!(time(), std::time::UNIX_EPOCH);
        publish(b"two", &object).unwrap();
        assert_eq!(fs::read(&object).unwrap(), b"two");
    }

    #[test]
    fn panics_are_known_by_their_symbols() {
        assert!(is_panic(
            "_RNvNtNtCsjIh9oKZNYWz_4core9panicking11panic_const23panic_const_div_by_zero"
        ));
        assert!(is_panic("_ZN4core9panicking9panic_fmt17h0123456789abcdefE"));
        assert!(!is_panic("block_rq_issue"));
        assert!(!is_panic("memcpy"));
    }
}
