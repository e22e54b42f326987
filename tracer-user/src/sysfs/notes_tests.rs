use crate::sysfs::{SysRoot, Topology, tree::expand};

/// Notes of one device of a tree below `block/`.
fn notes(tree: &str, device: &str) -> Vec<String> {
    let tree: String = tree
        .lines()
        .map(|line| format!("block/{}\n", line.trim()))
        .collect();
    let dir = expand(&tree).unwrap();
    let topology = Topology::read(&SysRoot::new(dir.path())).unwrap();
    let notes = &topology.by_name(device).unwrap().notes;
    notes.iter().map(|note| note.text.clone()).collect()
}

/// A disk and one partition, in the usual sound state, with more attributes.
fn disk(more: &str) -> String {
    format!(
        "sda/dev = 8:0
         sda/size = 1953525168
         sda/alignment_offset = 0
         sda/queue/logical_block_size = 512
         sda/queue/physical_block_size = 4096
         sda/queue/minimum_io_size = 4096
         sda/queue/optimal_io_size = 0
         sda/queue/rotational = 1
         sda/sda1/partition = 1
         sda/sda1/dev = 8:1
         sda/sda1/start = 2048
         sda/sda1/size = 1953521664
         sda/sda1/alignment_offset = 0
         {more}"
    )
}

const NONE: [String; 0] = [];

#[test]
fn nothing_is_said_of_what_is_sound() {
    for more in [
        "",
        // The physical block again is no stripe, nor is a sound hint wrong.
        "sda/queue/optimal_io_size = 4096",
        "sda/queue/optimal_io_size = 524288",
        // 15 whole blocks: fine for the drive.
        "sda/alignment_offset = 61440",
        "sda/queue/physical_block_size = 512",
        // A drive of 512-byte blocks that has no platters.
        "sda/queue/rotational = 0\nsda/queue/physical_block_size = 512\nsda/size = 8000000000",
    ] {
        let tree = disk(more);
        assert_eq!(notes(&tree, "sda"), NONE, "{more}");
        assert_eq!(notes(&tree, "sda1"), NONE, "{more}");
    }
}

#[test]
fn a_bridges_hint_is_ignored_and_named() {
    let notes = notes(&disk("sda/queue/optimal_io_size = 33553920"), "sda");
    assert_eq!(
        notes,
        [
            "optimal_io_size 33553920 is no multiple of 4096 (3584 left over): not a stripe, to \
             be ignored"
        ]
    );
}

const ARRAY: &str = "md0/dev = 9:0
    md0/size = 4096
    md0/alignment_offset = 0
    md0/queue/physical_block_size = 4096
    md0/md/chunk_size = 65536
    md0/md/raid_disks = 4
    md0/md0p1/partition = 1
    md0/md0p1/dev = 259:0
    md0/md0p1/start = 2048
    md0/md0p1/size = 1024";

#[test]
fn a_partition_of_an_array_against_its_stripes() {
    let tree = format!("{ARRAY}\nmd0/md/level = raid5");
    assert_eq!(notes(&tree, "md0"), NONE);
    assert_eq!(
        notes(&tree, "md0p1"),
        [
            "starts 65536 bytes past a stripe boundary (192 KiB): a write of one stripe's length \
             covers no whole one; next aligned start: sector 2304, better 6144 (3 MiB)"
        ]
    );
    let sound = format!("{tree}\nmd0/md0p1/start = 3072");
    assert_eq!(notes(&sound, "md0p1"), NONE);
    let chunk = format!("{tree}\nmd0/md0p1/start = 8\nmd0/md/raid_disks = 5 (4)");
    assert_eq!(
        notes(&chunk, "md0p1"),
        [
            "starts 4096 bytes past a chunk boundary (64 KiB): a write of one chunk's length crosses \
             into the next; next aligned start: sector 128, better 2048 (1 MiB)"
        ]
    );
    assert_eq!(
        notes(&chunk, "md0"),
        ["is being reshaped: no one stripe holds for all of it"]
    );
}

/// A layer says what it adds itself, and nothing where all together are right.
#[test]
fn a_layer_inside_a_stripe() {
    let on = |offset: u64| {
        let tree = format!(
            "md127/dev = 9:127
             md127/md/level = raid5
             md127/md/raid_disks = 4
             md127/md/chunk_size = 65536
             md127/md127p1/partition = 1
             md127/md127p1/dev = 259:0
             md127/md127p1/start = 2048
             md127/md127p1/size = 8192
             loop0/dev = 7:0
             loop0/loop/backing_file = /dev/md127p1
             loop0/loop/offset = {offset}"
        );
        notes(&tree, "loop0")
    };
    assert_eq!(
        on(65536),
        [
            "begins 128 KiB into a stripe of md127 (192 KiB): a write of one stripe's length \
             covers no whole one; its start on md127p1 is 64 KiB, the next aligned one 128 KiB"
        ]
    );
    // 1 MiB is 64 KiB past a stripe, which is the partition's to tell.
    assert_eq!(on(0), NONE);
    assert_eq!(on(131_072), NONE);
}

#[test]
fn arrays_of_no_one_stripe() {
    let zones = format!(
        "{ARRAY}\nmd0/md/level = raid0\nmd0/md/raid_disks = 2\nmd0/md/dev-a/slot = 0
         md0/md/dev-a/size = 640\nmd0/md/dev-b/slot = 1\nmd0/md/dev-b/size = 1280"
    );
    let [note] = notes(&zones, "md0").try_into().unwrap();
    assert!(note.starts_with("its members differ in size"), "{note}");
    let mirror = format!("{ARRAY}\nmd0/md/level = raid1\nmd0/md/chunk_size = 0");
    assert_eq!(notes(&mirror, "md0"), NONE);
}

#[test]
fn inconsistent_is_told_with_the_real_offset() {
    let tree = disk("sda/sda1/start = 63")
        + &format!(
            "\n{ARRAY}\nmd0/md/level = raid1\nmd0/alignment_offset = -1\nmd0/md/raid_disks = 1
             md0/md/dev-sda1/slot = 0\nmd0/md/dev-sda1/offset = 0"
        );
    let [shifted, inconsistent] = notes(&tree, "md0").try_into().unwrap();
    assert!(
        shifted.starts_with("is shifted: its first 4096-byte block begins 512 bytes in (sector 1)"),
        "{shifted}"
    );
    assert!(
        inconsistent.ends_with("the first aligned position is 512"),
        "{inconsistent}"
    );

    let unknown = "dm-0/dev = 253:0
        dm-0/queue/physical_block_size = 4096
        dm-0/alignment_offset = -1";
    let [note] = notes(unknown, "dm-0").try_into().unwrap();
    assert!(note.contains("--geometry dm-0=alignment:BYTES"), "{note}");
}

#[test]
fn parity_that_stays_on_a_member() {
    let of = |level: &str, disks: u32, layout: u32| {
        let members: String = (0..disks)
            .map(|slot| format!("\nmd0/md/dev-sd{slot}/slot = {slot}"))
            .collect();
        let tree = format!(
            "{ARRAY}\nmd0/md/level = {level}\nmd0/md/raid_disks = {disks}
             md0/md/layout = {layout}{members}"
        );
        let told = notes(&tree, "md0");
        told.iter().find_map(|note| {
            Some(
                note.strip_prefix("keeps all its ")?
                    .split(':')
                    .next()?
                    .to_owned(),
            )
        })
    };
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(of("raid4", 3, 0), some("parity on sd2"));
    assert_eq!(of("raid4", 2, 0), some("parity on sd1"));
    // Left-symmetric, parity first, parity last.
    assert_eq!(of("raid5", 4, 2), None);
    assert_eq!(of("raid5", 4, 4), some("parity on sd0"));
    assert_eq!(of("raid5", 4, 5), some("parity on sd3"));
    // The same, and what is left of a raid5 that was grown: Q on a disk of its own.
    assert_eq!(of("raid6", 5, 2), None);
    assert_eq!(of("raid6", 5, 5), some("parity on sd3 and sd4"));
    assert_eq!(of("raid6", 5, 18), some("Q parity on sd4"));
}

#[test]
fn the_page_cache_block_is_told_where_it_is_small() {
    let sectors = |sectors: u64| notes(&disk(&format!("sda/size = {sectors}")), "sda");
    assert_eq!(sectors(1_953_525_168), NONE);
    for (odd, block) in [(1u64, 512), (2, 1024), (4, 2048), (6, 1024)] {
        let [note] = sectors(1_953_525_160 + odd).try_into().unwrap();
        assert!(
            note.ends_with(&format!("in blocks of {block} bytes, not 4096")),
            "{note}"
        );
    }
}
