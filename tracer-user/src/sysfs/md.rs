//! Reads `md/*` of an array.
//!
//! Must not derive anything: numbers as md prints them, in one unit.

use std::path::Path;

use super::{
    device::{MdArray, MdBitmap, MdComponent},
    root::Attributes,
};
use crate::units::{Bytes, Sectors};

/// Reads the array of the device directory `dir`; `None` if it is no md
/// array. What could not be read is added to `unreadable`.
pub(super) fn read(dir: &Path, unreadable: &mut Vec<String>) -> Option<MdArray> {
    let mut md = Attributes::new(dir.join("md"));
    if !md.exists("") {
        return None;
    }
    let raid_disks = md.changing::<u32>("raid_disks");
    let layout = md.changing::<i64>("layout");
    let chunk = md.changing::<u64>("chunk_size");
    let position = md.text("reshape_position");
    let array = MdArray {
        level: md.text("level").unwrap_or_default(),
        raid_disks: raid_disks.map(|disks| disks.new),
        raid_disks_before: raid_disks.and_then(|disks| disks.old),
        layout: layout.map(|layout| layout.new),
        layout_before: layout.and_then(|layout| layout.old),
        // md prints 0 where the level has no chunk.
        chunk: chunk.map(|chunk| Bytes(chunk.new)).filter(|c| c.0 > 0),
        chunk_before: chunk.and_then(|chunk| chunk.old).map(Bytes),
        degraded: md.value("degraded"),
        metadata_version: md.text("metadata_version"),
        uuid: md.text("uuid").filter(|uuid| !uuid.is_empty()),
        sync_action: md.text("sync_action"),
        array_state: md.text("array_state"),
        bitmap: bitmap(&mut md),
        rmw_level: md.value("rmw_level"),
        logical_block_kept: md
            .value("logical_block_size")
            .filter(|bytes| *bytes != 0)
            .map(Bytes),
        stripe_cache_rows: md.value("stripe_cache_size"),
        reshape_position: position
            .as_ref()
            .and_then(|position| position.parse().ok().map(Sectors)),
        sync_completed: md.text("sync_completed").as_deref().and_then(completed),
        reshaping: position.as_ref().is_some_and(|position| position != "none")
            || raid_disks.is_some_and(|disks| disks.old.is_some())
            || layout.is_some_and(|layout| layout.old.is_some())
            || chunk.is_some_and(|chunk| chunk.old.is_some()),
        components: components(dir, &mut md),
    };
    unreadable.append(&mut md.unreadable);
    Some(array)
}

fn components(dir: &Path, md: &mut Attributes) -> Vec<MdComponent> {
    md.names("")
        .iter()
        .filter_map(|entry| {
            let name = entry.strip_prefix("dev-")?;
            let mut attributes = Attributes::new(dir.join("md").join(entry));
            let component = component(name, &mut attributes);
            md.unreadable.append(&mut attributes.unreadable);
            Some(component)
        })
        .collect()
}

/// `123 / 456`; `none` and `delayed` where nothing runs.
fn completed(text: &str) -> Option<(Sectors, Sectors)> {
    let (done, all) = text.split_once('/')?;
    Some((
        done.trim().parse().ok().map(Sectors)?,
        all.trim().parse().ok().map(Sectors)?,
    ))
}

/// `location` is `none`, `file`, or `+8` and the like.
fn bitmap(md: &mut Attributes) -> Option<MdBitmap> {
    let location = md.text("bitmap/location")?;
    let location_sectors = location.strip_prefix('+').unwrap_or(&location);
    Some(MdBitmap {
        location_sectors: location_sectors.parse().ok()?,
        chunk: md.value("bitmap/chunksize").map(Bytes)?,
    })
}

fn component(name: &str, attributes: &mut Attributes) -> MdComponent {
    MdComponent {
        name: name.replace('!', "/"),
        device: None,
        slot: attributes.value_unless("slot", &["none", "journal"]),
        state: attributes
            .text("state")
            .iter()
            .flat_map(|state| state.split(','))
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect(),
        data_offset: attributes.value("offset").map(Sectors),
        // In KiB.
        data_size: attributes
            .value::<u64>("size")
            .map(|kib| Bytes(kib.saturating_mul(1024))),
        books_only: false,
        ppl: ppl(attributes),
    }
}

/// Without one both are 0.
fn ppl(attributes: &mut Attributes) -> Option<(Sectors, Sectors)> {
    let start = attributes.value("ppl_sector").map(Sectors)?;
    let len = attributes.value("ppl_size").map(Sectors)?;
    (len.0 != 0).then_some((start, len))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sysfs::tree::expand;

    #[test]
    fn an_array_in_reshape() {
        let dir = expand(
            "md/level = raid6\nmd/raid_disks = 10 (9)\nmd/chunk_size = 65536\nmd/layout = 2\n\
             md/reshape_position = 8192\nmd/dev-sda1/slot = 0\nmd/dev-sda1/offset = 2048\n\
             md/dev-sda1/size = 1024\nmd/dev-sda1/state = in_sync,write_mostly\n\
             md/stripe_cache_size = 256\nmd/sync_completed = 4096 / 8192\n\
             md/dev-cciss!c0d0/slot = none\nmd/dev-cciss!c0d0/state = spare\n",
        )
        .unwrap();
        let mut unreadable = Vec::new();
        let array = read(dir.path(), &mut unreadable).unwrap();
        assert_eq!(unreadable, Vec::<String>::new());
        assert_eq!(
            (array.raid_disks, array.raid_disks_before),
            (Some(10), Some(9))
        );
        assert_eq!(
            (array.chunk, array.chunk_before),
            (Some(Bytes(65536)), None)
        );
        assert!(array.reshaping);
        assert_eq!(array.reshape_position, Some(Sectors(8192)));
        assert_eq!(array.sync_completed, Some((Sectors(4096), Sectors(8192))));
        assert_eq!(array.stripe_cache_rows, Some(256));
        let [spare, member] = array.components.as_slice() else {
            panic!("{:?}", array.components)
        };
        assert_eq!((spare.name.as_str(), spare.slot), ("cciss/c0d0", None));
        assert_eq!(array.bitmap, None);
        assert_eq!(member.ppl, None);
        assert_eq!(member.data_offset, Some(Sectors(2048)));
        assert_eq!(member.data_size, Some(Bytes(1 << 20)));
        assert_eq!(member.state, ["in_sync", "write_mostly"]);
    }

    #[test]
    fn a_bitmap_and_a_log() {
        let dir = expand(
            "md/level = raid5\nmd/bitmap/location = +8\nmd/bitmap/chunksize = 65536\n\
             md/dev-sda/ppl_sector = 264\nmd/dev-sda/ppl_size = 2040\n",
        )
        .unwrap();
        let array = read(dir.path(), &mut Vec::new()).unwrap();
        let bitmap = array.bitmap.unwrap();
        assert_eq!((bitmap.location_sectors, bitmap.chunk), (8, Bytes(65536)));
        assert_eq!(array.components[0].ppl, Some((Sectors(264), Sectors(2040))));
    }

    #[test]
    fn inactive_arrays_have_no_level() {
        let dir =
            expand("md/level =\nmd/raid_disks = 0\nmd/chunk_size = 0\nmd/array_state = inactive\n")
                .unwrap();
        let array = read(dir.path(), &mut Vec::new()).unwrap();
        assert_eq!(array.level, "");
        assert_eq!(array.chunk, None);
        assert!(!array.reshaping);
    }
}
