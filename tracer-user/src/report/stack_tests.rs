use proptest::prelude::*;

use crate::{
    report::{stack_json, testing::golden},
    stack::{
        testing::{Example, TREE},
        tree::Tree,
    },
    sysfs::Selection,
};

#[test]
fn exact_text() {
    let example = Example::new();
    let tree = Tree::new(&example.stack, &Selection::default());
    let mut out = Vec::new();
    super::print(&example.stack, &tree, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    for line in text.lines() {
        assert!(line.chars().count() <= super::WIDTH, "{line}");
    }
    golden("tests/golden/stack.txt", &text);
}

const HOSTILE: [&str; 9] = [
    "",
    "0",
    "-1",
    "1",
    "65537",
    "9223372036854775807",
    "18446744073709551615",
    "9:127",
    "nonsense",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Whatever the attributes say: both forms are printed.
    #[test]
    fn any_attributes(
        changes in prop::collection::vec(
            (any::<prop::sample::Index>(), prop::sample::select(&HOSTILE[..])),
            1..12,
        )
    ) {
        let mut lines: Vec<String> = TREE.lines().map(str::to_owned).collect();
        for (at, value) in changes {
            let at = at.index(lines.len());
            if let Some((path, _)) = lines[at].split_once(" =") {
                lines[at] = format!("{path} = {value}");
            }
        }
        let example = Example::of(&lines.join("\n"));
        let tree = Tree::new(&example.stack, &Selection::default());
        let mut out = Vec::new();
        super::print(&example.stack, &tree, &mut out).unwrap();
        stack_json::print(&example.stack, &tree, &mut out).unwrap();
    }
}
