//! The cases of `cases.rs` as a user meets them: files in, iotrace run, what
//! it prints asserted, as JSON and as plain text.

#![expect(clippy::unwrap_used, reason = "what the tests share is a test too")]

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};
use tempfile::TempDir;

#[path = "cases_printed/raid.rs"]
mod raid;
#[path = "support/tree.rs"]
mod tree;

struct Case {
    name: &'static str,
    sysfs: TempDir,
    geometry: Vec<&'static str>,
}

impl Case {
    fn new(name: &'static str) -> Self {
        let tree = std::fs::read_to_string(fixture(name, "tree")).unwrap();
        Self {
            name,
            sysfs: tree::expand(&tree).unwrap(),
            geometry: Vec::new(),
        }
    }

    fn geometry(mut self, spec: &'static str) -> Self {
        self.geometry.push(spec);
        self
    }

    fn print(&self, format: &str) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_iotrace"));
        command
            .arg("--sysfs")
            .arg(self.sysfs.path())
            .arg("--events")
            .arg(fixture(self.name, "events"))
            .args(["--format", format]);
        for spec in &self.geometry {
            command.args(["--geometry", spec]);
        }
        let output = command.output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {errors}", self.name);
        assert_eq!(errors, "", "{}", self.name);
        String::from_utf8(output.stdout).unwrap()
    }

    /// The summary.
    fn json(&self) -> Printed {
        let lines = self.print("json");
        let summary: Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
        assert_eq!(summary["summary"], true);
        assert_eq!(summary["lost_events"], 0);
        Printed(summary)
    }

    /// Without its line breaks: where a sentence is cut is not its meaning.
    fn plain(&self) -> String {
        let text = self.print("plain");
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// What plain text must say.
    fn says(&self, sentences: &[&str]) {
        let text = self.plain();
        for sentence in sentences {
            assert!(text.contains(sentence), "no `{sentence}` in: {text}");
        }
    }
}

struct Printed(Value);

impl Printed {
    /// A value of a device, as in `write/physical/off_grid`.
    fn at(&self, device: &str, path: &str) -> &Value {
        let devices = self.0["devices"].as_array().unwrap();
        let device = devices.iter().find(|one| one["device"] == device).unwrap();
        device.pointer(&format!("/{path}")).unwrap()
    }

    /// Aligned, off grid, sub block, partial blocks; misaligned is their sum.
    fn physical(&self, device: &str, op: &str) -> [u64; 4] {
        let physical = self.at(device, &format!("{op}/physical"));
        let value = |key: &str| physical[key].as_u64().unwrap();
        assert_eq!(value("unknown"), 0);
        assert_eq!(value("misaligned"), value("off_grid") + value("sub_block"));
        ["aligned", "off_grid", "sub_block", "partial_blocks"].map(value)
    }

    fn writes(&self, device: &str) -> [u64; 4] {
        self.physical(device, "write")
    }

    /// Remainder, next aligned sector, next MiB-grained one.
    fn start(&self, device: &str, against: &str) -> [u64; 3] {
        let starts = self.at(device, "start").as_array().unwrap();
        let start = starts.iter().find(|one| one["against"] == against).unwrap();
        [
            "remainder_bytes",
            "next_aligned_sector",
            "next_mib_aligned_sector",
        ]
        .map(|key| start[key].as_u64().unwrap())
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
    let case = Case::new("p1");
    let printed = case.json();
    assert_eq!(printed.writes("sda1"), [0, 3, 0, 6]);
    assert_eq!(printed.writes("sda"), [0, 3, 0, 6]);
    assert_eq!(printed.at("sda1", "write/bytes"), 12_288);
    assert_eq!(printed.start("sda1", "physical_block"), [1024, 40, 2048]);
    assert_eq!(printed.at("sda1", "geometry/phase_bytes"), 3072);
    assert_eq!(
        printed.at("sda1", "histograms/remainder_bytes/2"),
        &json!({"bytes": 1024, "reads": 0, "writes": 3})
    );
    case.says(&[
        "3 of 3 writes (100%; normal: 0%) misaligned to the 4096-byte physical block: 6 partly \
         written blocks, each costs the drive a read-modify-write. Its start, sector 34, is 1024 \
         bytes past a boundary: move it to 40, better 2048",
    ]);
}

#[test]
fn p2_swap_behind_an_odd_length() {
    let case = Case::new("p2");
    let printed = case.json();
    assert_eq!(printed.start("sda1", "physical_block")[0], 0);
    assert_eq!(
        printed.start("sda2", "physical_block"),
        [512, 1_917_390_104, 1_917_390_848]
    );
    assert_eq!(printed.writes("sda1"), [1, 0, 0, 0]);
    assert_eq!(printed.writes("sda2"), [0, 2, 0, 4]);
    assert_eq!(printed.physical("sda2", "read"), [0, 1, 0, 2]);
    assert_eq!(printed.writes("sda"), [1, 2, 0, 4]);
    case.says(&[
        "2 of 2 writes (100%; normal: 0%) misaligned to the 4096-byte physical block: 4 partly \
         written blocks, each costs the drive a read-modify-write. Its start, sector 1917390097, \
         is 512 bytes past a boundary: move it to 1917390104, better 1917390848",
        "1917388049 sectors long, no multiple of 4096 bytes (512 left over)",
        "2 of them came through sda2",
    ]);
}

#[test]
fn p3_a_partition_at_sector_1_on_clusters() {
    let case = Case::new("p3").geometry("vda=boundary:64k");
    let printed = case.json();
    assert_eq!(printed.start("vda1", "physical_block"), [512, 8, 2048]);
    assert_eq!(printed.start("vda1", "boundary"), [512, 128, 2048]);
    assert_eq!(printed.writes("vda1"), [1, 2, 0, 4]);
    assert_eq!(printed.at("vda1", "geometry/boundary_bytes"), 65_536);
    assert_eq!(
        printed.at("vda1", "boundary"),
        &json!({
            "boundary_bytes": 65_536,
            "read": {"on": 0, "off": 0},
            "write": {"on": 1, "off": 2},
        })
    );
    case.says(&[
        "starts 512 bytes past a 4096-byte boundary: every 4 KiB write touches 2 partial blocks; \
         next aligned start: sector 8, better 2048 (1 MiB)",
        "starts 512 bytes past the boundary of 64 KiB that was given; next aligned start: sector \
         128, better 2048 (1 MiB)",
    ]);
}

#[test]
fn p4_old_reports_of_large_drives() {
    let reported = Case::new("p4");
    let printed = reported.json();
    for part in ["sda1", "sdb1"] {
        assert_eq!(printed.writes(part), [1, 0, 0, 0]);
        assert_eq!(printed.start(part, "physical_block")[0], 0);
        assert_eq!(
            printed.start(part, "assumed_physical_block"),
            [3584, 64, 2048]
        );
    }
    assert_eq!(printed.at("md0", "geometry/stripe_bytes"), 131_072);
    let stripe = printed.at("md0", "write/stripe");
    assert_eq!(
        (&stripe["full_bytes"], &stripe["partial_bytes"]),
        (&json!(131_072), &json!(131_072))
    );
    reported.says(&[
        "reported 512 may be untrue on a rotational drive ≥ 2 TB",
        "start 63 is 3584 bytes past a boundary and every 4 KiB write touches 2 partial blocks",
    ]);

    let inside = Case::new("p4").geometry("sda=physical:4k");
    let printed = inside.json();
    assert_eq!(printed.writes("sda1"), [0, 1, 0, 2]);
    assert_eq!(printed.writes("sdb1"), [1, 0, 0, 0]);
    assert_eq!(printed.start("sda1", "physical_block"), [3584, 64, 2048]);
    inside
        .says(&["Its start, sector 63, is 3584 bytes past a boundary: move it to 64, better 2048"]);
}

#[test]
fn p5_a_mirror_of_unlike_drives() {
    let case = Case::new("p5");
    let printed = case.json();
    assert_eq!(printed.at("md0", "geometry/physical_block_bytes"), 4096);
    assert_eq!(printed.writes("md0"), [1, 0, 1, 1]);
    assert_eq!(printed.writes("sda"), [0, 0, 1, 1]);
    assert_eq!(printed.writes("sdb"), [1, 0, 0, 0]);
    case.says(&[
        "its members disagree on the physical block (sdb 512, sda 4096): the larger, 4096, is used",
    ]);
}

#[test]
fn p6_a_physical_block_that_is_none() {
    let case = Case::new("p6");
    let printed = case.json();
    assert_eq!(
        printed.at("nvme0n1", "geometry/physical_block_bytes"),
        262_144
    );
    assert_eq!(printed.writes("nvme0n1p1"), [1, 1, 1, 3]);
    case.says(&[
        "reports a physical block of 262144 bytes: likely an indirection unit or an atomic-write \
         hint, no sector; a 4 KiB write covers 1/64 of it",
    ]);
}

#[test]
fn p7_a_shifted_drive() {
    let case = Case::new("p7");
    let printed = case.json();
    assert_eq!(printed.at("sda", "geometry/alignment_offset_bytes"), 3584);
    for (part, start) in [("sda1", 7), ("sda2", 20_487), ("sda3", 40_967)] {
        assert_eq!(printed.start(part, "physical_block"), [0, start, start]);
    }
    assert_eq!(
        printed.start("sda4", "physical_block"),
        [512, 61_447, 61_447]
    );
    assert_eq!(printed.writes("sda1"), [1, 0, 0, 0]);
    assert_eq!(printed.writes("sda2"), [1, 0, 0, 0]);
    assert_eq!(printed.writes("sda4"), [0, 1, 0, 2]);
    // Sector 7 is aligned, sector 0 is not; and its partitions' three.
    assert_eq!(printed.writes("sda"), [3, 2, 0, 4]);
    case.says(&[
        "is shifted: its first 4096-byte block begins 3584 bytes in (sector 7), not at 0",
        "Its start, sector 61440, is 512 bytes past a boundary: move it to 61447",
    ]);
}

#[test]
fn p8_small_writes_however_well_placed() {
    let case = Case::new("p8");
    let printed = case.json();
    assert_eq!(printed.writes("sda1"), [0, 0, 5, 5]);
    assert_eq!(printed.start("sda1", "physical_block")[0], 0);
    assert_eq!(printed.at("sda1", "notes"), &json!([]));
    case.says(&[
        "5 of 5 writes (100%; normal: 0%) misaligned to the 4096-byte physical block: 5 partly \
         written blocks, each costs the drive a read-modify-write. All are shorter than a block: \
         the writer should write whole blocks",
    ]);
}
