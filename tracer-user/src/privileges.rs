//! What this process may do, kept as small as it can be: capabilities that
//! nothing here needs are given up at the start, the others are raised for a
//! call and lowered again. `docs/privileges.md` says which is for what.
//!
//! Must not decide what is attempted: where a capability is not held, the call
//! that needs it fails by itself and says so.

use std::collections::HashSet;

use caps::{CapSet, Capability, errors::CapsError};
use rustix::{
    process::{Resource, Rlimit, getrlimit, setrlimit},
    thread::{SecureComputingMode, secure_computing_mode},
};

/// What a call needs beyond what everybody may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// To make and read maps.
    Maps,
    /// To load and attach programs too.
    Programs,
    /// To read what the kernel shows to root only: tracefs, device-mapper's
    /// node, and what it says of the programs of a process that was given
    /// capabilities by its file. Not for files that the user names.
    KernelFiles,
    /// To see the addresses of the kernel's functions, which with
    /// `kernel.kptr_restrict` only `CAP_SYSLOG` may.
    Symbols,
    /// To attach a classic tracepoint where `CAP_PERFMON` is not enough: with
    /// Debian's `kernel.perf_event_paranoid` of 3 only `CAP_SYS_ADMIN` may
    /// open a perf event ("security,perf: Allow further restriction of
    /// perf_event_open", a patch of theirs).
    PerfEvents,
    /// To make maps where they count against `RLIMIT_MEMLOCK`.
    LockedMemory,
    /// To read the tables of mapped devices: every ioctl of device-mapper's
    /// asks for it.
    MappedDevices,
    /// To read the files that the user named, where the user is root: without
    /// this capability root may not look into the directories of others.
    NamedFiles,
}

impl Need {
    /// Everything that may be needed in a run.
    const ALL: [Self; 8] = [
        Self::Maps,
        Self::Programs,
        Self::Symbols,
        Self::PerfEvents,
        Self::KernelFiles,
        Self::LockedMemory,
        Self::MappedDevices,
        Self::NamedFiles,
    ];

    /// Those of `permitted` that serve the need.
    fn of(self, permitted: &HashSet<Capability>) -> HashSet<Capability> {
        let held = |wanted: &[Capability]| -> HashSet<Capability> {
            let wanted = wanted.iter().copied();
            wanted.filter(|one| permitted.contains(one)).collect()
        };
        match self {
            Self::Maps => or_admin(permitted, &[Capability::CAP_BPF]),
            // A classic tracepoint's number is a file of tracefs.
            Self::Programs => {
                &or_admin(permitted, &[Capability::CAP_BPF, Capability::CAP_PERFMON])
                    | &held(&[Capability::CAP_DAC_READ_SEARCH])
            }
            Self::KernelFiles | Self::NamedFiles => held(&[Capability::CAP_DAC_READ_SEARCH]),
            // /sys/kernel/btf and /proc/kallsyms are everybody's to read.
            Self::Symbols => held(&[Capability::CAP_SYSLOG]),
            Self::PerfEvents | Self::MappedDevices => held(&[Capability::CAP_SYS_ADMIN]),
            Self::LockedMemory => held(&[Capability::CAP_SYS_RESOURCE]),
        }
    }
}

/// `wanted`, or `CAP_SYS_ADMIN` where some of them are not held: it holds them
/// all, and before 5.8 there was no other (capabilities(7)).
fn or_admin(permitted: &HashSet<Capability>, wanted: &[Capability]) -> HashSet<Capability> {
    let mut held: HashSet<Capability> = wanted
        .iter()
        .copied()
        .filter(|one| permitted.contains(one))
        .collect();
    if held.len() < wanted.len() && permitted.contains(&Capability::CAP_SYS_ADMIN) {
        held.insert(Capability::CAP_SYS_ADMIN);
    }
    held
}

/// The rest of the capabilities could not be given up.
#[derive(Debug, thiserror::Error)]
#[error("cannot give up capabilities that are not needed: {0}")]
pub struct PrivilegesError(#[from] CapsError);

/// Gives up every capability that no [`Need`] asks for, and lowers the others.
/// Before any other thread is started: each has capabilities of its own.
///
/// # Errors
/// When the kernel refuses, which a filter of system calls may.
pub fn keep_needed() -> Result<(), PrivilegesError> {
    let permitted = caps::read(None, CapSet::Permitted)?;
    let kept = Need::ALL
        .into_iter()
        .flat_map(|need| need.of(&permitted))
        .collect();
    caps::clear(None, CapSet::Effective)?;
    caps::clear(None, CapSet::Inheritable)?;
    // Takes it out of the ambient set too.
    caps::set(None, CapSet::Permitted, &kept)?;
    Ok(())
}

/// Gives up what was needed at the start only.
pub fn started() {
    // Kept where it cannot be given up: nothing raises it any more.
    let _ = caps::drop(None, CapSet::Permitted, Capability::CAP_SYS_RESOURCE);
}

/// Gives up everything, in this thread and those that it starts from now on:
/// for threads that talk to a network.
///
/// # Errors
/// As [`keep_needed`].
pub fn keep_none() -> Result<(), PrivilegesError> {
    caps::clear(None, CapSet::Effective)?;
    caps::clear(None, CapSet::Inheritable)?;
    caps::clear(None, CapSet::Permitted)?;
    Ok(())
}

/// Capabilities raised until this is dropped; then they are what they were.
#[must_use = "lowered again when dropped"]
pub struct Raised {
    before: Option<HashSet<Capability>>,
}

/// Raises what is held of what `need` asks for.
pub fn raise(need: Need) -> Raised {
    Raised {
        before: try_raise(need).ok().flatten(),
    }
}

/// The set before, if anything was changed.
fn try_raise(need: Need) -> Result<Option<HashSet<Capability>>, CapsError> {
    let permitted = caps::read(None, CapSet::Permitted)?;
    let wanted = need.of(&permitted);
    let before = caps::read(None, CapSet::Effective)?;
    if wanted.is_subset(&before) {
        return Ok(None);
    }
    caps::set(None, CapSet::Effective, &(&before | &wanted))?;
    Ok(Some(before))
}

impl Drop for Raised {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // To lower is never refused, unless by what refused to raise.
            let _ = caps::set(None, CapSet::Effective, before);
        }
    }
}

/// [`Need::NamedFiles`], where the user is root and crosses no border by it.
pub fn raise_for_named_files() -> Option<Raised> {
    let root = rustix::process::geteuid().is_root();
    root.then(|| raise(Need::NamedFiles))
}

/// How much memory may be locked; `None` for any amount.
pub fn memory_lock_bytes() -> Option<u64> {
    getrlimit(Resource::Memlock).current
}

/// Whether system calls of this process go through a seccomp filter.
pub fn is_filtered() -> bool {
    secure_computing_mode().is_ok_and(|mode| mode == SecureComputingMode::Filter)
}

/// Raises the limit of locked memory as far as it goes. Kernels before 5.11
/// count maps and programs against it.
pub fn raise_memory_lock() {
    let maximum = getrlimit(Resource::Memlock).maximum;
    let unlimited = Rlimit {
        current: None,
        maximum: None,
    };
    let _raised = raise(Need::LockedMemory);
    if setrlimit(Resource::Memlock, unlimited).is_err() {
        let as_far_as_allowed = Rlimit {
            current: maximum,
            maximum,
        };
        // Where not even that is done, making a map fails and says why.
        let _ = setrlimit(Resource::Memlock, as_far_as_allowed);
    }
}

#[cfg(test)]
mod tests {
    use Capability::{
        CAP_BPF, CAP_CHOWN, CAP_DAC_READ_SEARCH, CAP_PERFMON, CAP_SYS_ADMIN, CAP_SYS_RESOURCE,
        CAP_SYSLOG,
    };

    use super::*;

    fn kept(permitted: &[Capability]) -> HashSet<Capability> {
        let permitted = permitted.iter().copied().collect();
        Need::ALL
            .into_iter()
            .flat_map(|need| need.of(&permitted))
            .collect()
    }

    #[test]
    fn root_keeps_six_until_it_has_started() {
        let all: Vec<Capability> = caps::all().into_iter().collect();
        assert_eq!(
            kept(&all),
            [
                CAP_BPF,
                CAP_PERFMON,
                CAP_DAC_READ_SEARCH,
                CAP_SYS_RESOURCE,
                CAP_SYSLOG,
                CAP_SYS_ADMIN
            ]
            .into()
        );
    }

    #[test]
    fn admin_stands_in_for_what_is_not_held() {
        assert_eq!(
            kept(&[CAP_SYS_ADMIN, CAP_CHOWN]),
            [CAP_SYS_ADMIN].into(),
            "a kernel before 5.8"
        );
        assert_eq!(
            kept(&[CAP_SYS_ADMIN, CAP_BPF]),
            [CAP_SYS_ADMIN, CAP_BPF].into()
        );
        assert_eq!(kept(&[CAP_BPF, CAP_PERFMON]), [CAP_BPF, CAP_PERFMON].into());
        assert_eq!(kept(&[]), [].into());
    }

    #[test]
    fn a_call_gets_no_more_than_it_needs() {
        let all = caps::all();
        assert_eq!(Need::Maps.of(&all), [CAP_BPF].into());
        assert_eq!(Need::KernelFiles.of(&all), [CAP_DAC_READ_SEARCH].into());
        assert_eq!(Need::MappedDevices.of(&all), [CAP_SYS_ADMIN].into());
        assert!(!Need::Programs.of(&all).contains(&CAP_SYS_ADMIN));
    }

    /// Capabilities are a thread's own: this one disturbs no other test.
    #[test]
    fn raised_and_lowered_again() {
        std::thread::spawn(raise_and_lower).join().unwrap();
    }

    fn raise_and_lower() {
        let effective = || caps::read(None, CapSet::Effective).unwrap();
        let permitted = caps::read(None, CapSet::Permitted).unwrap();
        keep_needed().unwrap();
        assert_eq!(effective(), [].into());
        {
            let _outer = raise(Need::Maps);
            assert_eq!(effective(), Need::Maps.of(&permitted));
            {
                let _inner = raise(Need::Programs);
                assert_eq!(effective(), Need::Programs.of(&permitted));
            }
            assert_eq!(effective(), Need::Maps.of(&permitted));
        }
        assert_eq!(effective(), [].into());
        started();
        let left = caps::read(None, CapSet::Permitted).unwrap();
        assert!(!left.contains(&CAP_SYS_RESOURCE) && !left.contains(&CAP_CHOWN));
    }
}
