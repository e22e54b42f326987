//! `docs/kernel.md` names everything that iotrace asks of a kernel.

use iotrace::facts::{
    md_wanted,
    wanted::{CONSTANTS, FIELDS, TRACEPOINTS},
};

const PAGE: &str = include_str!("../../docs/kernel.md");

/// Is it there in full, or after another of the same structure or enumeration,
/// as in "`request.cmd_flags`, `.__sector`"?
fn is_named(full: &str, short: &str) -> bool {
    PAGE.contains(&format!("`{full}`")) || PAGE.contains(&format!("`{short}`"))
}

#[test]
fn every_tracepoint_is_described() {
    for name in TRACEPOINTS {
        assert!(is_named(name, name), "{name}");
    }
}

#[test]
fn every_field_is_described() {
    for field in FIELDS {
        let name = field.name();
        assert!(is_named(&name, &format!(".{}", field.path)), "{name}");
    }
}

#[test]
fn every_constant_is_described() {
    for name in CONSTANTS {
        let short = name.trim_start_matches("REQ_OP");
        assert!(is_named(name, short), "{name}");
    }
}

#[test]
fn everything_of_md_is_described() {
    for function in md_wanted::END_FUNCTIONS {
        assert!(is_named(function.symbol, function.symbol), "{function:?}");
    }
    for (_, field) in md_wanted::FIELDS {
        let name = field.name();
        assert!(is_named(&name, &format!(".{}", field.path)), "{name}");
    }
    for name in md_wanted::CONSTANTS {
        assert!(is_named(name, name), "{name}");
    }
}
