use tracer_ebpf::origin::{
    Cause, Origin,
    abi::{CAUSES, CELLS, origin_cell},
};

use super::*;
use crate::{
    delta::Meter,
    report::testing::{Bench, by_name, find, raid_topology},
    snapshot::{OriginKey, Origins, RowKey},
    sysfs::chain::LayerPlace,
    units::Bytes,
};

const KIB: u64 = 1 << 10;

/// A layer that begins `own` into a stripe.
fn layer(device: &str, dm_name: Option<&str>, dm_uuid: Option<&str>, own: u64) -> Layer {
    Layer {
        device: device.to_owned(),
        dm_name: dm_name.map(str::to_owned),
        dm_uuid: dm_uuid.map(str::to_owned),
        by: "linear".to_owned(),
        below: "md127".to_owned(),
        place: Ok(LayerPlace {
            start: Bytes(1 << 20),
            own_offset: Bytes(own * KIB),
            offset: Bytes(own * KIB),
            phase: Bytes((448 - own) * KIB),
            next_start: Bytes(1344 * KIB),
        }),
    }
}

/// What is said of md127 where a write of this kind made it read 64 KiB, below
/// `layers`.
fn said(cause: Cause, layers: &[Layer]) -> String {
    let mut bench = Bench::new(raid_topology());
    let row = |name: &str| RowKey {
        device: by_name(&bench.topology, name).id,
        name: name.to_owned(),
    };
    let (array, component) = (row("md127"), row("sdb1"));
    let with = |bytes| {
        let mut cells = Box::new([0; CELLS]);
        cells[origin_cell(Origin::RmwData) + 1] = bytes;
        cells[CAUSES + cause as usize] = bytes;
        let (array, component) = (array.clone(), component.clone());
        let components = [(OriginKey { array, component }, cells)].into();
        Some(Origins {
            components,
            rows: true,
        })
    };
    bench.snapshot.origins = with(0);
    let mut meter = Meter::new(bench.snapshot.clone(), Vec::new(), false);
    meter.devices(&bench.topology);
    bench.snapshot.origins = with(64 * KIB);
    let mut device = find(&meter.interval(bench.snapshot).devices, "md127").clone();
    device.raid.as_mut().unwrap().shifted_by = layers.to_vec();
    let text = prereads(&device).unwrap().text;
    text.split_once(". ").unwrap().1.to_owned()
}

#[test]
fn layers_are_named_where_they_are_to_blame() {
    let (starts, ends) = (Cause::StartsInside, Cause::EndsInside);
    let lv = layer("dm-0", Some("vg-data"), None, 128);
    assert_eq!(
        said(starts, std::slice::from_ref(&lv)),
        "Because writes that are long enough start inside a stripe: vg-data (dm-0) begins 128 KiB \
         into a stripe of md127: move its start to a multiple of 448 KiB, and write in multiples \
         of that"
    );
    assert_eq!(
        said(ends, &[lv, layer("loop0", None, None, 64)]),
        "Because writes end inside a stripe: vg-data (dm-0) begins 128 KiB into a stripe of md127, \
         loop0 another 64 KiB in: move each start to a multiple of 448 KiB, and write in \
         multiples of that"
    );
    let lvm = layer("dm-1", Some("vg-lv"), Some("LVM-abc"), 128);
    assert!(said(starts, std::slice::from_ref(&lvm)).contains("`pvcreate --dataalignment 448k`"));
    assert!(said(starts, &[]).contains("move what lies on the array to a multiple of 448 KiB"));
    assert!(!said(Cause::Smaller, &[lvm]).contains("vg-lv"));
}
