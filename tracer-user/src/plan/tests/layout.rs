//! Offsets, arguments and constants of recorded kernels.

use tracer_ebpf::{
    abi::{ABSENT, ClassicRecord},
    op::OpCodes,
};

use super::*;

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
fn requests_are_laid_out_as_bpftool_says() {
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
        (88, 36, 848)
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
        zone_append: 21,
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
    for (name, completion) in [
        ("5.10", 1 << 8),
        ("6.1", 1 << 7),
        ("6.12", 1 << 7),
        ("6.18", 1 << 6),
        ("7.2", 1 << 6),
    ] {
        let layout = ProbePlan::new(&kernel(name), &EVERYTHING).layout;
        assert_eq!(layout.trace_completion_mask, completion, "{name}");
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
