//! LVM's raid: md under a mapped device, without `md/` in sysfs. Its table tells
//! the components: for each leg one with data and one with books.

use super::{KIB, MIB, rig::add_up};
use crate::{
    case,
    harness::{
        device::Device,
        direct::Direct,
        dm::Mapped,
        lab::{Lab, Needs, load},
        process::run,
        scsi_debug::ScsiDebug,
        stat::settle,
        tracer::{Attach, Tracer, row},
    },
};

/// As LVM lays it out, with disks in place of its volumes.
#[test]
#[ignore = "needs dm-raid and scsi_debug: run in a guest"]
fn a_cold_write_to_a_raid_of_lvms() {
    let name = "a_cold_write_to_a_raid_of_lvms";
    let Some(_lab) = Lab::open(name, &[Needs::Program("dmsetup")]) else {
        return;
    };
    load("dm-raid");
    let module = ScsiDebug::load(&["dev_size_mb=64", "sector_size=512", "physblk_exp=3"]);
    module.add(5);
    // Books and data of each leg.
    let components = module.disks();
    let nodes: Vec<String> = components.iter().map(Device::node_text).collect();
    let array = Mapped::create(
        "iotrace-raid",
        &format!(
            "0 {} raid raid5_ls 4 128 nosync region_size 1024 3 {}",
            2 * components[0].sectors(),
            nodes.join(" ")
        ),
    );
    let device = array.device();
    // A suspended array has written all its books and writes nothing more.
    run("dmsetup", &["suspend", "iotrace-raid"]);
    let before = settle(&components);
    let tracer = Tracer::every("1h", &[&device], Attach::Btf, &[]).wait_until_attached();
    run("dmsetup", &["resume", "iotrace-raid"]);
    Direct::open(&device).write(8 * MIB, 4096, 1);
    run("dmsetup", &["suspend", "iotrace-raid"]);
    let after = settle(&components);
    let report = tracer.stop();
    run("dmsetup", &["resume", "iotrace-raid"]);
    if case::skipped_runs(Attach::Btf, &report) {
        return;
    }
    case::nothing_lost(Attach::Btf, &report);
    let line = &report.summary;
    let raid = &row(line, device.name()).expect("the array")["raid"];
    assert_eq!(raid["level"], "raid5", "{raid}");
    assert_eq!(raid["user_write_bytes"], 4096);
    // Two data disks: the other's block is less to read than old data and P.
    let preread = &raid["preread_bytes"];
    let kinds = ["rmw", "rcw", "partial_block"].map(|kind| preread[kind].as_u64());
    assert_eq!(kinds, [0, 4 * KIB, 0].map(Some), "{raid}");
    assert_eq!(raid["data_write_bytes"], 4096, "{raid}");
    assert_eq!(raid["parity_write_bytes"], 4096, "{raid}");
    add_up(line, &components, &before, &after);
    for (index, component) in components.iter().enumerate() {
        let origin = &row(line, component.name()).expect("a component")["origin"];
        let metadata = origin["write_bytes"]["metadata"].as_u64();
        let holds_books = index % 2 == 0;
        assert_eq!(metadata > Some(0), holds_books, "{origin}");
    }
}
