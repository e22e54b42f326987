//! What a device's figures mean, in sentences: how bad, compared with what is
//! normal, why, and what to do.
//!
//! Must not compute: every number in a sentence is in [`DeviceFigures`].

pub(super) mod raid;

use std::cmp::Reverse;

use schemars::JsonSchema;
use serde::Serialize;

use super::format::{count, counted, percent, size};
use crate::{
    delta::{DeviceFigures, Op},
    sysfs::{device::Kind, start::Against},
};

/// How much a sentence matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    /// Nothing to do.
    Fine,
    /// Something cannot be told.
    NotKnown,
    /// Worth a look: no cost for certain.
    Hint,
    /// Costs time on the device.
    Cost,
}

impl Weight {
    /// A mark that needs no color.
    #[must_use]
    pub const fn mark(self) -> &'static str {
        match self {
            Self::Fine => "ok",
            Self::NotKnown => "??",
            Self::Hint => " i",
            Self::Cost => "!!",
        }
    }
}

/// One thing to know about a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Finding {
    pub weight: Weight,
    /// For people: how bad, compared with what is normal, why, and what to do.
    pub text: String,
}

impl Finding {
    fn new(weight: Weight, text: String) -> Self {
        Self { weight, text }
    }
}

/// What is to be known about a device, the weightiest first; never empty.
#[must_use]
pub fn findings(device: &DeviceFigures) -> Vec<Finding> {
    let mut found: Vec<Finding> = [
        misaligned_writes(device),
        raid::prereads(device),
        write_fills(device),
        partial_stripes(device),
        crossing_chunks(device),
        misaligned_reads(device),
        fault_reads(device),
        raid::own_writes(device),
        not_classified(device),
    ]
    .into_iter()
    .flatten()
    .collect();
    found.sort_by_key(|finding| Reverse(finding.weight));
    if found.is_empty() {
        found.push(Finding::new(Weight::Fine, fine(device)));
    }
    found
}

/// The weightiest finding.
#[must_use]
pub fn sentence(device: &DeviceFigures) -> Finding {
    // Both are reads that writes made: the more of them are told.
    if raid::fewer_than_fills(device)
        && let Some(fills) = write_fills(device)
    {
        return fills;
    }
    findings(device)
        .into_iter()
        .next()
        .unwrap_or_else(|| Finding::new(Weight::Fine, fine(device)))
}

fn fine(device: &DeviceFigures) -> String {
    let placed = device.read.requests + device.write.requests;
    if placed == 0 {
        return "no reads or writes".to_owned();
    }
    format!(
        "{} and {}, none misaligned (normal: 0%)",
        counted(device.read.requests, "read"),
        counted(device.write.requests, "write"),
    )
}

fn misaligned_writes(device: &DeviceFigures) -> Option<Finding> {
    let physical = device.write.physical;
    if physical.misaligned == 0 {
        return None;
    }
    if let Some(books) = raid::books(device) {
        return Some(books);
    }
    let mut text = how_many(&device.write, "write", device);
    text.push_str(&format!(
        ": {}, each {} a read-modify-write. ",
        counted(physical.partial_blocks, "partly written block"),
        if on_a_drive(device) {
            "costs the drive"
        } else {
            "may cost the devices below"
        },
    ));
    text.push_str(&why(device));
    Some(Finding::new(Weight::Cost, text))
}

/// A buffered write of less than a page-cache block makes the kernel read the
/// block first. A component's are its array's, and told there.
fn write_fills(device: &DeviceFigures) -> Option<Finding> {
    let fills = device.fills.filter(|fills| fills.write_fill_bytes != 0)?;
    if device.origin.is_some() {
        return None;
    }
    Some(Finding::new(
        Weight::Cost,
        format!(
            "{} ({}; normal: 0) made by write calls: somebody writes less than a page at a time \
             through the page cache, and the rest of each page is read first. Write whole blocks of \
             4 KiB (`dd bs=1M`); `--by process` shows who",
            counted(fills.write_fill_requests, "read"),
            size(fills.write_fill_bytes),
        ),
    ))
}

fn misaligned_reads(device: &DeviceFigures) -> Option<Finding> {
    (device.read.physical.misaligned != 0).then(|| {
        let mut text = how_many(&device.read, "read", device);
        text.push_str(": the drive reads more than was asked for, which costs little");
        Finding::new(Weight::Hint, text)
    })
}

/// A page of a mapped file is read before a program can write to it; a fault to
/// read cannot be told from one to write.
fn fault_reads(device: &DeviceFigures) -> Option<Finding> {
    let fills = device.fills.filter(|fills| fills.fault_bytes != 0)?;
    (device.write.requests != 0 && device.origin.is_none()).then(|| {
        Finding::new(
            Weight::Hint,
            format!(
                "{} ({}) made by page faults of programs that have it mapped: where they overwrite \
                 whole pages, write calls of whole blocks of 4 KiB read nothing; `--by process` \
                 shows who",
                counted(fills.fault_requests, "read"),
                size(fills.fault_bytes),
            ),
        )
    })
}

/// `3 of 3 writes (100%; normal: 0%) misaligned to the 4096-byte physical block`
fn how_many(op: &Op, noun: &str, device: &DeviceFigures) -> String {
    let share = if noun == "write" {
        device.rates.misaligned_write_share
    } else {
        device.rates.misaligned_read_share
    };
    let block = device.geometry.physical_block.map_or_else(
        || "physical block".to_owned(),
        |block| format!("{}-byte physical block", block.0),
    );
    format!(
        "{} of {} ({}%; normal: 0%) misaligned to the {block}",
        count(op.physical.misaligned),
        counted(op.physical.aligned + op.physical.misaligned, noun),
        percent(share),
    )
}

/// The cause of misaligned writes, and the remedy.
fn why(device: &DeviceFigures) -> String {
    let physical = device.write.physical;
    if let Some(start) = wrong_start(device) {
        return start;
    }
    if let Some(through) = &device.misaligned_through {
        return format!(
            "{} of them came through {}",
            count(through.writes),
            through.partition
        );
    }
    if physical.off_grid == 0
        && let Some(block) = small_cache_block(device)
    {
        return format!(
            "All are shorter than a block: the page cache keeps it in blocks of {block} bytes, \
             because its length is no multiple of 4096. Make it one, or put a file system on it"
        );
    }
    if physical.off_grid == 0 {
        return "All are shorter than a block: the writer should write whole blocks".to_owned();
    }
    format!(
        "{} start or end off the grid and {} are shorter than a block: a layer or a program above \
         starts wrong",
        count(physical.off_grid),
        count(physical.sub_block)
    )
}

/// The page cache's block, where it is less than the physical one because of
/// an odd length.
fn small_cache_block(device: &DeviceFigures) -> Option<u64> {
    let block = device.page_cache_block?.0;
    (block < device.geometry.physical_block?.0.min(4096)).then_some(block)
}

fn wrong_start(device: &DeviceFigures) -> Option<String> {
    let start = device
        .starts
        .iter()
        .find(|start| start.against == Against::PhysicalBlock && !start.is_aligned())?;
    let mut text = format!(
        "Its start, sector {}, is {} bytes past a boundary",
        start.start_sector.0, start.remainder_bytes.0
    );
    if let Some(next) = start.next_aligned_sector {
        text.push_str(&format!(": move it to {}", next.0));
        if let Some(better) = start.next_mib_aligned_sector {
            text.push_str(&format!(", better {}", better.0));
        }
    }
    Some(text)
}

/// A write to a drive, or to a partition of one, ends in its blocks.
fn on_a_drive(device: &DeviceFigures) -> bool {
    matches!(
        device.kind,
        Some(Kind::Disk | Kind::Partition | Kind::Nvme | Kind::Virtio)
    )
}

fn partial_stripes(device: &DeviceFigures) -> Option<Finding> {
    // What was measured or estimated needs no hint.
    if device.raid.is_some() || device.raid_estimate.is_some() {
        return None;
    }
    // Without parity a partial stripe costs nothing.
    if let Some(level) = &device.md_level
        && !matches!(level.as_str(), "raid4" | "raid5" | "raid6")
    {
        return None;
    }
    let stripe = device.write.stripe?;
    let shares = device.rates.stripe?;
    if stripe.partial + stripe.mixed == 0 {
        return None;
    }
    let width = device
        .geometry
        .stripe
        .map_or_else(String::new, |stripe| format!(" of {}", size(stripe.0)));
    Some(Finding::new(
        Weight::Hint,
        format!(
            "{} of {} ({}%) cover no whole stripe{width}: a parity RAID may have to read before it \
             writes those. A hint, not a count: its stripe cache merges small sequential writes",
            count(stripe.partial),
            counted(stripe.full + stripe.mixed + stripe.partial, "write"),
            percent(Some(shares.partial)),
        ),
    ))
}

fn crossing_chunks(device: &DeviceFigures) -> Option<Finding> {
    let share = device
        .rates
        .chunk_crossing_share
        .filter(|share| *share > 0.0)?;
    let chunk = device.geometry.chunk?;
    Some(Finding::new(
        Weight::Hint,
        format!(
            "{}% of reads and writes cross a chunk boundary ({}): each keeps two or more members \
             busy, which is normal for requests larger than a chunk",
            percent(Some(share)),
            size(chunk.0),
        ),
    ))
}

fn not_classified(device: &DeviceFigures) -> Option<Finding> {
    let unknown = device.read.physical.unknown + device.write.physical.unknown;
    (unknown != 0).then(|| {
        Finding::new(
            Weight::NotKnown,
            format!(
                "{} came while the physical block was not known: in no alignment class",
                counted(unknown, "request"),
            ),
        )
    })
}

#[cfg(test)]
mod tests {
    use tracer_ebpf::op::Op as Kernel;

    use super::*;
    use crate::{
        delta::{Fills, Meter},
        report::testing::{Bench, find, raid_topology},
    };

    /// The findings on `name` after 3 requests of `len` bytes from `start` on.
    fn after(name: &str, op: Kernel, start: u64, len: u64) -> (DeviceFigures, Finding) {
        let mut bench = Bench::new(raid_topology());
        let mut meter = Meter::new(bench.snapshot.clone(), Vec::new(), false);
        meter.devices(&bench.topology);
        bench.io(name, op, (start, len, 4096), 3, 1000);
        let interval = meter.interval(bench.snapshot);
        let device = find(&interval.devices, name).clone();
        let finding = sentence(&device);
        (device, finding)
    }

    #[test]
    fn a_wrong_start_is_named_with_the_next_good_ones() {
        let (_, finding) = after("sda1", Kernel::Write, 34 * 512, 4096);
        assert_eq!(finding.weight, Weight::Cost);
        assert_eq!(
            finding.text,
            "3 of 3 writes (100%; normal: 0%) misaligned to the 4096-byte physical block: 6 partly \
             written blocks, each costs the drive a read-modify-write. Its start, sector 34, is \
             1024 bytes past a boundary: move it to 40, better 2048"
        );
    }

    #[test]
    fn small_writes_are_not_blamed_on_the_start() {
        let (_, finding) = after("sda2", Kernel::Write, 4096 * 512, 1024);
        assert!(
            finding.text.contains("All are shorter than a block"),
            "{}",
            finding.text
        );
    }

    #[test]
    fn reads_and_partial_stripes_are_hints_and_only_where_they_matter() {
        let (_, finding) = after("sda2", Kernel::Read, 512, 4096);
        assert_eq!(finding.weight, Weight::Hint);
        let (mut md, finding) = after("md127", Kernel::Write, 0, 4096);
        assert_eq!(finding.weight, Weight::Hint);
        assert!(
            finding.text.contains("no whole stripe of 448 KiB"),
            "{}",
            finding.text
        );
        md.md_level = Some("raid0".to_owned());
        assert_eq!(sentence(&md).weight, Weight::Fine);
    }

    #[test]
    fn reads_for_small_buffered_writes_come_with_a_remedy() {
        let (mut disk, _) = after("sda2", Kernel::Write, 4096 * 512, 4096);
        let none = Fills::default();
        disk.fills = Some(none);
        assert_eq!(sentence(&disk).weight, Weight::Fine);
        disk.fills = Some(Fills {
            write_fill_requests: 1001,
            write_fill_bytes: 1001 * 4096,
            ..none
        });
        let finding = sentence(&disk);
        assert_eq!(finding.weight, Weight::Cost);
        let begin = "1,001 reads (4004 KiB; normal: 0) made by write calls: ";
        assert!(finding.text.starts_with(begin), "{}", finding.text);
        assert!(finding.text.contains("`dd bs=1M`"), "{}", finding.text);
    }
}
