//! The files below `/sys` that iotrace reads of block devices: what a capture
//! takes, and all that it takes.
//!
//! Must not read one.

/// Of a disk, and of what else has a folder in `block/`.
pub(super) const OF_DISK: &[&str] = &[
    "dev",
    "size",
    "alignment_offset",
    "diskseq",
    "hidden",
    "device/model",
    "dm/name",
    "dm/uuid",
    "dm/suspended",
    "loop/backing_file",
    "loop/offset",
    "queue/logical_block_size",
    "queue/physical_block_size",
    "queue/minimum_io_size",
    "queue/optimal_io_size",
    "queue/chunk_sectors",
    "queue/rotational",
    "queue/max_sectors_kb",
    "queue/max_hw_sectors_kb",
    "queue/discard_granularity",
    "queue/read_ahead_kb",
    "md/level",
    "md/raid_disks",
    "md/layout",
    "md/chunk_size",
    "md/reshape_position",
    "md/degraded",
    "md/metadata_version",
    "md/sync_action",
    "md/sync_completed",
    "md/array_state",
    "md/rmw_level",
    "md/logical_block_size",
    "md/stripe_cache_size",
    "md/stripe_cache_active",
    "md/bitmap/location",
    "md/bitmap/chunksize",
];

/// Of a component, in `md/dev-*`.
pub(super) const OF_COMPONENT: &[&str] =
    &["slot", "state", "offset", "size", "ppl_sector", "ppl_size"];

/// Of a partition, in a folder of its disk's.
pub(super) const OF_PARTITION: &[&str] = &["partition", "dev", "start", "size", "alignment_offset"];

/// Only where serial numbers are wanted.
pub(super) const SERIALS: &[&str] = &["wwid", "device/wwid", "md/uuid"];

/// Folders whose being there tells something.
pub(super) const MARKS: &[&str] = &["mq", "md", "dm"];

/// Folders of which only the names are read.
pub(super) const LISTS: &[&str] = &["slaves", "holders"];
