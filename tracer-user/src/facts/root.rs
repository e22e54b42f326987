//! Where a kernel's files are: below an injected root, so that a recorded
//! kernel and the running one are read by the same code.
//!
//! Must not interpret what the files say.

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The directory below which `sys` and `proc` are: `/` for this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelRoot(PathBuf);

impl Default for KernelRoot {
    fn default() -> Self {
        Self::new("/")
    }
}

impl KernelRoot {
    /// A root other than this machine's own.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// The BTF of the kernel itself, modules apart.
    #[must_use]
    pub fn vmlinux_btf(&self) -> PathBuf {
        self.0.join("sys/kernel/btf/vmlinux")
    }

    /// The BTF of a module; of what is built in there is none.
    #[must_use]
    pub fn module_btf(&self, module: &str) -> PathBuf {
        self.0.join("sys/kernel/btf").join(module)
    }

    /// Of a module that is loaded, or built in with parameters.
    #[must_use]
    pub fn module(&self, module: &str) -> PathBuf {
        self.0.join("sys/module").join(module)
    }

    /// Addresses of the kernel's functions.
    #[must_use]
    pub fn kallsyms(&self) -> PathBuf {
        self.0.join("proc/kallsyms")
    }

    /// The two places where tracefs is mounted, the usual one first.
    #[must_use]
    pub fn tracefs(&self) -> [PathBuf; 2] {
        ["sys/kernel/tracing", "sys/kernel/debug/tracing"].map(|path| self.0.join(path))
    }

    /// `uname -r`.
    #[must_use]
    pub fn os_release(&self) -> PathBuf {
        self.0.join("proc/sys/kernel/osrelease")
    }

    /// Who this process is and what it may do.
    #[must_use]
    pub fn own_status(&self) -> PathBuf {
        self.0.join("proc/self/status")
    }
}

/// Why something of the kernel could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum Absence {
    #[error("{} does not exist", path.display())]
    NotThere { path: PathBuf },
    #[error("{} may not be read by this user", path.display())]
    NotPermitted { path: PathBuf },
    #[error("{} is empty: tracefs is not mounted there", path.display())]
    NotMounted { path: PathBuf },
    #[error("{} cannot be read: {message}", path.display())]
    Unreadable { path: PathBuf, message: String },
    #[error("{} cannot be understood: {message}", path.display())]
    Malformed { path: PathBuf, message: String },
}

impl Absence {
    /// Sorts an IO error by what a person could do about it.
    #[must_use]
    pub fn from_io(path: &Path, error: &std::io::Error) -> Self {
        let path = path.to_owned();
        match error.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory => Self::NotThere { path },
            ErrorKind::PermissionDenied => Self::NotPermitted { path },
            _ => Self::Unreadable {
                path,
                message: error.to_string(),
            },
        }
    }
}

/// Reads a whole file.
///
/// # Errors
/// [`Absence`], with the path.
pub(super) fn read_bytes(path: &Path) -> Result<Vec<u8>, Absence> {
    fs::read(path).map_err(|error| Absence::from_io(path, &error))
}

/// Reads a whole file as text; what is not UTF-8 is replaced.
///
/// # Errors
/// [`Absence`], with the path.
pub(super) fn read_text(path: &Path) -> Result<String, Absence> {
    read_bytes(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}
