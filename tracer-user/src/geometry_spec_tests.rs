use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::sysfs::{SysRoot, Topology, mounts::Mounts, tree::expand};

fn parse(text: &str) -> Result<Override, GeometrySpecError> {
    text.parse::<GeometrySpec>().map(|spec| spec.geometry)
}

#[test]
fn all_keys() {
    let spec: GeometrySpec =
        "/dev/disk/by-id/a=b=physical:16k, alignment:7s,chunk:64k,level:6,disks:9,data:7,boundary:2m"
            .parse()
            .unwrap();
    assert_eq!(spec.device, "/dev/disk/by-id/a=b");
    assert_eq!(
        spec.geometry,
        Override {
            physical_block: Some(Bytes(16384)),
            alignment_offset: Some(Bytes(3584)),
            chunk: Some(Bytes(65536)),
            striping: Some(Striping::Data(7)),
            boundary: Some(Bytes(2 << 20)),
        }
    );
    let mirror = parse("8:0=level:raid1,disks:2").unwrap();
    assert_eq!(mirror.striping, Some(Striping::None));
    let near = parse("sda=chunk:64k,level:raid10,disks:6").unwrap();
    assert_eq!(near.striping, Some(Striping::Data(3)));
}

#[test]
fn nonsense_is_told_apart() {
    for (text, message) in [
        ("sda", "expected DEV=key:value"),
        ("=chunk:1k", "expected DEV=key:value"),
        ("sda=", "expected DEV=key:value"),
        ("sda=chunk", "expected key:value, not \"chunk\""),
        ("sda=chunk:64k,", "expected key:value, not \"\""),
        ("sda=stripe:64k", "unknown key \"stripe\""),
        ("sda=chunk:64k,chunk:64k", "chunk is given twice"),
        ("sda=chunk:64q", "chunk"),
        ("sda=chunk:100", "chunk: 100 bytes are no whole sectors"),
        ("sda=physical:0", "physical must not be 0"),
        ("sda=data:0", "data must not be 0"),
        ("sda=data:x", "data: not a number of disks: \"x\""),
        ("sda=level:raid7,disks:3", "unknown level \"raid7\""),
        ("sda=level:raid6", "level needs disks too"),
        ("sda=disks:6", "disks needs level too"),
        (
            "sda=level:raid6,disks:2",
            "raid6 of 2 disks has no data disk",
        ),
        (
            "sda=level:raid6,disks:6,data:5",
            "data:5 contradicts raid6 of 6 disks, which has 4 data disks",
        ),
        (
            "sda=level:raid1,disks:2,data:2",
            "data:2 contradicts raid1 of 2 disks, which has no stripe",
        ),
        ("sda=level:raid1,disks:2,chunk:64k", "raid1 has no chunk"),
        (
            "sda=physical:4k,alignment:4k",
            "alignment 4096 is not less than physical 4096",
        ),
    ] {
        let error = parse(text).unwrap_err().to_string();
        assert!(error.starts_with(message), "{text}: {error}");
    }
}

const DISK: &str = "block/sda/dev = 8:0
    block/sda/queue/physical_block_size = 512
    block/sda/sda1/partition = 1
    block/sda/sda1/dev = 8:1
    block/sda/sda1/start = 2048
    block/sda/sda2/partition = 2
    block/sda/sda2/dev = 8:2
    block/sda/sda2/start = 3072";

fn applied(specs: &[&str]) -> Result<Topology, String> {
    let dir = expand(DISK).unwrap();
    let sys = SysRoot::new(dir.path());
    let mut topology = Topology::read(&sys).unwrap();
    let specs: Vec<GeometrySpec> = specs.iter().map(|spec| spec.parse().unwrap()).collect();
    let lookup = Lookup {
        topology: &topology,
        sys: &sys,
        dev: Path::new("/dev"),
        mounts: &Mounts::default(),
    };
    let overrides = overrides(&specs, &lookup).map_err(|error| error.to_string())?;
    topology
        .set_overrides(&overrides)
        .map_err(|error| error.to_string())?;
    Ok(topology)
}

#[test]
fn a_disks_geometry_holds_for_its_partitions() {
    let topology = applied(&["sda=physical:4k,alignment:512", "sda=chunk:64k,data:3"]).unwrap();
    let disk = &topology.by_name("sda").unwrap().geometry;
    assert_eq!(disk.stripe, Some(Bytes(196_608)));
    assert_eq!(disk.alignment_offset, Some(Bytes(512)));
    let first = &topology.by_name("sda1").unwrap().geometry;
    assert_eq!(first.physical_block, Some(Bytes(4096)));
    assert_eq!(first.phase, Some(Bytes(131_072)));
    let second = &topology.by_name("sda2").unwrap().geometry;
    assert_eq!(second.phase, Some(Bytes(0)));
}

#[test]
fn a_partitions_boundaries_count_from_its_start() {
    let topology = applied(&["sda1=chunk:3m,data:2,physical:4k"]).unwrap();
    let part = topology.by_name("sda1").unwrap();
    assert_eq!(part.geometry.origin, Bytes(1 << 20));
    assert_eq!(part.geometry.phase, Some(Bytes(0)));
    let classifier = topology.classifier(part.id).unwrap();
    let class = tracer_ebpf::classify::classify(1 << 20, 6 << 20, &classifier);
    assert_eq!(class.stripe, tracer_ebpf::classify::Stripe::Full);
    assert_eq!(topology.by_name("sda").unwrap().geometry.chunk, None);
}

#[test]
fn what_does_not_fit_is_refused() {
    for (specs, message) in [
        (
            &["sda=data:3"][..],
            "geometry of sda: data disks need a chunk",
        ),
        (
            &["sda=alignment:512"],
            "geometry of sda: alignment 512 is not less",
        ),
        (
            &["sda=physical:1k,alignment:512", "sda1=alignment:1k"],
            "geometry of sda1: alignment",
        ),
        (
            &["sda=chunk:64k,data:3", "sda1=boundary:1m"],
            "geometry of sda1: the partition's own",
        ),
        (&["sdq=physical:4k"], "--geometry sdq"),
    ] {
        let error = applied(specs).unwrap_err();
        assert!(error.starts_with(message), "{specs:?}: {error}");
    }
    // The disk's stripe begins where sda2 does: one origin serves both.
    applied(&["sda=chunk:64k,data:3", "sda2=boundary:1m"]).unwrap();
}

proptest! {
    /// Any keys in any order mean what they say.
    #[test]
    fn keys_in_any_order(
        given in prop::collection::btree_map(0usize..5, 1u32..1 << 20, 1..5),
        reverse in any::<bool>(),
    ) {
        const KEYS: [&str; 5] = ["physical", "alignment", "chunk", "data", "boundary"];
        let value = |key: usize| given.get(&key).copied();
        let mut pairs: Vec<String> = given
            .iter()
            .map(|(&key, n)| format!("{}:{n}{}", KEYS[key], if key == 3 { "" } else { "s" }))
            .collect();
        if reverse {
            pairs.reverse();
        }
        let size = |key| value(key).map(|n| Bytes(u64::from(n) * 512));
        let parsed = parse(&format!("sda={}", pairs.join(",")));
        if let (Some(physical), Some(alignment)) = (size(0), size(1))
            && alignment >= physical
        {
            let refusal = GeometrySpecError::AlignmentTooLarge { alignment, physical };
            prop_assert_eq!(parsed, Err(refusal));
        } else {
            prop_assert_eq!(parsed, Ok(Override {
                physical_block: size(0),
                alignment_offset: size(1),
                chunk: size(2),
                striping: value(3).map(Striping::Data),
                boundary: size(4),
            }));
        }
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,40}", pairs in "[a-z:,0-9km=]{0,40}") {
        let _ = text.parse::<GeometrySpec>();
        let _ = format!("sda={pairs}").parse::<GeometrySpec>();
    }
}
