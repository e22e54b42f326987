//! Arrays: chunk, stripe, and what iotrace says of a write.

use serde_json::{Value, json};

use super::{Case, Printed};

/// Writes: full, mixed, partial; bytes in whole stripes and in others.
fn stripes(printed: &Printed, device: &str) -> [u64; 5] {
    let stripe = printed.at(device, "write/stripe");
    ["full", "mixed", "partial", "full_bytes", "partial_bytes"]
        .map(|key| stripe[key].as_u64().unwrap())
}

/// Chunk, data disks, stripe.
fn geometry(printed: &Printed, device: &str) -> [u64; 3] {
    ["chunk_bytes", "data_disks", "stripe_bytes"].map(|key| {
        let value = printed.at(device, &format!("geometry/{key}"));
        value.as_u64().unwrap()
    })
}

#[test]
fn s1_partitions_of_an_array() {
    let case = Case::new("s1");
    let printed = case.json();
    assert_eq!(geometry(&printed, "md0"), [65_536, 3, 196_608]);
    assert_eq!(printed.start("md0p1", "stripe"), [65_536, 2304, 6144]);
    assert_eq!(printed.start("md0p2", "stripe"), [0, 3072, 6144]);
    assert_eq!(printed.at("md0p1", "geometry/phase_bytes"), 131_072);
    assert_eq!(stripes(&printed, "md0p1"), [0, 0, 1, 0, 196_608]);
    assert_eq!(stripes(&printed, "md0p2"), [1, 0, 0, 196_608, 0]);
    // Starts in the second chunk of its stripe, and in the first.
    assert_eq!(
        printed.at("md0p1", "histograms/write_starts_by_chunk"),
        &json!([0, 1, 0])
    );
    assert_eq!(
        printed.at("md0p2", "histograms/write_starts_by_chunk"),
        &json!([1, 0, 0])
    );
    case.says(&[
        "starts 65536 bytes past a stripe boundary (192 KiB): a write of one stripe's length \
         covers no whole one; next aligned start: sector 2304, better 6144 (3 MiB)",
        "1 of 1 write (100%) cover no whole stripe of 192 KiB",
    ]);
}

#[test]
fn s3_near_far_and_offset() {
    let printed = Case::new("s3").json();
    assert_eq!(geometry(&printed, "md1"), [65_536, 3, 196_608]);
    assert_eq!(geometry(&printed, "md2"), [65_536, 6, 393_216]);
    assert_eq!(geometry(&printed, "md3"), [65_536, 6, 393_216]);
    assert_eq!(stripes(&printed, "md1"), [2, 1, 1, 786_432, 262_144]);
    assert_eq!(stripes(&printed, "md2"), [1, 0, 3, 393_216, 655_360]);
    // Nobody has looked into it: nothing is said of what md made of it.
    assert_eq!(printed.at("md1", "raid"), &Value::Null);
    assert_eq!(printed.at("sda1", "origin"), &Value::Null);
}

#[test]
fn s4_parity_on_one_disk() {
    let case = Case::new("s4");
    assert_eq!(geometry(&case.json(), "md0"), [65_536, 3, 196_608]);
    case.says(&["keeps all its parity on sdd: every write to the array writes there too"]);
}

#[test]
fn s9_partial_is_not_misaligned() {
    let case = Case::new("s9");
    let printed = case.json();
    assert_eq!(printed.writes("md0"), [5, 0, 0, 0]);
    assert_eq!(stripes(&printed, "md0"), [0, 0, 5, 0, 65_536]);
    let text = case.plain();
    assert!(!text.contains("misaligned to"), "{text}");
}

#[test]
fn s10_lengths_that_are_no_multiple_of_a_page() {
    let case = Case::new("s10");
    assert_eq!(case.json().writes("sda1"), [0, 0, 8, 8]);
    case.says(&[
        "the page cache keeps it in blocks of 512 bytes, because its length is no multiple of 4096",
        "buffered and mapped IO goes in blocks of 2048 bytes, not 4096",
    ]);
}

#[test]
fn m3_books_shorter_than_a_block() {
    let printed = Case::new("m3").json();
    assert_eq!(printed.writes("sda"), [1, 0, 2, 2]);
    assert_eq!(printed.writes("sdb"), [1, 0, 2, 2]);
}
