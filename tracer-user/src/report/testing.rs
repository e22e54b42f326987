//! For tests: devices, readings and expected texts.

use std::{collections::BTreeMap, fs, path::Path, time::Duration};

use jiff::Timestamp;
use tracer_ebpf::{
    abi::{ProcessCells, ProcessKey},
    bins::{LATENCY_BINS, latency_bin, power_bin, remainder_shift},
    cells::{CELLS, detail, each_cell},
    classify::{self, Physical, classify},
    op::Op,
};

use crate::{
    snapshot::{Lost, ProcessRow, Row, RowKey, Snapshot, Unknown},
    sysfs::{
        device::{Device, Geometry, Kind, Limits, MdArray, Partition, Topology},
        notes::{Note, NoteKind},
        start::{Against, check_all},
    },
    units::{Bytes, DevId, Sectors},
};

/// A disk of 512-byte logical and 4096-byte physical blocks.
pub(crate) fn device(name: &str, major: u32, minor: u32) -> Device {
    let kind = match name.get(..2) {
        Some("md") => Kind::Md,
        Some("dm") => Kind::Dm,
        Some("lo") => Kind::Loop,
        _ => Kind::Disk,
    };
    Device {
        id: DevId { major, minor },
        name: name.to_owned(),
        kind,
        partition: None,
        size: Some(Sectors(1 << 31)),
        diskseq: None,
        request_based: kind == Kind::Disk,
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
        geometry: Geometry {
            logical_block: Some(Bytes(512)),
            physical_block: Some(Bytes(4096)),
            alignment_offset: Some(Bytes(0)),
            ..Geometry::default()
        },
        chain: None,
        carries: Vec::new(),
        start_checks: Vec::new(),
        notes: Vec::new(),
        unreadable: Vec::new(),
    }
}

/// A partition that starts at `start_sector`.
pub(crate) fn partition(
    name: &str,
    major: u32,
    minor: u32,
    disk: DevId,
    start_sector: u64,
) -> Device {
    let mut device = device(name, major, minor);
    device.kind = Kind::Partition;
    device.start_checks = check_all(&device.geometry, Sectors(start_sector), false);
    device.partition = Some(Partition {
        disk,
        number: minor % 16,
        start: Sectors(start_sector),
    });
    device
}

/// These devices; holders follow from members.
pub(crate) fn topology(devices: impl IntoIterator<Item = Device>) -> Topology {
    let mut topology = Topology::default();
    topology
        .devices
        .extend(devices.into_iter().map(|device| (device.id, device)));
    let uses: Vec<(DevId, DevId)> = topology
        .devices
        .values()
        .flat_map(|upper| upper.members.iter().map(|&lower| (lower, upper.id)))
        .collect();
    for (lower, upper) in uses {
        if let Some(device) = topology.devices.get_mut(&lower) {
            device.holders.push(upper);
        }
    }
    topology
}

/// Two logical volumes on a RAID6 of partitions, one of which starts wrong.
pub(crate) fn raid_topology() -> Topology {
    let sda = device("sda", 8, 0);
    let sdb = device("sdb", 8, 16);
    let mut sda1 = partition("sda1", 8, 1, sda.id, 34);
    sda1.notes = vec![Note {
        kind: NoteKind::Start(Against::PhysicalBlock),
        text: "starts 1024 bytes past a physical block".to_owned(),
    }];
    let sda2 = partition("sda2", 8, 2, sda.id, 4096);
    let sdb1 = partition("sdb1", 8, 17, sdb.id, 2048);
    let mut md = device("md127", 9, 127);
    md.geometry.chunk = Some(Bytes(65536));
    md.geometry.data_disks = Some(7);
    md.geometry.stripe = Some(Bytes(458_752));
    md.md = Some(MdArray {
        level: "raid6".to_owned(),
        ..MdArray::default()
    });
    md.members = vec![sda1.id, sdb1.id];
    let mut root = device("dm-0", 253, 0);
    root.dm_name = Some("vg-root".to_owned());
    root.members = vec![md.id];
    let mut home = device("dm-1", 253, 1);
    home.members = vec![md.id];
    topology([
        sda,
        sdb,
        sda1,
        sda2,
        sdb1,
        md,
        root,
        home,
        device("loop0", 7, 0),
    ])
}

/// Counts requests as the kernel side does, over a topology.
pub(crate) struct Bench {
    pub(crate) topology: Topology,
    pub(crate) snapshot: Snapshot,
}

impl Bench {
    /// Every device has an empty row, with histograms.
    pub(crate) fn new(topology: Topology) -> Self {
        let rows = topology
            .devices
            .values()
            .map(|device| {
                let row = Row {
                    disk: device.partition.map(|partition| partition.disk),
                    cells: Box::new([0; CELLS]),
                    requeued: Some(0),
                    detail: Some(Box::new([0; detail::CELLS])),
                };
                (key(device), row)
            })
            .collect();
        Self {
            topology,
            snapshot: Snapshot {
                time: "2026-11-30T12:00:00Z".parse::<Timestamp>().unwrap(),
                elapsed: Duration::ZERO,
                rows,
                processes: Vec::new(),
                origins: None,
                stripe_caches: BTreeMap::new(),
                lost: Lost {
                    by_maps: Some(0),
                    by_recursion: Some(0),
                },
                unknown: Unknown::default(),
            },
        }
    }

    pub(crate) fn pass(&mut self, length: Duration) {
        self.snapshot.elapsed += length;
        self.snapshot.time += length;
    }

    pub(crate) fn row(&mut self, name: &str) -> &mut Row {
        let device = by_name(&self.topology, name);
        self.snapshot.rows.get_mut(&key(device)).unwrap()
    }

    /// `times` requests of `len` bytes, `step` bytes apart from `start` on,
    /// that took `await_ns` each.
    pub(crate) fn io(
        &mut self,
        name: &str,
        op: Op,
        (start, len, step): (u64, u64, u64),
        times: u64,
        await_ns: u64,
    ) {
        let geometry = kernel_geometry(&by_name(&self.topology, name).geometry);
        let row = self.row(name);
        for turn in 0..times {
            let start = start + turn * step;
            let class = classify(start, len, &geometry);
            each_cell(op, len, &class, |cell, amount| row.cells[cell] += amount);
            let write = usize::from(op != Op::Read);
            let misaligned = usize::from(class.physical != Physical::Aligned);
            let latency = (write * 2 + misaligned) * LATENCY_BINS + latency_bin(await_ns);
            let detail = row.detail.as_mut().unwrap();
            detail::each_bin(write, start, len, &geometry, |cell| detail[cell] += 1);
            for cell in [
                detail::SEEK + power_bin(step.saturating_sub(len)),
                detail::AWAIT + latency,
            ] {
                detail[cell] += 1;
            }
        }
    }

    pub(crate) fn process(&mut self, name: &str, command: &str, tgid: u32, cells: ProcessCells) {
        let device = by_name(&self.topology, name).id;
        let mut comm = [0; 16];
        comm[..command.len()].copy_from_slice(command.as_bytes());
        self.snapshot.processes.push(ProcessRow {
            device,
            key: ProcessKey {
                slot: 1,
                tgid,
                cgroup: u64::from(tgid == 42) * 4711,
                comm,
            },
            cells,
            cgroup_path: None,
            ended: false,
        });
    }
}

/// A second of mixed work on [`raid_topology`].
pub(crate) fn busy_bench() -> Bench {
    let mut bench = Bench::new(raid_topology());
    bench.io("dm-0", Op::Write, (0, 65536, 65536), 70, 900_000);
    bench.io("md127", Op::Write, (0, 458_752, 458_752), 7, 5_000_000);
    bench.io("md127", Op::Write, (65536, 458_752, 458_752), 3, 9_000_000);
    bench.io("md127", Op::Read, (0, 4096, 81920), 40, 150_000);
    bench.io("sda1", Op::Write, (34 * 512, 4096, 4096), 300, 14_000_000);
    bench.io("sda2", Op::Read, (4096 * 512, 16384, 16384), 120, 200_000);
    bench.io("sda", Op::Read, (0, 512, 512), 8, 100_000);
    bench.io("sdb1", Op::Write, (1 << 20, 4096, 4096), 290, 400_000);
    let writer = ProcessCells {
        write_requests: 70,
        write_bytes: 70 * 65536,
        ..ProcessCells::default()
    };
    bench.process("dm-0", "postgres", 42, writer);
    let shifted = ProcessCells {
        write_requests: 300,
        write_bytes: 300 * 4096,
        write_misaligned: 300,
        write_partial_blocks: 600,
        ..ProcessCells::default()
    };
    bench.process("sda1", "md127_raid6", 913, shifted);
    bench.pass(Duration::from_secs(1));
    bench
}

pub(crate) fn by_name<'a>(topology: &'a Topology, name: &str) -> &'a Device {
    let found = topology.devices.values().find(|device| device.name == name);
    found.unwrap()
}

fn key(device: &Device) -> RowKey {
    RowKey {
        device: device.id,
        name: device.name.clone(),
    }
}

fn kernel_geometry(geometry: &Geometry) -> classify::Geometry {
    let bytes = |value: Option<Bytes>| value.map_or(0, |bytes| bytes.0);
    classify::Geometry {
        physical_bytes: bytes(geometry.physical_block),
        alignment_offset_bytes: bytes(geometry.alignment_offset),
        chunk_bytes: bytes(geometry.chunk),
        stripe_bytes: bytes(geometry.stripe),
        boundary_bytes: bytes(geometry.boundary),
        origin_bytes: 0,
        remainder_shift: remainder_shift(
            bytes(geometry.physical_block),
            bytes(geometry.logical_block),
        ),
    }
}

/// Compares `actual` with the committed `file` of this crate; with
/// `IOTRACE_UPDATE_GOLDEN=1` writes it instead.
pub(crate) fn golden(file: &str, actual: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    if std::env::var_os("IOTRACE_UPDATE_GOLDEN").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, actual).unwrap();
        return;
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        expected == actual,
        "{} differs (IOTRACE_UPDATE_GOLDEN=1 accepts)\n--- expected\n{expected}\n--- actual\n{actual}",
        path.display()
    );
}

pub(crate) fn find<'a>(
    devices: &'a [crate::delta::DeviceFigures],
    name: &str,
) -> &'a crate::delta::DeviceFigures {
    let names: BTreeMap<&str, &crate::delta::DeviceFigures> =
        devices.iter().map(|d| (d.name.as_str(), d)).collect();
    names[name]
}
