//! Swap areas: `union swap_header`, include/linux/swap.h. In the byte order of
//! the machine that made them, in pages of its size.
//!
//! Must not read.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::units::Bytes;

/// What the head of a swap area says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Swap {
    /// 1; 0 is "SWAP-SPACE", which kernels no longer take.
    pub version: u32,
    /// Of the machine that made it: the magic lies at the end of a page.
    pub page_size: Bytes,
    /// The last page that may be used, counted from 0. `None` in version 0.
    pub last_page: Option<u32>,
    /// Pages that are not used. `None` in version 0.
    pub bad_pages: Option<u32>,
    pub uuid: Option<Uuid>,
    /// Holds a sleeping system.
    pub suspended: Option<Suspended>,
}

/// Whose image a swap area holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Suspended {
    /// kernel/power/swap.c (`S1SUSPEND`).
    Kernel,
    /// uswsusp (`S2SUSPEND`, `ULSUSPEND`) or another's.
    User,
}
