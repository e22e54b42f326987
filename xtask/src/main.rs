//! Everything a developer or CI types: `cargo xtask COMMAND`.

#![expect(unreachable_pub, reason = "a program: nothing is exported")]

mod debian;
mod process;

fn main() {}
