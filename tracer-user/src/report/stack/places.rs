//! Where something lies against the layers below, in words: what is off first,
//! what is aligned in one line.
//!
//! Must not compute.

use std::sync::Arc;

use super::Said;
use crate::{
    report::format::size,
    stack::{
        Stack,
        phase::{Against, Boundary},
    },
    units::{Bytes, DevId},
};

/// Layers that are named one by one.
const MOST_NAMED: usize = 3;

/// Boundaries of one kind and width at which something lies alike.
struct Alike<'a> {
    boundary: Boundary,
    width: Bytes,
    offset: &'a Result<Bytes, Arc<str>>,
    layers: Vec<DevId>,
}

/// `of` begins a sentence, as in `its data`; nothing stands for the device.
pub(super) fn said(stack: &Stack, of: &str, against: &[Against]) -> Vec<Said> {
    let groups = alike(against);
    let named = |group: &Alike<'_>| {
        format!(
            "{} {} of {}",
            size(group.width.0),
            words(group.boundary),
            layers(stack, &group.layers)
        )
    };
    let mut said = Vec::new();
    let mut aligned = Vec::new();
    for group in &groups {
        match group.offset {
            Ok(Bytes(0)) => aligned.push(named(group)),
            Ok(offset) => said.push(Said::off(format!(
                "{of}begins {} into {} (the first boundary is at {})",
                size(offset.0),
                one(group, stack),
                group_phase(group).map_or_else(String::new, |phase| size(phase.0)),
            ))),
            Err(why) => said.push(Said::plain(format!(
                "{of}at no one place in the {}: {why}",
                named(group)
            ))),
        }
    }
    if !aligned.is_empty() {
        let text = format!("{of}aligned to the {}", aligned.join("; "));
        said.push(Said::plain(text));
    }
    said
}

/// The phase that the first of a group has.
fn group_phase(group: &Alike<'_>) -> Option<Bytes> {
    let first = Against {
        layer: *group.layers.first()?,
        boundary: group.boundary,
        width: group.width,
        offset: group.offset.clone(),
    };
    first.phase()
}

fn alike(against: &[Against]) -> Vec<Alike<'_>> {
    let mut groups: Vec<Alike<'_>> = Vec::new();
    for one in against {
        let same = groups.iter_mut().find(|group| {
            (group.boundary, group.width, group.offset) == (one.boundary, one.width, &one.offset)
        });
        match same {
            Some(group) => group.layers.push(one.layer),
            None => groups.push(Alike {
                boundary: one.boundary,
                width: one.width,
                offset: &one.offset,
                layers: vec![one.layer],
            }),
        }
    }
    groups
}

const fn words(boundary: Boundary) -> &'static str {
    match boundary {
        Boundary::PhysicalBlock => "blocks",
        Boundary::Chunk => "chunks",
        Boundary::Stripe => "stripes",
        Boundary::Told => "boundaries told",
    }
}

/// `a stripe (448 KiB) of md127`.
fn one(group: &Alike<'_>, stack: &Stack) -> String {
    let word = match group.boundary {
        Boundary::PhysicalBlock => "a physical block",
        Boundary::Chunk => "a chunk",
        Boundary::Stripe => "a stripe",
        Boundary::Told => "a boundary told",
    };
    format!(
        "{word} ({}) of {}",
        size(group.width.0),
        layers(stack, &group.layers)
    )
}

/// A few by name.
fn layers(stack: &Stack, ids: &[DevId]) -> String {
    let names: Vec<&str> = ids
        .iter()
        .filter_map(|id| Some(stack.topology.devices.get(id)?.name.as_str()))
        .collect();
    match names.as_slice() {
        [first, second, more @ ..] if names.len() > MOST_NAMED => {
            format!("{first}, {second} and {} more", more.len())
        }
        few => few.join(", "),
    }
}
