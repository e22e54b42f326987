//! What a person and a program read.

use std::{fs, path::Path};

use super::*;

/// A root with the tracefs of a kernel without BTF, and nothing else.
fn root(directory: &Path) -> KernelRoot {
    for (event, fields) in [
        (
            "block_rq_issue",
            &["dev 8 4", "sector 16 8", "nr_sector 24 4", "rwbs 34 10"][..],
        ),
        (
            "block_bio_queue",
            &["dev 8 4", "sector 16 8", "nr_sector 24 4", "rwbs 28 10"],
        ),
    ] {
        let place = directory
            .join("sys/kernel/tracing/events/block")
            .join(event);
        fs::create_dir_all(&place).unwrap();
        let mut format = String::new();
        for field in fields {
            let [name, offset, size] = field.split(' ').collect::<Vec<_>>()[..] else {
                panic!("{field}");
            };
            format += &format!("\tfield:t {name};\toffset:{offset};\tsize:{size};\tsigned:0;\n");
        }
        fs::write(place.join("format"), format).unwrap();
    }
    fs::create_dir_all(directory.join("proc/self")).unwrap();
    let status = "Uid:\t1\t1\t1\t1\nCapPrm:\t000000c000000000\nCapEff:\t0\n";
    fs::write(directory.join("proc/self/status"), status).unwrap();
    KernelRoot::new(directory)
}

fn output(root: KernelRoot, format: ProbeFormat) -> String {
    let options = ProbeOptions {
        root,
        format,
        ..ProbeOptions::default()
    };
    let mut out = Vec::new();
    run(&options, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_person_reads_what_is_attached_and_what_is_lost() {
    let directory = tempfile::tempdir().unwrap();
    let text = output(root(directory.path()), ProbeFormat::Plain);
    let text = text.replace(&directory.path().display().to_string(), "");
    let expected = [
        "kernel      not known",
        "BTF         none: /sys/kernel/btf/vmlinux does not exist",
        "tracefs     /sys/kernel/tracing: 2 tracepoints",
        "privileges  user 1, CAP_BPF CAP_PERFMON",
        "block_rq_issue      tracepoint                 \
         record as in /sys/kernel/tracing/events/block/block_rq_issue/format",
        "                    not btf                    /sys/kernel/btf/vmlinux does not exist",
        "block_bio_complete  -                          latency of bio devices was not asked for",
        "block_split         nothing                    splits at chunk and size limits",
        "      write zeroes, zone append and passthrough apart: all are N",
    ];
    for line in expected {
        assert!(
            text.lines().any(|l| l == line),
            "{line:?} is not in\n{text}"
        );
    }
    assert!(!text.contains("Nothing"), "{text}");
}

#[test]
fn nothing_at_all_is_told_and_is_no_failure() {
    let directory = tempfile::tempdir().unwrap();
    let text = output(KernelRoot::new(directory.path()), ProbeFormat::Plain);
    let last = text.lines().last().unwrap();
    assert!(
        last.starts_with("Nothing can be counted: nothing can be attached to"),
        "{text}"
    );
}

#[test]
fn a_program_reads_one_line_whose_facts_read_back() {
    let directory = tempfile::tempdir().unwrap();
    let root = root(directory.path());
    let text = output(root.clone(), ProbeFormat::Json);
    assert_eq!(text.lines().count(), 1);
    let report: serde_json::Value = serde_json::from_str(&text).unwrap();
    let facts: KernelFacts = serde_json::from_value(report["facts"].clone()).unwrap();
    assert_eq!(facts, KernelFacts::read(&root));
    assert_eq!(
        report["plan"]["events"][0]["candidates"][0]["program"],
        "block_rq_issue_tp"
    );
}
