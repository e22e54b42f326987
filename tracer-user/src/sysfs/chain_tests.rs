use proptest::prelude::*;

use super::*;
use crate::{
    dm::{Segment, Target},
    report::testing::{by_name, device, partition, topology},
    sysfs::device::{MdArray, MdComponent},
    units::Sectors,
};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// Mapped by `lines` of length, target and parameters.
fn mapped(name: &str, minor: u32, below: &[&Device], lines: &[(u64, &str, &str)]) -> Device {
    let mut device = device(name, 253, minor);
    device.members = below.iter().map(|below| below.id).collect();
    let mut start = 0;
    let table = lines.iter().map(|(len, target, parameters)| {
        let segment = Segment {
            start: Sectors(start),
            len: Sectors(*len),
            target: Target::parse(target, parameters),
        };
        start += len;
        segment
    });
    device.dm_table = Some(table.collect());
    device
}

/// A RAID6 of 7 data disks and 64 KiB.
fn array(name: &str, minor: u32) -> Device {
    let mut array = device(name, 9, minor);
    let member = device("sdz", 8, 400);
    array.md = Some(MdArray {
        level: "raid6".to_owned(),
        raid_disks: Some(9),
        layout: Some(2),
        chunk: Some(Bytes(64 * KIB)),
        components: vec![MdComponent {
            device: Some(member.id),
            slot: Some(0),
            data_offset: Some(Sectors(2048)),
            ..MdComponent::default()
        }],
        ..MdArray::default()
    });
    array
}

fn derived(devices: impl IntoIterator<Item = Device>) -> Topology {
    let mut all = topology(devices);
    all.derive();
    all
}

/// Start, own offset, offset and phase of the top layer, in KiB.
fn kib(chain: &Chain) -> (u64, u64, u64, u64) {
    let place = chain.top().unwrap().place.as_ref().unwrap();
    let [start, own, offset, phase] = [place.start, place.own_offset, place.offset, place.phase]
        .map(|bytes| {
            assert_eq!(bytes.0 % KIB, 0);
            bytes.0 / KIB
        });
    (start, own, offset, phase)
}

fn chain<'a>(all: &'a Topology, name: &str) -> &'a Chain {
    by_name(all, name).chain.as_ref().unwrap()
}

fn why<'a>(all: &'a Topology, name: &str) -> &'a str {
    let top = chain(all, name).top().unwrap();
    top.place.as_ref().unwrap_err()
}

/// LVM's first volume begins at 1 MiB, and LUKS's data 16 MiB into it.
#[test]
fn a_volume_and_encryption_in_it() {
    let md = array("md127", 127);
    let lv = mapped("dm-0", 0, &[&md], &[(1 << 20, "linear", "9:127 2048")]);
    let luks = mapped(
        "dm-1",
        1,
        &[&lv],
        &[(1 << 19, "crypt", "aes :32:logon:x 0 253:0 32768")],
    );
    let mut loop0 = device("loop0", 7, 0);
    loop0.loop_on = Some(crate::dm::Place {
        device: luks.id,
        start: Sectors(64 * 2),
    });
    // The order of their numbers is not that of the layers.
    let all = derived([md, lv, luks, loop0]);
    let lv = chain(&all, "dm-0");
    assert_eq!(
        (lv.array.as_str(), lv.boundary, lv.width),
        ("md127", Boundary::Stripe, Bytes(448 * KIB))
    );
    assert_eq!(kib(lv), (1024, 128, 128, 320));
    assert_eq!(
        lv.top().unwrap().place.as_ref().unwrap().next_start,
        Bytes(1344 * KIB)
    );
    let luks = chain(&all, "dm-1");
    assert_eq!(kib(luks), (16384, 256, 384, 64));
    let names: Vec<_> = luks
        .layers
        .iter()
        .map(|layer| {
            (
                layer.device.as_str(),
                layer.by.as_str(),
                layer.below.as_str(),
            )
        })
        .collect();
    assert_eq!(
        names,
        [("dm-0", "linear", "md127"), ("dm-1", "crypt", "dm-0")]
    );
    let brought: Vec<_> = luks.brought_by().iter().map(|by| &by.device).collect();
    assert_eq!(brought, ["dm-0", "dm-1"]);
    // 64 KiB on it is a boundary again: nothing is brought.
    let on_loop = chain(&all, "loop0");
    assert_eq!(kib(on_loop), (64, 64, 0, 0));
    assert_eq!(on_loop.brought_by(), Vec::<&Layer>::new());
    let phases: Vec<_> = ["dm-0", "dm-1", "loop0", "md127"]
        .map(|name| by_name(&all, name).geometry.phase.map(|p| p.0 / KIB))
        .into();
    assert_eq!(phases, [Some(320), Some(64), Some(0), None]);
}

#[test]
fn parts_must_agree() {
    let (md, other) = (array("md127", 127), array("md126", 126));
    let stripe = 448 * 2;
    let below = [&md];
    // Grown by pieces: 10 stripes of it, then 3 stripes further on, or not.
    let agreed = format!("9:127 {}", 2048 + 13 * stripe);
    let shifted = format!("9:127 {}", 2049 + 13 * stripe);
    let first = (10 * stripe, "linear", "9:127 2048");
    let all = derived([
        mapped("dm-0", 0, &below, &[first, (99, "linear", &agreed)]),
        mapped("dm-1", 1, &below, &[first, (99, "linear", &shifted)]),
        mapped(
            "dm-2",
            2,
            &[&md, &other],
            &[first, (99, "linear", "9:126 2048")],
        ),
        mapped("dm-3", 3, &below, &[(99, "thin", "9:127 1")]),
        mapped("dm-4", 4, &below, &[first, (9, "error", "")]),
        mapped(
            "dm-5",
            5,
            &below,
            &[(99, "cache", "8:1 8:2 9:127 512 0 smq 0")],
        ),
        md.clone(),
        other,
    ]);
    assert_eq!(kib(chain(&all, "dm-0")), (1024, 128, 128, 320));
    assert_eq!(chain(&all, "dm-0").layers.len(), 1);
    assert_eq!(
        why(&all, "dm-1"),
        "its parts lie at different places in a stripe"
    );
    assert_eq!(why(&all, "dm-2"), "its parts lie on different devices");
    assert_eq!(why(&all, "dm-3"), "thin does not keep bytes in their order");
    assert_eq!(
        why(&all, "dm-4"),
        "error does not keep bytes in their order"
    );
    assert_eq!(chain(&all, "dm-4").top().unwrap().by, "linear+error");
    assert_eq!(kib(chain(&all, "dm-5")), (0, 0, 0, 0));
    assert_eq!(by_name(&all, "dm-1").geometry.phase, None);
}

#[test]
fn what_is_on_a_layer_without_a_place_has_none() {
    let md = array("md127", 127);
    let mut unread = mapped("dm-0", 0, &[&md], &[]);
    unread.dm_table = None;
    let above = mapped("dm-1", 1, &[&unread], &[(99, "linear", "253:0 0")]);
    let mut cached = device("bcache0", 252, 0);
    cached.members = vec![md.id];
    let plain = device("sda", 8, 0);
    let on_disk = mapped("dm-2", 2, &[&plain], &[(99, "linear", "8:0 2048")]);
    let all = derived([md, unread, above, cached, plain, on_disk]);
    assert_eq!(why(&all, "dm-0"), "its table cannot be read");
    assert_eq!(why(&all, "dm-1"), "what it lies on has no one place");
    assert_eq!(why(&all, "bcache0"), "sysfs does not tell where it begins");
    assert_eq!(by_name(&all, "dm-2").chain, None);
}

#[test]
fn partitions_and_mirrors() {
    let md = array("md127", 127);
    let part = partition("md127p1", 259, 0, md.id, 2048);
    let mut mirror = device("md1", 9, 1);
    mirror.members = vec![part.id];
    mirror.md = Some(MdArray {
        level: "raid1".to_owned(),
        components: vec![MdComponent {
            device: Some(part.id),
            slot: Some(0),
            data_offset: Some(Sectors(1536)),
            ..MdComponent::default()
        }],
        ..MdArray::default()
    });
    let striped = mapped(
        "dm-0",
        0,
        &[&md],
        &[(99, "striped", "2 128 9:127 0 9:126 0")],
    );
    let on_striped = mapped("dm-1", 1, &[&striped], &[(99, "linear", "253:0 64")]);
    let all = derived([md, part, mirror, striped, on_striped]);
    assert_eq!(kib(chain(&all, "md127p1")), (1024, 128, 128, 320));
    assert_eq!(kib(chain(&all, "md1")), (768, 320, 0, 0));
    assert_eq!(by_name(&all, "dm-0").chain, None, "its own chunks");
    let on_striped = chain(&all, "dm-1");
    assert_eq!(
        (on_striped.array.as_str(), on_striped.width),
        ("dm-0", Bytes(128 * KIB))
    );
    assert_eq!(kib(on_striped), (32, 32, 32, 96));
}

proptest! {
    /// Whatever the starts: the phase is a boundary, and the next start has
    /// none.
    #[test]
    fn phases_and_next_starts(starts in proptest::collection::vec(0u64..1 << 40, 1..5)) {
        let md = array("md127", 127);
        let mut devices = vec![md];
        for (minor, start) in starts.iter().enumerate() {
            let below = devices.last().unwrap().clone();
            let line = format!("{} {start}", below.id);
            let name = format!("dm-{minor}");
            devices.push(mapped(&name, minor as u32, &[&below], &[(99, "linear", &line)]));
        }
        let all = derived(devices);
        let top = chain(&all, &format!("dm-{}", starts.len() - 1));
        let place = top.top().unwrap().place.as_ref().unwrap();
        let sum: u64 = starts.iter().sum::<u64>() * 512;
        let width = 448 * KIB;
        prop_assert_eq!(place.offset.0, sum % width);
        prop_assert_eq!((sum + place.phase.0) % width, 0);
        prop_assert_eq!((sum - place.start.0 + place.next_start.0) % width, 0);
        prop_assert_eq!(!top.brought_by().is_empty(), place.offset.0 != 0);
        prop_assert!(place.start.0 < MIB << 40);
    }
}
