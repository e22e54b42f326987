//! The eBPF object: embedded at build time, sized and given its frozen globals
//! before it is loaded.
//!
//! Must not attach anything.

use std::fmt;

use aya::{Ebpf, EbpfLoader, GlobalData};
use tracer_ebpf::{
    abi::{CONFIG_SYMBOL, Config, FRONT_ENTRIES, LAYOUT_SYMBOL, Layout, slot_capacity},
    cells::detail,
    origin::abi::{MD_LAYOUT_SYMBOL, MdLayout},
};

use super::{log, maps::Shared, slots};
use crate::privileges;

static OBJECT: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/iotrace.bpf.o"));

/// Processes that `--by process` can tell apart on all devices together.
pub(super) const PROCESS_CAPACITY: u32 = 16_384;
/// Bios that can be under way on the bio-based devices asked for.
const BIO_START_CAPACITY: u32 = 65_536;
/// Bytes of lines of `--bpf-log` that may wait to be read.
const LOG_BUFFER_BYTES: u32 = 1 << 20;
/// The least that a ring buffer can have: a page, made larger where pages are.
const NO_LOG_BUFFER_BYTES: u32 = 4096;
/// Kernel memory that histograms may take where no device was named: with it
/// 2,000 devices on 128 CPUs stay below 256 MiB in all.
const DETAIL_BUDGET_BYTES: usize = 16 << 20;

/// How many of each the maps must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Slots, the overflow slot included.
    pub slots: u32,
    /// Devices with histograms.
    pub details: u32,
}

impl Sizes {
    /// For `devices` devices that exist now on a machine of `cpus` CPUs; with
    /// histograms for `asked` of them, or for as many as a budget allows.
    #[must_use]
    pub fn new(devices: usize, asked: Option<usize>, cpus: usize) -> Self {
        let slots = slot_capacity(devices as u64).saturating_add(1);
        let budget = DETAIL_BUDGET_BYTES / (detail::CELLS * 8 * cpus.max(1));
        // Room for a few devices more that come to sit below or on top.
        let details = asked.map_or(devices + 16, |asked| asked + 16);
        let details = if asked.is_some() {
            details
        } else {
            details.min(budget.max(1))
        };
        Self {
            slots: u32::try_from(slots).unwrap_or(u32::MAX / 4),
            details: u32::try_from(details).unwrap_or(u32::MAX),
        }
    }
}

/// The object could not be loaded into the kernel.
#[derive(Debug, thiserror::Error)]
pub enum ObjectError {
    #[error("this iotrace was built without its eBPF programs: build it with `cargo xtask build`")]
    NotEmbedded,
    #[error("the kernel refuses to make eBPF maps ({0}): {1}")]
    Refused(Box<aya::EbpfError>, Refused),
    #[error("loading the eBPF object's maps: {0}")]
    Load(aya::EbpfError),
}

/// What may lie behind an EPERM though the capabilities are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// How much memory may be locked; `None` for any amount.
    pub memory_lock_bytes: Option<u64>,
    /// System calls go through a seccomp filter.
    pub is_filtered: bool,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_filtered {
            f.write_str(
                "a seccomp filter is in force, and those of older container runtimes \
                 (podman 4.3's) allow bpf() with CAP_SYS_ADMIN only: give the container a \
                 newer profile (docs/install.md, Containers); ",
            )?;
        }
        if let Some(limit) = self.memory_lock_bytes {
            write!(
                f,
                "before Linux 5.11 maps count as locked memory, and RLIMIT_MEMLOCK is {} KiB: \
                 raise it (`ulimit -l unlimited`, or LimitMEMLOCK=infinity in a systemd unit), or \
                 add CAP_SYS_RESOURCE; ",
                limit / 1024
            )?;
        }
        f.write_str(
            "CAP_BPF and CAP_PERFMON do not count inside a user namespace (`unshare --user`, a \
             rootless container), and a security module may deny them: run outside of it",
        )
    }
}

impl From<aya::EbpfError> for ObjectError {
    fn from(error: aya::EbpfError) -> Self {
        if !is_not_permitted(&error) {
            return Self::Load(error);
        }
        let refused = Refused {
            memory_lock_bytes: privileges::memory_lock_bytes(),
            is_filtered: privileges::is_filtered(),
        };
        Self::Refused(Box::new(error), refused)
    }
}

fn is_not_permitted(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(io) = error.downcast_ref::<std::io::Error>() {
            return io.kind() == std::io::ErrorKind::PermissionDenied;
        }
        next = error.source();
    }
    false
}

/// Creates the maps, with the globals frozen. No program is loaded yet.
///
/// # Errors
/// Without the privilege to create maps, or without an embedded object.
pub(super) fn open(layout: &Layout, config: &Config, sizes: Sizes) -> Result<Ebpf, ObjectError> {
    let (layout, config) = (Shared(*layout), Shared(*config));
    let log_level: u8 = if config.0.log != 0 { u8::MAX } else { 0 };
    let mut loader = EbpfLoader::new();
    loader
        .override_global(LAYOUT_SYMBOL, GlobalData::from(&layout), true)
        .override_global(CONFIG_SYMBOL, GlobalData::from(&config), true)
        .override_global(aya_log::LEVEL, GlobalData::from(&log_level), true)
        .map_max_entries("DEVICES", sizes.slots)
        .map_max_entries("FREE_SLOTS", sizes.slots)
        .map_max_entries("OWNERS", sizes.slots)
        .map_max_entries("SLOTS", sizes.slots)
        .map_max_entries("PLACES", slots::places_for(sizes.slots))
        .map_max_entries("HOT", sizes.slots)
        .map_max_entries("SHARED", sizes.slots)
        .map_max_entries("DETAIL", sizes.details.max(1))
        .map_max_entries("PARTITIONS", sizes.slots)
        .map_max_entries(
            "PROCESSES",
            if config.0.by_process != 0 {
                PROCESS_CAPACITY
            } else {
                1
            },
        )
        .map_max_entries(
            "BIO_STARTS",
            if config.0.bio_latency != 0 {
                BIO_START_CAPACITY
            } else {
                1
            },
        )
        .map_max_entries(
            log::LINES_MAP,
            if config.0.log != 0 {
                LOG_BUFFER_BYTES
            } else {
                NO_LOG_BUFFER_BYTES
            },
        );
    load(&mut loader)
}

/// The same for the programs on md's components, of which `components` can be
/// watched: the other programs' maps stay as small as they are compiled.
///
/// # Errors
/// As [`open`].
pub(super) fn open_for_md(
    layout: &Layout,
    md: &MdLayout,
    components: u32,
) -> Result<Ebpf, ObjectError> {
    let (layout, md) = (Shared(*layout), Shared(*md));
    let log_level: u8 = 0;
    let mut loader = EbpfLoader::new();
    loader
        .override_global(LAYOUT_SYMBOL, GlobalData::from(&layout), true)
        .override_global(MD_LAYOUT_SYMBOL, GlobalData::from(&md), true)
        .override_global(aya_log::LEVEL, GlobalData::from(&log_level), true)
        .map_max_entries("COMPONENT_INDEX", components)
        .map_max_entries("COMPONENT_FRONT", FRONT_ENTRIES)
        .map_max_entries("COMPONENTS", components)
        .map_max_entries("COMPONENT_CELLS", components)
        .map_max_entries(log::LINES_MAP, NO_LOG_BUFFER_BYTES);
    load(&mut loader)
}

fn load(loader: &mut EbpfLoader<'_>) -> Result<Ebpf, ObjectError> {
    if OBJECT.is_empty() {
        return Err(ObjectError::NotEmbedded);
    }
    // Before 5.11 maps and programs count as locked memory; later kernels do
    // not look at the limit.
    privileges::raise_memory_lock();
    Ok(loader.load(OBJECT)?)
}

#[cfg(test)]
mod tests {
    use tracer_ebpf::abi::kernel_memory_bytes;

    use super::*;

    /// Everything that grows with the machine, for all devices.
    #[test]
    fn two_thousand_devices_on_128_cpus_fit_256_mib_with_histograms() {
        let sizes = Sizes::new(2000, None, 128);
        let histograms = u64::from(sizes.details) * (detail::CELLS * 8 * 128) as u64;
        let all = kernel_memory_bytes(2000, 128) + histograms;
        assert!(all < 256 << 20, "{} MiB", all >> 20);
    }

    #[test]
    fn a_refusal_names_what_may_be_behind_it() {
        let says = |memory_lock_bytes, is_filtered| {
            let refused = Refused {
                memory_lock_bytes,
                is_filtered,
            };
            let text = refused.to_string();
            ["seccomp", "RLIMIT_MEMLOCK is 64 KiB", "user namespace"]
                .map(|word| text.contains(word))
        };
        assert_eq!(says(None, false), [false, false, true]);
        assert_eq!(says(Some(65536), false), [false, true, true]);
        assert_eq!(says(None, true), [true, false, true]);
    }

    #[test]
    fn histograms_stay_within_their_budget() {
        for cpus in [1, 2, 16, 128, 1024] {
            let sizes = Sizes::new(2000, None, cpus);
            let bytes = sizes.details as usize * detail::CELLS * 8 * cpus;
            assert!(sizes.details == 1 || bytes <= DETAIL_BUDGET_BYTES, "{cpus}");
            assert!(sizes.details >= 1);
        }
        assert_eq!(Sizes::new(10, Some(3), 2).details, 19);
        assert_eq!(Sizes::new(10, None, 2).slots, 10 + 1 + 64 + 1);
    }
}
