//! Real cases: a sysfs tree and a list of IO, and the values that are right.
//! See `fixtures/README.md`.

#![expect(clippy::unwrap_used, reason = "what the tests share is a test too")]

use std::path::{Path, PathBuf};

use iotrace::{
    geometry_spec::{self, GeometrySpec},
    snapshot::{Row, Snapshot},
    source::{Source, synthetic::SyntheticSource},
    sysfs::{
        Lookup, SysRoot, Topology,
        device::Device,
        mounts::Mounts,
        start::{Against, StartCheck},
    },
    units::{Bytes, Sectors},
};
use tracer_ebpf::{
    cells::{self, READ, READ_PARTIAL_BLOCKS, TAIL_PARTIAL_BLOCKS, WRITE, WRITE_TAIL, detail},
    classify::Physical,
};

#[path = "cases/books.rs"]
mod books;
#[path = "cases/page_cache.rs"]
mod page_cache;
#[path = "cases/raid.rs"]
mod raid;
#[path = "support/tree.rs"]
mod tree;

struct Case {
    topology: Topology,
    snapshot: Snapshot,
}

/// Requests of one operation on one row, by their place in physical blocks.
#[derive(Debug, Default, PartialEq, Eq)]
struct Blocks {
    aligned: u64,
    off_grid: u64,
    sub_block: u64,
    partial_blocks: u64,
}

impl Case {
    fn play(name: &str) -> Self {
        Self::play_with(name, &[])
    }

    /// With `--geometry` of each of `specs`.
    fn play_with(name: &str, specs: &[&str]) -> Self {
        let dir = tree::expand(&std::fs::read_to_string(fixture(name, "tree")).unwrap()).unwrap();
        let sys = SysRoot::new(dir.path());
        let mut topology = Topology::read(&sys).unwrap();
        let specs: Vec<GeometrySpec> = specs.iter().map(|spec| spec.parse().unwrap()).collect();
        let lookup = Lookup {
            topology: &topology,
            sys: &sys,
            dev: Path::new("/dev"),
            mounts: &Mounts::default(),
        };
        let overrides = geometry_spec::overrides(&specs, &lookup).unwrap();
        topology.set_overrides(&overrides).unwrap();
        let mut source = SyntheticSource::open(topology, &fixture(name, "events")).unwrap();
        let snapshot = source.snapshot().unwrap();
        let case = Self {
            topology: source.topology().clone(),
            snapshot,
        };
        case.all_was_read();
        case
    }

    /// A fixture with a slip in it must not pass for a missing attribute.
    fn all_was_read(&self) {
        assert_eq!(self.topology.unreadable, Vec::<String>::new());
        for device in self.topology.devices.values() {
            assert_eq!(device.unreadable, Vec::<String>::new(), "{}", device.name);
        }
    }

    fn device(&self, name: &str) -> &Device {
        self.topology.by_name(name).unwrap()
    }

    fn row(&self, name: &str) -> &Row {
        let mut rows = self.snapshot.rows.iter();
        rows.find(|(key, _)| key.name == name).unwrap().1
    }

    fn writes(&self, name: &str) -> Blocks {
        let row = self.row(name);
        let count = |physical: Physical| -> u64 {
            let first = WRITE + physical.index() * 16;
            row.cells[first..first + 16].iter().sum()
        };
        assert_eq!(count(Physical::Unknown), 0);
        Blocks {
            aligned: count(Physical::Aligned),
            off_grid: count(Physical::OffGrid),
            sub_block: count(Physical::SubBlock),
            partial_blocks: row.cells[WRITE_TAIL + TAIL_PARTIAL_BLOCKS],
        }
    }

    fn check(&self, name: &str, against: Against) -> StartCheck {
        let checks = &self.device(name).start_checks;
        *checks
            .iter()
            .find(|check| check.against == against)
            .unwrap()
    }

    /// Remainder, next aligned sector, next MiB-grained one.
    fn start(&self, name: &str, against: Against) -> (u64, u64, u64) {
        let check = self.check(name, against);
        (
            check.remainder_bytes.0,
            check.next_aligned_sector.unwrap().0,
            check.next_mib_aligned_sector.unwrap().0,
        )
    }

    fn notes(&self, name: &str) -> String {
        let notes = &self.device(name).notes;
        let texts: Vec<&str> = notes.iter().map(|note| note.text.as_str()).collect();
        texts.join("\n")
    }

    /// Writes whose start lies `bin` remainder bins past a block.
    fn write_remainders(&self, name: &str, bin: usize) -> u64 {
        let writes = detail::REMAINDER + tracer_ebpf::bins::REMAINDER_BINS;
        self.row(name).detail.as_ref().unwrap()[writes + bin]
    }
}

fn fixture(name: &str, extension: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(name)
        .with_extension(extension)
}

#[test]
fn p1_a_partition_behind_the_table() {
    let case = Case::play("p1");
    assert_eq!(
        case.writes("sda1"),
        Blocks {
            off_grid: 3,
            partial_blocks: 6,
            ..Blocks::default()
        }
    );
    assert_eq!(case.write_remainders("sda1", 1024 / 512), 3);
    assert_eq!(case.start("sda1", Against::PhysicalBlock), (1024, 40, 2048));
    assert_eq!(case.device("sda1").geometry.phase, Some(Bytes(3072)));
    assert_eq!(
        case.notes("sda1"),
        "starts 1024 bytes past a 4096-byte boundary: every 4 KiB write touches 2 partial \
         blocks; next aligned start: sector 40, better 2048 (1 MiB)"
    );
    assert_eq!(case.notes("sda"), "");
}

#[test]
fn p2_swap_behind_an_odd_length() {
    let case = Case::play("p2");
    assert_eq!(
        case.check("sda1", Against::PhysicalBlock).remainder_bytes,
        Bytes(0)
    );
    assert_eq!(
        case.start("sda2", Against::PhysicalBlock),
        (512, 1_917_390_104, 1_917_390_848)
    );
    assert_eq!(
        case.writes("sda1"),
        Blocks {
            aligned: 1,
            ..Blocks::default()
        }
    );
    assert_eq!(
        case.writes("sda2"),
        Blocks {
            off_grid: 2,
            partial_blocks: 4,
            ..Blocks::default()
        }
    );
    let swap = case.row("sda2");
    let off_grid_reads = READ + Physical::OffGrid.index() * 4;
    assert_eq!(swap.cells[off_grid_reads], 1);
    assert_eq!(swap.cells[READ_PARTIAL_BLOCKS], 2);
    assert!(
        case.notes("sda1")
            .starts_with("is 1917388049 sectors long, no multiple of 4096 bytes (512 left over)")
    );
    assert!(case.notes("sda2").starts_with("starts 512 bytes past"));
}

#[test]
fn p3_a_partition_at_sector_1_on_clusters() {
    let case = Case::play_with("p3", &["vda=boundary:64k"]);
    assert_eq!(case.start("vda1", Against::PhysicalBlock), (512, 8, 2048));
    assert_eq!(case.start("vda1", Against::Boundary), (512, 128, 2048));
    assert_eq!(
        case.writes("vda1"),
        Blocks {
            off_grid: 2,
            aligned: 1,
            partial_blocks: 4,
            ..Blocks::default()
        }
    );
    let boundary = &case.row("vda1").detail.as_ref().unwrap()[detail::BOUNDARY..][..4];
    assert_eq!(boundary, [0, 0, 2, 1]);
}

#[test]
fn p4_old_reports_of_large_drives() {
    let reported = Case::play("p4");
    for part in ["sda1", "sdb1"] {
        assert_eq!(
            reported.writes(part),
            Blocks {
                aligned: 1,
                ..Blocks::default()
            }
        );
        assert_eq!(
            reported.check(part, Against::PhysicalBlock).remainder_bytes,
            Bytes(0)
        );
        assert_eq!(
            reported.start(part, Against::AssumedPhysicalBlock),
            (3584, 64, 2048)
        );
        assert!(reported.notes(part).contains("start 63 is 3584 bytes past"));
    }
    assert!(
        reported
            .notes("sda")
            .starts_with("reported 512 may be untrue on a rotational drive ≥ 2 TB")
    );
    let array = reported.device("md0").geometry;
    assert_eq!(array.chunk, Some(Bytes(64 << 10)));
    assert_eq!(
        (array.data_disks, array.stripe),
        (Some(2), Some(Bytes(128 << 10)))
    );
    let cells = &reported.row("md0").cells;
    assert_eq!(cells[WRITE_TAIL + cells::TAIL_FULL_BYTES], 128 << 10);
    assert_eq!(cells[WRITE_TAIL + cells::TAIL_PARTIAL_BYTES], 128 << 10);

    let inside = Case::play_with("p4", &["sda=physical:4k"]);
    assert_eq!(
        inside.start("sda1", Against::PhysicalBlock),
        (3584, 64, 2048)
    );
    assert_eq!(
        inside.writes("sda1"),
        Blocks {
            off_grid: 1,
            partial_blocks: 2,
            ..Blocks::default()
        }
    );
    assert_eq!(inside.notes("sda"), "");
    // The array begins where its components do: 3584 past the drive's blocks.
    let array = inside.device("md0").geometry;
    assert_eq!(array.physical_block, Some(Bytes(4096)));
    assert_eq!(array.alignment_offset, Some(Bytes(512)));
    assert_eq!(inside.writes("md0").off_grid, 2);
}

#[test]
fn p5_a_mirror_of_unlike_drives() {
    let case = Case::play("p5");
    assert_eq!(
        case.device("md0").geometry.physical_block,
        Some(Bytes(4096))
    );
    assert!(case.notes("md0").starts_with(
        "its members disagree on the physical block (sdb 512, sda 4096): the larger, 4096, is used"
    ));
    let one_sub_block = Blocks {
        aligned: 1,
        sub_block: 1,
        partial_blocks: 1,
        ..Blocks::default()
    };
    assert_eq!(case.writes("md0"), one_sub_block);
    assert_eq!(case.writes("sda").sub_block, 1);
    // A row counts by what its own device reports.
    assert_eq!(case.writes("sdb").aligned, 1);
}

#[test]
fn p6_a_physical_block_that_is_none() {
    let case = Case::play("p6");
    let writes = case.writes("nvme0n1p1");
    assert_eq!(
        writes,
        Blocks {
            aligned: 1,
            off_grid: 1,
            sub_block: 1,
            partial_blocks: 3,
        }
    );
    assert_eq!(
        case.notes("nvme0n1"),
        "reports a physical block of 262144 bytes: likely an indirection unit or an atomic-write \
         hint, no sector; a 4 KiB write covers 1/64 of it"
    );
    assert_eq!(case.notes("nvme0n1p1"), "");
}

#[test]
fn p7_a_shifted_drive() {
    let case = Case::play("p7");
    assert_eq!(
        case.device("sda").geometry.alignment_offset,
        Some(Bytes(3584))
    );
    for (part, start) in [("sda1", 7), ("sda2", 20487), ("sda3", 40967)] {
        assert_eq!(case.start(part, Against::PhysicalBlock), (0, start, start));
        assert_eq!(case.notes(part), "");
    }
    // Aligned anywhere else: 30 MiB is 512 bytes past this drive's grid.
    assert_eq!(
        case.start("sda4", Against::PhysicalBlock),
        (512, 61447, 61447)
    );
    assert_eq!(
        case.check("sda4", Against::PhysicalBlock).start_sector,
        Sectors(61440)
    );
    let sector_7_is_aligned_sector_0_is_not = Blocks {
        aligned: 1,
        off_grid: 1,
        partial_blocks: 2,
        ..Blocks::default()
    };
    assert_eq!(case.writes("sda"), sector_7_is_aligned_sector_0_is_not);
    assert_eq!(case.writes("sda1").aligned, 1);
    assert_eq!(case.writes("sda2").aligned, 1);
    assert_eq!(case.writes("sda4").partial_blocks, 2);
}

#[test]
fn p8_small_writes_however_well_placed() {
    let case = Case::play("p8");
    assert_eq!(
        case.writes("sda1"),
        Blocks {
            sub_block: 5,
            partial_blocks: 5,
            ..Blocks::default()
        }
    );
    // The partition is as it should be: nothing to say.
    assert_eq!(case.notes("sda1"), "");
    assert_eq!(case.notes("sda"), "");
}
