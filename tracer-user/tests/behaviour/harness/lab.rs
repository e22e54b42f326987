//! One test at a time, as root, with what it needs: or a visible refusal.

use std::{
    env, fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
    process::Command,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tempfile::TempDir;

use super::process::{find, finished};

/// Devices and probes belong to the whole machine.
static ALONE: Mutex<()> = Mutex::new(());

/// Something a test can't do without.
#[derive(Clone, Copy)]
pub(crate) enum Needs {
    /// A program of the distribution.
    Program(&'static str),
    /// A file the kernel has or has not.
    File(&'static str),
}

impl Needs {
    /// Why it can't be had.
    fn missing(&self) -> Option<String> {
        match self {
            Self::Program(name) if find(name).is_none() => Some(format!("no program {name}")),
            Self::File(path) if !Path::new(path).exists() => Some(format!("no {path}")),
            Self::Program(_) | Self::File(_) => None,
        }
    }
}

/// Loads a module; whether the kernel has it now.
pub(crate) fn load(module: &str) -> bool {
    Path::new("/sys/module").join(module).exists()
        || find("modprobe")
            .is_some_and(|program| finished(Command::new(program).arg(module)).status.success())
}

/// The right to make devices, and a place for files that cost no disk IO.
pub(crate) struct Lab {
    /// On a tmpfs of its own: backing files, traces, job files.
    folder: TempDir,
    /// Last: the next test begins when the tmpfs is gone.
    _alone: MutexGuard<'static, ()>,
}

impl Lab {
    /// Waits for the test before, checks the needs. `None`, said on standard
    /// error past the test harness, where something is missing and nobody
    /// requires it.
    pub(crate) fn open(test: &str, needs: &[Needs]) -> Option<Self> {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let mut missing: Vec<String> = needs.iter().filter_map(Needs::missing).collect();
        // SAFETY: geteuid has no preconditions.
        if unsafe { libc::geteuid() } != 0 {
            missing.push("not root".into());
        }
        if !missing.is_empty() {
            let reason = missing.join(", ");
            assert!(
                env::var_os("IOTRACE_REQUIRE").is_none(),
                "{test} must run here, but: {reason}"
            );
            // Past libtest's capture: what did not run is never silent.
            let _ = writeln!(io::stderr(), "{test}: NOT RUN: {reason}");
            return None;
        }
        mount_if_missing("debugfs", "/sys/kernel/debug");
        mount_if_missing("tracefs", "/sys/kernel/tracing");
        let folder = TempDir::new().expect("a folder for the test");
        mount("tmpfs", folder.path());
        Some(Self {
            folder,
            _alone: alone,
        })
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A file of zeros without blocks.
    pub(crate) fn sparse_file(&self, name: &str, bytes: u64) -> PathBuf {
        let path = self.path(name);
        let file = fs::File::create(&path).expect("a backing file");
        file.set_len(bytes).expect("its length");
        path
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let path = c_path(self.folder.path());
        // SAFETY: a NUL-terminated path. Detached: a loop device a failed
        // test left behind must not keep the others from running.
        unsafe { libc::umount2(path.as_ptr(), libc::MNT_DETACH) };
    }
}

pub(crate) fn mount_if_missing(kind: &str, at: &str) {
    let mounts = fs::read_to_string("/proc/self/mounts").expect("/proc/self/mounts");
    let there = mounts
        .lines()
        .any(|line| line.split(' ').nth(1) == Some(at));
    if !there {
        mount(kind, Path::new(at));
    }
}

fn mount(kind: &str, at: &Path) {
    let (kind_c, at_c) = (std::ffi::CString::new(kind).expect("no NUL"), c_path(at));
    // SAFETY: NUL-terminated strings; these file systems take no data.
    let result = unsafe {
        libc::mount(
            kind_c.as_ptr(),
            at_c.as_ptr(),
            kind_c.as_ptr(),
            0,
            std::ptr::null(),
        )
    };
    assert!(
        result == 0,
        "mounting {kind} at {}: {}",
        at.display(),
        io::Error::last_os_error()
    );
}

fn c_path(path: &Path) -> std::ffi::CString {
    use std::os::unix::ffi::OsStrExt as _;
    std::ffi::CString::new(path.as_os_str().as_bytes()).expect("no NUL in a path")
}
