//! The one table of all metrics: name, help, unit, kind and labels. The
//! reference in the docs, the tests and the dashboards' check come from it.
//!
//! Must not hold values.

use std::fmt::Write as _;

/// One metric.
#[derive(Debug, PartialEq, Eq)]
pub struct Metric {
    /// As in `/metrics`: a counter's with `_total`, an info's with `_info`.
    pub name: &'static str,
    pub kind: Kind,
    /// The unit in its name; `None` for plain numbers.
    pub unit: Option<&'static str>,
    pub labels: &'static [&'static str],
    pub help: &'static str,
}

/// What a metric is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Never falls while the process lives.
    Counter,
    Gauge,
    /// Bounds are inclusive (`le`).
    Histogram,
    /// Always 1; the labels say it.
    Info,
}

impl Kind {
    /// As OpenMetrics calls it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
            Self::Info => "info",
        }
    }
}

/// The same of whole devices and of partitions, under two names: a sum over
/// devices is a sum over devices.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) device: &'static Metric,
    pub(super) partition: &'static Metric,
}

impl Pair {
    pub(super) const fn of(&self, partition: bool) -> &'static Metric {
        if partition {
            self.partition
        } else {
            self.device
        }
    }
}

/// Rows of `CONSTANT: kind, unit, "name", [labels], "help"`; a row of `both`
/// names the tail of two.
macro_rules! table {
    (
        both { $($pair:ident: $pkind:ident, $punit:expr, $tail:literal, [$($plabel:literal),*], $phelp:literal;)* }
        one { $($id:ident: $kind:ident, $unit:expr, $name:literal, [$($label:literal),*], $help:literal;)* }
    ) => {
        $(pub(super) static $pair: Pair = Pair {
            device: &Metric {
                name: concat!("iotrace_device_", $tail),
                kind: Kind::$pkind, unit: $punit, labels: &["device" $(, $plabel)*], help: $phelp,
            },
            partition: &Metric {
                name: concat!("iotrace_partition_", $tail),
                kind: Kind::$pkind, unit: $punit, labels: &["device" $(, $plabel)*],
                help: concat!("Of a partition: ", $phelp),
            },
        };)*
        $(pub(super) static $id: Metric = Metric {
            name: concat!("iotrace_", $name),
            kind: Kind::$kind, unit: $unit, labels: &[$($label),*], help: $help,
        };)*
        /// Every metric there is.
        pub static ALL: &[&Metric] = &[$($pair.device, $pair.partition,)* $(&$id,)*];
    };
}

const BYTES: Option<&str> = Some("bytes");
const SECONDS: Option<&str> = Some("seconds");
const RATIO: Option<&str> = Some("ratio");
const NONE: Option<&str> = None;

table! {
both {
    REQUESTS: Counter, NONE, "requests_total", ["operation"],
        "Requests issued to the device; bios queued on a bio-based one (md, dm). A disk's hold those of its partitions.";
    IO_BYTES: Counter, BYTES, "io_bytes_total", ["operation"],
        "Bytes of these requests.";
    MISALIGNED: Counter, NONE, "misaligned_requests_total", ["operation", "boundary", "class"],
        "Requests that do not both start and end on a boundary. Of the physical block: class off_grid is at least a block long (a start is wrong), sub_block is shorter than a block. Of boundary custom (--geometry): class off.";
    ON_BOUNDARY: Counter, NONE, "boundary_aligned_requests_total", ["operation", "boundary"],
        "Requests that start and end on a boundary.";
    UNCLASSIFIED: Counter, NONE, "unclassified_requests_total", ["operation"],
        "Requests that came while the physical block was not known.";
    PARTIAL_BLOCKS: Counter, NONE, "partial_blocks_total", ["operation", "boundary"],
        "Physical blocks that requests covered only partly: a drive reads each before it writes it.";
    CHUNK_CLASSES: Counter, NONE, "chunk_requests_total", ["operation", "class"],
        "Requests by their place against the chunk: aligned, inside one chunk, crossing into another, unknown. They add up to all requests of the operation.";
    STRIPE_CLASSES: Counter, NONE, "stripe_requests_total", ["operation", "class"],
        "Writes by their place against the stripe: full (whole stripes only), mixed (with a ragged end), partial (no whole stripe), unknown. They add up to all requests of the operation.";
    STRIPE_BYTES: Counter, BYTES, "stripe_io_bytes_total", ["operation", "class"],
        "Bytes written in stripes that were covered wholly (full) or only partly (partial), or unknown.";
    FILL_REQUESTS: Counter, NONE, "fill_requests_total", ["cause"],
        "Reads out of a write call (write: less than a page-cache block was written) or out of a page fault. Only for devices named with --dev.";
    FILL_BYTES: Counter, BYTES, "fill_bytes_total", ["cause"],
        "Bytes of these reads.";
    SIZE: Histogram, BYTES, "request_size_bytes", ["operation"],
        "Lengths of requests.";
    REMAINDER: Histogram, BYTES, "request_remainder_bytes", ["operation"],
        "How far requests start past a physical block's begin. The bounds depend on the device's blocks.";
    GRAIN: Histogram, BYTES, "request_alignment_bytes", ["operation"],
        "The largest power of two that divides start and length of a request.";
    AWAIT: Histogram, SECONDS, "request_duration_seconds", ["operation", "alignment"],
        "From the making of a request to its completion (await), by alignment to the physical block. The sum is at most 12.5 % too high.";
    SERVICE: Histogram, SECONDS, "request_service_seconds", ["operation", "alignment"],
        "From the issue of a request to the device to its completion, where the queue keeps the time. The sum is at most 12.5 % too high.";
    REQUEUED: Counter, NONE, "requeued_requests_total", [],
        "Requests issued, put back, and to be issued again; counted once in requests.";
    SPLITS: Counter, NONE, "split_bios_total", [],
        "Bios that the block layer cut in two.";
    FLUSH_BIOS: Counter, NONE, "flush_bios_total", ["kind"],
        "Bios that asked for a flush: empty ones, fua (data through the cache), preflush (a flush before data).";
    SIZE_OF: Gauge, BYTES, "size_bytes", [],
        "Length of the device.";
    LOGICAL: Gauge, BYTES, "logical_block_bytes", [],
        "Logical block.";
    PHYSICAL: Gauge, BYTES, "physical_block_bytes", [],
        "Physical block that requests are classified by.";
    OFFSET: Gauge, BYTES, "alignment_offset_bytes", [],
        "Position of the first aligned byte of the device, less than the physical block.";
    CHUNK: Gauge, BYTES, "chunk_bytes", [],
        "Chunk that requests are classified by.";
    STRIPE: Gauge, BYTES, "stripe_bytes", [],
        "Stripe that requests are classified by: chunk times data disks.";
    DATA_DISKS: Gauge, NONE, "data_disks", [],
        "Disks of a stripe that hold data.";
    BOUNDARY: Gauge, BYTES, "custom_boundary_bytes", [],
        "The boundary of one's own (--geometry).";
    PHASE: Gauge, BYTES, "phase_bytes", [],
        "The first position in the device that lies on a boundary of what is below it: the stripe, else the chunk, else the physical block. 0 is aligned.";
}
one {
    DEVICE_INFO: Info, NONE, "device_info",
        ["device", "kind", "major", "minor", "members", "dm_name", "dm_uuid", "wwn", "model"],
        "What a device is.";
    PARTITION_INFO: Info, NONE, "partition_info", ["device", "disk", "number", "major", "minor"],
        "What a partition is, and of which disk.";
    PARTITION_START: Gauge, BYTES, "partition_start_bytes", ["device"],
        "Where the partition starts on its disk.";
    PARTITION_REMAINDER: Gauge, BYTES, "partition_start_remainder_bytes", ["device", "boundary"],
        "How far the partition's start lies past a boundary of its disk: 0 is aligned. Boundary assumed_physical_block is 4096 bytes, where the drive reports 512 and may not mean it.";
    ARRAY_INFO: Info, NONE, "array_info",
        ["device", "level", "uuid", "metadata_version", "layout", "chunk_bytes", "data_disks", "raid_disks", "bitmap"],
        "What an md array is.";
    ARRAY_MEMBER_INFO: Info, NONE, "array_member_info", ["device", "array", "slot", "state"],
        "A component of an md array: device is the component.";
    ARRAY_MEMBER_OFFSET: Gauge, BYTES, "array_member_data_offset_bytes", ["device", "array"],
        "Where the array's data begins on a component.";
    ARRAY_DISKS: Gauge, NONE, "array_disks", ["device"],
        "Disks that an array is to have.";
    ARRAY_DEGRADED: Gauge, NONE, "array_degraded_disks", ["device"],
        "Disks that an array lacks.";
    ARRAY_SYNCING: Gauge, NONE, "array_syncing", ["device"],
        "1 while an array resyncs, recovers, checks, repairs or reshapes.";
    ARRAY_ESTIMATED: Gauge, NONE, "array_estimated", ["device"],
        "1 where pre-reads are estimated, because the components' bios cannot be looked into; 0 where they are measured.";
    ARRAY_USER_BYTES: Counter, BYTES, "array_user_bytes_total", ["device", "operation"],
        "What users read from and wrote to an array, write zeroes among it.";
    ARRAY_PREREAD: Counter, BYTES, "array_preread_bytes_total", ["device", "kind"],
        "Read from components because a write did not fill its row: rmw (old data and parity), rcw (the other data), partial_block.";
    ARRAY_PREREAD_ESTIMATED: Counter, BYTES, "array_estimated_preread_bytes_total", ["device"],
        "An estimate of the same, where it cannot be measured: what components were read beyond what users read.";
    ARRAY_CAUSES: Counter, BYTES, "array_preread_cause_bytes_total", ["device", "cause"],
        "Pre-reads by what in the write made them necessary.";
    ARRAY_READ: Counter, BYTES, "array_component_read_bytes_total", ["device", "origin"],
        "Read from all components of an array, by why. The origins add up to all that was queued to them.";
    ARRAY_WRITE: Counter, BYTES, "array_component_write_bytes_total", ["device", "origin"],
        "Written to all components of an array, by why. The origins add up to all that was queued to them.";
    ARRAY_ROWS: Counter, NONE, "array_rows_total", ["device", "kind"],
        "Rows (4 KiB of each member) of raid4/5/6 that were written: full, or after an rmw or rcw pre-read.";
    ARRAY_METADATA_BIOS: Counter, NONE, "array_metadata_write_bios_total", ["device"],
        "Bios that md queued to write its superblock, bitmap and other books.";
    ARRAY_MINIMUM: Gauge, RATIO, "array_write_amplification_minimum_ratio", ["device"],
        "The least that the level writes to components for what is written to the array.";
    ARRAY_CACHE_ROWS: Gauge, NONE, "array_stripe_cache_rows", ["device"],
        "Rows that the stripe cache holds.";
    ARRAY_CACHE_ACTIVE: Gauge, NONE, "array_stripe_cache_active_rows", ["device"],
        "Rows of the stripe cache in use at the scrape.";
    COMPONENT_READ: Counter, BYTES, "component_read_bytes_total", ["device", "origin"],
        "Read from a component, by why.";
    COMPONENT_WRITE: Counter, BYTES, "component_write_bytes_total", ["device", "origin"],
        "Written to a component, by why.";
    COMPONENT_READ_BIOS: Counter, NONE, "component_read_bios_total", ["device", "origin"],
        "Bios that read a component, by why.";
    COMPONENT_WRITE_BIOS: Counter, NONE, "component_write_bios_total", ["device", "origin"],
        "Bios that wrote to a component, by why.";
    COMPONENT_READ_MISALIGNED: Counter, NONE, "component_misaligned_read_bios_total", ["device", "origin"],
        "Of the bios that read a component, those not aligned to the physical block.";
    COMPONENT_WRITE_MISALIGNED: Counter, NONE, "component_misaligned_write_bios_total", ["device", "origin"],
        "Of the bios that wrote to a component, those not aligned to the physical block.";
    BUILD_INFO: Info, NONE, "build_info", ["version"],
        "The version of iotrace.";
    PROGRAM_INFO: Info, NONE, "program_info", ["program", "event", "kind"],
        "An eBPF program that is attached, and how: btf, raw, tracepoint.";
    PROGRAM_RUNS: Counter, NONE, "program_runs_total", ["program"],
        "Runs of a program. Only while kernel.bpf_stats_enabled is set.";
    PROGRAM_SECONDS: Counter, SECONDS, "program_run_seconds_total", ["program"],
        "Time in these runs. Only while kernel.bpf_stats_enabled is set.";
    LOST: Counter, NONE, "lost_events_total", ["mechanism"],
        "Events that no counter shows: maps (a full map, or kernel memory that could not be read), recursion (runs that the kernel skipped). Absent where the kernel cannot say.";
    MAP_USED: Gauge, NONE, "map_used_entries", ["map"],
        "Entries of the programs' maps that are in use.";
    MAP_CAPACITY: Gauge, NONE, "map_capacity_entries", ["map"],
        "Entries that there is room for.";
    SCRAPE_SUCCESS: Gauge, NONE, "scrape_success", [],
        "1 if the counters could be read.";
    SCRAPE_SECONDS: Gauge, SECONDS, "scrape_duration_seconds", [],
        "How long reading the devices and the counters took.";
    DETAILED: Gauge, NONE, "devices_with_histograms", [],
        "Devices whose histograms are told.";
    WEB_CONFIG: Gauge, NONE, "web_config_last_reload_successful", [],
        "1 if --web.config.file and the files it names could be used when they last changed; 0 while older ones are kept.";
}
}

/// The metric of that name.
#[must_use]
pub fn by_name(name: &str) -> Option<&'static Metric> {
    ALL.iter().find(|metric| metric.name == name).copied()
}

/// The reference, in Markdown.
#[must_use]
pub fn reference() -> String {
    let mut text = String::from(HEAD);
    let mut sorted: Vec<&Metric> = ALL.to_vec();
    sorted.sort_by_key(|metric| metric.name);
    for metric in sorted {
        let labels: Vec<String> = metric.labels.iter().map(|l| format!("`{l}`")).collect();
        // To a String: never fails.
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {} |",
            metric.name,
            metric.kind.word(),
            labels.join(" "),
            metric.help
        );
    }
    text
}

const HEAD: &str = "\
# Metrics

Made from the table in `tracer-user/src/export/table.rs`; `docs/serve.md` says what is told when.

Label `device` is the kernel's name, as node_exporter's `node_disk_*` have it. What is not known is absent,
never 0.

| metric | kind | labels | |
|---|---|---|---|
";
