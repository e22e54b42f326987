//! Machines, as the doctor looks at them.

use std::path::{Path, PathBuf};

use iotrace::{
    delta::{DeviceFigures, Interval, Meter},
    dm::{Segment, Target},
    doctor::{Diagnosis, Finding, Remedy, examine},
    geometry_spec::{self, GeometrySpec},
    source::{Source, synthetic::SyntheticSource},
    stack::Stack,
    superblock::{Content, Contents},
    sysfs::{Lookup, SysRoot, Topology, mounts::Mounts},
    units::{DevId, Sectors},
};

use super::tree;

/// A machine, and what was counted on it.
pub(crate) struct Machine {
    pub(crate) stack: Stack,
    pub(crate) interval: Option<Interval>,
}

pub(crate) fn fixture(name: &str, extension: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(name)
        .with_extension(extension)
}

impl Machine {
    /// Of `fixtures/NAME.tree`.
    pub(crate) fn of(name: &str) -> Self {
        let text = std::fs::read_to_string(fixture(name, "tree")).unwrap();
        Self::read(&text, &[], &[])
    }

    /// Of a tree below `block/`.
    pub(crate) fn new(text: &str) -> Self {
        Self::mapped(text, &[])
    }

    /// With mapped devices: number, target, its words; as long as the device.
    pub(crate) fn mapped(text: &str, tables: &[(&str, &str, &str)]) -> Self {
        let tree: String = text
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .map(|line| format!("block/{line}\n"))
            .collect();
        Self::read(&tree, tables, &[])
    }

    fn read(tree: &str, tables: &[(&str, &str, &str)], specs: &[&str]) -> Self {
        let dir = tree::expand(tree).unwrap();
        let sys = SysRoot::new(dir.path());
        let table = |id: DevId| {
            let lines = tables
                .iter()
                .filter(|(dev, ..)| dev.parse::<DevId>().unwrap() == id);
            let mut start = 0;
            let segments: Vec<Segment> = lines
                .map(|(_, target, words)| {
                    let (len, words) = words.split_once(": ").unwrap_or(("1048576", words));
                    let len = len.parse().unwrap();
                    start += len;
                    Segment {
                        start: Sectors(start - len),
                        len: Sectors(len),
                        target: Target::parse(target, words),
                    }
                })
                .collect();
            (!segments.is_empty()).then_some(segments)
        };
        let mut topology = Topology::read_with(&sys, table).unwrap();
        let specs: Vec<GeometrySpec> = specs.iter().map(|spec| spec.parse().unwrap()).collect();
        let mounts = Mounts::default();
        let lookup = Lookup {
            topology: &topology,
            sys: &sys,
            dev: Path::new("/dev"),
            mounts: &mounts,
        };
        let overrides = geometry_spec::overrides(&specs, &lookup).unwrap();
        topology.set_overrides(&overrides).unwrap();
        assert_eq!(topology.unreadable, Vec::<String>::new());
        Self {
            stack: Stack {
                topology,
                ..Stack::default()
            },
            interval: None,
        }
    }

    /// With `--geometry` of each of `specs`.
    pub(crate) fn told(name: &str, specs: &[&str]) -> Self {
        let text = std::fs::read_to_string(fixture(name, "tree")).unwrap();
        Self::read(&text, &[], specs)
    }

    /// With something on a device.
    pub(crate) fn holds(mut self, device: &str, content: Content) -> Self {
        let id = self.id(device);
        let contents = self
            .stack
            .contents
            .entry(id)
            .or_insert_with(|| Ok(Contents::default()));
        contents.as_mut().unwrap().found.push(content);
        self.stack.lay_bcache();
        self
    }

    /// Mounted on `/srv/DEVICE`, with these options of its own.
    pub(crate) fn mounted(mut self, device: &str, fs_type: &str, options: &str) -> Self {
        let line = format!(
            "1 0 {} / /srv/{device} rw - {fs_type} /dev/{device} {options}",
            self.id(device)
        );
        self.stack.mounts = Mounts::parse(&line);
        self
    }

    /// With the IO of `fixtures/NAME.events` counted.
    pub(crate) fn counted(mut self, name: &str) -> Self {
        let topology = self.stack.topology.clone();
        let mut source = SyntheticSource::open(topology, &fixture(name, "events")).unwrap();
        let reading = source.snapshot().unwrap();
        let mut before = reading.clone();
        before.rows.clear();
        let mut meter = Meter::new(before, Vec::new(), false);
        meter.devices(&self.stack.topology);
        self.interval = Some(meter.interval(reading));
        self
    }

    /// The same of a list written here.
    pub(crate) fn does(self, events: &str) -> Self {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), events).unwrap();
        let path = file.path().to_str().unwrap();
        // `with_extension` leaves a path that is absolute where it is.
        let named = format!("{path}.events");
        std::fs::copy(path, &named).unwrap();
        let counted = self.counted(path);
        std::fs::remove_file(named).unwrap();
        counted
    }

    /// What a list of IO cannot hold.
    pub(crate) fn with(mut self, device: &str, change: impl FnOnce(&mut DeviceFigures)) -> Self {
        let devices = &mut self.interval.as_mut().unwrap().devices;
        change(
            devices
                .iter_mut()
                .find(|figures| figures.name == device)
                .unwrap(),
        );
        self
    }

    pub(crate) fn id(&self, device: &str) -> DevId {
        self.stack.topology.by_name(device).unwrap().id
    }

    pub(crate) fn examined(&self) -> Diagnosis {
        examine(&self.stack, &[], self.interval.as_ref())
    }

    /// Ids and devices of all findings.
    pub(crate) fn ids(&self) -> Vec<(String, &'static str)> {
        let findings = self.examined().findings;
        findings
            .into_iter()
            .map(|finding| (finding.device, finding.id))
            .collect()
    }

    /// Nothing is found, and there is something to look at.
    pub(crate) fn is_sound(&self) {
        assert_eq!(self.examined().findings, Vec::<Finding>::new());
        assert!(self.examined().devices > 0);
    }

    /// The one finding of a rule on a device.
    pub(crate) fn finding(&self, device: &str, id: &str) -> Finding {
        let findings = self.examined().findings;
        let found = findings
            .iter()
            .filter(|one| (one.device.as_str(), one.id) == (device, id));
        let found: Vec<&Finding> = found.collect();
        assert_eq!(found.len(), 1, "{device} {id}: {findings:#?}");
        found[0].clone()
    }
}

/// The commands of a remedy.
pub(crate) fn commands(remedy: Option<&Remedy>) -> Vec<String> {
    let steps = remedy.map_or(&[][..], |remedy| remedy.steps.as_slice());
    steps.iter().map(|step| step.command.clone()).collect()
}

/// Numbers of a finding, as in `remainder_bytes`.
pub(crate) fn numbers<const N: usize>(finding: &Finding, names: [&str; N]) -> [u64; N] {
    names.map(|name| {
        *finding
            .numbers
            .get(name)
            .ok_or_else(|| format!("{name}: {finding:?}"))
            .unwrap()
    })
}

/// A disk of 512/4096, nothing wrong with it.
pub(crate) fn disk(name: &str, minor: u32) -> String {
    format!(
        "{name}/dev = 8:{minor}
         {name}/size = 4194304
         {name}/mq/
         {name}/alignment_offset = 0
         {name}/queue/logical_block_size = 512
         {name}/queue/physical_block_size = 4096
         {name}/queue/minimum_io_size = 4096
         {name}/queue/optimal_io_size = 0
         {name}/queue/max_hw_sectors_kb = 32767
         {name}/queue/read_ahead_kb = 128
         {name}/queue/rotational = 0
        "
    )
}

/// A partition of a disk.
pub(crate) fn partition(disk: &str, number: u32, dev: &str, start: u64, size: u64) -> String {
    let between = if disk.ends_with(|last: char| last.is_ascii_digit()) {
        "p"
    } else {
        ""
    };
    let name = format!("{disk}/{disk}{between}{number}");
    format!(
        "{name}/partition = {number}
         {name}/dev = {dev}
         {name}/start = {start}
         {name}/size = {size}
        "
    )
}

/// What an array is to be like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Array {
    pub(crate) level: &'static str,
    pub(crate) disks: u32,
    pub(crate) data: u32,
    pub(crate) chunk: u64,
    pub(crate) layout: u32,
}

pub(crate) const RAID6: Array = Array {
    level: "raid6",
    disks: 9,
    data: 7,
    chunk: 65536,
    layout: 2,
};

pub(crate) const RAID5: Array = Array {
    level: "raid5",
    disks: 4,
    data: 3,
    chunk: 65536,
    layout: 2,
};

pub(crate) const RAID1: Array = Array {
    level: "raid1",
    disks: 2,
    data: 0,
    chunk: 0,
    layout: 0,
};

impl Array {
    /// md0 and its disks, as md makes them.
    pub(crate) fn tree(self) -> String {
        let stripe = self.chunk * u64::from(self.data);
        let io_min = self.chunk.max(4096);
        let mut text = format!(
            "md0/dev = 9:0
             md0/size = 20971520
             md0/alignment_offset = 0
             md0/queue/logical_block_size = 512
             md0/queue/physical_block_size = 4096
             md0/queue/minimum_io_size = {io_min}
             md0/queue/optimal_io_size = {stripe}
             md0/queue/read_ahead_kb = {}
             md0/md/level = {}
             md0/md/raid_disks = {}
             md0/md/layout = {}
             md0/md/chunk_size = {}
             md0/md/degraded = 0
             md0/md/metadata_version = 1.2
             md0/md/array_state = clean
             md0/md/sync_action = idle
             md0/md/reshape_position = none
             md0/md/bitmap/location = +8
             md0/md/bitmap/chunksize = 67108864
            ",
            (2 * stripe / 1024).max(128),
            self.level,
            self.disks,
            self.layout,
            self.chunk,
        );
        if stripe != 0 && self.level.starts_with("raid") && "456".contains(&self.level[4..]) {
            text.push_str("md0/md/rmw_level = 1\nmd0/md/stripe_cache_size = 256\n");
        }
        for slot in 0..self.disks {
            let name = format!("sd{}", char::from(b'a' + u8::try_from(slot).unwrap()));
            text.push_str(&disk(&name, slot * 16));
            text.push_str(&format!(
                "{name}/holders/md0 -> ../../md0
                 md0/slaves/{name} -> ../../{name}
                 md0/md/dev-{name}/slot = {slot}
                 md0/md/dev-{name}/state = in_sync
                 md0/md/dev-{name}/offset = 2048
                 md0/md/dev-{name}/size = 2096128
                "
            ));
        }
        text
    }
}

/// dm-0 on `below`, of `sectors`.
pub(crate) fn mapping(name: &str, minor: u32, dm_name: &str, uuid: &str, below: &str) -> String {
    format!(
        "{name}/dev = 253:{minor}
         {name}/size = 1048576
         {name}/alignment_offset = 0
         {name}/queue/logical_block_size = 512
         {name}/queue/physical_block_size = 4096
         {name}/dm/name = {dm_name}
         {name}/dm/uuid = {uuid}
         {name}/slaves/{below} -> ../../{below}
         {below}/holders/{name} -> ../../{name}
        "
    )
}
