//! Writes to an array through the page cache: what they make it read first, and
//! what the stripe cache merges.

use super::{KIB, MIB, needs, rig::Rig};
use crate::{
    fills::{Said, dd, drop_caches},
    harness::{
        lab::{Lab, Needs},
        tracer::Attach,
    },
};

#[test]
#[ignore = "needs md and scsi_debug: run in a guest"]
fn writes_through_the_page_cache() {
    let mut needs = needs().to_vec();
    needs.push(Needs::Program("dd"));
    let Some(lab) = Lab::open("writes_through_the_page_cache", &needs) else {
        return;
    };
    // Without a bitmap: nobody asks the members for it.
    let rig = Rig::new(&lab, "6", "64", 5, &["--bitmap=none"]);
    small_writes_fill_pages(&rig).and_then(|()| a_stream_is_merged(&rig));
}

/// `dd` without `bs=`: a page is read for every eight writes of 512 bytes, and
/// none for the writes of a page that follow. Fills are no pre-reads, and nothing
/// but them is read by users. `None` where the kernel skipped runs of a program.
fn small_writes_fill_pages(rig: &Rig) -> Option<()> {
    let device = rig.device();
    drop_caches();
    let said = Said::start(&[&device]);
    let raid = rig.measured(Attach::Btf, || {
        dd(&device, 0, 512, 8001);
        dd(&device, 8 * MIB, 4 * KIB, 1001);
    });
    let text = said.text();
    let raid = raid?;
    let bytes = 1001 * 4 * KIB;
    assert_eq!(raid["write_fill_bytes"], bytes, "{raid}");
    assert_eq!(raid["user_read_bytes"], bytes, "{raid}");
    assert_eq!(raid["fault_read_bytes"], 0, "{raid}");
    assert_eq!(raid["user_write_bytes"], 2 * bytes, "{raid}");
    for sentence in [
        "of the reads: 4004 KiB out of write calls",
        "1,001 reads (4004 KiB; normal: 0) made by write calls",
        "Write whole blocks of 4 KiB (`dd bs=1M`)",
    ] {
        // Once: of the array, not of its members again.
        let array = text.rsplit_once("Summary of").expect("a summary").1;
        assert_eq!(array.matches(sentence).count(), 1, "{sentence}: {text}");
    }
    Some(())
}

/// A stream of 64 KiB writes reaches the array in pages, none of them a stripe;
/// md merges nearly all, and only what it did read counts.
fn a_stream_is_merged(rig: &Rig) -> Option<()> {
    let device = rig.device();
    rig.empty_stripe_cache();
    drop_caches();
    let said = Said::start(&[&device]);
    let before = rig.rest();
    let writes = 3 * 64;
    let raid = rig.measured(Attach::Btf, || dd(&device, 0, 64 * KIB, writes));
    let after = rig.rest();
    let text = said.text();
    let raid = raid?;
    let members = after.iter().zip(&before);
    let read: u64 = members
        .map(|(after, before)| (*after - *before).read_bytes())
        .sum();
    let preread: u64 = ["rmw", "rcw", "partial_block"]
        .map(|kind| raid["preread_bytes"][kind].as_u64().expect("bytes"))
        .iter()
        .sum();
    assert_eq!(raid["user_write_bytes"], writes * 64 * KIB, "{raid}");
    assert_eq!(preread, read, "{raid}");
    let rows = |kind: &str| raid["rows"][kind].as_u64().expect("rows");
    assert!(rows("full") > rows("rmw") + rows("rcw"), "{raid}");
    // Told as what was read, however short the writes were.
    assert!(!text.contains("cover no whole stripe"), "{text}");
    let nothing = text.contains("and nothing had to be read for it");
    assert_eq!(nothing, preread == 0, "{preread}: {text}");
    Some(())
}
