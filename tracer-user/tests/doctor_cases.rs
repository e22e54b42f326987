//! The doctor on real cases: for each the finding, or its absence, the values,
//! and the remedy. Trees of attributes come from `fixtures/`, or are written
//! here; superblocks, tables and mounts are put together.

#![expect(clippy::unwrap_used, reason = "what the tests share is a test too")]

#[path = "doctor_cases/build.rs"]
mod build;
#[path = "doctor_cases/every_rule.rs"]
mod every_rule;
#[path = "doctor_cases/filesystems.rs"]
mod filesystems;
#[path = "doctor_cases/healthy.rs"]
mod healthy;
#[path = "doctor_cases/hints.rs"]
mod hints;
#[path = "doctor_cases/layers.rs"]
mod layers;
#[path = "doctor_cases/measured.rs"]
mod measured;
#[path = "doctor_cases/metadata.rs"]
mod metadata;
#[path = "doctor_cases/partitions.rs"]
mod partitions;
#[path = "support/tree.rs"]
mod tree;
#[path = "doctor_cases/variants.rs"]
mod variants;
