use super::*;
use crate::{
    dm::Target,
    report::testing::{device, topology},
    sysfs::device::MdComponent,
    units::Sectors,
};

const fn id(major: u32, minor: u32) -> DevId {
    DevId { major, minor }
}

fn mapped(minor: u32, lines: &[(u64, &str, &str)]) -> Device {
    let mut device = device(&format!("dm-{minor}"), 253, minor);
    let segments = lines.iter().map(|(start, name, words)| Segment {
        start: Sectors(*start),
        len: Sectors(1 << 20),
        target: Target::parse(name, words),
    });
    device.dm_table = Some(segments.collect());
    device.members = vec![id(8, 0)];
    device
}

fn parts(all: &Topology, name: &str) -> Result<Vec<(DevId, i128, Option<u64>)>, String> {
    let parts = all.parts(all.by_name(name).unwrap()).unwrap().lie?;
    Ok(parts
        .iter()
        .map(|part| {
            (
                part.device,
                part.first_bytes,
                part.grain.map(|grain| grain.0),
            )
        })
        .collect())
}

#[test]
fn targets_that_keep_the_order_within_pieces() {
    let striped = mapped(
        0,
        &[
            (0, "linear", "8:0 2048"),
            (8, "striped", "2 128 8:16 64 8:32 72"),
        ],
    );
    let pool = mapped(1, &[(0, "thin-pool", "253:8 8:0 192 0")]);
    let thin = mapped(2, &[(0, "thin", "253:1 7")]);
    let orphan = mapped(3, &[(0, "thin", "253:77 7")]);
    let sealed = mapped(4, &[(0, "integrity", "8:0 0 4 J 1 internal_hash:crc32c")]);
    let all = topology([device("sda", 8, 0), striped, pool, thin, orphan, sealed]);
    assert_eq!(
        parts(&all, "dm-0").unwrap(),
        [
            (id(8, 0), 2048 * 512, None),
            (id(8, 16), (64 - 8) * 512, Some(65536)),
            (id(8, 32), (72 - 8) * 512, Some(65536)),
        ]
    );
    assert_eq!(parts(&all, "dm-2").unwrap(), [(id(253, 1), 0, Some(98304))]);
    for (name, by) in [("dm-3", "thin"), ("dm-4", "integrity")] {
        let why = parts(&all, name).unwrap_err();
        assert_eq!(why, format!("{by} does not keep bytes in their order"));
    }
    let device = all.by_name("dm-0").unwrap();
    let why = all.parts_in_order(device).unwrap().lie.unwrap_err();
    assert_eq!(why, "striped does not keep bytes in their order");
    assert!(all.parts(all.by_name("sda").unwrap()).is_none());
}

#[test]
fn arrays_by_level() {
    let component = |minor, slot, data_offset| MdComponent {
        device: Some(id(8, minor)),
        slot,
        data_offset: Some(Sectors(data_offset)),
        data_size: Some(Bytes(1 << 20)),
        ..MdComponent::default()
    };
    let array = |level: &str, chunk: Option<u64>, before: Option<u64>| {
        let md = MdArray {
            level: level.to_owned(),
            chunk: chunk.map(Bytes),
            chunk_before: before.map(Bytes),
            components: vec![
                component(32, None, 1),
                component(16, Some(1), 16),
                component(0, Some(0), 8),
            ],
            ..MdArray::default()
        };
        of_array(&md).map(|parts| {
            let plain = parts
                .iter()
                .map(|part| (part.device.minor, part.first_bytes));
            (plain.collect::<Vec<_>>(), parts[0].grain)
        })
    };
    let both = vec![(0, 4096), (16, 8192)];
    assert_eq!(array("raid1", None, None).unwrap(), (both.clone(), None));
    let linear = vec![(0, 4096), (16, 8192 - (1 << 20))];
    assert_eq!(array("linear", None, None).unwrap(), (linear, None));
    let striped = array("raid6", Some(65536), None).unwrap();
    assert_eq!(striped, (both.clone(), Some(Bytes(65536))));
    let between = array("raid5", Some(196_608), Some(131_072)).unwrap();
    assert_eq!(between, (both, Some(Bytes(65536))));
    assert!(array("raid5", None, None).is_err());
    assert!(array("faulty", None, None).is_err());
}
