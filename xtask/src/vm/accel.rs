//! Who runs the guest's instructions: KVM where it works, else QEMU's
//! emulation (TCG).
//!
//! That /dev/kvm opens says little: nested in another virtual machine it may
//! start a guest that dies in its first instructions. So it is tried, once.

use std::{fs, fs::OpenOptions, time::Duration};

use anyhow::{Context as _, Result};

use super::{cache, qemu::Report};

/// A guest under a KVM that works is up in a few seconds.
const TRIAL_LIMIT: Duration = Duration::from_secs(30);

/// The choice on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Accel {
    /// KVM where a trial boot succeeds, else emulation.
    Auto,
    /// KVM.
    Kvm,
    /// Emulation.
    Tcg,
}

impl Accel {
    /// QEMU's word for it; `boot` boots a guest under such a word, within a
    /// time.
    pub(super) fn resolve(
        self,
        boot: impl FnOnce(&'static str, Duration) -> Result<Report>,
    ) -> Result<&'static str> {
        match self {
            Self::Kvm => Ok("kvm"),
            Self::Tcg => Ok("tcg"),
            Self::Auto if kvm_works(boot)? => Ok("kvm"),
            Self::Auto => Ok("tcg"),
        }
    }
}

fn kvm_works(boot: impl FnOnce(&'static str, Duration) -> Result<Report>) -> Result<bool> {
    let opens = OpenOptions::new().read(true).write(true).open("/dev/kvm");
    if opens.is_err() {
        return Ok(false);
    }
    let host =
        fs::read_to_string("/proc/sys/kernel/osrelease").context("reading this kernel's name")?;
    let verdict = cache::dir()?.join(format!("kvm-on-{}", host.trim()));
    if let Ok(kept) = fs::read_to_string(&verdict) {
        return Ok(kept.trim() == "works");
    }
    eprintln!("xtask: trying KVM");
    let works = match boot("kvm", TRIAL_LIMIT) {
        Ok(report) => report.code == 0,
        Err(_) => false,
    };
    let word = if works { "works" } else { "fails" };
    cache::write(&verdict, word)?;
    eprintln!(
        "xtask: KVM {word} here (remembered in {})",
        verdict.display()
    );
    Ok(works)
}
