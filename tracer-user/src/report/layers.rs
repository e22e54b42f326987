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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sysfs::chain::{Layer, LayerPlace};

    fn on(place: Result<LayerPlace, String>) -> Option<String> {
        let layer = Layer {
            device: "dm-1".to_owned(),
            dm_name: None,
            dm_uuid: None,
            by: "crypt".to_owned(),
            below: "dm-0".to_owned(),
            place,
        };
        line(&Chain {
            array: "md127".to_owned(),
            boundary: Boundary::Stripe,
            width: Bytes(458_752),
            layers: vec![layer],
        })
    }

    #[test]
    fn a_line_for_each_kind_of_place() {
        let place = |offset| LayerPlace {
            start: Bytes(16 << 20),
            own_offset: Bytes(262_144),
            offset: Bytes(offset),
            phase: Bytes(458_752 - offset),
            next_start: Bytes(0),
        };
        assert_eq!(
            on(Ok(place(393_216))).unwrap(),
            "lies at 16 MiB on dm-0 (crypt), 384 KiB into a stripe of md127"
        );
        assert_eq!(
            on(Ok(place(0))).unwrap(),
            "lies at 16 MiB on dm-0 (crypt), where a stripe of md127 begins"
        );
        assert_eq!(
            on(Err("its parts lie on different devices".to_owned())).unwrap(),
            "lies on dm-0 (crypt) at no one place: its parts lie on different devices"
        );
    }

    #[test]
    fn chunks_that_begin_with_the_device_are_not_told() {
        let chunks = |phase| {
            carried(&Carried {
                array: "md127".to_owned(),
                chunk: Bytes(65536),
                phase,
                offset: phase,
            })
        };
        assert_eq!(chunks(Some(Bytes(0))), None);
        assert_eq!(
            chunks(Some(Bytes(4096))).unwrap(),
            "chunks of md127 (64 KiB) begin at 4 KiB on it"
        );
        assert!(chunks(None).unwrap().ends_with("at no one place on it"));
    }
}
