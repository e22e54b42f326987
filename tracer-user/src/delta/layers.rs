//! Which layers above an array make writes start inside its stripes.
//!
//! Must not compute where a layer lies.

use std::collections::{BTreeMap, BTreeSet};

use super::DeviceFigures;
use crate::sysfs::chain::Layer;

/// Tells each array the layers that shift what is written to it.
pub(super) fn name(figures: &mut [DeviceFigures]) {
    let found: Vec<(usize, Vec<Layer>)> = figures
        .iter()
        .enumerate()
        .filter(|(_, array)| array.raid.is_some())
        .map(|(index, array)| (index, shifting(figures, array)))
        .map(|(index, layers)| (index, layers.into_iter().cloned().collect()))
        .collect();
    for (index, layers) in found {
        let raid = figures.get_mut(index).and_then(|array| array.raid.as_mut());
        if let Some(raid) = raid {
            raid.shifted_by = layers;
        }
    }
}

/// The layers above `array` through which at least half of what is written to
/// it comes, shifted. A device that others on top of it write through does not
/// count: the offset of those is what matters.
fn shifting<'a>(figures: &'a [DeviceFigures], array: &DeviceFigures) -> Vec<&'a Layer> {
    let above = figures.iter().filter_map(|device| {
        let chain = device.chain.as_ref()?;
        (device.write.bytes > 0 && chain.array == array.name).then_some((device, chain))
    });
    let above: Vec<_> = above.collect();
    let through: BTreeSet<&str> = above
        .iter()
        .flat_map(|(_, chain)| &chain.layers)
        .map(|layer| layer.below.as_str())
        .collect();
    let mut shifted: BTreeMap<Vec<&str>, (u64, Vec<&Layer>)> = BTreeMap::new();
    for (device, chain) in above {
        let layers = chain.brought_by();
        if !layers.is_empty() && !through.contains(device.name.as_str()) {
            let names = layers.iter().map(|layer| layer.device.as_str());
            shifted.entry(names.collect()).or_insert((0, layers)).0 += device.write.bytes;
        }
    }
    let most = shifted.into_values().max_by_key(|(bytes, _)| *bytes);
    most.filter(|(bytes, _)| *bytes >= array.write.bytes / 2)
        .map_or_else(Vec::new, |(_, layers)| layers)
}

#[cfg(test)]
mod tests {
    use tracer_ebpf::op::Op;

    use crate::{
        delta::{DeviceFigures, Interval, Meter},
        dm::{Segment, Target},
        report::testing::{Bench, find, raid_topology},
        units::Sectors,
    };

    /// `dm-0` begins 2048 sectors into the array, `dm-1` at its stripe.
    fn bench() -> Bench {
        let mut all = raid_topology();
        for (name, line) in [("dm-0", "9:127 2048"), ("dm-1", "9:127 896000")] {
            let device = all.devices.values_mut().find(|device| device.name == name);
            device.unwrap().dm_table = Some(vec![Segment {
                start: Sectors(0),
                len: Sectors(1 << 20),
                target: Target::parse("linear", line),
            }]);
        }
        let ids: Vec<_> = all.devices.keys().copied().collect();
        for id in ids {
            let chain = all.chain(&all.devices[&id]);
            all.devices.get_mut(&id).unwrap().chain = chain;
        }
        Bench::new(all)
    }

    fn after(io: &[(&str, u64)]) -> Interval {
        let mut bench = bench();
        let mut meter = Meter::new(bench.snapshot.clone(), Vec::new(), false);
        meter.devices(&bench.topology);
        for (name, times) in io {
            bench.io(name, Op::Write, (0, 65536, 65536), *times, 1000);
        }
        meter.interval(bench.snapshot)
    }

    fn shifting(figures: &[DeviceFigures]) -> Vec<&str> {
        let layers = super::shifting(figures, find(figures, "md127"));
        layers.iter().map(|layer| layer.device.as_str()).collect()
    }

    #[test]
    fn the_layer_that_most_is_written_through() {
        let shifted = after(&[("dm-0", 6), ("dm-1", 4), ("md127", 10)]);
        assert_eq!(shifting(&shifted.devices), ["dm-0"]);
        let elsewhere = after(&[("dm-0", 4), ("md127", 10)]);
        assert_eq!(shifting(&elsewhere.devices), [""; 0]);
        let aligned = after(&[("dm-1", 10), ("md127", 10)]);
        assert_eq!(shifting(&aligned.devices), [""; 0]);
    }
}
