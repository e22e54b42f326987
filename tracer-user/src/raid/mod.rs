//! What md does with a position of an array: on which member it lies, and what
//! a write there costs. Pure arithmetic on md's own attributes.
//!
//! Must not read files, know events or counters, or guess: an attribute md
//! would refuse, or that has no known meaning, is an error. Nothing here is
//! measured; a figure that comes from here is an estimate and must be labelled
//! as one.
//!
//! [`raid456`], [`raid10`] and [`raid0`] say where md keeps a sector, and what
//! lies on a member's sector. [`rows`] says what a write to raid4/5/6 reads and
//! writes on rows that md does not hold, [`cache`] on rows it may still hold.
//! Sectors of members count from the member's data offset.

pub mod cache;
pub mod cost;
pub mod extent;
pub mod place;
pub mod raid0;
pub mod raid10;
pub mod raid456;
pub mod redundancy;
pub mod rows;
pub mod shape;

pub use cache::StripeCache;
pub use cost::{Preread, RowCounts, WriteCost};
pub use extent::Extent;
pub use place::{ArraySector, MemberSector, Place, Slot};
pub use raid0::{Raid0, Raid0Error, Raid0Layout};
pub use raid10::{FarCopies, FarSets, Raid10, Raid10Error, Raid10Layout};
pub use raid456::{Content, Located, Raid456, Raid456Error};
pub use redundancy::Redundancy;
pub use rows::{RmwLevel, RowModel, Synced};
pub use shape::{Chunk, ParityLevel, ParityShape, ShapeError};
