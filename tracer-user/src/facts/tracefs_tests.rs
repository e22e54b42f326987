//! Formats as kernels print them, and garbage.

use proptest::prelude::*;

use super::*;

/// Linux 6.18, to the byte.
const RQ_ISSUE: &str = "name: block_rq_issue
ID: 2104
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;
\tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;
\tfield:unsigned int nr_sector;\toffset:24;\tsize:4;\tsigned:0;
\tfield:unsigned int bytes;\toffset:28;\tsize:4;\tsigned:0;
\tfield:unsigned short ioprio;\toffset:32;\tsize:2;\tsigned:0;
\tfield:char rwbs[10];\toffset:34;\tsize:10;\tsigned:0;
\tfield:char comm[16];\toffset:44;\tsize:16;\tsigned:0;
\tfield:__data_loc char[] cmd;\toffset:60;\tsize:4;\tsigned:0;

print fmt: \"%d,%d %s %u (%s) %llu + %u %s,%u,%u [%s]\", ((unsigned int) ((REC->dev) >> 20))
";

fn field(offset_bytes: u32, size_bytes: u32) -> RecordField {
    RecordField {
        offset_bytes,
        size_bytes,
        signed: false,
    }
}

#[test]
fn every_field_of_its_own_is_found() {
    let expected = [
        ("dev", field(8, 4)),
        ("sector", field(16, 8)),
        ("nr_sector", field(24, 4)),
        ("bytes", field(28, 4)),
        ("ioprio", field(32, 2)),
        ("rwbs", field(34, 10)),
        ("comm", field(44, 16)),
        ("cmd", field(60, 4)),
    ];
    let expected: Record = expected.map(|(n, f)| (n.to_owned(), f)).into();
    assert_eq!(parse_format(RQ_ISSUE), expected);
}

#[test]
fn signs_are_kept() {
    let record = parse_format("\tfield:int error;\toffset:28;\tsize:4;\tsigned:1;");
    assert!(record["error"].signed);
}

#[test]
fn an_odd_field_does_not_cost_the_others() {
    let record = parse_format(
        "field:dev_t dev; offset:x; size:4; signed:0;\n\
         field:; offset:1; size:4; signed:0;\n\
         field:sector_t sector; offset:16; size:8; signed:0;\n\
         field:u32 lost; offset:99999999999; size:4; signed:0;",
    );
    assert_eq!(record.keys().collect::<Vec<_>>(), ["sector"]);
}

fn tracefs_with(place: &str, tracepoint: &str, format: &str) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let directory = root
        .path()
        .join(place)
        .join("events/block")
        .join(tracepoint);
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("format"), format).unwrap();
    root
}

#[test]
fn the_old_place_is_tried_too() {
    let dir = tracefs_with("sys/kernel/debug/tracing", "block_rq_issue", RQ_ISSUE);
    std::fs::create_dir_all(dir.path().join("sys/kernel/tracing")).unwrap();
    let root = KernelRoot::new(dir.path());
    let facts = TracefsFacts::read(&root, &["block_rq_issue", "block_split"]).unwrap();
    assert_eq!(facts.records.len(), 1, "block_split does not exist here");
    assert!(facts.refused.is_empty());
}

#[test]
fn a_format_without_fields_is_refused_by_name() {
    let dir = tracefs_with("sys/kernel/tracing", "block_rq_issue", "nothing here");
    let root = KernelRoot::new(dir.path());
    let facts = TracefsFacts::read(&root, &["block_rq_issue"]).unwrap();
    let refusal = facts.refused["block_rq_issue"].to_string();
    assert!(refusal.contains("block_rq_issue/format"), "{refusal}");
}

#[test]
fn an_empty_mount_point_is_told_from_a_missing_one() {
    let dir = tempfile::tempdir().unwrap();
    let root = KernelRoot::new(dir.path());
    let missing = TracefsFacts::read(&root, &[]).unwrap_err();
    assert!(matches!(missing, Absence::NotThere { .. }), "{missing}");
    std::fs::create_dir_all(dir.path().join("sys/kernel/tracing")).unwrap();
    let empty = TracefsFacts::read(&root, &[]).unwrap_err();
    assert!(matches!(empty, Absence::NotMounted { .. }), "{empty}");
}

proptest! {
    #[test]
    fn garbage_never_panics(text in "\\PC*") {
        let _ = parse_format(&text);
    }

    #[test]
    fn garbage_of_the_right_words_never_panics(
        words in prop::collection::vec(
            prop::sample::select(vec![
                "field:", "offset:", "size:", "signed:", ";", "\n", "\t", "[", "]", "*", "-1",
                "0", "4294967296", "dev_t dev", "common_", "é",
            ]),
            0..40,
        ),
    ) {
        let _ = parse_format(&words.concat());
    }
}
