//! What building the eBPF programs takes: a Rust compiler with the sources of
//! its `core` library, and a `bpf-linker` that reads that compiler's LLVM.
//!
//! Found where it is there, fetched where it is not, and always said. Must not
//! build anything of the workspace itself.

mod bpf_linker;
mod llvm;
mod rust;
mod rustup;

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail};

use self::rust::{Compiler, Unfit};
use crate::{
    debian::{self, Package},
    process, workspace,
};

/// Debian's newest Rust, which it packages for its browsers, and its sources.
const DEBIAN_RUST: [Package; 2] = [
    Package::installed("rustc-web"),
    Package::installed("rust-web-src"),
];

/// Where Debian's packages put the compiler.
const SYSTEM_RUSTC: &str = "/usr/bin/rustc";

/// A compiler and a linker that fit each other.
#[derive(Debug)]
pub struct Toolchain {
    compiler: Compiler,
    cargo: PathBuf,
    linker: PathBuf,
    /// The folder in which `bpf-linker` finds the compiler's LLVM.
    llvm_dir: PathBuf,
}

impl Toolchain {
    /// Finds or fetches all of it.
    pub fn obtain() -> Result<Self> {
        let compiler = obtain_compiler()?;
        let linker = bpf_linker::obtain(compiler.llvm)?;
        let llvm_dir = llvm::library_dir(&compiler)?;
        let cargo = own_cargo(&compiler);
        eprintln!("xtask: eBPF compiler: {compiler}");
        eprintln!("xtask: eBPF linker: {}", linker.display());
        Ok(Self {
            compiler,
            cargo,
            linker,
            llvm_dir,
        })
    }

    /// Cargo, set up to compile for `bpfel-unknown-none` in the workspace.
    pub fn cargo(&self, subcommand: &str) -> Result<Command> {
        let mut command = Command::new(&self.cargo);
        command
            .current_dir(workspace::root()?)
            .arg(subcommand)
            .args(["--target", "bpfel-unknown-none", "-Z", "build-std=core"])
            // Lets any release, not only a nightly one, take `-Z`.
            .env("RUSTC_BOOTSTRAP", "1")
            .env("RUSTC", &self.compiler.rustc)
            .env("CARGO_TARGET_BPFEL_UNKNOWN_NONE_LINKER", &self.linker)
            .env("CARGO_ENCODED_RUSTFLAGS", rustflags().join("\u{1f}"))
            .env("LD_LIBRARY_PATH", &self.llvm_dir);
        Ok(command)
    }
}

/// The flags that aya's own build helper uses; `bpf-linker` makes BTF out of
/// the debug information.
fn rustflags() -> [String; 3] {
    [
        architecture_flag(),
        "-Cdebuginfo=2".to_owned(),
        "-Clink-arg=--btf".to_owned(),
    ]
}

/// Tells `aya-ebpf` whose registers it reads: this machine's.
pub fn architecture_flag() -> String {
    format!("--cfg=bpf_target_arch=\"{}\"", std::env::consts::ARCH)
}

/// The cargo that came with the compiler, which knows the layout of its
/// sources; else the one that runs this.
fn own_cargo(compiler: &Compiler) -> PathBuf {
    let own = compiler.sysroot.join("bin/cargo");
    if own.is_file() {
        return own;
    }
    std::env::var_os("CARGO").map_or_else(|| "cargo".into(), PathBuf::from)
}

/// What is there first, then rustup, then Debian's packages.
fn obtain_compiler() -> Result<Compiler> {
    let mut unfit = match fit_compiler() {
        Ok(compiler) => return Ok(compiler),
        Err(unfit) => unfit,
    };
    eprintln!(
        "xtask: no compiler here can build eBPF programs:\n  {}",
        unfit.join("\n  ")
    );
    let mut refusals = Vec::new();
    for fetch in [fetch_by_rustup, fetch_from_debian] {
        if let Err(error) = fetch() {
            eprintln!("xtask: {error:#}");
            refusals.push(format!("{error:#}"));
            continue;
        }
        match fit_compiler() {
            Ok(compiler) => return Ok(compiler),
            Err(still) => unfit = still,
        }
    }
    unfit.extend(refusals);
    bail!(
        "no Rust compiler for the eBPF programs. It must come with the sources of its library \
         (rust-src) and an LLVM that a known bpf-linker reads ({}):\n  {}\n\
         This would do: {}",
        bpf_linker::known(),
        unfit.join("\n  "),
        rustup::INSTALL
    );
}

/// The first compiler here that will do, or why none will.
fn fit_compiler() -> Result<Compiler, Vec<String>> {
    let mut reasons = Vec::new();
    for rustc in rustup::compilers()
        .into_iter()
        .chain(process::find("rustc"))
        .chain([PathBuf::from(SYSTEM_RUSTC)])
    {
        match check(&rustc) {
            Ok(compiler) => return Ok(compiler),
            Err(unfit) => reasons.push(unfit.to_string()),
        }
    }
    // A compiler may be met under several names.
    let mut seen = BTreeSet::new();
    reasons.retain(|reason| seen.insert(reason.clone()));
    Err(reasons)
}

fn check(rustc: &Path) -> Result<Compiler, Unfit> {
    let compiler = Compiler::probe(rustc)?;
    compiler.require_sources()?;
    if bpf_linker::release_for(compiler.llvm).is_none() {
        return Err(Unfit::Llvm {
            known: bpf_linker::known(),
            compiler,
        });
    }
    Ok(compiler)
}

fn fetch_by_rustup() -> Result<()> {
    rustup::fetch(|rustc| {
        Compiler::probe(rustc).is_ok_and(|found| bpf_linker::release_for(found.llvm).is_some())
    })
}

fn fetch_from_debian() -> Result<()> {
    debian::ensure(&DEBIAN_RUST).context("Debian's compiler")
}
