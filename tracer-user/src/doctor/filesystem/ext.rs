//! ext4's stride and stripe width, as in the superblock and as mounted.
//!
//! The kernel takes the mount option, else the superblock's stripe width
//! (`ext4_get_stripe_size`, fs/ext4/super.c), and always shows what it took.

use super::{Below, below, from_bridge, from_hint, point};
use crate::{
    doctor::{
        Finding, Remedy, Severity, Sure,
        patient::{Patient, named, node},
        rules,
    },
    stack::mounted::MountedAs,
    superblock::{Content, Ext, ExtKind},
    sysfs::{device::Device, mounts::Mount},
    units::Bytes,
};

/// What nearly all have, where the superblock could not be read.
const USUAL_BLOCK: u64 = 4096;

/// One file system: its superblock, its mount, or both.
struct Told<'a> {
    on_disk: Option<&'a Ext>,
    mount: Option<&'a Mount>,
    block: u64,
}

impl Told<'_> {
    /// Of the superblock.
    fn stride(&self) -> Option<u64> {
        Some(self.on_disk?.stride?.0)
    }

    fn width(&self) -> Option<u64> {
        Some(self.on_disk?.stripe_width?.0)
    }

    /// As it is mounted: 0 where it has none; `None` where it is not.
    fn mounted(&self) -> Option<u64> {
        let blocks = MountedAs::of(self.mount?).stripe_blocks.unwrap_or(0);
        blocks.checked_mul(self.block)
    }

    /// What the kernel uses, or would.
    fn used(&self) -> u64 {
        self.mounted()
            .or(self.width())
            .or(self.stride())
            .unwrap_or(0)
    }

    fn text(&self) -> String {
        let blocks = |bytes: Option<u64>| bytes.unwrap_or(0) / self.block.max(1);
        let mut parts = Vec::new();
        if self.on_disk.is_some() {
            parts.push(format!(
                "stride={},stripe_width={} in its superblock",
                blocks(self.stride()),
                blocks(self.width())
            ));
        }
        if let Some(mount) = self.mount {
            parts.push(format!(
                "stripe={} as mounted on {}",
                blocks(self.mounted()),
                mount.point.display()
            ));
        }
        format!(
            "ext4 has {} (blocks of {})",
            parts.join(" and "),
            self.block
        )
    }
}

pub(super) fn finding(patient: &Patient<'_>, device: &Device) -> Option<Finding> {
    let on_disk = patient
        .found(device)
        .iter()
        .find_map(|content| match content {
            Content::Ext(ext) if ext.kind != ExtKind::JournalDevice => Some(ext.as_ref()),
            _ => None,
        });
    let mount = patient
        .mount(device)
        .filter(|mount| mount.fs_type == "ext4");
    if on_disk.is_none() && mount.is_none() {
        return None;
    }
    let told = Told {
        on_disk,
        mount,
        block: on_disk.map_or(USUAL_BLOCK, |ext| ext.block_size.0).max(1),
    };
    match below(patient, device) {
        Below::Striped {
            owner,
            chunk,
            stripe,
            parity,
        } => striped(patient, device, owner, (chunk, stripe, parity), &told),
        Below::Plain => {
            let any = told
                .used()
                .max(told.width().unwrap_or(0))
                .max(told.stride().unwrap_or(0));
            (any > told.block).then(|| needless(patient, device, any, &told))
        }
        Below::NotKnown => None,
    }
}

fn striped(
    patient: &Patient<'_>,
    device: &Device,
    owner: &Device,
    (chunk, stripe, parity): (Bytes, Bytes, bool),
    told: &Told<'_>,
) -> Option<Finding> {
    // A chunk that is not of whole blocks cannot be told.
    let (stride, width) = (chunk.0 / told.block, stripe.0 / told.block);
    if !chunk.0.is_multiple_of(told.block) {
        return None;
    }
    let right_on_disk = told.on_disk.is_none()
        || told.width() == Some(stripe.0) && told.stride().is_none_or(|stride| stride == chunk.0);
    let right_mounted = told.mounted().is_none_or(|mounted| mounted == stripe.0);
    if right_on_disk && right_mounted {
        return None;
    }
    let has_none = told.used() <= told.block && told.width().is_none();
    let rule = if has_none {
        &rules::EXT_MISSING
    } else {
        &rules::EXT_WRONG
    };
    let mut finding = Finding::new(
        rule,
        &device.name,
        format!(
            "{}; {} has chunks of {} and stripes of {}: stride={stride},stripe_width={width}",
            told.text(),
            named(owner),
            chunk.words(),
            stripe.words()
        ),
    );
    if has_none && parity {
        finding = finding.severity(Severity::Warning);
    }
    if !has_none {
        finding = why(patient, device, told, (chunk, stripe), finding);
    }
    finding = finding
        .number("stripe_blocks", told.used() / told.block)
        .number("right_stride_blocks", stride)
        .number("right_stripe_blocks", width);
    if told.on_disk.is_none() {
        finding = finding.sure(Sure::Likely);
    }
    Some(
        finding
            .expected("the allocator lays out files for stripes that are not there")
            .remedy(tuned(device, told, (stride, width), !right_on_disk)),
    )
}

/// Where wrong values come from.
fn why(
    patient: &Patient<'_>,
    device: &Device,
    told: &Told<'_>,
    (chunk, stripe): (Bytes, Bytes),
    finding: Finding,
) -> Finding {
    let used = told.used();
    let hint =
        from_hint(patient, device, used, told.block).or_else(|| from_bridge(used, told.block));
    match hint {
        Some(hint) => finding.and(hint),
        None if used == chunk.0 => finding.and("it is one chunk, not a stripe"),
        None if used.is_multiple_of(chunk.0) && used != stripe.0 && used != 0 => {
            finding.and(format!(
                "right for {} data disks: the array has {} (after a reshape?)",
                used / chunk.0,
                stripe.0 / chunk.0
            ))
        }
        None => finding,
    }
}

/// Superblock and mount set right, in use.
fn tuned(device: &Device, told: &Told<'_>, (stride, width): (u64, u64), on_disk: bool) -> Remedy {
    let mut remedy = Remedy::repair("tells the file system, in use or not");
    if on_disk || told.on_disk.is_none() {
        remedy = remedy
            .run(format!(
                "tune2fs -E stride={stride},stripe_width={width} {}",
                node(device)
            ))
            .warn("files that are there stay where they are");
    }
    if let Some(mount) = told.mount {
        remedy = remedy
            .run(format!("mount -o remount,stripe={width} {}", point(mount)))
            .warn("a stripe= in /etc/fstab would come back: change it there too");
    }
    remedy
}

fn needless(patient: &Patient<'_>, device: &Device, used: u64, told: &Told<'_>) -> Finding {
    let mut finding = Finding::new(
        &rules::EXT_NEEDLESS,
        &device.name,
        format!("{}, and nothing below has stripes", told.text()),
    );
    let hint =
        from_bridge(used, told.block).or_else(|| from_hint(patient, device, used, told.block));
    if let Some(hint) = hint {
        // Never aligned to anything.
        finding = finding.and(hint).severity(Severity::Warning);
    }
    finding
        .number("stripe_blocks", used / told.block)
        .sure(Sure::Likely)
        .expected("a little room between files, and time to look for it")
        .remedy(tuned(device, told, (0, 0), told.on_disk.is_some()))
}
