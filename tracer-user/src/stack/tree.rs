//! In which order devices are shown: from what is on top down to the disks,
//! each once.
//!
//! Pure. Must not format anything.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Stack,
    phase::{self, Places},
};
use crate::{
    sysfs::{Selection, Topology, device::Device},
    units::DevId,
};

/// Deeper than any stack.
const MOST_LAYERS: usize = 32;

/// The devices to be shown.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// Those on which nothing lies.
    pub roots: Vec<Node>,
    /// Where every device lies.
    pub places: BTreeMap<DevId, Places>,
}

/// A device, and what it lies on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub device: DevId,
    /// It was shown before, with what is below.
    pub again: bool,
    pub below: Vec<Self>,
}

impl Tree {
    /// Of what was asked for with all around it, or of all devices but those
    /// without a medium.
    #[must_use]
    pub fn new(stack: &Stack, selection: &Selection) -> Self {
        let topology = &stack.topology;
        let shown: BTreeSet<DevId> = if selection.asked.is_empty() {
            let devices = topology.devices.values();
            let there = devices.filter(|device| device.size.is_none_or(|size| size.0 > 0));
            there.map(|device| device.id).collect()
        } else {
            selection.all().collect()
        };
        let below: BTreeSet<DevId> = shown
            .iter()
            .filter_map(|id| topology.devices.get(id))
            .flat_map(|device| lies_on(topology, device))
            .collect();
        let mut walk = Walk {
            topology,
            shown: &shown,
            seen: BTreeSet::new(),
        };
        let tops = shown.difference(&below);
        let mut roots: Vec<Node> = tops.map(|id| walk.node(*id, MOST_LAYERS)).collect();
        // A circle has no top; a tree of attributes may hold one.
        for id in &shown {
            if !walk.seen.contains(id) {
                roots.push(walk.node(*id, MOST_LAYERS));
            }
        }
        Self {
            roots,
            places: phase::places(topology),
        }
    }

    /// All devices in their order, each once.
    #[must_use]
    pub fn in_order(&self) -> Vec<DevId> {
        let mut order = Vec::new();
        let mut next: Vec<&Node> = self.roots.iter().rev().collect();
        while let Some(node) = next.pop() {
            if !node.again {
                order.push(node.device);
            }
            next.extend(node.below.iter().rev());
        }
        order
    }
}

struct Walk<'a> {
    topology: &'a Topology,
    shown: &'a BTreeSet<DevId>,
    seen: BTreeSet<DevId>,
}

impl Walk<'_> {
    fn node(&mut self, id: DevId, layers_left: usize) -> Node {
        let again = !self.seen.insert(id);
        let device = self.topology.devices.get(&id).filter(|_| !again);
        let on = device.map(|device| lies_on(self.topology, device));
        let on = on
            .into_iter()
            .flatten()
            .filter(|on| self.shown.contains(on));
        let on: Vec<DevId> = on.collect();
        Node {
            device: id,
            again,
            below: match layers_left.checked_sub(1) {
                Some(left) => on.into_iter().map(|on| self.node(on, left)).collect(),
                None => Vec::new(),
            },
        }
    }
}

/// What a device lies on: an array's members in their slots' order.
#[must_use]
pub fn lies_on(topology: &Topology, device: &Device) -> Vec<DevId> {
    let mut on: Vec<DevId> = device.partition.map(|part| part.disk).into_iter().collect();
    if let Some(md) = &device.md {
        let mut slots: Vec<_> = md.components.iter().collect();
        slots.sort_by_key(|part| (part.slot.is_none(), part.slot));
        on.extend(slots.iter().filter_map(|part| part.device));
    }
    on.extend(&device.members);
    let mut seen = BTreeSet::from([device.id]);
    on.retain(|id| topology.devices.contains_key(id) && seen.insert(*id));
    on
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testing::{device, partition, topology};

    #[test]
    fn from_the_top_down_each_once() {
        let (sda, sdb) = (device("sda", 8, 0), device("sdb", 8, 16));
        let sda1 = partition("sda1", 8, 1, sda.id, 2048);
        let mut md = device("md0", 9, 0);
        md.members = vec![sdb.id, sda1.id];
        let (mut one, mut two) = (device("dm-0", 253, 0), device("dm-1", 253, 1));
        one.members = vec![md.id];
        two.members = vec![md.id];
        let name = |stack: &Stack, id: &DevId| stack.topology.devices[id].name.clone();
        let stack = Stack {
            topology: topology([sda, sdb, sda1, md, one, two]),
            ..Stack::default()
        };
        let tree = Tree::new(&stack, &Selection::default());
        let order: Vec<_> = tree.in_order().iter().map(|id| name(&stack, id)).collect();
        assert_eq!(order, ["dm-0", "md0", "sdb", "sda1", "sda", "dm-1"]);
        assert!(tree.roots[1].below[0].again && tree.roots[1].below[0].below.is_empty());
        let sda1 = stack.topology.by_name("sda1").unwrap().id;
        let asked = Selection {
            asked: vec![sda1],
            ..Selection::default()
        };
        assert_eq!(Tree::new(&stack, &asked).in_order(), [sda1]);
    }

    #[test]
    fn a_circle_ends() {
        let (mut one, mut two) = (device("dm-0", 253, 0), device("dm-1", 253, 1));
        one.members = vec![two.id];
        two.members = vec![one.id, two.id];
        let stack = Stack {
            topology: topology([one, two]),
            ..Stack::default()
        };
        let tree = Tree::new(&stack, &Selection::default());
        assert_eq!(tree.in_order().len(), 2);
    }
}
