use std::process::Command;

use proptest::prelude::*;

use super::*;
use crate::sysfs::tree::expand;

fn read(tree: &str) -> Topology {
    let dir = expand(tree).unwrap();
    Topology::read(&SysRoot::new(dir.path())).unwrap()
}

fn names(topology: &Topology, ids: &[DevId]) -> Vec<String> {
    ids.iter()
        .map(|id| topology.devices[id].name.clone())
        .collect()
}

#[test]
fn an_array_on_partitions_with_a_volume_on_top() {
    let topology = read(
        "block/sda/dev = 8:0
         block/sda/size = 4096
         block/sda/mq/
         block/sda/diskseq = 3
         block/sda/queue/physical_block_size = 4096
         block/sda/sda1/partition = 1
         block/sda/sda1/dev = 8:1
         block/sda/sda1/start = 63
         block/sda/sda1/size = 2048
         block/sda/sda1/holders/md127 -> ../../../md127
         block/md127/dev = 9:127
         block/md127/size = 2048
         block/md127/md/level = raid1
         block/md127/md/raid_disks = 1
         block/md127/md/dev-sda1/slot = 0
         block/md127/slaves/sda1 -> ../../sda/sda1
         block/md127/holders/dm-0 -> ../../dm-0
         block/dm-0/dev = 253:0
         block/dm-0/size = 1024
         block/dm-0/dm/name = vg-lv
         block/dm-0/dm/uuid = LVM-x
         block/dm-0/slaves/md127 -> ../../md127
         block/cciss!c0d0/dev = 104:0
         block/cciss!c0d0/size = 8",
    );
    let md = topology.by_name("md127").unwrap();
    assert_eq!(names(&topology, &md.members), ["sda1"]);
    assert_eq!(names(&topology, &md.holders), ["dm-0"]);
    assert_eq!((md.kind, md.request_based), (Kind::Md, false));
    let part = topology.by_name("sda1").unwrap();
    assert_eq!(md.md.as_ref().unwrap().components[0].device, Some(part.id));
    assert_eq!(part.kind, Kind::Partition);
    assert_eq!((part.diskseq, part.request_based), (Some(3), true));
    assert_eq!(topology.partitions_of(topology.whole(part.id)), [part.id]);
    assert_eq!(part.geometry.alignment_offset, Some(Bytes(512)));
    let lv = topology.by_name("dm-0").unwrap();
    assert_eq!(lv.dm_name.as_deref(), Some("vg-lv"));
    assert_eq!(topology.by_name("cciss/c0d0").unwrap().kind, Kind::Disk);
}

#[test]
fn loop_devices_and_tables() {
    let dir = expand(
        "block/md127/dev = 9:127
         block/md127/md/level = raid5
         block/md127/md/raid_disks = 3
         block/md127/md/chunk_size = 65536
         block/dm-0/dev = 253:0
         block/dm-0/dm/name = vg-lv
         block/dm-0/slaves/md127 -> ../../md127
         block/loop0/dev = 7:0
         block/loop0/loop/backing_file = /dev/mapper/vg-lv
         block/loop0/loop/offset = 65536
         block/loop1/dev = 7:1
         block/loop1/loop/backing_file = /images/disk
         block/loop1/loop/offset = 0
         block/loop2/dev = 7:2
         block/loop2/loop/backing_file = /dev/md127
         block/loop2/loop/offset = 100",
    )
    .unwrap();
    let mut asked = Vec::new();
    let topology = Topology::read_with(&SysRoot::new(dir.path()), |device| {
        asked.push(device);
        let target = crate::dm::Target::parse("linear", "9:127 2050");
        let (start, len) = (Sectors(0), Sectors(99));
        Some(vec![Segment { start, len, target }])
    })
    .unwrap();
    let lv = topology.by_name("dm-0").unwrap();
    assert_eq!(asked, [lv.id], "of mapped devices only");
    assert_eq!(names(&topology, &lv.holders), ["loop0"]);
    assert_eq!(lv.geometry.phase, Some(Bytes(130_048)));
    let on = |name: &str| topology.by_name(name).unwrap();
    assert_eq!(names(&topology, &on("loop0").members), ["dm-0"]);
    assert_eq!(on("loop0").geometry.phase, Some(Bytes(130_048 - 65536)));
    assert_eq!((on("loop1").loop_on, on("loop1").members.len()), (None, 0));
    let md = topology.by_name("md127").unwrap();
    assert_eq!(names(&topology, &md.holders), ["loop2"]);
    let top = on("loop2").chain.as_ref().unwrap().top().unwrap();
    assert_eq!(top.place, Err("no whole sector".to_owned()));
}

#[test]
fn garbled_attributes_are_told_and_the_rest_is_read() {
    let topology = read(
        "block/sda/dev = 8:0
         block/sda/size = many
         block/sda/queue/physical_block_size = 0
         block/sda/alignment_offset = -1
         block/sda/sda1/partition = 1
         block/sda/sda1/dev = 8:1
         block/sda/sda1/start = x
         block/sdb/dev = 8
         block/sdc/size = 8",
    );
    let sda = topology.by_name("sda").unwrap();
    assert_eq!((sda.size, sda.limits.physical_block), (None, None));
    assert_eq!(
        sda.limits.alignment_offset,
        Some(AlignmentOffset::Inconsistent)
    );
    assert_eq!(sda.unreadable.len(), 2, "{:?}", sda.unreadable);
    assert_eq!(topology.devices.len(), 1);
    assert_eq!(topology.unreadable.len(), 3, "{:?}", topology.unreadable);
}

#[test]
fn hidden_paths_are_listed_by_name() {
    let topology = read(
        "block/nvme0n1/dev = 259:0
         block/nvme0n1/size = 8
         block/nvme0c1n1/hidden = 1
         block/nvme0c1n1/size = 8
         block/nvme0c1n1/mq/
         block/nvme0c1n1/queue/physical_block_size = 4096",
    );
    let [path] = topology.hidden.as_slice() else {
        panic!("{:?}", topology.hidden)
    };
    assert_eq!(path.name, "nvme0c1n1");
    assert_eq!(path.head, Some("259:0".parse().unwrap()));
    assert_eq!(path.geometry.physical_block, Some(Bytes(4096)));
    assert!(path.request_based && topology.unreadable.is_empty());
}

#[test]
fn no_block_directory_is_an_error_with_its_path() {
    let dir = expand("class/").unwrap();
    let error = Topology::read(&SysRoot::new(dir.path())).unwrap_err();
    assert!(error.to_string().ends_with("/block"), "{error}");
}

proptest! {
    // Each case writes a tree of files.
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever attributes say, nothing panics, and each device that has a
    /// number is listed.
    #[test]
    fn any_values_are_read(values in prop::collection::vec(
        prop::sample::select(vec![
            "", "0", "1", "-1", "3", "512", "4096", "63", "x", "3 (4)", "65536 (0)", "none",
            "raid0", "raid6", "raid10", "258", "18446744073709551615", "99999999999999999999",
        ]),
        20,
    )) {
        const ATTRIBUTES: [&str; 20] = [
            "size", "diskseq", "alignment_offset", "queue/logical_block_size",
            "queue/physical_block_size", "queue/minimum_io_size", "queue/optimal_io_size",
            "queue/chunk_sectors", "queue/rotational", "md/level", "md/raid_disks", "md/layout",
            "md/chunk_size", "md/reshape_position", "md/dev-sda/slot", "md/dev-sda/offset",
            "md/dev-sda/size", "md0p1/start", "md0p1/size", "md0p1/partition",
        ];
        let mut tree = String::from(
            "block/md0/dev = 9:0\nblock/md0/md0p1/dev = 259:0\nblock/sda/dev = 8:0\n\
             block/md0/slaves/sda -> ../../sda\nblock/sda/queue/physical_block_size = 4096\n",
        );
        for (attribute, value) in ATTRIBUTES.iter().zip(values) {
            tree.push_str(&format!("block/md0/{attribute} = {value}\n"));
        }
        let topology = read(&tree);
        prop_assert!(topology.by_name("md0").is_some() && topology.by_name("sda").is_some());
        for id in topology.devices.keys() {
            prop_assert!(topology.classifier(*id).is_some());
        }
    }
}

/// This machine's own devices are what lsblk says they are.
#[test]
fn lsblk_says_the_same() {
    let columns = "MAJ:MIN,SIZE,PHY-SEC,LOG-SEC,ALIGNMENT,MIN-IO,OPT-IO";
    let Ok(lsblk) = Command::new("lsblk")
        .args(["-b", "-P", "-a", "-o", columns])
        .output()
    else {
        eprintln!("skipped: no lsblk here");
        return;
    };
    let topology = Topology::read(&SysRoot::default()).unwrap();
    let text = String::from_utf8(lsblk.stdout).unwrap();
    let mut compared = 0;
    for line in text.lines() {
        let values: Vec<&str> = line.split('"').skip(1).step_by(2).collect();
        // lsblk itself may know a device that came or went between.
        let Some(device) = topology.devices.get(&values[0].parse().unwrap()) else {
            continue;
        };
        let limits = &device.limits;
        let bytes = |value: Option<Bytes>| value.unwrap().0.to_string();
        let alignment = match limits.alignment_offset.unwrap() {
            AlignmentOffset::Bytes(bytes) => bytes.0.to_string(),
            AlignmentOffset::Inconsistent => "-1".to_owned(),
        };
        let ours = [
            bytes(device.size.map(Sectors::bytes)),
            bytes(limits.physical_block),
            bytes(limits.logical_block),
            alignment,
            bytes(limits.io_min),
            bytes(limits.io_opt),
        ];
        assert_eq!(ours, values[1..], "{}", device.name);
        compared += 1;
    }
    assert!(compared > 0, "{text}");
}
