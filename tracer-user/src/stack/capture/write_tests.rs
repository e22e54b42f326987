use std::collections::BTreeSet;

use super::*;
use crate::{
    report::{stack as plain, stack_json},
    stack::{
        capture::Folder,
        testing::{Example, UUID},
        tree::Tree,
    },
    sysfs::{Selection, Topology},
};

fn capture(example: &Example, with_serials: bool) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    let done = write(file.as_file(), &example.stack, &example.sys(), with_serials);
    assert_eq!(
        done.unwrap(),
        Captured {
            devices: 15,
            looked_into: 6
        }
    );
    file
}

/// As `commands` makes it of a folder.
fn stack(folder: &Folder) -> Stack {
    let table = |device| folder.tables.get(&device).cloned();
    let mut stack = Stack {
        topology: Topology::read_with(&folder.sys, table).unwrap(),
        contents: folder.contents.clone(),
        mounts: folder.mounts.clone(),
        swaps: folder.swaps.clone(),
        missing: folder.missing.clone(),
    };
    stack.lay_bcache();
    stack
}

fn printed(stack: &Stack) -> (String, String) {
    let tree = Tree::new(stack, &Selection::default());
    let (mut text, mut json) = (Vec::new(), Vec::new());
    plain::print(stack, &tree, &mut text).unwrap();
    stack_json::print(stack, &tree, &mut json).unwrap();
    let text = String::from_utf8(text).unwrap();
    (text, String::from_utf8(json).unwrap())
}

#[test]
fn elsewhere_it_is_as_it_was() {
    let example = Example::new();
    let folder = Folder::unpack(capture(&example, true).path()).unwrap();
    let there = stack(&folder);
    assert_eq!(there.topology, example.stack.topology);
    assert_eq!(there.contents, example.stack.contents);
    assert_eq!(printed(&there), printed(&example.stack));
    // What is in no device's layers is not taken along.
    let points = there.mounts.iter().map(|mount| mount.point.clone());
    let points: BTreeSet<_> = points.collect();
    assert_eq!(points, ["/", "/home/my data"].map(Into::into).into());
    assert_eq!(there.swaps.iter().count(), 1);
}

/// Everything in the archive, names too.
fn all_bytes(file: &tempfile::NamedTempFile) -> String {
    let mut bytes = Vec::new();
    let zipped = File::open(file.path()).unwrap();
    let mut unzipped = flate2::read::MultiGzDecoder::new(zipped);
    unzipped.read_to_end(&mut bytes).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn nothing_in_it_names_the_hardware() {
    let example = Example::new();
    let file = capture(&example, false);
    let text = all_bytes(&file);
    let uuid = UUID.to_string();
    let simple = UUID.simple().to_string();
    for name in [
        "naa.",
        "eui.",
        "wwid",
        &uuid,
        &simple,
        "11111111-2222",
        "aaaaaaaa",
        "abcdefghij",
        "secret",
        "somebody",
        "/swapfile",
        "00ff",
    ] {
        assert!(!text.contains(name), "{name}");
    }
    let with = all_bytes(&capture(&example, true));
    assert!(with.contains("naa.5000c500a1b2c3d0") && with.contains(&uuid));
    assert!(!with.contains("00ff"), "a key stays out, whatever is asked");

    let there = stack(&Folder::unpack(file.path()).unwrap());
    // The volume's own name has a uuid in it; numbers are given as they come.
    let uuids = (1..9).map(|number| format!("00000000-0000-0000-0000-00000000000{number}"));
    let uuids: Vec<String> = uuids
        .chain(["11111111-2222-3333-4444-555555555555".into()])
        .collect();
    let known = |(text, json): (String, String)| {
        let without = |text: String, uuid: &String| text.replace(uuid, "UUID");
        [text, json].map(|text| uuids.iter().fold(text, without))
    };
    assert_eq!(known(printed(&there)), known(printed(&example.stack)));
}

#[test]
fn an_unpacked_one_and_a_copy_of_sys() {
    let example = Example::new();
    let dir = tempfile::tempdir().unwrap();
    let zipped = File::open(capture(&example, true).path()).unwrap();
    let unzipped = flate2::read::MultiGzDecoder::new(zipped);
    tar::Archive::new(unzipped).unpack(dir.path()).unwrap();
    let top = dir.path().join(TOP);
    let folder = Folder::open(&top).unwrap();
    assert_eq!(printed(&stack(&folder)), printed(&example.stack));

    let copy = Folder::open(example.dir.path()).unwrap();
    assert_eq!(copy.missing.len(), 1);
    assert!(copy.missing[0].contains("a copy of /sys alone"));
    let neither = Folder::open(&top.join("sys/block/sda")).unwrap_err();
    assert!(neither.to_string().contains("neither a copy of /sys"));
}

#[test]
fn names_with_blanks() {
    assert_eq!(escape("a b\\c"), "a\\040b\\134c");
}
