//! What the rules look at: a stack, and what was counted on it, with the
//! questions that several of them ask.
//!
//! Must not judge, and must not read anything.

use crate::{
    delta::{DeviceFigures, Interval},
    raid::{ParityLevel, ParityShape, RmwLevel, RowModel, Synced},
    stack::Stack,
    superblock::{Content, LvmPv},
    sysfs::{
        chain::Boundary,
        device::{Device, Kind, MdArray},
        mounts::Mount,
    },
    units::{Bytes, DevId, SECTOR_BYTES, Sectors},
};

/// A stack, and what was counted on it if anything was.
#[derive(Clone, Copy, Debug)]
pub struct Patient<'a> {
    pub stack: &'a Stack,
    pub interval: Option<&'a Interval>,
}

/// The chunks and stripes that a device lies on.
#[derive(Clone, Copy, Debug)]
pub struct Grid<'a> {
    /// The device whose they are: an array, a striped mapping, or what the user
    /// said has some.
    pub owner: &'a Device,
    pub chunk: Option<Bytes>,
    /// Only where a write that does not fill it costs reads: with parity, or
    /// where the user gave it.
    pub stripe: Option<Bytes>,
    /// Of any kind.
    pub width: Bytes,
    /// How far into the width the device's first byte lies; `None` where it lies
    /// at no one place.
    pub offset: Option<u64>,
}

impl<'a> Patient<'a> {
    /// All devices, by number.
    pub fn devices(&self) -> impl Iterator<Item = &'a Device> + use<'a> {
        self.stack.topology.devices.values()
    }

    pub fn device(&self, id: DevId) -> Option<&'a Device> {
        self.stack.topology.devices.get(&id)
    }

    /// What was counted on a device.
    pub fn figures(&self, device: &Device) -> Option<&'a DeviceFigures> {
        let mut figures = self.interval?.devices.iter();
        figures.find(|figures| figures.id == device.id && figures.name == device.name)
    }

    /// What lies on a device, as far as it is known.
    pub fn found(&self, device: &Device) -> &'a [Content] {
        let contents = self.stack.contents_of(device.id);
        contents.map_or(&[], |contents| contents.found.as_slice())
    }

    pub fn pv(&self, device: &Device) -> Option<&'a LvmPv> {
        self.found(device).iter().find_map(|content| match content {
            Content::LvmPv(pv) => Some(pv),
            _ => None,
        })
    }

    /// Where a device is mounted; the last place, which hides the others.
    pub fn mount(&self, device: &Device) -> Option<&'a Mount> {
        self.stack.mounts_of(device.id).pop()
    }

    /// The devices that have this one below them.
    pub fn on_top(&self, device: &Device) -> Vec<&'a Device> {
        let holders = device.holders.iter();
        holders.filter_map(|id| self.device(*id)).collect()
    }

    /// The array of the nearest chunks below a device, or its own.
    pub fn grid(&self, device: &'a Device) -> Option<Grid<'a>> {
        let (owner, boundary, width, offset) =
            if let Some((boundary, width, offset)) = self.stack.topology.own_grid(device) {
                (device, boundary, width, Some(offset))
            } else {
                let chain = device.chain.as_ref()?;
                let owner = self.stack.topology.by_name(&chain.array)?;
                let place = chain.top().and_then(|top| top.place.as_ref().ok());
                let offset = place.map(|place| place.offset.0);
                (owner, chain.boundary, chain.width, offset)
            };
        let stripe = (boundary == Boundary::Stripe && fills_matter(owner)).then_some(width);
        Some(Grid {
            owner,
            chunk: owner.geometry.chunk,
            stripe,
            width,
            offset,
        })
    }
}

/// Whether a write that does not fill a stripe costs more: with parity. Of what
/// the user gave we take it so.
fn fills_matter(owner: &Device) -> bool {
    match &owner.md {
        Some(md) => ParityLevel::from_md(&md.level).is_some(),
        None => owner.overridden.is_some_and(|over| over.striping.is_some()),
    }
}

/// md's own decision for each row of an array.
pub(super) fn model(md: &MdArray) -> Option<RowModel> {
    // Without a member md has to read others for what was on it.
    if md.degraded.is_some_and(|missing| missing > 0) {
        return None;
    }
    let shape = shape(md, md.chunk?)?;
    // md's default, unless it says otherwise.
    let rmw = md
        .rmw_level
        .map_or(Some(RmwLevel::Fewer), RmwLevel::from_md)?;
    Some(RowModel::new(shape, rmw, Synced::Whole))
}

/// An array with parity, with this chunk.
pub(super) fn shape(md: &MdArray, chunk: Bytes) -> Option<ParityShape> {
    let level = ParityLevel::from_md(&md.level).filter(|_| !md.reshaping)?;
    ParityShape::new(level, md.raid_disks?, Sectors(chunk.0 / SECTOR_BYTES)).ok()
}

/// An array of md's own, which mdadm knows; LVM's are md's within device-mapper.
pub(super) fn is_mdadms(device: &Device) -> bool {
    device.kind == Kind::Md
}

/// The path that a command takes for a device.
pub(super) fn node(device: &Device) -> String {
    match &device.dm_name {
        Some(name) => format!("/dev/mapper/{}", quoted(name)),
        None => format!("/dev/{}", quoted(&device.name)),
    }
}

/// As a shell takes it for one word; names are plain as a rule.
pub(super) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:+=,@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// `vg-data (dm-0)`.
pub(super) fn named(device: &Device) -> String {
    match &device.dm_name {
        Some(name) => format!("{name} ({})", device.name),
        None => device.name.clone(),
    }
}

/// The greatest common divisor's partner: the least length that both divide.
pub(super) fn lcm(a: u64, b: u64) -> Option<u64> {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    a.checked_div(x)?.checked_mul(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_a_shell() {
        assert_eq!(quoted("vg-lv_1"), "vg-lv_1");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("a'; rm"), "'a'\\''; rm'");
        assert_eq!(quoted(""), "''");
        assert_eq!(lcm(458_752, 131_072), Some(917_504));
        assert_eq!(lcm(0, 0), None);
        assert_eq!(lcm(u64::MAX, u64::MAX - 1), None);
    }
}
