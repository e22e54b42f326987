//! How full the stripe caches of raid4/5/6 arrays are: what changes from one
//! moment to the next, and so is no part of the topology.
//!
//! Must not judge.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    device::{Device, Topology},
    root::{Attributes, SysRoot},
};
use crate::units::DevId;

/// An array's stripe cache; a row is 4 KiB of every member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StripeCache {
    /// Rows in use (`md/stripe_cache_active`). md makes room for more than
    /// `size_rows` for a while (`R5_ALLOC_MORE`, drivers/md/raid5.c).
    pub active_rows: u32,
    /// Rows that are kept (`md/stripe_cache_size`): 17 to 32768, 256 unless
    /// somebody changed it.
    pub size_rows: u32,
}

/// Reads the stripe caches of the arrays that have one.
#[must_use]
pub fn read(sys: &SysRoot, topology: &Topology) -> BTreeMap<DevId, StripeCache> {
    let arrays = topology
        .devices
        .values()
        .filter(|device| device.md.is_some());
    arrays
        .filter_map(|array| Some((array.id, of_array(sys, array)?)))
        .collect()
}

/// `None` at other levels, and while the array is not active.
fn of_array(sys: &SysRoot, array: &Device) -> Option<StripeCache> {
    let mut md = Attributes::new(sys.path("block").join(array.sysfs_name()).join("md"));
    Some(StripeCache {
        active_rows: md.value("stripe_cache_active")?,
        size_rows: md.value("stripe_cache_size")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sysfs::tree::expand;

    #[test]
    fn only_of_what_has_one() {
        let dir = expand(
            "block/md1/dev = 9:1\nblock/md1/md/level = raid6\n\
             block/md1/md/stripe_cache_active = 250\nblock/md1/md/stripe_cache_size = 256\n\
             block/md2/dev = 9:2\nblock/md2/md/level = raid1\n\
             block/md3/dev = 9:3\nblock/md3/md/level = raid5\n\
             block/md3/md/stripe_cache_active =\nblock/md3/md/stripe_cache_size =\n\
             block/sda/dev = 8:0\n",
        )
        .unwrap();
        let sys = SysRoot::new(dir.path());
        let topology = Topology::read(&sys).unwrap();
        assert_eq!(topology.devices.len(), 4);
        let expected = StripeCache {
            active_rows: 250,
            size_rows: 256,
        };
        let md1 = DevId { major: 9, minor: 1 };
        assert_eq!(read(&sys, &topology), BTreeMap::from([(md1, expected)]));
    }
}
