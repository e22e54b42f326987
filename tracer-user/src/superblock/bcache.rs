//! bcache: `struct cache_sb_disk`, drivers/md/bcache/bcache_ondisk.h, 4 KiB into
//! the device. Little-endian.
//!
//! Must not read.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::units::{Bytes, Sectors};

/// What a bcache superblock says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bcache {
    /// `BCACHE_SB_VERSION_*`: 0 to 6.
    pub version: u64,
    pub uuid: Uuid,
    /// Of the cache set; zeroes where the device is attached to none.
    pub set_uuid: Uuid,
    /// Of IO. `None`: a backing device, which keeps its own device's.
    pub block_size: Option<Bytes>,
    pub role: BcacheRole,
}

/// Which side of bcache a device is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BcacheRole {
    Backing {
        /// Where data begin.
        data_offset: Sectors,
    },
    Cache {
        bucket_size: Bytes,
        buckets: u64,
        /// The bucket that data begin with.
        first_bucket: u16,
    },
}
