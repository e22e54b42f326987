//! Positions: in an array, and on its members. Two types, because both are
//! sectors and mixing them up is the classic mistake.
//!
//! Must not know any layout.

/// Most members an array can have: what a version-1 superblock has room for
/// (drivers/md/md.c, `super_1_load`: `(4096 - 256) / 2`).
pub const MAX_MEMBERS: u32 = 1920;

/// A 512-byte sector of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ArraySector(pub u64);

/// A 512-byte sector of a member, counted from its data offset
/// (`md/dev-*/offset`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemberSector(pub u64);

/// A member's place in its array (`md/dev-*/slot`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(pub u32);

/// One sector of one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    pub slot: Slot,
    pub sector: MemberSector,
}
