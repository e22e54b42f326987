//! Looks into md's structures: the `stripe_head` behind a bio of raid4/5/6,
//! and what synchronization runs. Read by helper, because `bi_private` has no
//! type.
//!
//! Must not decide: numbers go to `tracer_ebpf::origin`.

use tracer_ebpf::{
    abi::ABSENT,
    origin::{
        Cause, Level, Origin, RecoveryBits, Shape, StripeRead, StripeWrite, Sync,
        abi::{MAX_DISKS, ROWS},
        cause, row_kind, stripe_read, stripe_write,
    },
};

use crate::{
    md_maps::{Cells, md},
    member::Member,
    read::{Kernel as _, Probed, Ptr, Room, layout},
};

/// Words of a `stripe_head`, from its configuration on.
const HEAD_WORDS: usize = 8;
/// Words of an `r5dev`, from `toread` on.
const DEV_WORDS: usize = 6;

/// A row of an array, seen from one of its members' bios.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    stripe: Ptr,
    conf: Ptr,
    /// On the member, from where data begins.
    sector: u64,
    state: u64,
    disks: u32,
    parity: bool,
    /// The member's block is P.
    is_p: bool,
    /// The member's `r5dev`.
    dev: u64,
    replacement: bool,
}

impl Row {
    /// The row of a bio that ends in one of raid5's functions; `None` where
    /// the structures are not what they are taken for.
    #[inline(always)]
    pub(crate) fn of(bio: Ptr, bio_address: u64) -> Option<Self> {
        if md!(dev_size) == ABSENT {
            return None;
        }
        let stripe = bio.number_at(md!(bio_private))?;
        let first = stripe.wrapping_add(u64::from(md!(stripe_dev)));
        let offset = bio_address.wrapping_sub(first);
        let size = u64::from(md!(dev_size));
        let slot = offset.checked_div(size)?;
        let rest = offset.wrapping_sub(slot.wrapping_mul(size));
        let replacement = rest != 0;
        if replacement && rest != u64::from(md!(dev_rreq)) {
            return None;
        }
        let stripe = Ptr::at(stripe);
        let mut room = Room::<HEAD_WORDS>::new();
        let head = Probed::window(&mut room, stripe, md!(stripe_raid_conf))?;
        let disks: i32 = Probed::at(&head, md!(stripe_disks))?;
        let disks = disks as u32;
        if disks > MAX_DISKS || slot >= u64::from(disks) {
            return None;
        }
        let sector: u64 = Probed::at(&head, md!(stripe_sector))?;
        let conf: u64 = Probed::at(&head, md!(stripe_raid_conf))?;
        if md!(unsure) != 0 && !plausible(sector, conf) {
            return None;
        }
        let p: i16 = Probed::at(&head, md!(stripe_pd_idx))?;
        let q: i16 = Probed::at(&head, md!(stripe_qd_idx))?;
        let slot = slot as i32;
        Some(Self {
            stripe,
            conf: Ptr::at(conf),
            sector,
            state: Probed::at(&head, md!(stripe_state))?,
            disks,
            is_p: slot == i32::from(p),
            parity: slot == i32::from(p) || slot == i32::from(q),
            dev: first.wrapping_add(u64::from(slot as u32).wrapping_mul(size)),
            replacement,
        })
    }

    /// Why the member is written.
    #[inline(always)]
    pub(crate) fn write_origin(&self) -> Option<Origin> {
        let flags: u64 = Probed::load(Ptr::at(self.dev), md!(dev_flags))?;
        let write = StripeWrite {
            syncing: self.state & md!(stripe_syncing),
            expanding: self.state & md!(stripe_expanding),
            parity: self.parity,
            retry: flags & md!(dev_rewrite),
            replacement: self.replacement,
        };
        Some(stripe_write(&write, self.sync(write.syncing)))
    }

    /// Why the member is read, and what in the write made md read it.
    #[inline(always)]
    pub(crate) fn read_origin(&self, member: &Member) -> (Origin, Cause) {
        let Some((origin, blocks)) = self.read() else {
            return (Origin::ReadUnattributed, Cause::NotTold);
        };
        if !origin.is_preread() {
            return (origin, Cause::NotTold);
        }
        let shape = self.shape(&blocks, member).unwrap_or_default();
        (origin, cause(origin, &shape))
    }

    #[inline(always)]
    fn read(&self) -> Option<(Origin, Blocks)> {
        let mut room = Room::<DEV_WORDS>::new();
        let dev = Probed::window(&mut room, Ptr::at(self.dev), md!(dev_toread))?;
        let flags: u64 = Probed::at(&dev, md!(dev_flags))?;
        let mut read = StripeRead {
            syncing: self.state & md!(stripe_syncing),
            expanding: self.state & md!(stripe_expanding),
            parity: self.parity,
            toread: Probed::at(&dev, md!(dev_toread))?,
            towrite: Probed::at(&dev, md!(dev_towrite))?,
            overwrite: flags & md!(dev_overwrite),
            retry: flags & md!(dev_retry),
            ..StripeRead::default()
        };
        let mut blocks = Blocks::default();
        if read.syncing | read.expanding == 0 {
            walk(self.stripe.address(), self.disks, &mut blocks)?;
        }
        read.any_toread = blocks.toread;
        read.any_towrite = blocks.towrite;
        read.any_failed = u64::from(blocks.insync != self.disks);
        Some((stripe_read(&read, self.sync(read.syncing)), blocks))
    }

    #[inline(always)]
    fn sync(&self, syncing: u64) -> Sync {
        if syncing == 0 {
            return Sync::Unknown;
        }
        sync_of(self.conf.number_at(md!(conf_mddev)))
    }

    /// The write behind a pre-read.
    #[inline(always)]
    fn shape(&self, blocks: &Blocks, member: &Member) -> Option<Shape> {
        let bio = Ptr::at(blocks.write);
        let sector: u64 = Probed::load(bio, layout!(bio_sector))?;
        let len: u32 = Probed::load(bio, layout!(bio_size))?;
        let mddev = Ptr::at(self.conf.number_at(md!(conf_mddev))?);
        let synced: u64 = if md!(mddev_resync_offset) == ABSENT {
            u64::MAX
        } else {
            Probed::load(mddev, md!(mddev_resync_offset))?
        };
        let rmw_level: i32 = if md!(conf_rmw_level) == ABSENT {
            1
        } else {
            Probed::load(self.conf, md!(conf_rmw_level))?
        };
        Some(Shape {
            start_bytes: sector << 9,
            len_bytes: u64::from(len),
            stripe_bytes: member.component.stripe_bytes,
            max_bytes: member.component.max_bytes,
            data_disks: u64::from(member.component.data_disks),
            parity_disks: u64::from(member.component.parity_disks),
            written_blocks: u64::from(blocks.towrites),
            not_synced: self.sector >= synced,
            never_rmw: rmw_level == 0,
        })
    }
}

/// Where offsets come from a table: is this a row at all?
#[inline(always)]
fn plausible(sector: u64, conf: u64) -> bool {
    sector & 7 == 0 && (conf as i64) < 0
}

/// What all blocks of a row say together.
#[derive(Clone, Copy, Default)]
struct Blocks {
    /// Some block's.
    toread: u64,
    towrite: u64,
    /// A bio that is to be written.
    write: u64,
    /// How many blocks have one.
    towrites: u32,
    insync: u32,
    /// Data blocks that are being written from end to end.
    whole: u32,
    /// Blocks that are not written and of which the cache has no content.
    stale: u32,
}

/// 1 where `value` is not 0, without a branch: each would be one more path for
/// the verifier at every disk.
#[inline(always)]
fn is_set(value: u64) -> u64 {
    (value | value.wrapping_neg()) >> 63
}

/// Looks at every block of a row.
#[inline(always)]
fn walk(stripe: u64, disks: u32, blocks: &mut Blocks) -> Option<()> {
    let mut dev = stripe.wrapping_add(u64::from(md!(stripe_dev)));
    for index in 0..MAX_DISKS {
        if index >= disks {
            break;
        }
        let mut room = Room::<DEV_WORDS>::new();
        let words = Probed::window(&mut room, Ptr::at(dev), md!(dev_toread))?;
        let toread: u64 = Probed::at(&words, md!(dev_toread))?;
        let towrite: u64 = Probed::at(&words, md!(dev_towrite))?;
        let written: u64 = Probed::at(&words, md!(dev_written))?;
        let flags: u64 = Probed::at(&words, md!(dev_flags))?;
        blocks.toread |= toread;
        blocks.towrite |= towrite;
        let keep = is_set(towrite).wrapping_neg();
        blocks.write = (towrite & keep) | (blocks.write & !keep);
        blocks.towrites += is_set(towrite) as u32;
        blocks.insync += is_set(flags & md!(dev_insync)) as u32;
        let is_written = is_set(written);
        blocks.whole += (is_written & is_set(flags & md!(dev_overwrite))) as u32;
        let known = is_written | is_set(flags & md!(dev_uptodate));
        blocks.stale += (known ^ 1) as u32;
        dev = dev.wrapping_add(u64::from(md!(dev_size)));
    }
    Some(())
}

/// Counts a row whose parity is being written. Once: at P.
#[inline(always)]
pub(crate) fn count_row(row: &Row, member: &Member) -> Option<()> {
    if !row.is_p || row.replacement {
        return None;
    }
    let mut blocks = Blocks::default();
    walk(row.stripe.address(), row.disks, &mut blocks)?;
    let kind = row_kind(member.component.data_disks, blocks.whole, blocks.stale);
    Cells::of(member.index)?.count(ROWS + kind as usize, 1);
    Some(())
}

/// What runs on the array that a raid1 or raid10 synchronization's bio is of:
/// its `bi_private` is a `resync_pages`, which knows the `r1bio` or `r10bio`.
#[inline(always)]
pub(crate) fn resync_kind(bio: Ptr, level: Level) -> Sync {
    if md!(resync_raid_bio) == ABSENT {
        return Sync::Unknown;
    }
    let mddev = match level {
        Level::Raid1 => md!(r1bio_mddev),
        Level::Raid10 => md!(r10bio_mddev),
        Level::Parity | Level::Plain => ABSENT,
    };
    if mddev == ABSENT {
        return Sync::Unknown;
    }
    let raid_bio = bio
        .number_at(md!(bio_private))
        .and_then(|pages| Ptr::at(pages).number_at(md!(resync_raid_bio)));
    sync_of(raid_bio.and_then(|raid_bio| Ptr::at(raid_bio).number_at(mddev)))
}

#[inline(always)]
fn sync_of(mddev: Option<u64>) -> Sync {
    if md!(mddev_recovery) == ABSENT {
        return Sync::Unknown;
    }
    let recovery = mddev.and_then(|mddev| Ptr::at(mddev).number_at(md!(mddev_recovery)));
    let bits = RecoveryBits {
        sync: md!(recovery.sync),
        recover: md!(recovery.recover),
        requested: md!(recovery.requested),
        check: md!(recovery.check),
        reshape: md!(recovery.reshape),
    };
    recovery.map_or(Sync::Unknown, |recovery| Sync::of(recovery, &bits))
}
