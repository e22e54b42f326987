//! Where bios cannot be looked into: what the members' own rows let one say of
//! pre-reads, and that it is called an estimate.

use super::{KIB, rig::Rig};
use crate::{
    case,
    harness::{
        direct::Direct,
        stat::settle,
        tracer::{Attach, Tracer, row},
    },
};

/// At a place that nobody touched before, so that one block costs
/// `preread_kib`.
pub(super) fn of_one_block(rig: &Rig, start: u64, preread_kib: u64) {
    rig.rest();
    let device = rig.device();
    let attach = Attach::Tracepoint;
    let tracer = Tracer::every("1h", &[&device], attach, &[]).wait_until_attached();
    Direct::open(&device).write(start, 4096, 1);
    // Not `rest`: who reads the bitmap there would count as a pre-read.
    settle(rig.members());
    let report = tracer.stop();
    case::nothing_lost(attach, &report);
    let raid = &row(&report.summary, device.name()).expect("the array")["raid"];
    assert_eq!(raid["source"], "estimated", "{raid}");
    assert_eq!(raid["user_write_bytes"], 4 * KIB, "{raid}");
    assert_eq!(
        raid["preread_bytes"]["not_told"],
        preread_kib * KIB,
        "{raid}"
    );
    assert!(raid["preread_bytes"]["rmw"].is_null(), "{raid}");
    assert!(raid["cause"].is_null(), "{raid}");
}
