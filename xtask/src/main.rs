//! Everything a developer or CI types: `cargo xtask COMMAND`.
fn main() {}
