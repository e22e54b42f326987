//! Where a device lies on the stripes of an array below it, in words.
//!
//! Must not compute: every number is in its chain.

use super::format::{size, wrap};
use crate::{
    delta::DeviceFigures,
    sysfs::chain::{Boundary, Chain},
};

/// Lines of at most `width` characters; none for a device on no array.
#[must_use]
pub(super) fn lines(device: &DeviceFigures, width: usize) -> Vec<String> {
    device
        .chain
        .as_ref()
        .and_then(line)
        .map_or_else(Vec::new, |line| wrap(&line, width))
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
