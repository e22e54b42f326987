//! Plans for kernels that were recorded (`tests/fixtures/kernels`), and for
//! what is left of them when something is taken away.

use tracer_ebpf::{
    abi::{ABSENT, ClassicRecord, Layout},
    op::OpCodes,
};

use super::*;
use crate::facts::{Absence, BtfFacts, Finding, Privileges, TracefsFacts};

const KERNELS: [(&str, &str); 5] = [
    (
        "5.10",
        include_str!("../../tests/fixtures/kernels/debian-5.10.json"),
    ),
    (
        "6.1",
        include_str!("../../tests/fixtures/kernels/debian-6.1.json"),
    ),
    (
        "6.12",
        include_str!("../../tests/fixtures/kernels/debian-6.12.json"),
    ),
    (
        "6.18",
        include_str!("../../tests/fixtures/kernels/microvm-6.18.json"),
    ),
    (
        "7.2",
        include_str!("../../tests/fixtures/kernels/debian-7.2.json"),
    ),
];

const EVERYTHING: Request = Request {
    attach: None,
    by_process: true,
    bio_latency: true,
    bio_remap_needed: true,
};

fn kernel(name: &str) -> KernelFacts {
    let (_, json) = KERNELS.iter().find(|(known, _)| *known == name).unwrap();
    serde_json::from_str(json).unwrap()
}

fn btf(facts: &mut KernelFacts) -> &mut BtfFacts {
    match &mut facts.btf {
        Finding::Found(btf) => btf,
        Finding::Missing(absence) => panic!("{absence}"),
    }
}

fn tracefs(facts: &mut KernelFacts) -> &mut TracefsFacts {
    match &mut facts.tracefs {
        Finding::Found(tracefs) => tracefs,
        Finding::Missing(absence) => panic!("{absence}"),
    }
}

fn without_btf(mut facts: KernelFacts) -> KernelFacts {
    let path = "/sys/kernel/btf/vmlinux".into();
    facts.btf = Finding::Missing(Absence::NotThere { path });
    facts
}

fn without_tracefs(mut facts: KernelFacts) -> KernelFacts {
    let path = "/sys/kernel/tracing".into();
    facts.tracefs = Finding::Missing(Absence::NotMounted { path });
    facts
}

fn with_capabilities(mut facts: KernelFacts, permitted: &[&str]) -> KernelFacts {
    facts.privileges = Finding::Found(Privileges {
        uid: 1000,
        effective: Vec::new(),
        permitted: permitted.iter().map(ToString::to_string).collect(),
    });
    facts
}

fn event(plan: &ProbePlan, event: Event) -> &EventPlan {
    plan.events.iter().find(|e| e.event == event).unwrap()
}

fn kinds(plan: &ProbePlan, of: Event) -> Vec<Kind> {
    let candidates = &event(plan, of).candidates;
    candidates.iter().map(|candidate| candidate.kind).collect()
}

fn lost(plan: &ProbePlan, what: &str) -> bool {
    plan.missing
        .iter()
        .any(|missing| missing.what.contains(what))
}

#[test]
fn recorded_kernels_offer_every_way() {
    for (name, _) in KERNELS {
        let plan = ProbePlan::new(&kernel(name), &EVERYTHING);
        assert_eq!(plan.check(), Ok(()), "{name}");
        for event in Event::ALL {
            let expected = match event {
                Event::BlockBioComplete => &Kind::ALL[..2],
                _ => &Kind::ALL[..],
            };
            assert_eq!(kinds(&plan, event), expected, "{name} {event}");
        }
    }
}

#[test]
fn arguments_are_where_the_prototypes_put_them() {
    for (name, _) in KERNELS {
        let layout = ProbePlan::new(&kernel(name), &EVERYTHING).layout;
        let queue_first = u16::from(name == "5.10");
        assert_eq!(layout.arg_issue_rq, 0, "{name}: 5.10.223 has the backport");
        assert_eq!(layout.arg_requeue_rq, 0, "{name}");
        assert_eq!(layout.arg_bio_queue_bio, queue_first, "{name}");
        assert_eq!(layout.arg_bio_remap_bio, queue_first, "{name}");
        assert_eq!(layout.arg_split_bio, queue_first, "{name}");
        assert_eq!(layout.arg_bio_complete_bio, 1, "{name}");
    }
}

/// `block_rq_issue` of 5.10.136 and before had the queue first.
#[test]
fn the_argument_is_found_without_knowing_the_version() {
    let mut facts = kernel("5.10");
    let prototype = ["struct request_queue *", "struct request *"].map(str::to_owned);
    btf(&mut facts)
        .prototypes
        .insert("block_rq_issue".to_owned(), prototype.into());
    let plan = ProbePlan::new(&facts, &EVERYTHING);
    assert_eq!(plan.layout.arg_issue_rq, 1);
    let first = &event(&plan, Event::BlockRqIssue).candidates[0];
    assert_eq!(first.argument, Some(1));
    assert_eq!(
        first.why,
        "struct request * is argument 1 of (struct request_queue *, struct request *)"
    );
}

#[test]
fn bios_have_moved_in_7_2() {
    for (name, sector, size, blkg) in [
        ("5.10", 32, 40, 72),
        ("6.1", 32, 40, 72),
        ("6.12", 32, 40, 72),
        ("6.18", 32, 40, 72),
        ("7.2", 40, 48, 80),
    ] {
        let layout = ProbePlan::new(&kernel(name), &EVERYTHING).layout;
        assert_eq!(
            (layout.bio_sector, layout.bio_size),
            (sector, size),
            "{name}"
        );
        assert_eq!(layout.bio_blkg, blkg, "{name}");
        assert_eq!((layout.bio_opf, layout.bio_flags), (16, 20), "{name}");
    }
}

#[test]
fn the_disk_is_found_where_each_kernel_keeps_it() {
    for (name, _) in KERNELS {
        let layout = ProbePlan::new(&kernel(name), &EVERYTHING).layout;
        let old = name == "5.10";
        assert_eq!(layout.request_rq_disk != ABSENT, old, "{name}");
        assert_eq!(layout.queue_disk != ABSENT, !old, "{name}");
        assert_eq!(layout.bio_disk != ABSENT, old, "{name}");
        assert_eq!(layout.bio_partno != ABSENT, old, "{name}");
        assert_eq!(layout.bio_bdev != ABSENT, !old, "{name}");
        assert_eq!(layout.disk_diskseq != ABSENT, !old, "{name}");
    }
}

#[test]
fn requests_are_laid_out_as_pahole_says() {
    let layout = ProbePlan::new(&kernel("5.10"), &EVERYTHING).layout;
    let old = [
        layout.request_data_len,
        layout.request_sector,
        layout.request_state,
    ];
    assert_eq!(old, [40, 48, 212]);
    let layout = ProbePlan::new(&kernel("6.1"), &EVERYTHING).layout;
    let new = [
        layout.request_data_len,
        layout.request_sector,
        layout.request_state,
    ];
    assert_eq!(new, [44, 48, 132]);
    assert_eq!(
        (layout.request_part, layout.bdev_dev, layout.bdev_disk),
        (88, 36, 856)
    );
    assert_eq!(
        (
            layout.request_start_time_ns,
            layout.request_io_start_time_ns
        ),
        (104, 112)
    );
}

#[test]
fn operations_have_each_kernels_numbers() {
    let new = OpCodes {
        read: 0,
        write: 1,
        flush: 2,
        discard: 3,
        secure_erase: 5,
        write_zeroes: 9,
        zone_append: 7,
        passthrough_from: 34,
    };
    let old = OpCodes {
        zone_append: 13,
        passthrough_from: 32,
        ..new
    };
    for (name, _) in KERNELS {
        let layout = ProbePlan::new(&kernel(name), &EVERYTHING).layout;
        assert_eq!(layout.op, if name == "5.10" { old } else { new }, "{name}");
        assert_eq!((layout.fua_mask, layout.preflush_mask), (1 << 17, 1 << 18));
    }
}

#[test]
fn flags_of_bios_move_with_the_kernel() {
    for (name, completion, remapped) in [
        ("5.10", 1 << 8, 0),
        ("6.1", 1 << 7, 1 << 11),
        ("6.12", 1 << 7, 1 << 11),
        ("6.18", 1 << 6, 1 << 10),
        ("7.2", 1 << 6, 1 << 10),
    ] {
        let layout = ProbePlan::new(&kernel(name), &EVERYTHING).layout;
        assert_eq!(layout.trace_completion_mask, completion, "{name}");
        assert_eq!(layout.remapped_mask, remapped, "{name}");
    }
}

#[test]
fn records_are_read_from_their_formats() {
    let record = |name| {
        ProbePlan::new(&kernel(name), &EVERYTHING)
            .layout
            .classic_issue
    };
    let old = ClassicRecord {
        dev: 8,
        sector: 16,
        nr_sector: 24,
        bytes: 28,
        rwbs: 32,
        old_dev: ABSENT,
    };
    assert_eq!(record("6.1"), old);
    // The priority went in before the letters (commit aa6ff4eb7c10).
    assert_eq!(record("6.12"), ClassicRecord { rwbs: 34, ..old });
    let layout = ProbePlan::new(&kernel("7.2"), &EVERYTHING).layout;
    assert_eq!(layout.classic_bio_remap.old_dev, 28);
    assert_eq!(layout.classic_split.nr_sector, ABSENT, "it has new_sector");
    assert_eq!(layout.classic_requeue.rwbs, 30);
}

#[test]
fn partitions_are_found_by_range_where_nothing_names_them() {
    for (name, _) in KERNELS {
        let plan = ProbePlan::new(&kernel(name), &EVERYTHING);
        assert_eq!(plan.partitions_by_range, name == "5.10", "{name}");
        assert!(plan.partitions_by_range_with(Kind::Tracepoint), "{name}");
    }
    let classic = Request {
        attach: Some(Kind::Tracepoint),
        ..EVERYTHING
    };
    assert!(ProbePlan::new(&kernel("6.18"), &classic).partitions_by_range);
}

#[test]
fn what_5_10_lacks_is_told() {
    let plan = ProbePlan::new(&kernel("5.10"), &EVERYTHING);
    let what: Vec<_> = plan.missing.iter().map(|m| m.what.as_str()).collect();
    assert_eq!(
        what,
        [
            "request.part is a struct hd_struct *",
            "gendisk.diskseq is not in BTF"
        ]
    );
    for (name, _) in &KERNELS[1..] {
        assert_eq!(
            ProbePlan::new(&kernel(name), &EVERYTHING).missing,
            [],
            "{name}"
        );
    }
}

#[test]
fn without_btf_only_records_are_left() {
    let plan = ProbePlan::new(&without_btf(kernel("6.12")), &EVERYTHING);
    assert_eq!(plan.check(), Ok(()));
    assert_eq!(kinds(&plan, Event::BlockRqIssue), [Kind::Tracepoint]);
    assert_eq!(kinds(&plan, Event::BlockBioComplete), []);
    assert!(lost(
        &plan,
        "kernel BTF: /sys/kernel/btf/vmlinux does not exist"
    ));
    assert!(lost(&plan, "block_bio_complete (btf: "));
    assert!(plan.partitions_by_range);
    assert_eq!(plan.layout.request_cmd_flags, ABSENT);
    assert_eq!(plan.layout.classic_issue.rwbs, 34);
}

#[test]
fn without_tracefs_arguments_are_left() {
    let plan = ProbePlan::new(&without_tracefs(kernel("6.12")), &EVERYTHING);
    assert_eq!(plan.check(), Ok(()));
    assert_eq!(kinds(&plan, Event::BlockRqIssue), [Kind::Btf, Kind::Raw]);
    assert_eq!(plan.layout.classic_issue, ClassicRecord::NONE);
    assert_eq!(plan.missing, [], "nothing is lost as long as BTF works");
}

#[test]
fn without_both_the_remedy_is_told() {
    let plan = ProbePlan::new(&without_btf(without_tracefs(kernel("6.12"))), &EVERYTHING);
    let error = plan.check().unwrap_err();
    assert!(matches!(
        error,
        PlanError::NoWay {
            event: Event::BlockRqIssue,
            ..
        }
    ));
    let text = error.to_string();
    assert!(text.contains("CONFIG_DEBUG_INFO_BTF"), "{text}");
    assert!(
        text.contains("mount -t tracefs nodev /sys/kernel/tracing"),
        "{text}"
    );
    assert_eq!(plan.layout, Layout::NONE);
}

#[test]
fn a_kernel_without_the_tracepoint_is_told_from_one_that_hides_it() {
    let mut facts = kernel("6.12");
    btf(&mut facts).prototypes.remove("block_bio_queue");
    let hidden = ProbePlan::new(&without_tracefs(facts.clone()), &EVERYTHING);
    assert!(matches!(hidden.check(), Err(PlanError::NoWay { .. })));
    tracefs(&mut facts).records.remove("block_bio_queue");
    let plan = ProbePlan::new(&facts, &EVERYTHING);
    assert_eq!(
        plan.check(),
        Err(PlanError::NoTracepoint {
            event: Event::BlockBioQueue
        })
    );
}

#[test]
fn an_optional_tracepoint_may_be_missing() {
    let mut facts = kernel("6.12");
    btf(&mut facts).prototypes.remove("block_split");
    tracefs(&mut facts).records.remove("block_split");
    let plan = ProbePlan::new(&facts, &EVERYTHING);
    assert_eq!(plan.check(), Ok(()));
    assert!(lost(&plan, "block_split (btf: "));
}

#[test]
fn a_field_of_another_size_closes_the_ways_that_read_it() {
    let mut facts = kernel("6.18");
    let fields = &mut btf(&mut facts).fields;
    fields.get_mut("bio.bi_iter.bi_size").unwrap().size_bytes = 8;
    fields.get_mut("request_queue.mq_ops").unwrap().type_name = "struct foo *".to_owned();
    let plan = ProbePlan::new(&facts, &EVERYTHING);
    assert_eq!(plan.layout.bio_size, ABSENT);
    assert_eq!(kinds(&plan, Event::BlockBioQueue), [Kind::Tracepoint]);
    assert_eq!(kinds(&plan, Event::BlockRqIssue), Kind::ALL);
    assert_eq!(plan.layout.queue_mq_ops, ABSENT);
    let refusals = &event(&plan, Event::BlockBioQueue).refusals;
    assert_eq!(
        refusals[0].why,
        "bio.bi_iter.bi_size is 8 bytes long, not 4"
    );
    assert!(plan.partitions_by_range, "the classic record names none");
}

#[test]
fn a_record_of_another_size_is_not_believed() {
    let mut facts = kernel("6.18");
    let record = tracefs(&mut facts)
        .records
        .get_mut("block_rq_issue")
        .unwrap();
    record.get_mut("sector").unwrap().size_bytes = 4;
    let plan = ProbePlan::new(&facts, &EVERYTHING);
    assert_eq!(plan.layout.classic_issue, ClassicRecord::NONE);
    assert_eq!(kinds(&plan, Event::BlockRqIssue), [Kind::Btf, Kind::Raw]);
}

#[test]
fn a_forced_kind_is_the_only_one() {
    let raw = Request {
        attach: Some(Kind::Raw),
        ..EVERYTHING
    };
    let plan = ProbePlan::new(&kernel("6.18"), &raw);
    for of in Event::ALL {
        assert_eq!(kinds(&plan, of), [Kind::Raw], "{of}");
    }
    let error = ProbePlan::new(&without_btf(kernel("6.18")), &raw).check();
    let text = error.unwrap_err().to_string();
    assert!(text.starts_with("--attach raw cannot be done for block_rq_issue: raw: /sys"));
    assert!(!text.contains("btf:"), "only the kind asked for: {text}");
}

#[test]
fn what_was_not_asked_for_is_left_alone() {
    let plan = ProbePlan::new(&without_btf(kernel("6.18")), &Request::default());
    for of in [Event::BlockBioComplete, Event::BlockBioRemap] {
        assert!(event(&plan, of).not_wanted.is_some(), "{of}");
        assert_eq!(kinds(&plan, of), [], "{of}");
        assert!(!lost(&plan, of.name()), "{of}");
    }
    assert!(
        !plan
            .missing
            .iter()
            .any(|m| m.lost.contains("control group"))
    );
}

#[test]
fn programs_are_named_by_event_and_kind() {
    let plan = ProbePlan::new(&kernel("6.18"), &Request::default());
    let candidates = &event(&plan, Event::BlockRqIssue).candidates;
    let names: Vec<_> = candidates.iter().map(|c| c.program.as_str()).collect();
    assert_eq!(
        names,
        [
            "block_rq_issue_btf",
            "block_rq_issue_raw",
            "block_rq_issue_tp"
        ]
    );
}

#[test]
fn missing_capabilities_are_named() {
    let missing = |capabilities: &[&str]| {
        let facts = with_capabilities(kernel("6.18"), capabilities);
        match ProbePlan::new(&facts, &Request::default()).check() {
            Err(PlanError::Privilege { missing }) => missing,
            other => other.map(|()| Vec::new()).unwrap(),
        }
    };
    assert_eq!(missing(&[]), ["CAP_BPF", "CAP_PERFMON"]);
    assert_eq!(missing(&["CAP_BPF"]), ["CAP_PERFMON"]);
    assert!(missing(&["CAP_BPF", "CAP_PERFMON"]).is_empty());
    assert!(missing(&["CAP_SYS_ADMIN"]).is_empty());
}

#[test]
fn a_plan_can_be_sent() {
    let plan = ProbePlan::new(&without_btf(without_tracefs(kernel("6.18"))), &EVERYTHING);
    let json = serde_json::to_value(&plan).unwrap();
    assert_eq!(json["events"][0]["event"], "block_rq_issue");
    assert!(json["error"].as_str().unwrap().contains("tracefs"));
}
