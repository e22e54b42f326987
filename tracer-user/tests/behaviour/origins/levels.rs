//! Levels without parity, and arrays that share disks.

use serde_json::Value;

use super::{MIB, needs, rig};
use crate::harness::{
    device::Device,
    direct::Direct,
    fio::Fio,
    ioctl,
    lab::{Lab, Needs, load},
    md::Array,
    partition::Partition,
    scsi_debug::ScsiDebug,
    tracer::Attach,
};

fn bytes(value: &Value) -> u64 {
    value.as_u64().expect("bytes")
}

/// raid0 and linear send bios on, raid1 and raid10 write copies: all of it is
/// the user's, a check's or md's books. A raid5 and the raid10 lie on two
/// partitions of the same disks, which have two components each.
#[test]
#[ignore = "needs md and scsi_debug: run in a guest"]
fn arrays_without_parity_and_arrays_that_share_disks() {
    let name = "arrays_without_parity_and_arrays_that_share_disks";
    let mut all = needs().to_vec();
    all.push(Needs::Program("fio"));
    let Some(lab) = Lab::open(name, &all) else {
        return;
    };
    let module = ScsiDebug::load(&["dev_size_mb=64", "sector_size=512", "physblk_exp=3"]);
    module.add(10);
    let disks = module.disks();
    let (own, shared) = disks.split_at(7);
    let parts = |number, start| -> Vec<Partition> {
        let part = |disk| Partition::numbered(disk, number, start, 60_000);
        shared.iter().map(part).collect()
    };
    let (first, second) = (parts(1, 2048), parts(2, 65_536));
    let devices = |parts: &[Partition]| -> Vec<Device> {
        parts.iter().map(|part| Device::clone(part)).collect()
    };
    let bitmap = "--bitmap=internal";
    let raid0 = Array::create_with("md70", "0", "64", &own[..3], &[]);
    let raid1 = Array::create_with("md71", "1", "64", &own[3..5], &[bitmap]);
    let raid5 = Array::create_with("md75", "5", "64", &devices(&first), &[bitmap]);
    let raid10 = Array::create_with("md80", "10", "64", &devices(&second), &["--bitmap=none"]);
    // Not in every kernel.
    let linear = load("linear").then(|| Array::create_with("md81", "linear", "64", &own[5..], &[]));
    let mut arrays = vec![&raid0, &raid1, &raid5, &raid10];
    arrays.extend(&linear);
    for array in &arrays {
        // The first to open it makes the kernel look for partitions.
        drop(ioctl::open_direct(&array.device().node()));
    }
    let members: Vec<Device> = arrays
        .iter()
        .flat_map(|array| array.members().to_vec())
        .collect();
    let Some(found) = rig::measured(&arrays, &members, Attach::Btf, || {
        raid1.start_check();
        raid10.start_check();
        for array in &arrays {
            Fio::mixed(&array.device(), 61).run(&lab);
        }
        // Past the arrays, and below one: that one has no bitmap, which the end
        // of the measurement would read.
        Direct::open(&shared[0]).write(60 * MIB, 4096, 3);
        Direct::open(&second[0]).read(20 * MIB, 4096, 5);
    }) else {
        return;
    };
    let [
        raid0_found,
        raid1_found,
        raid5_found,
        raid10_found,
        linear_found @ ..,
    ] = &found[..]
    else {
        panic!("{} arrays", found.len());
    };
    let copies = [(raid0_found, 1), (raid1_found, 2), (raid10_found, 2)];
    let linear_found = linear_found.iter().map(|found| (found, 1));
    for (found, copies) in copies.into_iter().chain(linear_found) {
        is_copies(&found.raid, copies);
    }
    for member in &raid0_found.members[..3] {
        let read = &member["origin"]["read_bytes"];
        assert!(bytes(&read["user"]) > 0, "{member}");
    }
    is_check(&raid1_found.raid, &raid1_found.members[3], &raid1);
    is_check(&raid10_found.raid, &raid10_found.members[9], &raid10);
    assert!(bytes(&raid5_found.raid["parity_write_bytes"]) > 0);
    let origin = &raid10_found.members[9]["origin"];
    assert_eq!(bytes(&origin["read_bytes"]["direct"]), 5 * 4096, "{origin}");
}

/// All that was written is there so many times, and nothing else but md's books.
fn is_copies(raid: &Value, copies: u64) {
    let written = bytes(&raid["user_write_bytes"]);
    assert!(written > 0);
    assert_eq!(bytes(&raid["data_write_bytes"]), copies * written, "{raid}");
    assert_eq!(bytes(&raid["parity_write_bytes"]), 0, "{raid}");
    assert_eq!(raid["rows"], Value::Null);
    let books = bytes(&raid["metadata_write_bytes"]);
    let amplification = (copies * written + books) as f64 / written as f64;
    assert_eq!(raid["write_amplification"], amplification, "{raid}");
    assert_eq!(raid["write_amplification_minimum"], copies as f64, "{raid}");
}

/// All of each member was read for a check, once.
fn is_check(raid: &Value, member: &Value, array: &Array) {
    let component = array.device().number("md/component_size") * 1024;
    let count = array.members().len() as u64;
    assert_eq!(bytes(&raid["sync_read_bytes"]), count * component, "{raid}");
    let parts = &member["origin"]["read_sync_bytes"];
    // Without BTF of md's modules what runs is not told.
    let told = bytes(&parts["check"]) + bytes(&parts["not_told"]);
    assert_eq!(told, component, "{parts}");
}
