//! XFS's sunit and swidth.
//!
//! A mount with other values writes them to the superblock, where it had some
//! and the root inode stays where they would have put it; else they hold for
//! that mount (`xfs_validate_new_dalign`, `xfs_check_new_dalign`,
//! fs/xfs/xfs_mount.c).

use super::{Below, below, from_bridge, from_hint, has_option, point};
use crate::{
    doctor::{
        Finding, Remedy, Severity, Sure,
        patient::{Patient, named, node},
        release::{meanwhile, unmounted},
        rules,
    },
    stack::mounted::MountedAs,
    superblock::{Content, Xfs},
    sysfs::{device::Device, mounts::Mount},
    units::{Bytes, SECTOR_BYTES},
};

/// `XFS_SB_VERSION_DALIGNBIT`, fs/xfs/libxfs/xfs_format.h.
const HAS_STRIPE: u16 = 0x0100;

/// `calc_stripe_factors`, mkfs/xfs_mkfs.c of xfsprogs: on less it takes no hint.
const SMALL_DATA: u64 = 1 << 30;

/// Chunk and stripe as XFS has them.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Told {
    unit: u64,
    width: u64,
}

impl Told {
    fn sectors(self) -> String {
        format!(
            "sunit={},swidth={}",
            self.unit / SECTOR_BYTES,
            self.width / SECTOR_BYTES
        )
    }
}

pub(super) fn finding(patient: &Patient<'_>, device: &Device) -> Option<Finding> {
    let on_disk = patient
        .found(device)
        .iter()
        .find_map(|content| match content {
            Content::Xfs(xfs) => Some(xfs.as_ref()),
            _ => None,
        });
    let mount = patient.mount(device).filter(|mount| mount.fs_type == "xfs");
    if on_disk.is_none() && mount.is_none() {
        return None;
    }
    let told = told(on_disk, mount);
    let ignored = mount.is_some_and(|mount| has_option(mount, "noalign"));
    match (below(patient, device), told) {
        (
            Below::Striped {
                chunk,
                stripe,
                owner,
                ..
            },
            Some(told),
        ) => {
            let right = Told {
                unit: chunk.0,
                width: stripe.0,
            };
            // All of a stripe as one unit serves as well.
            let whole = Told {
                unit: stripe.0,
                width: stripe.0,
            };
            (told != right && told != whole)
                .then(|| wrong(patient, device, owner, (told, right), on_disk, mount))
        }
        (
            Below::Striped {
                chunk,
                stripe,
                owner,
                parity,
            },
            None,
        ) if !ignored => {
            let right = Told {
                unit: chunk.0,
                width: stripe.0,
            };
            Some(missing(patient, device, (owner, parity), right, on_disk))
        }
        (Below::Plain, Some(told)) => Some(needless(patient, device, told, mount)),
        _ => None,
    }
}

/// As mounted, else as in the superblock.
fn told(on_disk: Option<&Xfs>, mount: Option<&Mount>) -> Option<Told> {
    if let Some(mount) = mount {
        let mounted = MountedAs::of(mount);
        return Some(Told {
            unit: mounted.stripe_unit?.0,
            width: mounted.stripe_width?.0,
        });
    }
    let xfs = on_disk?;
    Some(Told {
        unit: xfs.stripe_unit?.0,
        width: xfs.stripe_width?.0,
    })
}

fn wrong(
    patient: &Patient<'_>,
    device: &Device,
    owner: &Device,
    (told, right): (Told, Told),
    on_disk: Option<&Xfs>,
    mount: Option<&Mount>,
) -> Finding {
    let place = mount.map_or_else(String::new, |mount| {
        format!(", mounted on {}", mount.point.display())
    });
    let mut finding = Finding::new(
        &rules::XFS_WRONG,
        &device.name,
        format!(
            "XFS{place} has {} (sectors); {} has chunks of {} and stripes of {}: {}",
            told.sectors(),
            named(owner),
            Bytes(right.unit).words(),
            Bytes(right.width).words(),
            right.sectors()
        ),
    );
    let hint = from_hint(patient, device, told.width, 1)
        .or_else(|| from_bridge(told.width, SECTOR_BYTES * 8));
    if let Some(hint) = hint {
        finding = finding.and(hint);
    } else if told.unit == right.unit && told.width == told.unit {
        finding = finding.and("its stripe is one chunk");
    } else if told.unit == right.unit && told.width.is_multiple_of(told.unit.max(1)) {
        finding = finding.and(format!(
            "right for {} data disks: the array has {} (after a reshape?)",
            told.width / told.unit.max(1),
            right.width / right.unit.max(1)
        ));
    }
    finding
        .number("sunit_sectors", told.unit / SECTOR_BYTES)
        .number("swidth_sectors", told.width / SECTOR_BYTES)
        .number("right_sunit_sectors", right.unit / SECTOR_BYTES)
        .number("right_swidth_sectors", right.width / SECTOR_BYTES)
        .expected("files are laid out for stripes that are not there: long writes do not fill those there are")
        .maybe(mounted_with(device, (told, right), on_disk, mount))
        .remedy(made(patient, device, right))
}

/// Mounted once with the right values. `None` where XFS takes none, or not these.
fn mounted_with(
    device: &Device,
    (told, right): (Told, Told),
    on_disk: Option<&Xfs>,
    mount: Option<&Mount>,
) -> Option<Remedy> {
    if let Some(xfs) = on_disk {
        let group = u64::from(xfs.ag_blocks) * xfs.block_size.0;
        let whole = |bytes: u64, unit: u64| bytes.checked_rem(unit) == Some(0);
        let fits = whole(right.unit, xfs.block_size.0) && whole(group, right.unit);
        if xfs.features.version & HAS_STRIPE == 0 || !fits {
            return None;
        }
    }
    let at = mount.map_or_else(|| "/mnt".to_owned(), point);
    let mut remedy = Remedy::repair("tells XFS at its next mount; it keeps that");
    if mount.is_some() {
        remedy = remedy
            .run(format!("umount {at}"))
            .warn(mount.map_or("nothing may use it meanwhile", meanwhile));
    }
    remedy = remedy.run(format!(
        "mount -o {} {} {at}",
        right.sectors(),
        node(device)
    ));
    Some(if told.unit == right.unit {
        remedy.warn("files that are there stay where they are")
    } else {
        remedy.warn(
            "files that are there stay where they are. Where the kernel's log says \"Skipping \
             superblock stripe alignment update\", keep these options in /etc/fstab",
        )
    })
}

fn made(patient: &Patient<'_>, device: &Device, right: Told) -> Remedy {
    Remedy::anew("the file system anew, told its stripe")
        .after(unmounted(patient, device))
        .run(format!(
            "mkfs.xfs -f -d su={}k,sw={} {}",
            right.unit >> 10,
            right.width / right.unit.max(1),
            node(device)
        ))
        .warn("what lies on it is lost")
}

/// Cannot be told to one that was made without.
fn missing(
    patient: &Patient<'_>,
    device: &Device,
    (owner, parity): (&Device, bool),
    right: Told,
    on_disk: Option<&Xfs>,
) -> Finding {
    let mut finding = Finding::new(
        &rules::XFS_MISSING,
        &device.name,
        format!(
            "XFS knows no sunit and swidth; {} has chunks of {} and stripes of {}: {}",
            named(owner),
            Bytes(right.unit).words(),
            Bytes(right.width).words(),
            right.sectors()
        ),
    )
    .number("right_sunit_sectors", right.unit / SECTOR_BYTES)
    .number("right_swidth_sectors", right.width / SECTOR_BYTES)
    .expected("long writes begin anywhere in a stripe")
    .remedy(made(patient, device, right));
    let bytes = on_disk.map(|xfs| xfs.data_blocks.saturating_mul(xfs.block_size.0));
    if bytes.is_some_and(|bytes| bytes < SMALL_DATA) {
        finding = finding.and("on less than 1 GiB mkfs.xfs leaves them out by itself");
    } else if parity {
        finding = finding.severity(Severity::Warning);
    }
    finding
}

fn needless(patient: &Patient<'_>, device: &Device, told: Told, mount: Option<&Mount>) -> Finding {
    let mut finding = Finding::new(
        &rules::XFS_NEEDLESS,
        &device.name,
        format!(
            "XFS has {} (sectors), and nothing below has stripes",
            told.sectors()
        ),
    );
    let hint = from_hint(patient, device, told.width, 1)
        .or_else(|| from_bridge(told.width, SECTOR_BYTES * 8));
    if let Some(hint) = hint {
        finding = finding.and(hint);
    }
    let at = mount.map_or_else(|| "/mnt".to_owned(), point);
    let mut remedy = Remedy::repair("lets XFS lay out files without a stripe");
    if mount.is_some() {
        remedy = remedy
            .run(format!("umount {at}"))
            .warn(mount.map_or("nothing may use it meanwhile", meanwhile));
    }
    finding
        .number("sunit_sectors", told.unit / SECTOR_BYTES)
        .number("swidth_sectors", told.width / SECTOR_BYTES)
        .sure(Sure::Likely)
        .expected("a little room between files; no time")
        .remedy(
            remedy
                .run(format!("mount -o noalign {} {at}", node(device)))
                .warn("holds for that mount: keep noalign in /etc/fstab"),
        )
}
