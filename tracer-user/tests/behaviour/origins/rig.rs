//! An array of scsi_debug disks, watched: every measurement checks that the
//! reasons add up to what the members' own books say.

use serde_json::Value;

use crate::{
    case,
    harness::{
        device::Device,
        ioctl,
        lab::Lab,
        md::Array,
        process::run,
        scsi_debug::ScsiDebug,
        stat::{Stat, settle},
        tracer::{Attach, Tracer, row},
    },
};

pub(super) struct Rig {
    // Dropped in this order.
    array: Array,
    members: Vec<Device>,
    _module: ScsiDebug,
}

impl Rig {
    pub(super) fn new(_lab: &Lab, level: &str, chunk: &str, disks: usize, more: &[&str]) -> Self {
        Self::made(disks, |members| {
            Array::create_with("md77", level, chunk, members, more)
        })
    }

    /// Of an array that is not synchronized.
    pub(super) fn unsynced(_lab: &Lab, level: &str, chunk: &str, disks: usize) -> Self {
        Self::made(disks, |members| {
            Array::create_unsynced("md77", level, chunk, members)
        })
    }

    fn made(disks: usize, array: impl FnOnce(&[Device]) -> Array) -> Self {
        let module = ScsiDebug::load(&["dev_size_mb=64", "sector_size=512", "physblk_exp=3"]);
        module.add(disks - 1);
        let members = module.disks();
        let array = array(&members);
        // The first to open it makes the kernel look for partitions.
        drop(ioctl::open_direct(&array.device().node()));
        Self {
            array,
            members,
            _module: module,
        }
    }

    pub(super) fn device(&self) -> Device {
        self.array.device()
    }

    pub(super) fn members(&self) -> &[Device] {
        &self.members
    }

    /// The array and its members.
    pub(super) fn all(&self) -> Vec<Device> {
        let mut all = vec![self.device()];
        all.extend(self.members.iter().cloned());
        all
    }

    /// Where the array's data begins on a member, in sectors.
    pub(super) fn data_offset(&self, member: &Device) -> u64 {
        self.device()
            .number(&format!("md/dev-{}/offset", member.name()))
    }

    /// md forgets every row.
    pub(super) fn empty_stripe_cache(&self) {
        let device = self.device();
        self.array.wait_until_idle();
        device.write("md/stripe_cache_size", "17");
        device.write("md/stripe_cache_size", "256");
    }

    /// What of a member holds the array's data.
    pub(super) fn component_bytes(&self) -> u64 {
        self.device().number("md/component_size") * 1024
    }

    /// Runs a check to its end.
    pub(super) fn check(&self) {
        self.start_check();
        self.array.wait_until_idle();
    }

    /// Starts one; it ends before a measurement does.
    pub(super) fn start_check(&self) {
        self.array.start_check();
    }

    /// The first member fails, for good.
    pub(super) fn fail_first(&self) {
        let node = self.device().node_text();
        run("mdadm", &[&node, "--fail", &self.members[0].node_text()]);
        self.array.wait_until_idle();
    }

    /// Waits until neither md nor anybody else has anything left to do; the
    /// members' books then.
    pub(super) fn rest(&self) -> Vec<Stat> {
        rest(&[&self.array], &self.members)
    }

    /// The array's figures of some work; `None` as in [`measured`].
    pub(super) fn measured(&self, attach: Attach, work: impl FnOnce()) -> Option<Value> {
        let found = measured(&[&self.array], &self.members, attach, work)?;
        found.into_iter().next().map(|found| found.raid)
    }
}

/// What was said of an array, and of the members of all arrays, in their order.
pub(super) struct Found {
    pub(super) raid: Value,
    pub(super) members: Vec<Value>,
}

/// Waits until neither md nor anybody else has anything left to do; the
/// members' books then.
fn rest(arrays: &[&Array], members: &[Device]) -> Vec<Stat> {
    for array in arrays {
        array.wait_until_idle();
        array.wait_until_bitmap_is_written();
    }
    settle(members)
}

/// Figures of some work on arrays that all have these members, or partitions
/// of one disk among them. `None`, and told, where the kernel skipped runs of a
/// program: nothing after that is comparable.
pub(super) fn measured(
    arrays: &[&Array],
    members: &[Device],
    attach: Attach,
    work: impl FnOnce(),
) -> Option<Vec<Found>> {
    let before = rest(arrays, members);
    let devices: Vec<Device> = arrays.iter().map(|array| array.device()).collect();
    let asked: Vec<&Device> = devices.iter().collect();
    let tracer = Tracer::every("1h", &asked, attach, &[]).wait_until_attached();
    work();
    let after = rest(arrays, members);
    let report = tracer.stop();
    if case::skipped_runs(attach, &report) {
        return None;
    }
    case::nothing_lost(attach, &report);
    let line = &report.summary;
    let rows = add_up(line, members, &before, &after);
    let found = devices.iter().map(|device| Found {
        raid: row(line, device.name()).expect("an array")["raid"].clone(),
        members: rows.clone(),
    });
    Some(found.collect())
}

/// The components' rows: all reasons of each are its own books, and none is
/// missing.
pub(super) fn add_up(
    line: &Value,
    components: &[Device],
    before: &[Stat],
    after: &[Stat],
) -> Vec<Value> {
    let of = |device: &Device| row(line, device.name()).expect("a component").clone();
    let rows: Vec<Value> = components.iter().map(of).collect();
    for (index, row) in rows.iter().enumerate() {
        let (origin, stat) = (&row["origin"], after[index] - before[index]);
        assert_eq!(
            (sum(&origin["read_bytes"]), sum(&origin["write_bytes"])),
            (stat.read_bytes(), stat.written_bytes()),
            "{}: {origin}",
            components[index].name()
        );
        assert_eq!(origin["read_bytes"]["unattributed"], 0, "{origin}");
        assert_eq!(origin["write_bytes"]["unattributed"], 0, "{origin}");
    }
    rows
}

fn sum(parts: &Value) -> u64 {
    let parts = parts.as_object().expect("reasons");
    parts
        .values()
        .map(|part| part.as_u64().expect("bytes"))
        .sum()
}
