//! Looks into md's structures: the `stripe_head` behind a bio of raid4/5/6,
//! and what synchronization runs. Read by helper, because `bi_private` has no
//! type.
//!
//! Must not decide: numbers go to `tracer_ebpf::origin`.

use tracer_ebpf::{
    abi::ABSENT,
    origin::{
        Block, Blocks, Cause, EndIo, Level, Origin, RecoveryBits, Shape, StripeRead, StripeWrite,
        Sync, abi::ROWS, cause, row_kind, stripe_read, stripe_write,
    },
};

use crate::{
    md_maps::{self, Cells, md},
    member::Member,
    read::{Kernel as _, Probed, Ptr, Room, copy, layout},
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
    /// Of the disks; fewer while a reshape adds some.
    data_disks: u32,
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
        if disks > u32::from(md!(row_disks)) || slot >= u64::from(disks) {
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
            data_disks: disks.wrapping_sub(if q < 0 { 1 } else { 2 }),
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
        let shape = self.shape(blocks, member).unwrap_or_default();
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
        let blocks = self.blocks()?;
        read.any_toread = blocks.toread();
        read.any_towrite = u64::from(blocks.towrites());
        read.any_failed = u64::from(blocks.insync() != self.disks);
        Some((stripe_read(&read, self.sync(read.syncing)), blocks))
    }

    #[inline(always)]
    fn blocks(&self) -> Option<Blocks> {
        Blocks::unpack(walk_row(self.stripe.address(), u64::from(self.disks)))
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
    fn shape(&self, blocks: Blocks, member: &Member) -> Option<Shape> {
        let writer = u64::from(md!(stripe_dev))
            .wrapping_add(u64::from(blocks.writer()).wrapping_mul(u64::from(md!(dev_size))));
        let writer = Ptr::at(self.stripe.address().wrapping_add(writer));
        let bio = Ptr::at(writer.number_at(md!(dev_towrite))?);
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
            data_disks: u64::from(self.data_disks),
            parity_disks: u64::from(self.disks.wrapping_sub(self.data_disks)),
            written_blocks: u64::from(blocks.towrites()),
            not_synced: self.sector >= synced,
            never_rmw: rmw_level == 0,
            cut_at_stripe: member.component.cuts_at_stripe != 0 && is_part(bio),
        })
    }
}

/// Where offsets come from a table: is this a row at all?
#[inline(always)]
fn plausible(sector: u64, conf: u64) -> bool {
    sector & 7 == 0 && (conf as i64) < 0
}

/// Is the bio that a row holds a part of one that was split?
#[inline(always)]
fn is_part(bio: Ptr) -> bool {
    let Some(bio) = original(bio) else {
        return false;
    };
    let flags: u16 = Probed::load(bio, layout!(bio_flags)).unwrap_or(0);
    u64::from(flags) & md!(bio_chain) != 0 || ends_in(bio, EndIo::Chained)
}

/// The bio that md got; a row holds a clone of it (`md_account_bio`, since
/// 5.14).
#[inline(always)]
fn original(bio: Ptr) -> Option<Ptr> {
    if !ends_in(bio, EndIo::Clone) {
        return Some(bio);
    }
    if md!(clone_orig_bio) == ABSENT || md!(clone_bio) == ABSENT {
        return None;
    }
    let clone = bio.address().wrapping_sub(u64::from(md!(clone_bio)));
    Some(Ptr::at(Ptr::at(clone).number_at(md!(clone_orig_bio))?))
}

#[inline(always)]
fn ends_in(bio: Ptr, wanted: EndIo) -> bool {
    let Some(address) = bio.number_at(md!(bio_end_io)) else {
        return false;
    };
    match md_maps::end_io(address) {
        Some(end_io) => end_io == wanted as u32,
        None => false,
    }
}

/// Looks at every block of a row ([`Blocks::pack`]).
///
/// A global function: walked by the verifier once for any two numbers, not
/// once for each state that its callers may be in.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn walk_row(stripe: u64, disks: u64) -> u64 {
    // Walked by older verifiers where nothing calls it, too.
    if md!(dev_size) == ABSENT {
        return 0;
    }
    let mut blocks = Blocks::none();
    let mut dev = stripe.wrapping_add(u64::from(md!(stripe_dev)));
    for slot in 0..u32::from(md!(row_disks)) {
        if u64::from(slot) >= disks {
            break;
        }
        blocks = blocks.with(slot, &block(dev));
        dev = dev.wrapping_add(u64::from(md!(dev_size)));
    }
    blocks.pack()
}

#[inline(always)]
fn block(dev: u64) -> Block {
    let mut room = Room::<DEV_WORDS>::new();
    let (words, fault) = copy(&mut room, Ptr::at(dev), md!(dev_toread));
    let word = |offset| Probed::at::<u64, DEV_WORDS>(&words, offset);
    let flags = word(md!(dev_flags));
    let (Some(toread), Some(towrite), Some(written), Some(flags)) = (
        word(md!(dev_toread)),
        word(md!(dev_towrite)),
        word(md!(dev_written)),
        flags,
    ) else {
        return Block {
            fault: 1,
            ..Block::default()
        };
    };
    Block {
        toread,
        towrite,
        written,
        overwrite: flags & md!(dev_overwrite),
        uptodate: flags & md!(dev_uptodate),
        insync: flags & md!(dev_insync),
        fault,
    }
}

/// Counts a row whose parity is being written. Once: at P.
#[inline(always)]
pub(crate) fn count_row(row: &Row, member: &Member) -> Option<()> {
    if !row.is_p || row.replacement {
        return None;
    }
    let blocks = row.blocks()?;
    let kind = row_kind(row.data_disks, blocks.whole(), blocks.stale());
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
