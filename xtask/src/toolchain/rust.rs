//! One Rust compiler: what it is, and whether `core` can be built with it.
//!
//! Must not look for compilers or fetch them.

use std::{
    fmt,
    path::{Path, PathBuf},
    process::Command,
};

use crate::process;

/// A compiler and what it says of itself.
#[derive(Clone, Debug)]
pub struct Compiler {
    pub rustc: PathBuf,
    pub sysroot: PathBuf,
    /// As in `1.95.0` or `1.97.0-nightly`.
    pub release: String,
    /// The major version of its LLVM.
    pub llvm: u32,
}

/// Why a compiler will not do.
#[derive(Debug)]
pub enum Unfit {
    /// It does not run, or says nothing we understand.
    Broken { rustc: PathBuf, reason: String },
    /// The sources of its `core` are not installed.
    NoSources(Compiler),
    /// No `bpf-linker` that we know reads what it writes.
    Llvm { compiler: Compiler, known: String },
}

impl Compiler {
    /// Asks the compiler.
    pub fn probe(rustc: &Path) -> Result<Self, Unfit> {
        let ask = |question: &[&str]| {
            process::output(Command::new(rustc).args(question)).map_err(|error| Unfit::Broken {
                rustc: rustc.to_path_buf(),
                reason: format!("{error:#}"),
            })
        };
        let version = ask(&["--version", "--verbose"])?;
        let sysroot = PathBuf::from(ask(&["--print", "sysroot"])?.trim_end());
        let (release, llvm) = parse_version(&version).ok_or_else(|| Unfit::Broken {
            rustc: rustc.to_path_buf(),
            reason: format!("no release and LLVM version in `rustc -vV`:\n{version}"),
        })?;
        // A rustup proxy stands for the toolchain's own compiler.
        let own = sysroot.join("bin/rustc");
        Ok(Self {
            rustc: if own.is_file() {
                own
            } else {
                rustc.to_path_buf()
            },
            sysroot,
            release,
            llvm,
        })
    }

    /// Fails where the sources of `core` are missing.
    pub fn require_sources(&self) -> Result<(), Unfit> {
        let core = "lib/rustlib/src/rust/library/core/Cargo.toml";
        if self.sysroot.join(core).is_file() {
            return Ok(());
        }
        Err(Unfit::NoSources(self.clone()))
    }
}

/// The release and LLVM's major version out of `rustc -vV`.
fn parse_version(text: &str) -> Option<(String, u32)> {
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
    let release = field("release: ")?.to_owned();
    let llvm = field("LLVM version: ")?.split('.').next()?.parse().ok()?;
    Some((release, llvm))
}

impl fmt::Display for Compiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} (rustc {}, LLVM {})",
            self.rustc.display(),
            self.release,
            self.llvm
        )
    }
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Broken { rustc, reason } => write!(f, "{}: {reason}", rustc.display()),
            Self::NoSources(compiler) => {
                write!(
                    f,
                    "{compiler}: the sources of its library (rust-src) are not there"
                )
            }
            Self::Llvm { compiler, known } => {
                write!(
                    f,
                    "{compiler}: no known bpf-linker reads that LLVM (known: {known})"
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn release_and_llvm_are_read() {
        let nightly = "rustc 1.97.0-nightly (e50aa6fba 2026-05-19)\nbinary: rustc\n\
                       host: x86_64-unknown-linux-gnu\nrelease: 1.97.0-nightly\nLLVM version: 22.1.4\n";
        assert_eq!(
            parse_version(nightly),
            Some(("1.97.0-nightly".to_owned(), 22))
        );
        assert_eq!(parse_version("rustc 1.97.0\nrelease: 1.97.0\n"), None);
    }
}
