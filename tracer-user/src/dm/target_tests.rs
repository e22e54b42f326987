use proptest::prelude::*;

use super::*;
use crate::dm::raid::Leg;

const fn dev(major: u32, minor: u32) -> DevId {
    DevId { major, minor }
}

const fn at(major: u32, minor: u32, start: u64) -> Place {
    Place {
        device: dev(major, minor),
        start: Sectors(start),
    }
}

#[test]
fn every_known_target() {
    let parse = Target::parse;
    assert_eq!(
        parse("linear", "9:127 2048"),
        Target::Linear(at(9, 127, 2048))
    );
    assert_eq!(
        parse("striped", "2 128 8:0 0 8:16 384"),
        Target::Striped {
            chunk: Sectors(128),
            stripes: vec![at(8, 0, 0), at(8, 16, 384)]
        }
    );
    assert_eq!(
        parse("thin", "253:2 7 253:9"),
        Target::Thin {
            pool: dev(253, 2),
            external_origin: Some(dev(253, 9))
        }
    );
    assert_eq!(
        parse("thin-pool", "253:0 253:1 128 0 1 skip_block_zeroing"),
        Target::ThinPool {
            metadata: dev(253, 0),
            data: dev(253, 1),
            block: Sectors(128)
        }
    );
    assert_eq!(
        parse("cache", "253:0 253:1 253:2 512 1 writethrough smq 0"),
        Target::Cache {
            metadata: dev(253, 0),
            cache: dev(253, 1),
            origin: dev(253, 2),
            block: Sectors(512)
        }
    );
    assert_eq!(
        parse("integrity", "8:1 0 32 J 1 x"),
        Target::Integrity(at(8, 1, 0))
    );
    assert_eq!(
        parse(
            "multipath",
            "1 queue_if_no_path 1 alua 2 1 service-time 0 1 2 8:0 1 1 service-time 0 2 2 8:16 1 1 \
             8:32 1 1"
        ),
        Target::Multipath {
            paths: vec![dev(8, 0), dev(8, 16), dev(8, 32)]
        }
    );
    assert_eq!(
        parse("snapshot-origin", "253:4"),
        Target::SnapshotOrigin(dev(253, 4))
    );
    assert_eq!(parse("zero", "").name(), "zero");
}

#[test]
fn raid_targets() {
    let Target::Raid(raid) = Target::parse(
        "raid",
        "raid5_ls 3 128 region_size 1024 3 - 8:0 253:1 253:2 - -",
    ) else {
        panic!("not understood")
    };
    assert_eq!((raid.level.as_str(), raid.layout), ("raid5", Some(2)));
    assert_eq!(
        (raid.chunk, raid.region),
        (Some(Sectors(128)), Some(Sectors(1024)))
    );
    let leg = |metadata, data| Leg { metadata, data };
    assert_eq!(
        raid.legs,
        [
            leg(None, Some(dev(8, 0))),
            leg(Some(dev(253, 1)), Some(dev(253, 2))),
            leg(None, None)
        ]
    );
    for (line, level, layout) in [
        ("raid6_zr 2 64 sync 1 - 8:0", "raid6", Some(8)),
        ("raid1 1 0 1 - 8:0", "raid1", None),
        (
            "raid10 5 128 raid10_copies 3 raid10_format near 1 - 8:0",
            "raid10",
            Some(0x103),
        ),
        (
            "raid10 3 128 raid10_format far 1 - 8:0",
            "raid10",
            Some(0x2_0201),
        ),
    ] {
        let Target::Raid(raid) = Target::parse("raid", line) else {
            panic!("{line}")
        };
        assert_eq!(
            (raid.level.as_str(), raid.layout),
            (level, layout),
            "{line}"
        );
    }
    for bad in [
        "raid5_ls 9 128",
        "raid5_ls 1 128 2 - 8:0",
        "raid7 1 128 1 - 8:0",
        "",
    ] {
        assert_eq!(Target::parse("raid", bad).name(), "raid", "{bad}");
        assert!(
            matches!(Target::parse("raid", bad), Target::Other { .. }),
            "{bad}"
        );
    }
}

/// In hexadecimal, by its name in a keyring, and where a line is not
/// understood: nothing that may be a key is in what is kept.
#[test]
fn no_key_survives() {
    const KEY: &str = "5ec2e7c0ffee5ec2e7c0ffee5ec2e7c0";
    for (name, line) in [
        (
            "crypt",
            format!("aes-xts-plain64 {KEY} 0 8:1 32768 2 allow_discards sector_size:4096"),
        ),
        (
            "crypt",
            format!("aes-xts-plain64 :32:logon:{KEY} 0 8:1 4096 1 sector_size:4096"),
        ),
        (
            "crypt",
            format!("aes-xts-plain64 :32:user:a {KEY} 0 8:1 4096"),
        ),
        ("crypt", format!("{KEY} {KEY}")),
        ("crypt", format!("a b 0 8:1 0 1 sector_size:{KEY}")),
        ("linear", KEY.to_owned()),
        ("striped", format!("{KEY} 1 8:0 0")),
        ("raid", format!("{KEY} 1 8 1 - 8:0")),
        (
            "integrity",
            format!("8:0 0 - J 1 internal_hash:hmac(sha256):{KEY}"),
        ),
        ("multipath", format!("0 0 1 1 {KEY} 0 0 0")),
        ("crypt\u{7f}", KEY.to_owned()),
    ] {
        let kept = format!("{:?}", Target::parse(name, &line));
        assert!(!kept.contains(&KEY[..16]), "{kept}");
    }
    assert_eq!(
        Target::parse(
            "crypt",
            &format!("a {KEY} 0 8:1 32768 2 allow_discards sector_size:4096")
        ),
        Target::Crypt {
            origin: at(8, 1, 32768),
            sector_size: Some(Bytes(4096))
        }
    );
}

#[test]
fn what_keeps_its_order() {
    let places = |name, line| Target::parse(name, line).in_order();
    assert_eq!(places("crypt", "a k 0 8:1 32768"), [at(8, 1, 32768)]);
    assert_eq!(
        places("cache", "253:0 253:1 253:2 512 0 smq 0"),
        [at(253, 2, 0)]
    );
    assert_eq!(places("striped", "2 128 8:0 0 8:16 0"), []);
    assert_eq!(places("thin", "253:2 7"), []);
}

proptest! {
    #[test]
    fn no_line_panics(
        name in prop_oneof![
            "linear|striped|crypt|raid|thin|thin-pool|cache|integrity|multipath|snapshot-origin",
            ".{0,20}"
        ],
        words in proptest::collection::vec(
            prop_oneof!["[0-9]{1,21}", "[0-9]{1,3}:[0-9]{1,3}", "-", "raid5_ls|raid10|region_size", ".{0,9}"],
            0..14
        )
    ) {
        let _ = Target::parse(&name, &words.join(" ")).in_order();
    }
}
