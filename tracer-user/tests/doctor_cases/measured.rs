//! What was counted: causes, costs, and the what-if.

use iotrace::{
    delta::{
        Causes, DeviceFigures, Fills, LargerCache, OriginFigures, Preread, RaidFigures, Ratios,
    },
    doctor::{Cost, Severity},
    sysfs::stripe_cache::StripeCache,
};

use super::{
    build::{Array, Machine, RAID5, RAID6, commands, disk, numbers, partition},
    layers::luks1,
};

const KIB: u64 = 1 << 10;

/// As if md's members had been looked into.
pub(crate) fn raid(figures: &DeviceFigures, preread: u64, causes: Causes) -> RaidFigures {
    RaidFigures {
        level: "raid5".to_owned(),
        raid_disks: Some(4),
        degraded: Some(0),
        sync_action: Some("idle".to_owned()),
        user_read_bytes: figures.read.bytes,
        user_write_bytes: figures.write.bytes,
        fills: None,
        arrived: None,
        preread: Preread {
            rmw: 0,
            rcw: preread,
            partial_block: 0,
        },
        data_write_bytes: figures.write.bytes,
        parity_write_bytes: 0,
        metadata_write_bytes: 0,
        metadata_writes: 0,
        sync_read_bytes: 0,
        sync_write_bytes: 0,
        degraded_read_bytes: 0,
        direct_read_bytes: 0,
        direct_write_bytes: 0,
        unattributed_read_bytes: 0,
        unattributed_write_bytes: 0,
        components: no_origin(),
        rows: None,
        ratios: Ratios::default(),
        causes: Some(causes),
        stripe_cache: None,
        larger_cache: None,
        shifted_by: Vec::new(),
    }
}

fn no_origin() -> OriginFigures {
    OriginFigures {
        read_bytes: Default::default(),
        read_bios: Default::default(),
        read_misaligned: Default::default(),
        write_bytes: Default::default(),
        write_bios: Default::default(),
        write_misaligned: Default::default(),
        read_user_bytes: Default::default(),
        read_rmw_bytes: Default::default(),
        read_sync_bytes: Default::default(),
        write_sync_bytes: Default::default(),
        read_metadata_bytes: Default::default(),
        write_metadata_bytes: Default::default(),
    }
}

/// `count` writes of `len` KiB, one every `step` KiB from `start` KiB on.
fn writes(device: &str, start: u64, len: u64, step: u64, count: u64) -> String {
    (0..count)
        .map(|turn| {
            let at = (start + turn * step) * KIB;
            format!("{device} write {at} {}\n", len * KIB)
        })
        .collect()
}

/// RAID5 of 4 × 512 KiB, and writes of 256 KiB at multiples of it.
pub(crate) fn large_chunk() -> Machine {
    let large = Array {
        chunk: 512 * KIB,
        ..RAID5
    };
    let machine = Machine::new(&large.tree()).does(&writes("md0", 0, 256, 256, 32));
    let causes = Causes {
        smaller_than_stripe: 16 << 20,
        ..Causes::default()
    };
    machine.with("md0", |figures| {
        figures.raid = Some(raid(figures, 16 << 20, causes));
    })
}

#[test]
fn a_chunk_that_is_too_large() {
    let machine = large_chunk();
    let finding = machine.finding("md0", "chunk-too-large");
    // The largest that would have halved them.
    let [now, better] = numbers(&finding, ["chunk_bytes", "better_chunk_bytes"]);
    assert_eq!(now, 524_288);
    assert!(better < now, "{better}");
    assert_eq!(
        finding.cost,
        Cost::Measured("16 MiB read before writing".to_owned())
    );
    let repair = finding.repair.unwrap();
    assert_eq!(
        commands(Some(&repair)),
        [format!(
            "mdadm --grow /dev/md0 --chunk={}K --backup-file=/root/md0-grow.backup",
            better / KIB
        )]
    );
    let preread = machine.finding("md0", "prereads");
    assert!(preread.evidence[0].contains("because writes are shorter than a stripe (1536 KiB)"));
    let what_if = &machine.examined().what_if[0];
    let there = what_if
        .chunks
        .iter()
        .find(|one| one.chunk_bytes == better)
        .unwrap();
    assert!(there.cost.preread_bytes * 2 < what_if.as_it_is.preread_bytes);
    assert_eq!(what_if.measured_preread_bytes, Some(16 << 20));
}

/// All writes of a stripe's length, one chunk too late.
#[test]
fn what_another_phase_would_have_cost() {
    let machine = Machine::new(&RAID6.tree()).does(&writes("md0", 64, 448, 448, 40));
    let what_if = &machine.examined().what_if[0];
    // 16 rows a chunk: of a stripe 6 blocks are written of one and 1 of the next,
    // which reads 1 and 3 of each row, rcw and rmw.
    let a_write = 16 * (1 + 3) * 4096;
    assert_eq!(what_if.as_it_is.preread_bytes, 40 * a_write);
    let phase = what_if.phase.unwrap();
    assert_eq!(
        (phase.move_by_bytes, phase.cost.preread_bytes),
        (6 * 65536, 0)
    );
    assert_eq!(
        what_if.larger_cache.unwrap().preread_bytes,
        2 * (16 * 4096) + 2 * 16 * 4096
    );
    // Moved so, nothing is read: the same work on a stripe.
    // No chunk is recommended where a move does it.
    assert_eq!(what_if.better_chunk(iotrace::units::Bytes(65536)), None);
    let right = Machine::new(&RAID6.tree()).does(&writes("md0", 0, 448, 448, 40));
    let what_if = &right.examined().what_if[0];
    assert_eq!((what_if.as_it_is.preread_bytes, what_if.phase), (0, None));
}

/// So many of 256 rows were in use while md read before it wrote.
pub(crate) fn cache(active: u32) -> Machine {
    let machine = Machine::new(&RAID5.tree()).does(&writes("md0", 0, 4, 64, 4));
    machine.with("md0", |figures| {
        let cache = StripeCache {
            active_rows: active,
            size_rows: 256,
        };
        figures.raid = Some(RaidFigures {
            stripe_cache: Some(cache),
            larger_cache: (active > 230).then_some(LargerCache {
                rows: 8192,
                memory_bytes: Some(8192 * 4096 * 4),
            }),
            ..raid(figures, 32 * KIB, Causes::default())
        });
    })
}

#[test]
fn a_stripe_cache_that_was_full() {
    let finding = cache(256).finding("md0", "stripe-cache-too-small");
    assert_eq!(
        numbers(&finding, ["stripe_cache_rows", "larger_rows"]),
        [256, 8192]
    );
    let repair = finding.repair.unwrap();
    assert_eq!(
        commands(Some(&repair))[0],
        "echo 8192 > /sys/block/md0/md/stripe_cache_size"
    );
    assert!(
        repair.steps[0]
            .warning
            .as_ref()
            .unwrap()
            .contains("128 MiB of memory")
    );
    assert!(
        repair.steps[1]
            .command
            .ends_with("/etc/udev/rules.d/60-stripe-cache-md0.rules")
    );
    cache(3).is_sound();
}

/// 10 writes of whole stripes, and so many of md's books.
pub(crate) fn books(books: u64) -> Machine {
    let machine = Machine::new(&RAID5.tree()).does(&writes("md0", 0, 192, 192, 10));
    machine.with("md0", |figures| {
        figures.raid = Some(RaidFigures {
            metadata_writes: books,
            metadata_write_bytes: books * 4096,
            ..raid(figures, 0, Causes::default())
        });
    })
}

#[test]
fn md_books_more_often_than_writes() {
    let finding = books(48).finding("md0", "bitmap-writes-too-many");
    assert_eq!(
        numbers(&finding, ["metadata_writes", "array_writes"]),
        [48, 10]
    );
    assert_eq!(
        commands(finding.repair.as_ref())[1],
        "mdadm --grow /dev/md0 --bitmap=internal --bitmap-chunk=256M"
    );
    books(10).is_sound();
}

#[test]
fn s10_a_length_that_cuts_write_back() {
    let machine = Machine::of("s10").counted("s10");
    let finding = machine.finding("sda1", "odd-length");
    assert_eq!(
        numbers(&finding, ["size_sectors", "page_cache_block_bytes"]),
        [1_917_388_049, 512]
    );
    assert_eq!(finding.severity, Severity::Warning);
    assert_eq!(
        commands(finding.repair.as_ref())[0],
        "echo ',1917388056' | sfdisk --no-reread --no-tell-kernel -N 1 /dev/sda"
    );
    // Told once: not as small writes, too.
    assert_eq!(
        machine.ids(),
        [
            ("sda1".to_owned(), "odd-length"),
            ("sda3".to_owned(), "odd-length")
        ]
    );
    // What lies on it sets a block of its own.
    let held = Machine::of("s10")
        .holds("sda1", luks1(0))
        .holds("sda3", luks1(0));
    held.is_sound();
}

/// So many pages were read out of write calls.
pub(crate) fn filled(pages: u64) -> Machine {
    Machine::of("s11").counted("s11").with("sda", |figures| {
        figures.fills = Some(Fills {
            write_fill_requests: pages,
            write_fill_bytes: pages * 4096,
            ..Fills::default()
        });
    })
}

#[test]
fn s11_small_buffered_writes() {
    let machine = filled(1001);
    let finding = machine.finding("sda", "write-fills");
    assert_eq!(
        numbers(&finding, ["write_fill_requests", "write_fill_bytes"]),
        [1001, 1001 * 4096]
    );
    assert_eq!(machine.ids().len(), 1);
    Machine::of("s11").counted("s11").is_sound();
}

#[test]
fn writes_off_the_grid_by_a_program() {
    let tree = disk("sda", 0) + &partition("sda", 1, "8:1", 2048, 1 << 20);
    let machine = Machine::new(&tree).does("sda1 write 512 8192\nsda1 write 8192 4096\n");
    let finding = machine.finding("sda1", "misaligned-writes");
    assert_eq!(
        numbers(&finding, ["off_grid_writes", "partial_blocks"]),
        [1, 2]
    );
    // Told of the topmost device.
    assert_eq!(machine.ids().len(), 1);
    Machine::new(&tree)
        .does("sda1 write 8192 4096\n")
        .is_sound();
}

/// Requests of 64 KiB on a RAID0 of turning disks.
pub(crate) fn short_chunk(chunk: u64) -> Machine {
    let raid0 = Array {
        level: "raid0",
        disks: 4,
        data: 4,
        chunk,
        layout: 0,
    };
    let turning: String = ["sda", "sdb", "sdc", "sdd"]
        .map(|disk| format!("{disk}/queue/rotational = 1\n"))
        .concat();
    Machine::new(&(raid0.tree() + &turning)).does(&writes("md0", 0, 64, 1000, 20))
}

#[test]
fn short_requests_on_short_chunks() {
    let finding = short_chunk(4096).finding("md0", "chunk-too-small");
    assert_eq!(
        numbers(&finding, ["chunk_bytes", "better_chunk_bytes"]),
        [4096, 262_144]
    );
    short_chunk(512 * KIB).is_sound();
}
