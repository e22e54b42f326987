//! IO that reaches a component of an md array, and why: at `block_bio_queue`,
//! where every bio still says whom it tells when it ends.
//!
//! Must not look into a `stripe_head` ([`super::stripe`] does) or decide what
//! its numbers mean (`tracer_ebpf::origin` does).

use tracer_ebpf::{
    abi::lost,
    classify::Physical,
    op::Op,
    origin::{
        EndIo, Level, Metadata, Origin, Sync,
        abi::{CAUSES, Component, MAX_REGIONS, origin_cell},
    },
};

use crate::{
    bio,
    maps::{self, count_lost},
    md_maps::{self, Cells, md},
    read::{Kernel, Ptr, Room, decode_op, in_kernel_thread, layout},
    request,
    stripe::{self, Row},
};

/// A bio on a component.
#[derive(Clone, Copy)]
pub(crate) struct Member {
    pub(crate) index: u32,
    pub(crate) component: &'static Component,
    pub(crate) start_sector: u64,
    pub(crate) len_bytes: u64,
    pub(crate) write: bool,
}

/// A bio reaches a component.
#[inline(always)]
pub(crate) fn on_queue<K: Kernel>(bio: Ptr, address: impl Fn() -> Option<u64>) {
    let mut room = Room::new();
    let Some(member) = member::<K>(&mut room, bio) else {
        return;
    };
    if count::<K>(bio, &member, address).is_none() {
        count_lost(lost::READ_FAULT);
    }
}

/// A bio that was queued before is sent to a component, which sees no queue
/// event of it: raid0 before 5.14, linear before 6.12.
#[inline(always)]
pub(crate) fn on_remap<K: Kernel>(bio: Ptr, old_dev: u32) {
    let _ = remap::<K>(bio, old_dev);
}

#[inline(always)]
fn remap<K: Kernel>(bio: Ptr, old_dev: u32) -> Option<()> {
    let mut room = Room::new();
    let words = bio::words::<K>(&mut room, bio)?;
    if !bio::was_traced::<K>(&words)? {
        return None;
    }
    let mut room = Room::new();
    let member = member::<K>(&mut room, bio)?;
    if member.component.array_dev != old_dev || old_dev == 0 {
        return None;
    }
    member.add(Origin::user(member.write))
}

/// The component that a bio goes to; `None` for what has no bytes, is neither
/// read nor written, or goes elsewhere.
#[inline(always)]
fn member<K: Kernel>(room: &mut Room<{ bio::BIO_WORDS }>, bio: Ptr) -> Option<Member> {
    let words = bio::words::<K>(room, bio)?;
    let (dev, _disk) = bio::device::<K>(&words)?;
    let index = md_maps::index_of(dev)?;
    let opf: u32 = K::at(&words, layout!(bio_opf))?;
    let write = match decode_op(opf) {
        Op::Read => false,
        Op::Write | Op::WriteZeroes => true,
        _ => return None,
    };
    let len: u32 = K::at(&words, layout!(bio_size))?;
    let start_sector: u64 = K::at(&words, layout!(bio_sector))?;
    if len == 0 {
        return None;
    }
    let (index, component) = if md!(by_range) == 0 {
        (index, md_maps::component(index)?)
    } else {
        by_range(index, start_sector)?
    };
    Some(Member {
        index,
        component,
        start_sector,
        len_bytes: u64::from(len),
        write,
    })
}

/// Most components that one disk's list is looked through for.
const MAX_ON_A_DISK: u32 = 16;

/// The component of a disk that holds a sector.
#[inline(always)]
fn by_range(first: u32, sector: u64) -> Option<(u32, &'static Component)> {
    let mut index = first;
    for _ in 0..MAX_ON_A_DISK {
        let component = md_maps::component(index)?;
        if sector.wrapping_sub(component.start_sector) < component.len_sectors {
            return Some((index, component));
        }
        index = component.next;
        if index == 0 {
            return None;
        }
    }
    count_lost(lost::NO_SLOT);
    None
}

#[inline(always)]
fn count<K: Kernel>(bio: Ptr, member: &Member, address: impl Fn() -> Option<u64>) -> Option<()> {
    let end_io: u64 = K::load(bio, md!(bio_end_io))?;
    let write = member.write;
    let level = Level::from_number(member.component.level);
    let Some(end_io) = md_maps::end_io(end_io).and_then(EndIo::from_number) else {
        return member.add(Origin::direct(write));
    };
    let origin = match end_io {
        EndIo::StripeRead | EndIo::StripeWrite => return stripe(bio, member, address),
        EndIo::AlignedRead | EndIo::Copy => Origin::user(write),
        EndIo::Sync => Origin::sync(write, stripe::resync_kind(bio, level)),
        EndIo::Reshape => Origin::sync(write, Sync::Reshape),
        EndIo::Metadata => Origin::metadata(write, member.book()),
        EndIo::Journal => Origin::metadata(write, Metadata::Journal),
        EndIo::Ppl => Origin::metadata(write, Metadata::Ppl),
        // The others' too: only on a level that sends bios on it is md's.
        EndIo::Clone | EndIo::Chained => match level {
            Level::Plain => Origin::user(write),
            Level::Parity | Level::Raid1 | Level::Raid10 => Origin::direct(write),
        },
        EndIo::Waited => waited(member),
    };
    member.add(origin)
}

/// Somebody waits for this bio: md's own threads when they read what failed
/// again or their books, else whoever reads the component itself.
#[inline(always)]
fn waited(member: &Member) -> Origin {
    if !in_kernel_thread() {
        return Origin::direct(member.write);
    }
    match member.book() {
        Metadata::Unknown => Origin::retry(member.write),
        book => Origin::metadata(member.write, book),
    }
}

#[inline(always)]
fn stripe(bio: Ptr, member: &Member, address: impl Fn() -> Option<u64>) -> Option<()> {
    let bio_address = address()?;
    let Some(row) = Row::of(bio, bio_address) else {
        return member.add(Origin::unattributed(member.write));
    };
    if member.write {
        let origin = row.write_origin().unwrap_or(Origin::WriteUnattributed);
        if matches!(origin, Origin::Parity) {
            stripe::count_row(&row, member);
        }
        return member.add(origin);
    }
    let (origin, cause) = row.read_origin(member);
    if origin.is_preread() {
        let cells = Cells::of(member.index)?;
        cells.count(CAUSES + cause as usize, member.len_bytes);
    }
    member.add(origin)
}

impl Member {
    /// Adds this bio to the cells of its origin.
    #[inline(always)]
    fn add(&self, origin: Origin) -> Option<()> {
        let cells = Cells::of(self.index)?;
        // One walk for all reasons there are.
        let cell = maps::forget(origin_cell(origin) as u64, self.start_sector) as usize;
        cells.count(cell, 1);
        cells.count(cell + 1, self.len_bytes);
        let start_bytes = self.start_sector << 9;
        let class = request::class(start_bytes, self.len_bytes, &self.component.geometry);
        if matches!(class.physical, Physical::OffGrid | Physical::SubBlock) {
            cells.count(cell + 2, 1);
        }
        Some(())
    }

    /// Which of md's books lies where this bio goes.
    #[inline(always)]
    fn book(&self) -> Metadata {
        let sector = self.start_sector.wrapping_sub(self.component.start_sector);
        for index in 0..MAX_REGIONS {
            if let Some(region) = self.component.regions.get(index)
                && region.holds(sector)
            {
                return Metadata::from_number(region.what);
            }
        }
        Metadata::Unknown
    }
}
