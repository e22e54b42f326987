//! Who issued bios: reads the kernel side's table of processes, and makes room
//! in it by taking out those that have ended. What they did is kept, summed by
//! device and command, so that no total ever falls.
//!
//! Must not decide what is shown.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use tracer_ebpf::abi::{ProcessCells, ProcessKey};

use super::{
    maps::{Maps, MapsError},
    slots::Slots,
};
use crate::{
    snapshot::{OTHER_COMMANDS, ProcessRow},
    sysfs::cgroups::CgroupPaths,
    units::DevId,
};

/// Commands that have ended and are still told apart, on all devices together.
const ENDED_CAPACITY: usize = 4096;

/// An entry of the table.
pub(super) type Entry = (ProcessKey, ProcessCells);

/// The table as it was at the last reading, and what was taken out of it.
pub(super) struct Processes {
    capacity: usize,
    before: HashMap<ProcessKey, ProcessCells>,
    ended: BTreeMap<(DevId, [u8; 16]), ProcessCells>,
    cgroups: CgroupPaths,
}

impl Processes {
    pub(super) fn new(capacity: u32, cgroups: CgroupPaths) -> Self {
        Self {
            capacity: usize::try_from(capacity).unwrap_or(usize::MAX),
            before: HashMap::new(),
            ended: BTreeMap::new(),
            cgroups,
        }
    }

    /// One reading of the table.
    pub(super) fn read(
        &mut self,
        maps: &mut Maps,
        slots: &mut Slots,
    ) -> Result<Vec<ProcessRow>, MapsError> {
        for (device, (key, cells)) in slots.take_freed_processes() {
            self.keep(device, &key, &cells);
        }
        let mut entries = maps.processes()?;
        let ended = ended(&entries, &self.before, self.capacity, is_there);
        if !ended.is_empty() {
            for key in &ended {
                self.take_out(maps, slots, key)?;
            }
            entries.retain(|(key, _)| !ended.contains(key));
        }
        self.before = entries.iter().copied().collect();
        Ok(self.rows(entries, slots))
    }

    fn take_out(
        &mut self,
        maps: &mut Maps,
        slots: &Slots,
        key: &ProcessKey,
    ) -> Result<(), MapsError> {
        // Its number may have been given to a new process since it was read.
        let Some(cells) = maps.process(key)? else {
            return Ok(());
        };
        maps.remove_process(key)?;
        if let Some(device) = slots.device_of(key.slot) {
            self.keep(device, key, &cells);
        }
        Ok(())
    }

    /// Keeps what a process did whose entry is gone.
    fn keep(&mut self, device: DevId, key: &ProcessKey, cells: &ProcessCells) {
        let full = self.ended.len() >= ENDED_CAPACITY;
        let known = self.ended.contains_key(&(device, key.comm));
        let comm = if full && !known {
            OTHER_COMMANDS
        } else {
            key.comm
        };
        self.ended.entry((device, comm)).or_default().add(cells);
    }

    fn rows(&mut self, entries: Vec<Entry>, slots: &Slots) -> Vec<ProcessRow> {
        let cgroups: BTreeSet<u64> = entries
            .iter()
            .map(|(key, _)| key.cgroup)
            .filter(|&id| id != 0)
            .collect();
        self.cgroups.look_up(&cgroups);
        let live = entries.into_iter().filter_map(|(key, cells)| {
            Some(ProcessRow {
                device: slots.device_of(key.slot)?,
                key,
                cells,
                cgroup_path: self.cgroups.path(key.cgroup),
                ended: false,
            })
        });
        let ended = self.ended.iter().map(|(&(device, comm), &cells)| {
            let key = ProcessKey {
                comm,
                ..ProcessKey::default()
            };
            ProcessRow {
                device,
                key,
                cells,
                cgroup_path: None,
                ended: true,
            }
        });
        live.chain(ended).collect()
    }
}

/// The entries to be taken out of a table of `capacity`: none while it is less
/// than half full; then those of processes that are no more, and that have not
/// changed since the reading before, so that every figure of theirs was shown.
fn ended(
    entries: &[Entry],
    before: &HashMap<ProcessKey, ProcessCells>,
    capacity: usize,
    is_there: impl Fn(u32) -> bool,
) -> BTreeSet<ProcessKey> {
    if entries.len() <= capacity / 2 {
        return BTreeSet::new();
    }
    let mut there: HashMap<u32, bool> = HashMap::new();
    entries
        .iter()
        .filter(|(key, cells)| before.get(key) == Some(cells))
        .filter(|(key, _)| !*there.entry(key.tgid).or_insert_with(|| is_there(key.tgid)))
        .map(|(key, _)| *key)
        .collect()
}

/// Whether there is a process of that number. In a container numbers are
/// others than the kernel's: an entry taken out too early is made again by the
/// next bio, and nothing is lost.
fn is_there(tgid: u32) -> bool {
    use rustix::{
        io::Errno,
        process::{Pid, test_kill_process},
    };
    // 0 is the idle task of each CPU.
    let pid = i32::try_from(tgid).ok().and_then(Pid::from_raw);
    pid.is_none_or(|pid| test_kill_process(pid) != Err(Errno::SRCH))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(tgid: u32, writes: u64) -> Entry {
        let key = ProcessKey {
            slot: 1,
            tgid,
            ..ProcessKey::default()
        };
        let cells = ProcessCells {
            write_requests: writes,
            ..ProcessCells::default()
        };
        (key, cells)
    }

    fn numbers(keys: BTreeSet<ProcessKey>) -> Vec<u32> {
        keys.into_iter().map(|key| key.tgid).collect()
    }

    #[test]
    fn only_the_ended_and_unchanged_leave_and_only_when_room_is_short() {
        let entries: Vec<Entry> = (1..=6).map(|tgid| entry(tgid, 10)).collect();
        let mut before: HashMap<_, _> = entries.iter().copied().collect();
        // 2 has written since, 3 is new.
        before.insert(entry(2, 0).0, entry(2, 9).1);
        before.remove(&entry(3, 0).0);
        let even_ended = |tgid: u32| tgid % 2 == 1;
        let leave = |capacity| numbers(ended(&entries, &before, capacity, even_ended));
        assert_eq!(leave(12), [0; 0]);
        assert_eq!(leave(11), [4, 6]);
        assert_eq!(numbers(ended(&entries, &before, 11, |_| true)), [0; 0]);
        assert_eq!(
            numbers(ended(&entries, &before, 11, |_| false)),
            [1, 4, 5, 6]
        );
    }

    #[test]
    fn what_the_ended_did_is_kept_within_bounds() {
        let device: DevId = "8:0".parse().unwrap();
        let mut processes = Processes::new(2, CgroupPaths::default());
        for number in 0..ENDED_CAPACITY as u64 + 100 {
            let (mut key, cells) = entry(1, 1);
            key.comm[..8].copy_from_slice(&number.to_be_bytes());
            processes.keep(device, &key, &cells);
            processes.keep(device, &key, &cells);
        }
        assert_eq!(processes.ended.len(), ENDED_CAPACITY + 1);
        let sum: u64 = processes
            .ended
            .values()
            .map(|cells| cells.write_requests)
            .sum();
        assert_eq!(sum, 2 * (ENDED_CAPACITY as u64 + 100));
    }

    #[test]
    fn processes_that_are_there() {
        assert!(is_there(std::process::id()));
        assert!(is_there(1), "another user's");
        assert!(is_there(0));
        assert!(!is_there(i32::MAX as u32));
    }
}
