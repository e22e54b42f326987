//! Where a device lies on the stripes of an array below it, and where the chunks
//! of arrays above lie on it, in words.
//!
//! Must not compute: every number is in its chain.

use super::format::{size, wrap};
use crate::{
    delta::DeviceFigures,
    sysfs::{
        carried::Carried,
        chain::{Boundary, Chain},
    },
    units::Bytes,
};

/// Lines of at most `width` characters; none for a device that has to do with
/// no array.
#[must_use]
pub(super) fn lines(device: &DeviceFigures, width: usize) -> Vec<String> {
    let on = device.chain.as_ref().and_then(line);
    let carried = device.carries.iter().filter_map(carried);
    let sentences = on.into_iter().chain(carried);
    sentences.flat_map(|line| wrap(&line, width)).collect()
}

/// Nothing where a chunk begins with the device, as it should.
fn carried(carried: &Carried) -> Option<String> {
    let (array, chunk) = (&carried.array, size(carried.chunk.0));
    match carried.phase {
        Some(Bytes(0)) => None,
        Some(phase) => Some(format!(
            "chunks of {array} ({chunk}) begin at {} on it",
            size(phase.0)
        )),
        None => Some(format!(
            "chunks of {array} ({chunk}) begin at no one place on it"
        )),
    }
}

/// Of the device itself; the layers below have rows of their own.
fn line(chain: &Chain) -> Option<String> {
    let layer = chain.top()?;
    let boundary = match chain.boundary {
        Boundary::Stripe => "stripe",
        Boundary::Chunk => "chunk",
    };
    let (by, below, array) = (&layer.by, &layer.below, &chain.array);
    Some(match &layer.place {
        Ok(place) if place.offset.0 == 0 => format!(
            "lies at {} on {below} ({by}), where a {boundary} of {array} begins",
            size(place.start.0)
        ),
        Ok(place) => format!(
            "lies at {} on {below} ({by}), {} into a {boundary} of {array}",
            size(place.start.0),
            size(place.offset.0)
        ),
        Err(why) => format!("lies on {below} ({by}) at no one place: {why}"),
    })
}
