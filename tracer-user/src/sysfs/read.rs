//! Reads all block devices below an injected `/sys` into a [`Topology`].
//!
//! Must not derive geometry (see [`super::derive`]); a device with attributes
//! that cannot be used is listed all the same.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    str::FromStr,
};

use super::{
    device::{AlignmentOffset, Device, Geometry, HiddenDisk, Kind, Limits, Partition, Topology},
    md,
    root::{Attributes, SysRoot, SysfsError, list},
};
use crate::{
    dm::{Place, Segment},
    units::{Bytes, DevId, SECTOR_BYTES, Sectors},
};

/// Names by which members and holders are known.
type Links = BTreeMap<DevId, (Vec<String>, Vec<String>)>;

impl Topology {
    /// Reads all disks and partitions, and derives their geometry.
    ///
    /// # Errors
    /// When the list of block devices cannot be read. Attributes that cannot
    /// be read are told in [`Device::unreadable`].
    pub fn read(sys: &SysRoot) -> Result<Self, SysfsError> {
        Self::read_with(sys, |_device| None)
    }

    /// The same with the tables of mapped devices, as far as `table` has them.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn read_with(
        sys: &SysRoot,
        mut table: impl FnMut(DevId) -> Option<Vec<Segment>>,
    ) -> Result<Self, SysfsError> {
        let block = sys.path("block");
        let names = list(&block).map_err(|source| SysfsError {
            path: block.clone(),
            source,
        })?;
        let mut reading = Reading::default();
        for name in names {
            reading.disk(&block.join(&name), &name);
        }
        let mut topology = reading.link();
        for device in topology.devices.values_mut() {
            if device.kind == Kind::Dm {
                device.dm_table = table(device.id);
            }
        }
        topology.name_dm_arrays();
        topology.derive();
        Ok(topology)
    }
}

#[derive(Default)]
struct Reading {
    topology: Topology,
    links: Links,
    by_name: BTreeMap<String, DevId>,
    /// Where loop devices lie: a path, and an offset in bytes.
    backing: BTreeMap<DevId, (String, Bytes)>,
}

impl Reading {
    /// Reads one entry of `block/` and its partitions.
    fn disk(&mut self, dir: &Path, name: &str) {
        let mut attributes = Attributes::new(dir.to_owned());
        let Some(id) = attributes.value::<DevId>("dev") else {
            self.without_number(attributes, name);
            return;
        };
        let limits = limits(&mut attributes);
        if let Some(file) = attributes.text("loop/backing_file") {
            let offset = attributes.value("loop/offset").map_or(Bytes(0), Bytes);
            self.backing.insert(id, (file, offset));
        }
        let disk = Device {
            loop_file: self.backing.get(&id).map(|(file, _)| file.clone()),
            dm_suspended: attributes
                .value::<u8>("dm/suspended")
                .map(|value| value != 0),
            kind: kind(name, dir),
            model: attributes.text("device/model").filter(|m| !m.is_empty()),
            wwn: wwn(&mut attributes),
            dm_name: attributes.text("dm/name"),
            dm_uuid: attributes.text("dm/uuid").filter(|uuid| !uuid.is_empty()),
            diskseq: attributes.value("diskseq"),
            request_based: attributes.exists("mq"),
            limits,
            ..device(id, name, &mut attributes)
        };
        self.add(disk, attributes, |disk, unreadable| {
            disk.md = md::read(dir, unreadable);
        });
        self.partitions(dir, id);
    }

    /// A directory without a usable `dev`: a hidden disk, or no device.
    fn without_number(&mut self, mut attributes: Attributes, name: &str) {
        if attributes.value::<u32>("hidden") == Some(1) {
            self.topology.hidden.push(HiddenDisk {
                name: name.replace('!', "/"),
                head: None,
                size: attributes.value("size").map(Sectors),
                diskseq: attributes.value("diskseq"),
                request_based: attributes.exists("mq"),
                limits: limits(&mut attributes),
                geometry: Geometry::default(),
            });
        } else if attributes.exists("size") && attributes.unreadable.is_empty() {
            attributes.refuse("dev", "a block device without a number");
        }
        self.topology.unreadable.append(&mut attributes.unreadable);
    }

    fn partitions(&mut self, dir: &Path, disk: DevId) {
        // A disk that went away meanwhile has none.
        for name in list(dir).unwrap_or_default() {
            let mut attributes = Attributes::new(dir.join(&name));
            // Nothing else has a start; a copy may lack what it does not need.
            if attributes.exists("partition") || attributes.exists("start") {
                self.partition(&mut attributes, &name, disk);
                self.topology.unreadable.append(&mut attributes.unreadable);
            }
        }
    }

    fn partition(&mut self, attributes: &mut Attributes, name: &str, disk: DevId) -> Option<()> {
        let start = attributes.value("start").map(Sectors)?;
        if !attributes.exists("dev") {
            attributes.refuse("dev", "a partition without a device number");
        }
        let id = attributes.value::<DevId>("dev")?;
        let number = if attributes.exists("partition") {
            attributes.value("partition")?
        } else {
            let digits = name.trim_start_matches(|c: char| !c.is_ascii_digit());
            let last = digits.rsplit(|c: char| !c.is_ascii_digit()).next();
            last.and_then(|number| number.parse().ok())?
        };
        let whole = self.topology.devices.get(&disk)?;
        let partition = Device {
            kind: Kind::Partition,
            partition: Some(Partition {
                disk,
                number,
                start,
            }),
            diskseq: whole.diskseq,
            request_based: whole.request_based,
            limits: Limits {
                alignment_offset: alignment_offset(attributes),
                ..whole.limits
            },
            ..device(id, name, attributes)
        };
        let taken = std::mem::replace(attributes, Attributes::new(PathBuf::new()));
        self.add(partition, taken, |_, _| {});
        Some(())
    }

    fn add(
        &mut self,
        mut device: Device,
        mut attributes: Attributes,
        more: impl FnOnce(&mut Device, &mut Vec<String>),
    ) {
        let links = (attributes.names("slaves"), attributes.names("holders"));
        more(&mut device, &mut attributes.unreadable);
        device.unreadable = attributes.unreadable;
        self.links.insert(device.id, links);
        self.by_name.insert(device.sysfs_name(), device.id);
        self.topology.devices.insert(device.id, device);
    }

    /// Turns the names of members, holders and components into numbers.
    fn link(mut self) -> Topology {
        let by_name = &self.by_name;
        let id_of = |name: &String| by_name.get(name).copied();
        for device in self.topology.devices.values_mut() {
            if let Some((members, holders)) = self.links.get(&device.id) {
                device.members = members.iter().filter_map(id_of).collect();
                device.holders = holders.iter().filter_map(id_of).collect();
            }
            for part in device.md.iter_mut().flat_map(|md| &mut md.components) {
                part.device = id_of(&part.name.replace('/', "!"));
            }
        }
        for (id, (file, offset)) in std::mem::take(&mut self.backing) {
            self.topology.lay_loop(id, &file, offset);
        }
        for disk in &mut self.topology.hidden {
            disk.head = multipath_head(&disk.name).as_ref().and_then(id_of);
        }
        self.topology
    }
}

impl Topology {
    /// Lays the loop device `id` on the block device that its file is, if it is
    /// one: sysfs has no links for that.
    fn lay_loop(&mut self, id: DevId, file: &str, offset: Bytes) {
        let Some(on) = self.by_node(file).filter(|on| *on != id) else {
            return;
        };
        if let Some(device) = self.devices.get_mut(&on) {
            device.holders.push(id);
        }
        if let Some(device) = self.devices.get_mut(&id) {
            device.members.push(on);
            let whole = offset.0.is_multiple_of(SECTOR_BYTES);
            device.loop_on = whole.then_some(Place {
                device: on,
                start: Sectors(offset.0 / SECTOR_BYTES),
            });
        }
    }

    /// Lays the bcache device `id` on its backing device, whose superblock told
    /// where data begin. Geometry is to be derived anew.
    pub fn lay_bcache(&mut self, id: DevId, place: Place) {
        if let Some(device) = self.devices.get_mut(&id) {
            device.bcache_on = Some(place);
        }
    }

    /// The device of a node's usual path: `/dev/sda1`, `/dev/mapper/vg-lv`.
    #[must_use]
    pub fn by_node(&self, path: &str) -> Option<DevId> {
        let name = path.strip_prefix("/dev/")?;
        let mapped = name.strip_prefix("mapper/");
        let same = |device: &&Device| match mapped {
            Some(mapped) => device.dm_name.as_deref() == Some(mapped),
            None => device.name == name,
        };
        self.devices.values().find(same).map(|device| device.id)
    }
}

/// What disks and partitions have alike.
fn device(id: DevId, name: &str, attributes: &mut Attributes) -> Device {
    Device {
        id,
        name: name.replace('!', "/"),
        kind: Kind::Other,
        partition: None,
        size: attributes.value("size").map(Sectors),
        diskseq: None,
        request_based: false,
        limits: Limits::default(),
        md: None,
        dm_name: None,
        dm_uuid: None,
        dm_table: None,
        dm_suspended: None,
        loop_file: None,
        loop_on: None,
        bcache_on: None,
        model: None,
        wwn: None,
        members: Vec::new(),
        holders: Vec::new(),
        overridden: None,
        geometry: Geometry::default(),
        chain: None,
        carries: Vec::new(),
        start_checks: Vec::new(),
        notes: Vec::new(),
        unreadable: Vec::new(),
    }
}

/// One of the few names that stay with a disk, wherever it is plugged in.
fn wwn(attributes: &mut Attributes) -> Option<String> {
    let names = ["wwid", "device/wwid"];
    let mut found = names.iter().filter_map(|name| attributes.text(name));
    found.find(|wwn| !wwn.is_empty())
}

fn limits(attributes: &mut Attributes) -> Limits {
    Limits {
        logical_block: block_size(attributes, "queue/logical_block_size"),
        physical_block: block_size(attributes, "queue/physical_block_size"),
        alignment_offset: alignment_offset(attributes),
        io_min: attributes.value("queue/minimum_io_size").map(Bytes),
        io_opt: attributes.value("queue/optimal_io_size").map(Bytes),
        chunk_sectors: attributes.value("queue/chunk_sectors").map(Sectors),
        rotational: attributes
            .value::<u8>("queue/rotational")
            .map(|value| value != 0),
        max_io: attributes
            .value::<u64>("queue/max_sectors_kb")
            .map(|kib| Bytes(kib.saturating_mul(1024))),
        max_hw_io: attributes
            .value::<u64>("queue/max_hw_sectors_kb")
            .map(|kib| Bytes(kib.saturating_mul(1024))),
        discard_granularity: attributes
            .value("queue/discard_granularity")
            .map(Bytes)
            .filter(|bytes| bytes.0 > 0),
        read_ahead: attributes
            .value::<u64>("queue/read_ahead_kb")
            .map(|kib| Bytes(kib.saturating_mul(1024))),
    }
}

fn block_size(attributes: &mut Attributes, name: &str) -> Option<Bytes> {
    let bytes = attributes.value::<u64>(name)?;
    if bytes == 0 {
        attributes.refuse(name, "0 is no block size");
        return None;
    }
    Some(Bytes(bytes))
}

fn alignment_offset(attributes: &mut Attributes) -> Option<AlignmentOffset> {
    attributes.value("alignment_offset")
}

impl FromStr for AlignmentOffset {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "-1" {
            return Ok(Self::Inconsistent);
        }
        text.parse().map(|bytes| Self::Bytes(Bytes(bytes)))
    }
}

/// What the name and the driver's directories tell.
fn kind(name: &str, dir: &Path) -> Kind {
    const NAMES: [(&str, Kind); 18] = [
        ("sd", Kind::Disk),
        ("hd", Kind::Disk),
        ("xvd", Kind::Disk),
        ("mmcblk", Kind::Disk),
        ("dasd", Kind::Disk),
        ("cciss!", Kind::Disk),
        ("ubd", Kind::Disk),
        ("vd", Kind::Virtio),
        ("nvme", Kind::Nvme),
        ("md", Kind::Md),
        ("dm-", Kind::Dm),
        ("loop", Kind::Loop),
        ("zram", Kind::Zram),
        ("ram", Kind::Ram),
        ("nbd", Kind::Nbd),
        ("pmem", Kind::Pmem),
        ("nullb", Kind::NullBlk),
        ("bcache", Kind::Bcache),
    ];
    // An array may have any name (`md_d0`, `md_root`); its directory tells.
    if dir.join("md").is_dir() {
        return Kind::Md;
    }
    if dir.join("dm").is_dir() {
        return Kind::Dm;
    }
    NAMES
        .iter()
        .find(|(prefix, _)| name.starts_with(prefix))
        .map_or(Kind::Other, |&(_, kind)| kind)
}

/// `nvme0n1` of the path `nvme0c1n1` (drivers/nvme/host/multipath.c,
/// `nvme_mpath_set_disk_name`).
fn multipath_head(path: &str) -> Option<String> {
    let (subsystem, rest) = path.strip_prefix("nvme")?.split_once('c')?;
    let (_controller, namespace) = rest.split_once('n')?;
    Some(format!("nvme{subsystem}n{namespace}"))
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
