//! x
use crate::stack::{Stack, tree::Tree};
use std::io::{self, Write};
/// x
/// # Errors
/// x
pub fn print(_stack: &Stack, _tree: &Tree, _out: &mut impl Write) -> io::Result<()> {
    Ok(())
}
