//! Pre-reads of an array whose components' bios could not be looked into: what
//! its members were read beyond what was read from it.
//!
//! An estimate, and named one: another reader of a member counts as a
//! pre-read, and of which kind one is cannot be told. Must not touch an array
//! that was measured.

use std::collections::BTreeMap;

use super::{
    DeviceFigures, Fills, raid,
    rates::{StripeShares, ratio},
};
use crate::{
    sysfs::device::{Device, Topology},
    units::DevId,
};

/// Of one raid4/5/6 array over one interval, from its own row and its
/// components'.
#[derive(Clone, Debug, PartialEq)]
pub struct RaidEstimate {
    pub level: String,
    pub raid_disks: Option<u32>,
    pub user_read_bytes: u64,
    pub user_write_bytes: u64,
    /// As in [`super::RaidFigures`].
    pub fills: Option<Fills>,
    /// What the components were read beyond what users read. md reads for
    /// users past the stripe cache, as much as they ask for, while the array
    /// is whole and nothing synchronizes (`chunk_aligned_read`,
    /// drivers/md/raid5.c).
    pub preread_bytes: u64,
    /// To the components: data, parity and md's books.
    pub component_write_bytes: u64,
    /// As in [`super::Ratios`].
    pub preread_ratio: Option<f64>,
    pub reads_on_write: Option<f64>,
    pub write_amplification: Option<f64>,
    pub write_amplification_minimum: Option<f64>,
    /// As in [`super::RaidFigures`].
    pub arrived: Option<StripeShares>,
}

/// Gives each array with parity that nobody looked into its estimate, where
/// one can be made.
pub(super) fn fill_in(figures: &mut [DeviceFigures], topology: &Topology) {
    let rows: BTreeMap<DevId, (u64, u64)> = figures
        .iter()
        .map(|row| (row.id, (row.read.bytes, row.written_bytes())))
        .collect();
    for row in figures.iter_mut().filter(|row| row.raid.is_none()) {
        let device = topology.devices.get(&row.id);
        row.raid_estimate = device.and_then(|device| estimate(device, row, &rows));
    }
}

/// `None` where members are also read for another reason: a failed member, a
/// synchronization, a journal; or where one has no row.
fn estimate(
    device: &Device,
    row: &DeviceFigures,
    rows: &BTreeMap<DevId, (u64, u64)>,
) -> Option<RaidEstimate> {
    let md = device.md.as_ref().filter(|_| raid::has_parity(device))?;
    let journal = |state: &String| state == "journal";
    let quiet = md.degraded == Some(0)
        && !md.reshaping
        && md.sync_action.as_deref() == Some("idle")
        && !md
            .components
            .iter()
            .any(|one| one.state.iter().any(journal));
    if !quiet {
        return None;
    }
    let (mut read, mut written) = (0, 0);
    for component in md.components.iter().filter(|one| one.slot.is_some()) {
        let (bytes_read, bytes_written) = rows.get(&component.device?)?;
        read += bytes_read;
        written += bytes_written;
    }
    let (user_read_bytes, user_write_bytes) = (row.read.bytes, row.written_bytes());
    let preread_bytes = read.saturating_sub(user_read_bytes);
    Some(RaidEstimate {
        level: md.level.clone(),
        raid_disks: md.raid_disks,
        user_read_bytes,
        user_write_bytes,
        fills: row.fills,
        preread_bytes,
        component_write_bytes: written,
        preread_ratio: ratio(preread_bytes, user_write_bytes),
        reads_on_write: ratio(preread_bytes, written),
        write_amplification: ratio(written, user_write_bytes),
        write_amplification_minimum: raid::write_amplification_minimum(md),
        arrived: row.rates.stripe,
    })
}

#[cfg(test)]
mod tests {
    use tracer_ebpf::op::Op;

    use super::*;
    use crate::{
        delta::{Interval, Meter},
        report::testing::{Bench, find, raid_topology},
        sysfs::device::{MdArray, MdComponent},
    };

    /// A RAID6 whose components `sda1` and `sdb1` are.
    fn topology(change: impl FnOnce(&mut MdArray)) -> Topology {
        let mut topology = raid_topology();
        let component = |(slot, name): (u32, &str)| MdComponent {
            name: name.to_owned(),
            device: topology.by_name(name).map(|device| device.id),
            slot: Some(slot),
            state: vec!["in_sync".to_owned()],
            ..MdComponent::default()
        };
        let components = [(0, "sda1"), (1, "sdb1")].map(component).to_vec();
        let md = topology
            .devices
            .values_mut()
            .find_map(|device| device.md.as_mut())
            .unwrap();
        md.raid_disks = Some(9);
        md.degraded = Some(0);
        md.sync_action = Some("idle".to_owned());
        md.components = components;
        change(md);
        topology
    }

    /// 40 KiB written, 8 KiB read; 20 KiB and 60 KiB reach the components.
    fn interval(topology: Topology) -> Interval {
        let first = Bench::new(topology.clone()).snapshot;
        let mut meter = Meter::new(first, Vec::new(), false);
        meter.devices(&topology);
        let mut bench = Bench::new(topology);
        bench.io("md127", Op::Write, (0, 4096, 4096), 10, 1);
        bench.io("md127", Op::Read, (1 << 20, 8192, 0), 1, 1);
        bench.io("sda1", Op::Read, (1 << 20, 4096, 4096), 3, 1);
        bench.io("sdb1", Op::Read, (1 << 20, 4096, 4096), 2, 1);
        bench.io("sda1", Op::Write, (1 << 20, 4096, 4096), 15, 1);
        meter.interval(bench.snapshot)
    }

    #[test]
    fn what_is_read_beyond_what_users_read() {
        let interval = interval(topology(|_| ()));
        let found = find(&interval.devices, "md127").raid_estimate.as_ref();
        let found = found.unwrap();
        assert_eq!(
            (found.user_read_bytes, found.user_write_bytes),
            (8192, 40_960)
        );
        assert_eq!(found.preread_bytes, 20_480 - 8192);
        assert_eq!(found.component_write_bytes, 61_440);
        assert_eq!(found.preread_ratio, Some(0.3));
        assert_eq!(found.reads_on_write, Some(0.2));
        assert_eq!(found.write_amplification, Some(1.5));
        assert_eq!(found.write_amplification_minimum, Some(9.0 / 7.0));
    }

    #[test]
    fn no_estimate_where_members_are_read_for_other_reasons() {
        let cases: [fn(&mut MdArray); 6] = [
            |md| md.degraded = Some(1),
            |md| md.sync_action = Some("check".to_owned()),
            |md| md.sync_action = None,
            |md| md.reshaping = true,
            |md| md.level = "raid10".to_owned(),
            |md| md.components[1].state = vec!["journal".to_owned()],
        ];
        for change in cases {
            let interval = interval(topology(change));
            let found = find(&interval.devices, "md127");
            assert_eq!(found.raid_estimate, None);
        }
    }

    #[test]
    fn no_estimate_where_a_component_has_no_row() {
        let interval = interval(topology(|md| md.components[1].device = None));
        assert_eq!(find(&interval.devices, "md127").raid_estimate, None);
    }
}
