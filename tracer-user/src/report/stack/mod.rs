//! `iotrace stack` for people: a tree from what is on top down to the disks,
//! each device once, with what is off marked `!`.
//!
//! Must not compute: it words what is in a [`Stack`] and its [`Tree`].

mod contents;
mod device;
mod places;

use std::io::{self, Write};

use super::format::wrap;
use crate::{
    stack::{
        Stack,
        place::Thing,
        tree::{Node, Tree},
    },
    sysfs::{
        device::Device,
        notes::{Note, NoteKind},
        start::Against,
    },
};

/// Lines are no longer than this, unless a word is.
const WIDTH: usize = 100;
/// Text is not squeezed into less, however deep it stands.
const LEAST_WIDTH: usize = 40;

/// Something said of a device; a line begins with its mark.
struct Said {
    mark: &'static str,
    text: String,
}

impl Said {
    fn plain(text: String) -> Self {
        Self { mark: " ", text }
    }

    /// It is not as it should be.
    fn off(text: String) -> Self {
        Self { mark: "!", text }
    }
}

/// Prints the tree.
///
/// # Errors
/// Where `out` cannot be written.
pub fn print(stack: &Stack, tree: &Tree, out: &mut impl Write) -> io::Result<()> {
    for missing in &stack.missing {
        for line in wrap(&format!("not told: {missing}"), WIDTH) {
            writeln!(out, "{line}")?;
        }
    }
    for root in &tree.roots {
        let mut printer = Printer {
            stack,
            tree,
            out: &mut *out,
        };
        printer.node(root, "", "", "")?;
    }
    Ok(())
}

struct Printer<'a, W> {
    stack: &'a Stack,
    tree: &'a Tree,
    out: W,
}

impl<W: Write> Printer<'_, W> {
    /// `branch` leads to its first line, `stem` to what hangs from `parent`.
    fn node(&mut self, node: &Node, parent: &str, branch: &str, stem: &str) -> io::Result<()> {
        let Some(device) = self.stack.topology.devices.get(&node.device) else {
            return Ok(());
        };
        if node.again {
            return writeln!(self.out, "{parent}{branch}{} (above)", device.name);
        }
        let head = device::head(self.stack, device);
        let under = format!("{parent}{stem}");
        let bar = if node.below.is_empty() {
            "   "
        } else {
            "│  "
        };
        let mut first = format!("{parent}{branch}");
        let mut text = format!("{under}{bar}");
        for line in wrap(&head, width(&text)) {
            writeln!(self.out, "{first}{line}")?;
            first.clone_from(&text);
        }
        for said in self.said(device) {
            let mut mark = said.mark;
            // Two characters for the mark.
            for line in wrap(&said.text, width(&text).saturating_sub(2)) {
                let line = format!("{text}{mark} {line}");
                writeln!(self.out, "{}", line.trim_end())?;
                mark = " ";
            }
        }
        text.clear();
        let mut left = node.below.len();
        for below in &node.below {
            left -= 1;
            let (branch, stem) = if left == 0 {
                ("└─ ", "   ")
            } else {
                ("├─ ", "│  ")
            };
            self.node(below, &under, branch, stem)?;
        }
        Ok(())
    }

    /// All that is said of a device below its first line.
    fn said(&self, device: &Device) -> Vec<Said> {
        let mut said: Vec<Said> = device::facts(self.stack, device)
            .into_iter()
            .map(Said::plain)
            .collect();
        let places = self.tree.places.get(&device.id);
        said.extend(
            places
                .into_iter()
                .flat_map(|places| places::said(self.stack, "", &places.below)),
        );
        match self.stack.contents.get(&device.id) {
            Some(Ok(contents)) => {
                if let Some(places) = places {
                    for thing in Thing::all(contents, places) {
                        said.extend(contents::said(self.stack, &thing, places));
                    }
                }
                let faults = contents.faults.iter().map(ToString::to_string);
                let remarks = contents.remarks.iter().map(ToString::to_string);
                said.extend(faults.chain(remarks).map(Said::off));
            }
            Some(Err(why)) => said.push(Said::plain(format!("what lies on it: {why}"))),
            None => {}
        }
        said.extend(contents::mounted(self.stack, device));
        // Its places were told above, against more than a note looks at.
        let notes = device.notes.iter().filter(|note| !is_told_by_places(note));
        said.extend(notes.map(|note| Said::off(note.text.clone())));
        said.extend(
            device
                .unreadable
                .iter()
                .map(|why| Said::plain(format!("not read: {why}"))),
        );
        said
    }
}

fn is_told_by_places(note: &Note) -> bool {
    match note.kind {
        // The places know the reported block only.
        NoteKind::Start(against) => against != Against::AssumedPhysicalBlock,
        NoteKind::Layer => true,
        _ => false,
    }
}

fn width(indent: &str) -> usize {
    WIDTH
        .saturating_sub(indent.chars().count())
        .max(LEAST_WIDTH)
}

#[cfg(test)]
#[path = "../stack_tests.rs"]
mod tests;
