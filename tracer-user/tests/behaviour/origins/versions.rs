//! Where md keeps its books: every version of the superblock with a bitmap, the
//! partial parity log, the write journal.

use serde_json::Value;

use super::{KIB, MIB, needs, rig};
use crate::harness::{
    device::Device, direct::Direct, ioctl, lab::Lab, md::Array, scsi_debug::ScsiDebug,
    tracer::Attach,
};

/// (name, `mdadm --create` options): RAID5 of three disks each.
const ARRAYS: [(&str, &[&str]); 5] = [
    ("md70", &["--metadata=0.90", "--bitmap=internal"]),
    ("md71", &["--metadata=1.0", "--bitmap=internal"]),
    ("md72", &["--metadata=1.1", "--bitmap=internal"]),
    ("md73", &["--metadata=1.2", "--bitmap=internal"]),
    ("md74", &["--consistency-policy=ppl"]),
];

#[test]
#[ignore = "needs md and scsi_debug: run in a guest"]
fn books_of_every_version() {
    let Some(_lab) = Lab::open("books_of_every_version", &needs()) else {
        return;
    };
    let module = ScsiDebug::load(&["dev_size_mb=32", "sector_size=512", "physblk_exp=3"]);
    module.add(3 * ARRAYS.len() + 4 - 1);
    let mut disks = module.disks();
    let journal = disks.pop().expect("a disk");
    let option = format!("--write-journal={}", journal.node_text());
    let mut arrays: Vec<Array> = ARRAYS
        .iter()
        .zip(disks.chunks(3))
        .map(|((name, options), disks)| Array::create_with(name, "5", "64", disks, options))
        .collect();
    let rest = &disks[3 * ARRAYS.len()..];
    arrays.push(Array::synchronized("md75", "5", "64", rest, &[&option]));
    for array in &arrays {
        // The first to open it makes the kernel look for partitions.
        drop(ioctl::open_direct(&array.device().node()));
    }
    let mut members: Vec<Device> = arrays
        .iter()
        .flat_map(|array| array.members().to_vec())
        .collect();
    members.push(journal);
    let all: Vec<&Array> = arrays.iter().collect();
    let Some(found) = rig::measured(&all, &members, Attach::Btf, || {
        for array in &arrays {
            Direct::open(&array.device()).write(8 * MIB, 4096, 3);
        }
    }) else {
        return;
    };
    for (found, index) in found.iter().zip(0..) {
        assert_eq!(found.raid["user_write_bytes"], 12 * KIB, "{}", found.raid);
        let kept = match index {
            0..4 => "bitmap",
            4 => "ppl",
            _ => "journal",
        };
        // The journal is the last of all.
        let of_journal = (kept == "journal").then_some(members.len() - 1);
        let own = (3 * index..3 * index + 3).chain(of_journal);
        let books: Vec<&Value> = own
            .map(|member| &found.members[member]["origin"]["write_metadata_bytes"])
            .collect();
        let sum = |key: &str| -> u64 { books.iter().filter_map(|book| book[key].as_u64()).sum() };
        assert!(sum(kept) > 0, "{}: {books:?}", members[3 * index].name());
        assert_eq!(sum("elsewhere"), 0, "{books:?}");
        let all = ["superblock", "bitmap", "bad_blocks", "ppl", "journal"].map(sum);
        assert_eq!(
            found.raid["metadata_write_bytes"],
            all.iter().sum::<u64>(),
            "{books:?}"
        );
    }
}
