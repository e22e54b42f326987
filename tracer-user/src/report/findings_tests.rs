use super::*;
use crate::{
    doctor::examine,
    report::testing::{device, golden, partition, topology},
    stack::Stack,
    sysfs::{
        device::Device,
        notes::{Note, NoteKind},
    },
    units::{Bytes, Sectors},
};

/// A disk with a partition at 63, and one with a hint.
fn stack() -> Stack {
    let mut sda = device("sda", 8, 0);
    sda.size = Some(Sectors(1 << 22));
    let mut sda1 = partition("sda1", 8, 1, sda.id, 63);
    sda1.size = Some(Sectors(1 << 20));
    let mut sdb: Device = device("sdb", 8, 16);
    sdb.limits.io_opt = Some(Bytes(33_553_920));
    sdb.notes = vec![Note {
        kind: NoteKind::IoOpt,
        text: "optimal_io_size 33553920 is no multiple of 4096 (3584 left over): not a stripe, to \
               be ignored"
            .to_owned(),
    }];
    Stack {
        topology: topology([sda, sda1, sdb]),
        ..Stack::default()
    }
}

fn text(diagnosis: &Diagnosis) -> String {
    let mut out = Vec::new();
    print(diagnosis, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn json(diagnosis: &Diagnosis) -> serde_json::Value {
    let mut out = Vec::new();
    json::print(diagnosis, &mut out).unwrap();
    serde_json::from_slice(&out).unwrap()
}

#[test]
fn text_as_people_read_it() {
    golden(
        "tests/golden/doctor.txt",
        &text(&examine(&stack(), &[], None)),
    );
}

#[test]
fn nothing_found_says_what_was_looked_at() {
    let sound = Stack {
        topology: topology([device("sda", 8, 0)]),
        ..Stack::default()
    };
    let text = text(&examine(&sound, &[], None));
    assert!(text.starts_with("1 layer, "), "{text}");
    assert!(text.contains(" rules: nothing found"), "{text}");
}

#[test]
fn commands_stay_on_their_lines() {
    let text = text(&examine(&stack(), &[], None));
    let command =
        "     # echo '2048,' | sfdisk --move-data --no-reread --no-tell-kernel -N 1 /dev/sda\n";
    assert!(text.contains(command), "{text}");
    let prose = text
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'));
    for line in prose {
        assert!(line.chars().count() <= WIDTH, "{line}");
    }
}

#[test]
fn json_fits_the_committed_schema() {
    let schema = json::schema();
    let committed = serde_json::to_string_pretty(&schema).unwrap() + "\n";
    golden("schema/doctor.schema.json", &committed);
    let validator = jsonschema::validator_for(&schema).unwrap();
    let whole = json(&examine(&stack(), &[], None));
    let errors: Vec<String> = validator
        .iter_errors(&whole)
        .map(|error| error.to_string())
        .collect();
    assert_eq!(errors, Vec::<String>::new());
    let first = &whole["findings"][0];
    assert_eq!(first["id"], "misaligned-partition");
    assert_eq!(first["numbers"]["physical_remainder_bytes"], 3584);
    assert_eq!(first["cost"]["how"], "expected");
    assert_eq!(first["repair"]["destroys_data"], false);
    assert_eq!(first["build_anew"]["destroys_data"], true);
    assert_eq!(
        whole["looked_at"]["measured_seconds"],
        serde_json::Value::Null
    );
}
