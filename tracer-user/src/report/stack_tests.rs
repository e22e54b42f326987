use crate::{
    report::testing::golden,
    stack::{testing::Example, tree::Tree},
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
