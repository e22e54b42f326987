//! Samples of one device or partition: requests, classes, histograms,
//! geometry.
//!
//! Must not know arrays' insides.

use super::{
    families::Families,
    table::{self, Metric},
};
use crate::{
    delta::{DeviceFigures, DeviceTotals, Op},
    sysfs::{
        device::{Device, Geometry, Kind},
        start::Against,
    },
    units::Bytes,
};

const PHYSICAL_BLOCK: &str = "physical";
const CUSTOM: &str = "custom";

/// Samples of `totals`, with histograms or without.
pub(super) fn add(families: &mut Families, totals: &DeviceTotals, histograms: bool) {
    let one = One {
        figures: &totals.figures,
        name: &totals.figures.name,
        partition: totals.figures.kind == Some(Kind::Partition),
    };
    one.requests(families);
    one.classes(families);
    one.rest(families);
    one.geometry(families, &totals.figures.geometry);
    if histograms {
        super::histograms::add(families, &totals.figures);
    }
    if let Some(device) = &totals.device {
        one.about(families, device);
    }
}

struct One<'a> {
    figures: &'a DeviceFigures,
    name: &'a str,
    partition: bool,
}

impl One<'_> {
    fn of(&self, pair: &table::Pair) -> &'static Metric {
        pair.of(self.partition)
    }

    fn count(&self, to: &mut Families, pair: &table::Pair, labels: &[&str], value: u64) {
        let mut all = vec![self.name];
        all.extend(labels);
        to.count(self.of(pair), &all, value);
    }

    fn gauge(&self, to: &mut Families, pair: &table::Pair, value: Option<Bytes>) {
        if let Some(value) = value {
            self.count(to, pair, &[], value.0);
        }
    }

    /// The operations that have a place, each with its name.
    fn placed(&self) -> [(&'static str, Option<&Op>); 5] {
        let figures = self.figures;
        [
            ("read", Some(&figures.read)),
            ("write", Some(&figures.write)),
            ("write_zeroes", figures.write_zeroes.as_ref()),
            ("discard", Some(&figures.discard)),
            ("secure_erase", Some(&figures.secure_erase)),
        ]
    }

    fn requests(&self, to: &mut Families) {
        let figures = self.figures;
        let append = figures.zone_append;
        let other = &figures.other;
        let placed = self
            .placed()
            .map(|(name, op)| (name, op.map(|op| op.requests)));
        let rest = [
            ("zone_append", append.map(|append| append.requests)),
            ("flush", Some(figures.flush.requests)),
            ("passthrough", other.passthrough),
            ("management", Some(other.management)),
            ("zero_length", Some(other.zero_length)),
            // Where all operations can be told apart, there are none.
            (
                "not_told",
                Some(other.not_told).filter(|_| figures.write_zeroes.is_none()),
            ),
        ];
        for (operation, requests) in placed.into_iter().chain(rest) {
            if let Some(requests) = requests {
                self.count(to, &table::REQUESTS, &[operation], requests);
            }
        }
        let bytes = self
            .placed()
            .map(|(name, op)| (name, op.map(|op| op.bytes)));
        let append = ("zone_append", append.map(|append| append.bytes));
        for (operation, bytes) in bytes.into_iter().chain([append]) {
            if let Some(bytes) = bytes {
                self.count(to, &table::IO_BYTES, &[operation], bytes);
            }
        }
    }

    fn classes(&self, to: &mut Families) {
        for (operation, op) in self.placed() {
            // Rare operations are told with their first request.
            let common = matches!(operation, "read" | "write");
            if let Some(op) = op.filter(|op| common || op.requests != 0) {
                self.classes_of(to, operation, op);
            }
        }
        let Some(boundary) = self.figures.boundary else {
            return;
        };
        for (operation, split) in [("read", boundary.read), ("write", boundary.write)] {
            self.count(
                to,
                &table::MISALIGNED,
                &[operation, CUSTOM, "off"],
                split.off,
            );
            self.count(to, &table::ON_BOUNDARY, &[operation, CUSTOM], split.on);
        }
    }

    fn classes_of(&self, to: &mut Families, operation: &str, op: &Op) {
        let physical = op.physical;
        let misaligned = [
            ("off_grid", physical.off_grid),
            ("sub_block", physical.sub_block),
        ];
        for (class, requests) in misaligned {
            let labels = [operation, PHYSICAL_BLOCK, class];
            self.count(to, &table::MISALIGNED, &labels, requests);
        }
        let boundary = [operation, PHYSICAL_BLOCK];
        self.count(to, &table::ON_BOUNDARY, &boundary, physical.aligned);
        self.count(
            to,
            &table::PARTIAL_BLOCKS,
            &boundary,
            physical.partial_blocks,
        );
        self.count(to, &table::UNCLASSIFIED, &[operation], physical.unknown);
        if let Some(chunk) = op.chunk {
            let classes = [
                ("aligned", chunk.aligned),
                ("inside", chunk.inside),
                ("crossing", chunk.crossing),
                ("unknown", chunk.unknown),
            ];
            for (class, requests) in classes {
                self.count(to, &table::CHUNK_CLASSES, &[operation, class], requests);
            }
        }
        if let Some(stripe) = op.stripe {
            let classes = [
                ("full", stripe.full),
                ("mixed", stripe.mixed),
                ("partial", stripe.partial),
                ("unknown", stripe.unknown),
            ];
            for (class, requests) in classes {
                self.count(to, &table::STRIPE_CLASSES, &[operation, class], requests);
            }
            let bytes = [
                ("full", stripe.full_bytes),
                ("partial", stripe.partial_bytes),
                ("unknown", stripe.unknown_bytes),
            ];
            for (class, bytes) in bytes {
                self.count(to, &table::STRIPE_BYTES, &[operation, class], bytes);
            }
        }
    }

    fn rest(&self, to: &mut Families) {
        let figures = self.figures;
        if let Some(requeued) = figures.requeued {
            self.count(to, &table::REQUEUED, &[], requeued);
        }
        self.count(to, &table::SPLITS, &[], figures.splits);
        let flush = figures.flush;
        let kinds = [
            ("empty", flush.empty_bios),
            ("fua", flush.fua_bios),
            ("preflush", flush.preflush_bios),
        ];
        for (kind, bios) in kinds {
            if let Some(bios) = bios {
                self.count(to, &table::FLUSH_BIOS, &[kind], bios);
            }
        }
        if let Some(fills) = figures.fills {
            let causes = [
                ("write", fills.write_fill_requests, fills.write_fill_bytes),
                ("fault", fills.fault_requests, fills.fault_bytes),
            ];
            for (cause, requests, bytes) in causes {
                self.count(to, &table::FILL_REQUESTS, &[cause], requests);
                self.count(to, &table::FILL_BYTES, &[cause], bytes);
            }
        }
    }

    fn geometry(&self, to: &mut Families, geometry: &Geometry) {
        self.gauge(to, &table::LOGICAL, geometry.logical_block);
        self.gauge(to, &table::PHYSICAL, geometry.physical_block);
        self.gauge(to, &table::OFFSET, geometry.alignment_offset);
        self.gauge(to, &table::CHUNK, geometry.chunk);
        self.gauge(to, &table::STRIPE, geometry.stripe);
        self.gauge(to, &table::BOUNDARY, geometry.boundary);
        self.gauge(to, &table::PHASE, geometry.phase);
        let disks = geometry.data_disks.map(|disks| Bytes(disks.into()));
        self.gauge(to, &table::DATA_DISKS, disks);
    }

    fn about(&self, to: &mut Families, device: &Device) {
        let size = device.size.map(crate::units::Sectors::bytes);
        self.gauge(to, &table::SIZE_OF, size);
        let (major, minor) = (device.id.major.to_string(), device.id.minor.to_string());
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        let Some(partition) = device.partition else {
            let labels = [
                self.name,
                device.kind.word(),
                &major,
                &minor,
                &self.figures.members.join(","),
                &text(&device.dm_name),
                &text(&device.dm_uuid),
                &text(&device.wwn),
                &text(&device.model),
            ];
            return to.info(&table::DEVICE_INFO, &labels);
        };
        let disk = self.figures.disk.as_deref().unwrap_or_default();
        let number = partition.number.to_string();
        to.info(
            &table::PARTITION_INFO,
            &[self.name, disk, &number, &major, &minor],
        );
        let start = partition.start.bytes().0;
        to.count(&table::PARTITION_START, &[self.name], start);
        for check in &device.start_checks {
            let labels = [self.name, against(check.against)];
            to.count(
                &table::PARTITION_REMAINDER,
                &labels,
                check.remainder_bytes.0,
            );
        }
    }
}

const fn against(against: Against) -> &'static str {
    match against {
        Against::PhysicalBlock => "physical_block",
        Against::AssumedPhysicalBlock => "assumed_physical_block",
        Against::Chunk => "chunk",
        Against::Stripe => "stripe",
        Against::Boundary => CUSTOM,
    }
}
