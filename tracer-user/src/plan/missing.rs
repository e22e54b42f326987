//! What this kernel, or the chosen way to attach, does not tell, and what is
//! lost by it.
//!
//! Must not list what nobody asked for.

use serde::Serialize;
use tracer_ebpf::{abi::Layout, op::OpCodes};

use super::{EventPlan, Request, event::Event, layout::field};
use crate::facts::{
    BtfFacts, KernelFacts,
    wanted::{
        BDEV_DEV, BIO_BDEV, BIO_BLKG, BIO_FLAGS, BLKCG_CGROUP, BLKG_BLKCG, CGROUP_KN, DISK_DISKSEQ,
        DISK_NAME, Field, KERNFS_ID, REQUEST_IO_START_TIME_NS, REQUEST_PART,
    },
};

/// Something that is not to be had here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Missing {
    /// What, and why it is not there.
    pub what: String,
    /// What iotrace cannot tell without it.
    pub lost: String,
}

impl Missing {
    fn new(what: impl Into<String>, lost: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            lost: lost.into(),
        }
    }
}

/// Everything that is lost with these events planned.
pub(super) fn missing(
    facts: &KernelFacts,
    layout: &Layout,
    events: &[EventPlan],
    request: Request,
) -> Vec<Missing> {
    let mut missing = Vec::new();
    if let Some(absence) = facts.btf.missing() {
        missing.push(Missing::new(
            format!("kernel BTF: {absence}"),
            "every structure's layout: only the records of classic tracepoints are left",
        ));
    }
    missing.extend(events.iter().filter_map(without_a_way));
    let seen = |event| events.iter().find(|plan| plan.event == event);
    if let Some(btf) = facts.btf.found() {
        if seen(Event::BlockRqIssue).is_some_and(EventPlan::by_arguments) {
            requests(&mut missing, btf);
        }
        if seen(Event::BlockBioQueue).is_some_and(EventPlan::by_arguments) {
            bios(&mut missing, btf, layout, request);
        }
        operations(&mut missing, layout);
    }
    for plan in events.iter().filter(|plan| plan.by_record()) {
        let what = format!("what is behind the record of {}", plan.event);
        let lost = behind_the_record(plan.event, request);
        missing.extend(lost.into_iter().map(|lost| Missing::new(&what, lost)));
    }
    missing
}

/// A wanted event that nothing can be attached to.
fn without_a_way(plan: &EventPlan) -> Option<Missing> {
    if plan.not_wanted.is_some() || !plan.candidates.is_empty() {
        return None;
    }
    let reasons: Vec<String> = plan.refusals.iter().map(ToString::to_string).collect();
    Some(Missing::new(
        format!("{} ({})", plan.event, reasons.join("; ")),
        plan.event.lost_without(),
    ))
}

/// Adds an entry if the field is not there, with the reason.
fn lacking(missing: &mut Vec<Missing>, btf: &BtfFacts, wanted: Field, lost: &str) {
    if let Err(why) = field(btf, wanted) {
        missing.push(Missing::new(why, lost));
    }
}

fn requests(missing: &mut Vec<Missing>, btf: &BtfFacts) {
    let mut lacks = |wanted, lost| lacking(missing, btf, wanted, lost);
    lacks(
        REQUEST_PART,
        "the request's own word for its partition: found by its sector instead",
    );
    lacks(
        REQUEST_IO_START_TIME_NS,
        "the device's own share of the latency",
    );
    lacks(
        DISK_DISKSEQ,
        "sure knowledge that a reused device number is another disk: the address of its \
         gendisk stands in",
    );
    lacks(DISK_NAME, "names of disks that sysfs does not number");
    if btf
        .constants
        .get("MQ_RQ_IDLE")
        .is_none_or(|&idle| idle != 0)
    {
        missing.push(Missing::new(
            "MQ_RQ_IDLE is not 0 in BTF",
            "whether a request put back had been issued: counts may be short by as many",
        ));
    }
}

fn bios(missing: &mut Vec<Missing>, btf: &BtfFacts, layout: &Layout, request: Request) {
    let mut lacks = |wanted, lost| lacking(missing, btf, wanted, lost);
    if field(btf, BIO_BDEV).is_ok() {
        lacks(
            BDEV_DEV,
            "the bio's own word for its partition: found by its sector instead",
        );
    }
    lacks(BIO_FLAGS, "whether a bio was sent on or is a new one");
    if request.by_process {
        for wanted in [BIO_BLKG, BLKG_BLKCG, BLKCG_CGROUP, CGROUP_KN, KERNFS_ID] {
            lacks(wanted, "the control group that a bio is charged to");
        }
    }
    for (mask, name, lost) in [
        (layout.fua_mask, "__REQ_FUA", "forced unit access writes"),
        (
            layout.preflush_mask,
            "__REQ_PREFLUSH",
            "flushes that ride on writes, and empty ones",
        ),
        (
            layout.trace_completion_mask,
            "BIO_TRACE_COMPLETION",
            "whether a bio sent on was counted before",
        ),
    ] {
        if mask == 0 {
            missing.push(Missing::new(format!("{name} is not in BTF"), lost));
        }
    }
}

fn operations(missing: &mut Vec<Missing>, layout: &Layout) {
    for (code, name) in [
        (layout.op.flush, "REQ_OP_FLUSH"),
        (layout.op.discard, "REQ_OP_DISCARD"),
        (layout.op.secure_erase, "REQ_OP_SECURE_ERASE"),
        (layout.op.write_zeroes, "REQ_OP_WRITE_ZEROES"),
        (layout.op.zone_append, "REQ_OP_ZONE_APPEND"),
        (layout.op.passthrough_from, "REQ_OP_DRV_IN"),
    ] {
        if code == OpCodes::ABSENT {
            missing.push(Missing::new(
                format!("{name} is not in BTF"),
                "such operations are counted as other, if the kernel has them",
            ));
        }
    }
}

/// What a classic tracepoint's record does not say.
fn behind_the_record(event: Event, request: Request) -> Vec<&'static str> {
    let partition = "its partition: found by its sector instead";
    let mut lost = match event {
        Event::BlockRqIssue => vec![
            "write zeroes, zone append and passthrough apart: all are N",
            "events that the kernel skipped: it keeps no count of them here",
            partition,
        ],
        Event::BlockRqRequeue => {
            vec!["whether a request put back had been issued: those issued again count twice"]
        }
        Event::BlockBioQueue => vec!["forced unit access apart from a flush", partition],
        // Without a program for the record.
        Event::BlockRqComplete | Event::BlockBioComplete | Event::BlockBioRemap => Vec::new(),
        Event::BlockSplit => Vec::new(),
    };
    if event == Event::BlockBioQueue && request.by_process {
        lost.push("the control group that it is charged to");
    }
    lost
}
