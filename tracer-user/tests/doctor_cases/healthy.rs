//! Guards: no finding where there is none.

use proptest::prelude::*;

use super::{
    build::{Array, Machine, mapping, partition},
    filesystems::{ext4, on_xfs},
    layers::{luks2, pv},
};

#[test]
fn s9_log_appends_on_what_is_aligned() {
    Machine::of("s9").counted("s9").is_sound();
}

/// What costs nothing may be told as a model, never as a finding.
#[test]
fn sound_arrays_of_the_cases() {
    for name in ["s5", "s6", "s9", "s11"] {
        Machine::of(name).is_sound();
    }
    for name in ["s2", "s5", "s6", "s9"] {
        Machine::of(name).counted(name).is_sound();
    }
}

fn array() -> impl Strategy<Value = Array> {
    let levels = prop_oneof![
        Just(("raid0", 0)),
        Just(("raid1", 0)),
        Just(("raid5", 1)),
        Just(("raid6", 2)),
        Just(("raid10", 0)),
    ];
    (levels, 4u32..12, 12u32..20).prop_map(|((level, parity), disks, chunk)| {
        let disks = if level == "raid10" {
            disks / 2 * 2
        } else {
            disks
        };
        match level {
            "raid1" => Array {
                level,
                disks,
                data: 0,
                chunk: 0,
                layout: 0,
            },
            "raid10" => Array {
                level,
                disks,
                data: disks / 2,
                chunk: 1 << chunk,
                layout: 258,
            },
            _ => Array {
                level,
                disks,
                data: disks - parity,
                chunk: 1 << chunk,
                layout: 2 * u32::from(parity > 0),
            },
        }
    })
}

/// The layers on top of an array, each beginning at so many stripes.
#[derive(Clone, Copy, Debug)]
enum On {
    Nothing,
    Partition,
    Volume,
    Luks,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn a_healthy_stack_is_sound(
        array in array(),
        on in prop_oneof![Just(On::Nothing), Just(On::Partition), Just(On::Volume), Just(On::Luks)],
        turns in 1u64..5,
        is_xfs: bool,
    ) {
        let stripe = (array.chunk * u64::from(array.data)).max(4096);
        // Past LUKS's header, in whole stripes.
        let start = (16u64 << 20).div_ceil(stripe) * stripe * turns;
        let sectors = start / 512;
        let mut tree = array.tree();
        let mut tables = Vec::new();
        let linear = format!("8192: 9:0 {sectors}");
        let crypt = format!("aes-xts-plain64 :64:logon:x 0 9:0 {sectors} 1 sector_size:4096");
        let top = match on {
            On::Nothing => "md0",
            On::Partition => {
                tree.push_str(&partition("md0", 1, "259:0", sectors, 1 << 20));
                "md0p1"
            }
            On::Volume => {
                tree.push_str(&mapping("dm-0", 0, "vg-lv", "LVM-x", "md0"));
                tables.push(("253:0", "linear", linear.as_str()));
                "dm-0"
            }
            On::Luks => {
                tree.push_str(&mapping("dm-0", 0, "secret", "CRYPT", "md0"));
                tables.push(("253:0", "crypt", crypt.as_str()));
                "dm-0"
            }
        };
        let mut machine = Machine::mapped(&tree, &tables);
        machine = match on {
            On::Volume => machine.holds("md0", pv(start, 4 << 20, 100)),
            On::Luks => machine.holds("md0", luks2(start, 4096)),
            _ => machine,
        };
        let told = (array.chunk != 0).then_some((array.chunk, stripe));
        let content = match (is_xfs, told) {
            (true, told) => on_xfs(told),
            (false, Some((chunk, stripe))) => ext4(chunk / 4096, stripe / 4096),
            (false, None) => ext4(0, 0),
        };
        let machine = machine.holds(top, content);
        let found = machine.examined().findings;
        prop_assert!(found.is_empty(), "{found:#?}");
    }
}
