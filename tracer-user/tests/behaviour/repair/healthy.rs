//! The guard: doctor has nothing to say of what was built right.

use super::{MIB, checkup::Checkup, data, data::Mounted, xfs::mkfs};
use crate::harness::{
    device::Device,
    lab::{Lab, Needs, load},
    lvm::Group,
    md::Array,
    partition::Partition,
    scsi_debug::ScsiDebug,
};

#[test]
#[ignore = "needs md, dm and scsi_debug: run in a guest"]
fn a_healthy_stack_is_not_spoken_of() {
    let needs = ["lvm", "mkfs.xfs", "mount", "mdadm"].map(Needs::Program);
    let Some(lab) = Lab::open("a_healthy_stack_is_not_spoken_of", &needs) else {
        return;
    };
    load("dm-mod");
    // Without hints of a stripe, which single disks seldom have.
    let module = ScsiDebug::load(&[
        "dev_size_mb=64",
        "sector_size=512",
        "physblk_exp=3",
        "opt_blks=0",
    ]);
    module.add(5);
    let disks = module.disks();
    let partitions: Vec<Partition> = disks
        .iter()
        .map(|disk| Partition::create(disk, 2048, 122_880))
        .collect();
    let members: Vec<Device> = partitions.iter().map(|part| (**part).clone()).collect();
    // Four data disks, so that LVM's extents are whole stripes.
    let array = Array::create_with("md7", "6", "64", &members, &["--bitmap=internal"]);
    let md = array.device();
    let group = Group::create("iotrace", &md);
    let volume = group.volume("data", 160);
    // On less than a GiB it takes no hint.
    mkfs(&volume, &["-d", "su=64k,sw=4"]);
    let mounted = Mounted::new(&volume, &lab);
    data::write(&mounted.file(), MIB);
    Checkup::of(&md).is_silent();
}
