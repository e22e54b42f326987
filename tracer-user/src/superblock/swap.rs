//! Swap areas: `union swap_header`, include/linux/swap.h. In the byte order of
//! the machine that made them, in pages of its size.
//!
//! Must not read.

use serde::{Deserialize, Serialize};
use uuid::Uuid;
use zerocopy::{
    FromBytes, Immutable, KnownLayout, Unaligned,
    byteorder::{BE, LE, U32},
};

use super::fault::{Fault, Format, Why};
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

const FORMAT: Format = Format::Swap;
/// Pages of all machines that Linux runs on.
const PAGE_BYTES: [usize; 5] = [4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10];
const MAGIC_BYTES: usize = 10;
/// Behind the boot block.
const INFO_AT: usize = 1024;

/// `info` of `union swap_header`, in either byte order.
#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Disk {
    version: [u8; 4],
    last_page: [u8; 4],
    nr_badpages: [u8; 4],
    uuid: [u8; 16],
}

/// What the end of a page says.
enum Magic {
    Version0,
    Version1,
    Suspended(Suspended),
}

impl Magic {
    /// Those of kernel/power/swap.c, of swapon(8) and of libblkid.
    fn of(bytes: &[u8]) -> Option<Self> {
        match bytes {
            b"SWAP-SPACE" => Some(Self::Version0),
            b"SWAPSPACE2" => Some(Self::Version1),
            b"S1SUSPEND\0" => Some(Self::Suspended(Suspended::Kernel)),
            b"S2SUSPEND\0" | b"ULSUSPEND\0" | b"LINHIB0001" => {
                Some(Self::Suspended(Suspended::User))
            }
            _ => None,
        }
    }
}

impl Swap {
    /// `head` begins with the device, which has `size`. `None`: no swap.
    pub(super) fn parse(head: &[u8], size: Bytes) -> Option<Result<Self, Fault>> {
        PAGE_BYTES.into_iter().find_map(|page| {
            let magic = Magic::of(head.get(page - MAGIC_BYTES..page)?)?;
            Some(parse(head, size, page as u64, &magic))
        })
    }
}

fn parse(head: &[u8], size: Bytes, page: u64, magic: &Magic) -> Result<Swap, Fault> {
    let suspended = match magic {
        Magic::Version0 => {
            return Ok(Swap {
                version: 0,
                page_size: Bytes(page),
                last_page: None,
                bad_pages: None,
                uuid: None,
                suspended: None,
            });
        }
        Magic::Version1 => None,
        Magic::Suspended(by) => Some(*by),
    };
    let disk: &Disk = FORMAT.layout(head.get(INFO_AT..).unwrap_or_default())?;
    let is_big = U32::<BE>::from_bytes(disk.version).get() == 1;
    let number = |bytes: [u8; 4]| match is_big {
        true => U32::<BE>::from_bytes(bytes).get(),
        false => U32::<LE>::from_bytes(bytes).get(),
    };
    let version = number(disk.version);
    if version != 1 {
        return Err(FORMAT.fault("version", Some(version.into()), Why::Unknown));
    }
    // `read_swap_header` and `setup_swap_map_and_extents`, mm/swapfile.c.
    let most = (size.0 / page).saturating_sub(1);
    let last_page = number(disk.last_page);
    FORMAT.within("last page", last_page.into(), 1..=most.max(1))?;
    let bad = number(disk.nr_badpages);
    let most_bad = (page - 1024 - 512 - MAGIC_BYTES as u64) / 4;
    FORMAT.within("number of bad pages", bad.into(), 0..=most_bad)?;
    Ok(Swap {
        version,
        page_size: Bytes(page),
        last_page: Some(last_page),
        bad_pages: Some(bad),
        uuid: Some(Uuid::from_bytes(disk.uuid)).filter(|uuid| !uuid.is_nil()),
        suspended,
    })
}
