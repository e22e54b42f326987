//! The live screen: state in [`app`], drawing in [`view`], the terminal
//! itself in [`term`].
//!
//! Must not know where intervals come from.

pub mod app;
mod bars;
mod detail;
mod help;
pub mod history;
mod tables;
pub mod term;
pub mod view;
