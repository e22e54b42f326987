//! What can be attached, and what is told when something cannot.

use tracer_ebpf::abi::{ABSENT, ClassicRecord, Layout};

use super::*;

#[test]
fn recorded_kernels_offer_every_way() {
    for (name, _) in KERNELS {
        let plan = ProbePlan::new(&kernel(name), &EVERYTHING);
        assert_eq!(plan.check(), Ok(()), "{name}");
        for event in Event::ALL {
            let expected = match event {
                Event::BlockRqComplete | Event::BlockBioComplete | Event::BlockBioRemap => {
                    &Kind::ALL[..2]
                }
                _ => &Kind::ALL[..],
            };
            assert_eq!(kinds(&plan, event), expected, "{name} {event}");
        }
    }
}

/// `block_rq_issue` of 5.10.136 and before had the queue first.
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
fn what_a_record_does_not_say_is_told_for_its_event_alone() {
    let mut facts = kernel("6.18");
    let fields = &mut btf(&mut facts).fields;
    fields.remove("request.start_time_ns");
    let plan = ProbePlan::new(&facts, &EVERYTHING);
    assert_eq!(
        plan.missing,
        [Missing {
            what: "block_rq_complete (btf: request.start_time_ns is not in BTF; raw: \
                   request.start_time_ns is not in BTF; tracepoint: its record does not tell when \
                   the request began)"
                .to_owned(),
            lost: "latency of disks".to_owned(),
        }]
    );
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
            Err(PlanError::Privilege { missing, .. }) => missing,
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
