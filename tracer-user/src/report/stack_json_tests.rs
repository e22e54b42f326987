use super::*;
use crate::{report::testing::golden, stack::testing::Example, sysfs::Selection};

fn printed() -> String {
    let example = Example::new();
    let tree = Tree::new(&example.stack, &Selection::default());
    let mut out = Vec::new();
    print(&example.stack, &tree, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn the_schema_is_the_committed_one_and_holds() {
    let text = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
    golden("schema/stack.schema.json", &text);
    let validator = jsonschema::validator_for(&schema()).unwrap();
    let mut value: Value = serde_json::from_str(&printed()).unwrap();
    let errors: Vec<String> = validator
        .iter_errors(&value)
        .map(|error| format!("{}: {error}", error.instance_path))
        .collect();
    assert!(errors.is_empty(), "{errors:?}");
    value["devices"][0]["against"][0]["boundary"] = "sector".into();
    assert!(!validator.is_valid(&value));
}

#[test]
fn exact_object_without_a_name_of_the_hardware() {
    let value: Value = serde_json::from_str(&printed()).unwrap();
    let text = serde_json::to_string_pretty(&value).unwrap() + "\n";
    golden("tests/golden/stack.json", &text);
    for named in ["naa.", "eui.", "0f3c2f8e", "secret", "somebody"] {
        assert!(!text.contains(named), "{named}");
    }
}
