//! The values that cross between the programs on md's components and user
//! space. Like [`crate::abi`]: all fields explicit, no implicit padding.
//!
//! Must not decide anything.

use super::{Cause, Origin, Region, RowKind, decide::RecoveryBits};
use crate::{abi::ABSENT, classify::Geometry};

/// Name of the frozen global that holds [`MdLayout`].
pub const MD_LAYOUT_SYMBOL: &str = "MD_LAYOUT";

/// Where md's modules keep what the programs read; offsets in bytes,
/// [`ABSENT`] where there is none.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MdLayout {
    /// `STRIPE_SYNCING` as a mask of `stripe_head.state`.
    pub stripe_syncing: u64,
    /// `STRIPE_EXPANDING`, `STRIPE_EXPAND_SOURCE`, `STRIPE_EXPAND_READY`.
    pub stripe_expanding: u64,
    /// Masks of `r5dev.flags`.
    pub dev_uptodate: u64,
    pub dev_overwrite: u64,
    pub dev_insync: u64,
    /// `R5_ReadError` and `R5_ReWrite`.
    pub dev_retry: u64,
    pub dev_rewrite: u64,
    pub recovery: RecoveryBits,
    /// `BIO_CHAIN` as a mask of `bi_flags`.
    pub bio_chain: u64,

    /// Of `bio`.
    pub bio_end_io: u16,
    pub bio_private: u16,
    /// Of `stripe_head`.
    pub stripe_raid_conf: u16,
    pub stripe_sector: u16,
    pub stripe_pd_idx: u16,
    pub stripe_qd_idx: u16,
    pub stripe_state: u16,
    pub stripe_disks: u16,
    pub stripe_dev: u16,
    /// Size of `r5dev`, and offsets in it.
    pub dev_size: u16,
    /// The second bio, for the member that takes this one's place.
    pub dev_rreq: u16,
    pub dev_toread: u16,
    pub dev_towrite: u16,
    pub dev_written: u16,
    pub dev_flags: u16,
    /// Of `r5conf`.
    pub conf_mddev: u16,
    pub conf_rmw_level: u16,
    /// Of `mddev`.
    pub mddev_recovery: u16,
    /// `recovery_cp`, `resync_offset` since 6.18: sectors below it are
    /// synchronized.
    pub mddev_resync_offset: u16,
    /// Of `resync_pages`, which raid1 and raid10 have in `bi_private`.
    pub resync_raid_bio: u16,
    pub r1bio_mddev: u16,
    pub r10bio_mddev: u16,
    /// `orig_bio` of `md_io_clone`, and the bio in it that a row holds (since
    /// 5.14).
    pub clone_orig_bio: u16,
    pub clone_bio: u16,

    /// 1: components are found by the sector on their disk (before 5.12).
    pub by_range: u16,
    /// 1: from a table, not from this kernel's own BTF: every live structure
    /// is checked.
    pub unsure: u16,
    /// Disks that a row is looked through for; no array that is watched has
    /// more. At most [`MAX_DISKS`]: the verifier walks every turn of the loop.
    pub row_disks: u16,
    pub _pad: u16,
}

impl MdLayout {
    /// Nothing known: what the object is compiled with.
    pub const NONE: Self = Self {
        stripe_syncing: 0,
        stripe_expanding: 0,
        dev_uptodate: 0,
        dev_overwrite: 0,
        dev_insync: 0,
        dev_retry: 0,
        dev_rewrite: 0,
        recovery: RecoveryBits {
            sync: 0,
            recover: 0,
            requested: 0,
            check: 0,
            reshape: 0,
        },
        bio_chain: 0,
        bio_end_io: ABSENT,
        bio_private: ABSENT,
        stripe_raid_conf: ABSENT,
        stripe_sector: ABSENT,
        stripe_pd_idx: ABSENT,
        stripe_qd_idx: ABSENT,
        stripe_state: ABSENT,
        stripe_disks: ABSENT,
        stripe_dev: ABSENT,
        dev_size: ABSENT,
        dev_rreq: ABSENT,
        dev_toread: ABSENT,
        dev_towrite: ABSENT,
        dev_written: ABSENT,
        dev_flags: ABSENT,
        conf_mddev: ABSENT,
        conf_rmw_level: ABSENT,
        mddev_recovery: ABSENT,
        mddev_resync_offset: ABSENT,
        resync_raid_bio: ABSENT,
        r1bio_mddev: ABSENT,
        r10bio_mddev: ABSENT,
        clone_orig_bio: ABSENT,
        clone_bio: ABSENT,
        by_range: 0,
        unsure: 0,
        row_disks: 0,
        _pad: 0,
    };
}

/// Most disks of an array; md's superblock 1.x has room
/// for 384 roles (`MD_SB_DISKS` and `max_dev`, drivers/md/md.c).
pub const MAX_DISKS: u16 = 384;

/// Books of md's that a component can have.
pub const MAX_REGIONS: usize = 6;

/// The value of `COMPONENTS`, by index.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Component {
    /// Of the disk: what its IO is classified by.
    pub geometry: Geometry,
    /// Of the component on its disk; 0 for a whole disk.
    pub start_sector: u64,
    pub len_sectors: u64,
    /// Of the array.
    pub stripe_bytes: u64,
    /// Where md splits.
    pub max_bytes: u64,
    /// A [`super::Level`].
    pub level: u32,
    /// The kernel's `dev_t` of the array; 0 where md has no device of its own.
    pub array_dev: u32,
    /// Index of another component on the same disk, where they are found by
    /// range; 0 for none.
    pub next: u32,
    /// 1: md cuts what crosses the boundary of a stripe there.
    pub cuts_at_stripe: u32,
    pub regions: [Region; MAX_REGIONS],
}

/// Cells of an origin.
pub const PER_ORIGIN: usize = 3;
/// First of its cells: bios, bytes, misaligned bios.
#[inline(always)]
#[must_use]
pub const fn origin_cell(origin: Origin) -> usize {
    origin.index() * PER_ORIGIN
}
/// First of the cells of rows, by [`RowKind`]: counted at the component that P
/// is written to.
pub const ROWS: usize = Origin::COUNT * PER_ORIGIN;
/// First of the cells of pre-read bytes, by [`Cause`].
pub const CAUSES: usize = ROWS + RowKind::COUNT;
/// All cells of a component.
pub const CELLS: usize = CAUSES + Cause::COUNT;

/// Per-CPU cells of a component.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ComponentCells {
    pub cells: [u64; CELLS],
}

const _: () = {
    assert!(size_of::<MdLayout>() == 13 * 8 + 28 * 2);
    assert!(size_of::<Region>() == 24);
    assert!(size_of::<Component>() == 7 * 8 + 4 * 8 + 4 * 4 + MAX_REGIONS * 24);
};
