use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;
use crate::sysfs::tree::expand;

const SYS: &str = "block/sda/dev = 8:0
    block/sda/sda1/partition = 1
    block/sda/sda1/dev = 8:1
    block/sda/sda1/start = 2048
    block/sda/sda1/holders/md127 -> ../../../md127
    block/sda/sda2/partition = 2
    block/sda/sda2/dev = 8:2
    block/sda/sda2/start = 4096
    block/sdb/dev = 8:16
    block/sdb/holders/md127 -> ../../md127
    block/md127/dev = 9:127
    block/md127/slaves/sda1 -> ../../sda/sda1
    block/md127/slaves/sdb -> ../../sdb
    block/md127/holders/dm-0 -> ../../dm-0
    block/md127/md127p1/partition = 1
    block/md127/md127p1/dev = 259:1
    block/md127/md127p1/start = 2048
    block/md0/dev = 9:0
    block/dm-0/dev = 253:0
    block/dm-0/dm/name = vg-my--lv
    block/dm-0/slaves/md127 -> ../../md127
    block/cciss!c0d0/dev = 104:0
    block/nvme0n1/dev = 259:0
    block/nvme0c1n1/hidden = 1
    fs/btrfs/some-uuid/devices/sda2 -> ../../../../block/sda/sda2
    fs/btrfs/some-uuid/devices/md0 -> ../../../../block/md0
    fs/btrfs/features/";

struct Machine {
    dir: TempDir,
    sys: SysRoot,
    topology: Topology,
    mounts: Mounts,
}

impl Machine {
    fn new() -> Self {
        let dir = expand(SYS).unwrap();
        let sys = SysRoot::new(dir.path());
        let topology = Topology::read(&sys).unwrap();
        for path in [
            "dev/md",
            "dev/disk/by-id",
            "mnt/data",
            "mnt/pool",
            "mnt/tmp",
        ] {
            fs::create_dir_all(dir.path().join(path)).unwrap();
        }
        fs::write(dir.path().join("dev/md127"), "").unwrap();
        symlink("../md127", dir.path().join("dev/md/home")).unwrap();
        symlink("../../md127", dir.path().join("dev/disk/by-id/md-uuid")).unwrap();
        let mnt = dir.path().join("mnt");
        let mnt = mnt.display();
        let mounts = Mounts::parse(&format!(
            "1 1 0:5 / / rw - rootfs none rw\n\
             2 1 253:0 / {mnt}/data rw - xfs /dev/mapper/vg-my--lv rw\n\
             3 1 0:44 / {mnt}/pool rw - btrfs sda2 rw\n\
             4 1 0:45 / {mnt}/tmp rw - tmpfs tmpfs rw\n"
        ));
        Self {
            dir,
            sys,
            topology,
            mounts,
        }
    }

    /// Names of the devices that `name` stands for, `{}` being this machine's
    /// root.
    fn resolve(&self, name: &str) -> Result<Vec<String>, String> {
        let root = self.dir.path().display().to_string();
        let dev = self.dir.path().join("dev");
        let found = Lookup {
            topology: &self.topology,
            sys: &self.sys,
            dev: &dev,
            mounts: &self.mounts,
        }
        .resolve(&name.replace("{}", &root));
        found
            .map(|ids| self.names(&ids))
            .map_err(|error| error.to_string().replace(&root, "{}"))
    }

    fn names(&self, ids: &[DevId]) -> Vec<String> {
        ids.iter()
            .map(|id| self.topology.devices[id].name.clone())
            .collect()
    }

    fn around(&self, name: &str) -> Selection {
        self.topology
            .around(vec![self.topology.by_name(name).unwrap().id])
    }
}

#[test]
fn every_way_to_write_a_device() {
    let machine = Machine::new();
    for (written, device) in [
        ("md127", "md127"),
        (" md127/ ", "md127"),
        ("{}/dev/md127", "md127"),
        ("{}/dev/md127/", "md127"),
        ("{}/dev/md/home", "md127"),
        ("{}/dev/disk/by-id/md-uuid", "md127"),
        ("9:127", "md127"),
        ("sda1", "sda1"),
        ("{}/dev/sda1", "sda1"),
        ("dm-0", "dm-0"),
        ("vg-my--lv", "dm-0"),
        ("{}/dev/mapper/vg-my--lv", "dm-0"),
        ("{}/dev/vg/my-lv", "dm-0"),
        ("vg/my-lv", "dm-0"),
        ("cciss/c0d0", "cciss/c0d0"),
        ("cciss!c0d0", "cciss/c0d0"),
        ("{}/dev/cciss/c0d0", "cciss/c0d0"),
        ("{}/mnt/data", "dm-0"),
        ("{}/mnt/../mnt/data/", "dm-0"),
    ] {
        assert_eq!(
            machine.resolve(written).as_deref(),
            Ok(&[device.to_owned()][..]),
            "{written}"
        );
    }
    // A btrfs stands for all its devices.
    assert_eq!(machine.resolve("{}/mnt/pool").unwrap(), ["md0", "sda2"]);
}

#[test]
fn what_stands_for_no_device_is_told_apart() {
    let machine = Machine::new();
    for (written, message) in [
        (
            "md12",
            "no block device \"md12\": nearest are md127, md0, md127p1 (lsblk lists all)",
        ),
        (
            "{}/dev/nvme0c1n1",
            "nvme0c1n1 is a path that the kernel hides below a multipath disk: ask for nvme0n1",
        ),
        ("lv", "no block device \"lv\" (lsblk lists all)"),
        (
            "vg-my-lv",
            "no block device \"vg-my-lv\": nearest is vg-my--lv (lsblk lists all)",
        ),
        ("9:12", "no block device \"9:12\" (lsblk lists all)"),
        ("", "no block device \"\" (lsblk lists all)"),
        (
            "{}/dev/sdc",
            "no block device \"{}/dev/sdc\": nearest are sda, sdb, sda1 (lsblk lists all)",
        ),
        (
            "{}/mnt",
            "{}/mnt is neither a block device nor a mount point; it lies on /, mounted from none",
        ),
        (
            "{}/mnt/tmp",
            "{}/mnt/tmp is mounted from \"tmpfs\" (tmpfs), which is no block device",
        ),
    ] {
        assert_eq!(
            machine.resolve(written),
            Err(message.to_owned()),
            "{written}"
        );
    }
    let character = machine.resolve("/dev/null").unwrap_err();
    assert!(character.starts_with("/dev/null is neither"), "{character}");
}

#[test]
fn a_view_shows_what_lies_below_and_on_top() {
    let machine = Machine::new();
    let array = machine.around("md127");
    assert_eq!(machine.names(&array.below), ["sda1", "sdb", "sda"]);
    assert_eq!(machine.names(&array.above), ["md127p1", "dm-0"]);
    let part = machine.around("sda1");
    assert_eq!(machine.names(&part.below), ["sda"]);
    assert_eq!(machine.names(&part.above), ["md127", "md127p1", "dm-0"]);
    let disk = machine.around("sda");
    assert_eq!(
        machine.names(&disk.above),
        ["sda1", "sda2", "md127", "md127p1", "dm-0"]
    );
    assert_eq!(disk.all().count(), 6);
}

/// Device nodes, which only a real `/dev` has.
#[test]
fn this_machines_own_device_nodes() {
    let sys = SysRoot::default();
    let topology = Topology::read(&sys).unwrap();
    let lookup = Lookup {
        topology: &topology,
        sys: &sys,
        // Not /dev, so that the node is looked at, not its name.
        dev: Path::new("/nowhere"),
        mounts: &Mounts::read(Path::new("/proc/self/mountinfo")).unwrap(),
    };
    let mut looked_up = 0;
    for device in topology.devices.values() {
        let node = format!("/dev/{}", device.name);
        if Path::new(&node).exists() {
            assert_eq!(lookup.resolve(&node).unwrap(), [device.id], "{node}");
            looked_up += 1;
        }
    }
    if looked_up == 0 {
        eprintln!("skipped: no device nodes in /dev");
    }
}

#[test]
fn several_names_select_each_device_once() {
    let machine = Machine::new();
    let dev = Path::new("/dev");
    let lookup = Lookup {
        topology: &machine.topology,
        sys: &machine.sys,
        dev,
        mounts: &machine.mounts,
    };
    let selection = lookup.select(&["sdb", "/dev/md127", "md127"]).unwrap();
    assert_eq!(machine.names(&selection.asked), ["sdb", "md127"]);
    assert_eq!(machine.names(&selection.below), ["sda1", "sda"]);
    assert!(lookup.select(&["sdb", "nope"]).is_err());
}

#[test]
fn a_device_that_was_asked_for_is_found_again() {
    use crate::report::testing::{device, topology};
    let named = |minor, dm_name: &str| {
        let mut device = device(&format!("dm-{minor}"), 253, minor);
        device.dm_name = Some(dm_name.to_owned());
        device
    };
    let disk = device("nvme0n1", 259, 3);
    let root = named(0, "root");
    let ids = [disk.id, root.id];
    let asked = topology([disk, root]).remember(&ids);
    let home = named(0, "home");
    let (disk, root) = (device("nvme0n1", 259, 7), named(1, "root"));
    let now = [disk.id, root.id];
    let other = device("nvme1n1", 259, 3);
    assert_eq!(topology([disk, root, home, other]).recall(&asked), now);
    assert_eq!(topology([]).recall(&asked), ids);
}
