//! Which eBPF programs a process holds, and whether the kernel still has them.

use std::{collections::BTreeSet, fs, path::PathBuf};

use aya::programs::loaded_programs;

use super::wait;

/// The kernel's numbers of the programs that a process has loaded or attached.
pub(crate) fn of_process(pid: libc::pid_t) -> BTreeSet<u32> {
    let folder = PathBuf::from(format!("/proc/{pid}/fdinfo"));
    let entries = fs::read_dir(folder).expect("fdinfo");
    let held: BTreeSet<u32> = entries
        .filter_map(|entry| fs::read_to_string(entry.ok()?.path()).ok())
        .filter_map(|info| {
            let number = info
                .lines()
                .find_map(|line| line.strip_prefix("prog_id:"))?;
            number.trim().parse().ok()
        })
        .collect();
    assert!(!held.is_empty(), "process {pid} holds no eBPF program");
    held
}

/// Waits until the kernel has freed every one of them (it does so some time
/// after the last one who held them is gone).
pub(crate) fn wait_until_gone(programs: &BTreeSet<u32>) {
    wait::until_true("iotrace's programs to be freed", || {
        let loaded: BTreeSet<u32> = loaded_programs()
            .filter_map(|program| Some(program.ok()?.id()))
            .collect();
        loaded.is_disjoint(programs)
    });
}
