//! The kernel's own block tracer on some disks, its records printed by
//! blkparse.
//!
//! They come as the program `blktrace` gets them, by ioctl and relay files; or,
//! as a locked-down kernel keeps those files shut, through tracefs.

mod ftrace;
mod relay;

use std::{collections::BTreeMap, path::Path};

use self::{ftrace::Ftrace, relay::Relay};
use super::{device::Device, lab::Lab, process::run_from};

// linux/blktrace_api.h. The head of every record, in memory's order: magic
// number and version 7.
const MAGIC: [u8; 4] = [0x07, b't', b'a', b'e'];
const RECORD_BYTES: usize = 48;
const ACTION_AT: usize = 28;
/// Among the action's bits: no IO but a note, as md leaves them.
const NOTE: u32 = 1 << 26;
/// And of a note: a control group's number comes before its text.
const GROUP: u32 = 1 << 8;
const PDU_LEN_AT: usize = 46;

/// How blkparse prints a record.
const FORMAT: &str = "%D %a %d %S %N\n";

/// A trace that runs.
pub(crate) enum Blktrace {
    Relay(Vec<Relay>),
    Ftrace(Ftrace),
}

impl Blktrace {
    /// Starts tracing the disks of `devices`; it runs when this returns.
    pub(crate) fn start(devices: &[Device]) -> Self {
        let mut disks: Vec<Device> = devices.iter().map(Device::whole).collect();
        disks.dedup();
        let relays: Vec<Relay> = disks.iter().map(Relay::start).collect();
        if relays.iter().all(Relay::can_be_read) {
            return Self::Relay(relays);
        }
        // Torn down first: a disk has one trace at a time.
        drop(relays);
        Self::Ftrace(Ftrace::start(disks))
    }

    /// Stops, and gives for each disk's name its records as lines "ACTION RWBS
    /// SECTOR BYTES", in the order of time. Fails if one is missing.
    pub(crate) fn stop(self, lab: &Lab) -> BTreeMap<String, String> {
        match self {
            Self::Relay(relays) => {
                for relay in &relays {
                    relay.pause();
                }
                relays.into_iter().map(|relay| relay.stop(lab)).collect()
            }
            Self::Ftrace(ftrace) => ftrace.stop(lab),
        }
    }
}

/// Notes that the kernel left in the records of a disk, as md does for each row
/// that it reads first: `raid5 rmw SECTOR ...`, `raid5 rcw SECTOR ...`. Of a
/// trace that was stopped, with relay files; blkparse does not print them.
pub(crate) fn notes(lab: &Lab, disk: &Device) -> Vec<String> {
    let mut notes = Vec::new();
    for cpu in 0.. {
        let path = lab.path(&format!("{}.blktrace.{cpu}", disk.name()));
        let Ok(records) = std::fs::read(path) else {
            assert!(cpu > 0, "no records of {}", disk.name());
            return notes;
        };
        let mut rest = records.as_slice();
        while !rest.is_empty() {
            let action = rest[ACTION_AT..].first_chunk().expect("an action");
            let len = rest[PDU_LEN_AT..].first_chunk().expect("a length");
            let end = RECORD_BYTES + usize::from(u16::from_le_bytes(*len));
            let action = u32::from_le_bytes(*action);
            if action & NOTE != 0 {
                let group = if action & GROUP != 0 { 8 } else { 0 };
                let text = String::from_utf8_lossy(&rest[RECORD_BYTES + group..end]);
                notes.push(text.trim_end_matches('\0').to_owned());
            }
            rest = &rest[end..];
        }
    }
    notes
}

/// How many records of IO there are: each record says how much follows it.
fn count(mut records: &[u8]) -> usize {
    let mut found = 0;
    while !records.is_empty() {
        assert!(records.starts_with(&MAGIC), "record {found} has no head");
        let action = records[ACTION_AT..].first_chunk().expect("an action");
        if u32::from_le_bytes(*action) & NOTE == 0 {
            found += 1;
        }
        let more = records[PDU_LEN_AT..].first_chunk().expect("a length");
        records = &records[RECORD_BYTES + usize::from(u16::from_le_bytes(*more))..];
    }
    found
}

/// blkparse's lines of `records` IOs, without the disk's number.
fn lines(args: &[&str], stdin: &Path, records: usize) -> Vec<(String, String)> {
    let mut all = vec!["-q", "-f", FORMAT];
    all.extend(args);
    let lines: Vec<_> = run_from("blkparse", &all, stdin)
        .lines()
        .filter_map(disk_and_record)
        .collect();
    assert_eq!(lines.len(), records, "records printed by blkparse");
    lines
}

/// A line as the number of a disk and the rest. `None` for the text of notes,
/// which comes in a format of its own.
fn disk_and_record(line: &str) -> Option<(String, String)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [disk, action, rwbs, sector, bytes] = words[..] else {
        return None;
    };
    sector.parse::<u64>().ok()?;
    bytes.parse::<u64>().ok()?;
    Some((disk.into(), format!("{action} {rwbs} {sector} {bytes}\n")))
}
