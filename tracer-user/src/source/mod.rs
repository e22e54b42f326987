//! Where counters come from: the running kernel, or a list of events.
//!
//! Must not render, and must not compute rates.

pub mod event_list;
pub mod live;
pub mod synthetic;

use std::os::fd::BorrowedFd;

use crate::{
    facts::program::ProgramFacts, plan::Kind, snapshot::Snapshot, sysfs::device::Topology,
};

/// Hands out readings of every counter.
pub trait Source {
    /// Reads every counter once.
    ///
    /// # Errors
    /// When the counters cannot be read any more; nothing later will succeed.
    fn snapshot(&mut self) -> anyhow::Result<Snapshot>;

    /// Follows devices that came, went or changed since the last call; true
    /// if any did.
    ///
    /// # Errors
    /// When the devices cannot be listed at all.
    fn refresh(&mut self) -> anyhow::Result<bool>;

    /// The devices as of the last [`Source::refresh`].
    fn topology(&self) -> &Topology;

    /// Readable when [`Source::refresh`] has something to follow.
    fn wake(&self) -> Option<BorrowedFd<'_>>;

    /// No event will come any more (a source that is not the live kernel).
    fn finished(&self) -> bool;

    /// One line for the head of a view: how it counts, as in
    /// `live, 7 programs by btf`.
    fn describe(&self) -> String;

    /// What the source is made of, for who watches the watcher.
    fn inside(&self) -> Inside;
}

/// What a source is made of, and how full it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inside {
    pub programs: Vec<RunningProgram>,
    pub maps: Vec<MapUse>,
}

/// An eBPF program that is attached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningProgram {
    pub name: String,
    /// The kernel's name of it, as in `block_rq_issue`.
    pub event: &'static str,
    pub kind: Kind,
    pub facts: ProgramFacts,
}

/// Of one kind of entry in the programs' maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapUse {
    pub name: &'static str,
    pub used: u64,
    pub capacity: u64,
}
