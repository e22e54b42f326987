//! Which devices to show, and in which order: what sits on top first, its
//! members indented below it, a partition below its disk.
//!
//! Must not know counters.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
};

use crate::{
    sysfs::device::{Device, Topology},
    units::DevId,
};

/// A device's place in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) device: DevId,
    /// Steps below the topmost device above it.
    pub(super) depth: usize,
}

/// The devices `asked` for with all that they are made of and all that is
/// made of them, or every device if there are none; in the order of the tree.
pub(super) fn places(asked: &[DevId], topology: &Topology) -> Vec<Place> {
    let shown: Vec<&Device> = if asked.is_empty() {
        topology.devices.values().collect()
    } else {
        let around: BTreeSet<DevId> = topology.around(asked.to_vec()).all().collect();
        let devices = around.iter();
        devices.filter_map(|id| topology.devices.get(id)).collect()
    };
    tree(shown, topology)
}

/// Directed edges between devices.
#[derive(Default)]
struct Edges(BTreeMap<DevId, BTreeSet<DevId>>);

impl Edges {
    fn add(&mut self, from: DevId, to: DevId) {
        self.0.entry(from).or_default().insert(to);
    }

    /// From a device to those listed below it: a partition stands below its
    /// disk, so who uses the partition stands above the disk.
    fn listed_below(shown: &[&Device], topology: &Topology) -> Self {
        let disk_of = |id: DevId| {
            let device = topology.devices.get(&id);
            device.and_then(|d| d.partition).map_or(id, |p| p.disk)
        };
        let ids: BTreeSet<DevId> = shown.iter().map(|device| device.id).collect();
        let mut edges = Self::default();
        for device in shown {
            let below = device.members.iter().map(|&member| disk_of(member));
            for lower in below.filter(|&lower| lower != device.id && ids.contains(&lower)) {
                edges.add(device.id, lower);
            }
            let disk = disk_of(device.id);
            if disk != device.id && ids.contains(&disk) {
                edges.add(disk, device.id);
            }
        }
        edges
    }

    fn of(&self, device: DevId) -> impl Iterator<Item = DevId> {
        self.0.get(&device).into_iter().flatten().copied()
    }

    fn turned(&self) -> Self {
        let mut turned = Self::default();
        for (&from, to) in &self.0 {
            for &to in to {
                turned.add(to, from);
            }
        }
        turned
    }
}

/// Each device once, as soon as all those above it have been listed.
fn tree(mut shown: Vec<&Device>, topology: &Topology) -> Vec<Place> {
    shown.sort_by(|a, b| listing_order(a, b));
    let below = Edges::listed_below(&shown, topology);
    let above = below.turned();
    let mut nodes: BTreeMap<DevId, Node> = shown
        .iter()
        .enumerate()
        .map(|(rank, device)| (device.id, Node::new(rank, above.of(device.id).count())))
        .collect();
    let mut places = Vec::with_capacity(shown.len());
    // The second round is for devices that lie on themselves, which only a
    // broken stack has: listed, rather than lost.
    for only_tops in [true, false] {
        for device in &shown {
            if let Some(node) = nodes.get(&device.id)
                && !node.listed
                && (node.waits_for == 0 || !only_tops)
            {
                list(device.id, &below, &mut nodes, &mut places);
            }
        }
    }
    places
}

/// A device that is to be listed.
struct Node {
    /// Place among its equals.
    rank: usize,
    /// Devices above it that are not listed yet.
    waits_for: usize,
    depth: usize,
    listed: bool,
}

impl Node {
    const fn new(rank: usize, waits_for: usize) -> Self {
        Self {
            rank,
            waits_for,
            depth: 0,
            listed: false,
        }
    }
}

/// Lists `top`, and below it what waited for nothing else.
fn list(top: DevId, below: &Edges, nodes: &mut BTreeMap<DevId, Node>, places: &mut Vec<Place>) {
    let mut open = vec![top];
    while let Some(device) = open.pop() {
        let Some(node) = nodes.get_mut(&device) else {
            continue;
        };
        node.listed = true;
        let depth = node.depth;
        places.push(Place { device, depth });
        let mut ready = Vec::new();
        for id in below.of(device) {
            if let Some(lower) = nodes.get_mut(&id).filter(|lower| !lower.listed) {
                lower.waits_for = lower.waits_for.saturating_sub(1);
                lower.depth = lower.depth.max(depth + 1);
                if lower.waits_for == 0 {
                    ready.push((lower.rank, id));
                }
            }
        }
        // Last in, first out: the first in rank goes in last.
        ready.sort_unstable_by(|a, b| b.cmp(a));
        open.extend(ready.into_iter().map(|(_, id)| id));
    }
}

/// Partitions before members, then by name.
fn listing_order(a: &Device, b: &Device) -> Ordering {
    b.partition
        .is_some()
        .cmp(&a.partition.is_some())
        .then_with(|| natural_key(&a.name).cmp(&natural_key(&b.name)))
}

/// Sorts `sdb` before `sdaa`, and `md9` before `md127`: by driver, then by
/// length of the letters, the letters, and the number.
fn natural_key(name: &str) -> (&str, usize, &str, Option<u64>, &str) {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = name.get(stem.len()..).and_then(|n| n.parse().ok());
    (
        stem.get(..2).unwrap_or(stem),
        stem.len(),
        stem,
        number,
        name,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testing::{device, partition, raid_topology, topology};

    fn listed(topology: &Topology, asked: &[&str]) -> Vec<String> {
        let find = |name: &str| {
            topology
                .devices
                .values()
                .find(|d| d.name == name)
                .unwrap()
                .id
        };
        let asked: Vec<DevId> = asked.iter().map(|name| find(name)).collect();
        places(&asked, topology)
            .iter()
            .map(|place| {
                let name = &topology.devices[&place.device].name;
                format!("{}{name}", "  ".repeat(place.depth))
            })
            .collect()
    }

    #[test]
    fn each_device_once_below_all_that_lie_on_it() {
        let topology = raid_topology();
        assert_eq!(
            listed(&topology, &[]),
            [
                "dm-0",
                "dm-1",
                "  md127",
                "    sda",
                "      sda1",
                "      sda2",
                "    sdb",
                "      sdb1",
                "loop0"
            ]
        );
    }

    #[test]
    fn what_was_asked_for_with_all_below_and_above() {
        let topology = raid_topology();
        assert_eq!(
            listed(&topology, &["sdb"]),
            ["dm-0", "dm-1", "  md127", "    sdb", "      sdb1"]
        );
        assert_eq!(listed(&topology, &["sda2"]), ["sda", "  sda2"]);
        assert_eq!(listed(&topology, &["loop0"]), ["loop0"]);
    }

    #[test]
    fn a_loop_in_the_stack_ends() {
        let mut a = device("dm-0", 253, 0);
        let mut b = device("dm-1", 253, 1);
        a.members = vec![b.id];
        b.members = vec![a.id];
        let part = partition("sda1", 8, 1, device("sda", 8, 0).id, 2048);
        let topology = topology([a, b, part]);
        assert_eq!(listed(&topology, &[]), ["sda1", "dm-0", "  dm-1"]);
        assert_eq!(listed(&topology, &["dm-0"]), ["dm-0", "  dm-1"]);
    }

    #[test]
    fn names_in_natural_order() {
        let mut names = ["sdaa", "md127", "sdb", "md9", "sda", "nvme0n1"];
        names.sort_by(|a, b| natural_key(a).cmp(&natural_key(b)));
        assert_eq!(names, ["md9", "md127", "nvme0n1", "sda", "sdb", "sdaa"]);
    }
}
