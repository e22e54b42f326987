//! What the kernel programs and user space must agree on: the layout of every
//! shared map value ([`abi`]) and every pure decision ([`classify`], [`bins`],
//! [`op`]). The programs, replay and the tests call the same functions.
//!
//! Must not allocate, do IO, hold `unsafe`, or know aya.

#![no_std]
#![forbid(unsafe_code)]

pub mod abi;
pub mod bins;
pub mod caller;
pub mod cells;
pub mod classify;
pub mod log_line;
mod memory;
pub mod op;
pub mod origin;
pub mod process;

#[cfg(test)]
extern crate std;
