//! `iotrace doctor --format json`: one object, its keys a contract, described by
//! [`schema`].
//!
//! Must not compute: it renames what is in a [`Diagnosis`].

use std::io::{self, Write};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::{
    doctor::{Diagnosis, Finding, WhatIf},
    report::schema::schema_of,
};

/// What `iotrace doctor --format json` prints.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "iotrace doctor")]
struct Whole<'a> {
    looked_at: LookedAt,
    /// What could not be looked at, each in a sentence.
    not_looked_at: &'a [String],
    /// The gravest first.
    findings: &'a [Finding],
    /// Of each array with parity that was written to: modelled, not measured.
    what_if: &'a [WhatIf],
}

/// How much was looked at.
#[derive(Debug, Serialize, JsonSchema)]
struct LookedAt {
    layers: usize,
    rules: usize,
    /// null: nothing was counted.
    measured_seconds: Option<f64>,
}

/// The schema of what is printed.
#[must_use]
pub fn schema() -> Value {
    schema_of::<Whole<'_>>()
}

/// Prints it, in one line.
///
/// # Errors
/// Where `out` cannot be written.
pub fn print(diagnosis: &Diagnosis, out: &mut impl Write) -> io::Result<()> {
    let whole = Whole {
        looked_at: LookedAt {
            layers: diagnosis.devices,
            rules: diagnosis.rules,
            measured_seconds: diagnosis.measured_seconds,
        },
        not_looked_at: &diagnosis.not_looked,
        findings: &diagnosis.findings,
        what_if: &diagnosis.what_if,
    };
    serde_json::to_writer(&mut *out, &whole)?;
    out.write_all(b"\n")
}
