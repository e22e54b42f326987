//! What iotrace asks of a kernel: tracepoints, structure fields and constants,
//! each named once. `docs/kernel.md` says since when each exists.
//!
//! Must not read anything, and must not decide what to do without it.

/// A field of a kernel structure, and how it must look to be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// The structure's tag, without `struct`.
    pub structure: &'static str,
    /// Dotted below named members; anonymous ones are looked through.
    pub path: &'static str,
    pub size_bytes: u32,
    /// The structure that the field must point to.
    pub points_to: Option<&'static str>,
}

impl Field {
    pub(super) const fn number(
        structure: &'static str,
        path: &'static str,
        size_bytes: u32,
    ) -> Self {
        Self {
            structure,
            path,
            size_bytes,
            points_to: None,
        }
    }

    /// 64-bit kernels only, as everything here.
    pub(super) const fn pointer(
        structure: &'static str,
        path: &'static str,
        to: &'static str,
    ) -> Self {
        Self {
            structure,
            path,
            size_bytes: 8,
            points_to: Some(to),
        }
    }

    /// The key in [`super::btf::BtfFacts::fields`].
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}.{}", self.structure, self.path)
    }
}

pub const REQUEST_CMD_FLAGS: Field = Field::number("request", "cmd_flags", 4);
pub const REQUEST_DATA_LEN: Field = Field::number("request", "__data_len", 4);
pub const REQUEST_SECTOR: Field = Field::number("request", "__sector", 8);
pub const REQUEST_PART: Field = Field::pointer("request", "part", "block_device");
pub const REQUEST_Q: Field = Field::pointer("request", "q", "request_queue");
pub const REQUEST_RQ_DISK: Field = Field::pointer("request", "rq_disk", "gendisk");
pub const REQUEST_STATE: Field = Field::number("request", "state", 4);
pub const REQUEST_START_TIME_NS: Field = Field::number("request", "start_time_ns", 8);
pub const REQUEST_IO_START_TIME_NS: Field = Field::number("request", "io_start_time_ns", 8);

pub const QUEUE_DISK: Field = Field::pointer("request_queue", "disk", "gendisk");
pub const QUEUE_MQ_OPS: Field = Field::pointer("request_queue", "mq_ops", "blk_mq_ops");

pub const DISK_MAJOR: Field = Field::number("gendisk", "major", 4);
pub const DISK_FIRST_MINOR: Field = Field::number("gendisk", "first_minor", 4);
/// `DISK_NAME_LEN` (include/linux/blkdev.h; genhd.h before 5.18).
pub const DISK_NAME: Field = Field::number("gendisk", "disk_name", 32);
pub const DISK_QUEUE: Field = Field::pointer("gendisk", "queue", "request_queue");
pub const DISK_DISKSEQ: Field = Field::number("gendisk", "diskseq", 8);

pub const BDEV_DEV: Field = Field::number("block_device", "bd_dev", 4);
pub const BDEV_DISK: Field = Field::pointer("block_device", "bd_disk", "gendisk");

pub const BIO_BDEV: Field = Field::pointer("bio", "bi_bdev", "block_device");
pub const BIO_DISK: Field = Field::pointer("bio", "bi_disk", "gendisk");
pub const BIO_PARTNO: Field = Field::number("bio", "bi_partno", 1);
pub const BIO_OPF: Field = Field::number("bio", "bi_opf", 4);
pub const BIO_FLAGS: Field = Field::number("bio", "bi_flags", 2);
pub const BIO_SECTOR: Field = Field::number("bio", "bi_iter.bi_sector", 8);
pub const BIO_SIZE: Field = Field::number("bio", "bi_iter.bi_size", 4);
pub const BIO_BLKG: Field = Field::pointer("bio", "bi_blkg", "blkcg_gq");

/// Pointers to a function and to anything: read as numbers.
pub const BIO_END_IO: Field = Field::number("bio", "bi_end_io", 8);
pub const BIO_PRIVATE: Field = Field::number("bio", "bi_private", 8);

pub const TASK_FLAGS: Field = Field::number("task_struct", "flags", 4);
pub const TASK_STACK: Field = Field::number("task_struct", "stack", 8);
/// The system call's number in the saved registers: x86-64, and others.
pub const REGS_ORIG_AX: Field = Field::number("pt_regs", "orig_ax", 8);
pub const REGS_SYSCALLNO: Field = Field::number("pt_regs", "syscallno", 4);

pub const BLKG_BLKCG: Field = Field::pointer("blkcg_gq", "blkcg", "blkcg");
pub const BLKCG_CGROUP: Field = Field::pointer("blkcg", "css.cgroup", "cgroup");
pub const CGROUP_KN: Field = Field::pointer("cgroup", "kn", "kernfs_node");
pub const KERNFS_ID: Field = Field::number("kernfs_node", "id", 8);

/// Every field above.
pub const FIELDS: &[Field] = &[
    REQUEST_CMD_FLAGS,
    REQUEST_DATA_LEN,
    REQUEST_SECTOR,
    REQUEST_PART,
    REQUEST_Q,
    REQUEST_RQ_DISK,
    REQUEST_STATE,
    REQUEST_START_TIME_NS,
    REQUEST_IO_START_TIME_NS,
    QUEUE_DISK,
    QUEUE_MQ_OPS,
    DISK_MAJOR,
    DISK_FIRST_MINOR,
    DISK_NAME,
    DISK_QUEUE,
    DISK_DISKSEQ,
    BDEV_DEV,
    BDEV_DISK,
    BIO_BDEV,
    BIO_DISK,
    BIO_PARTNO,
    BIO_OPF,
    BIO_FLAGS,
    BIO_SECTOR,
    BIO_SIZE,
    BIO_BLKG,
    BIO_END_IO,
    BIO_PRIVATE,
    TASK_FLAGS,
    TASK_STACK,
    REGS_ORIG_AX,
    REGS_SYSCALLNO,
    BLKG_BLKCG,
    BLKCG_CGROUP,
    CGROUP_KN,
    KERNFS_ID,
];

/// Enumerations that hold [`CONSTANTS`]; `req_op` was `req_opf` before 6.0
/// (commit ff07a02e9e8e), and the flags of a bio are an anonymous one.
pub const ENUMS: &[&str] = &[
    "req_op",
    "req_opf",
    "req_flag_bits",
    "mq_rq_state",
    "bpf_func_id",
    "",
];

/// Constants, by the kernel's own names.
pub const CONSTANTS: &[&str] = &[
    "REQ_OP_READ",
    "REQ_OP_WRITE",
    "REQ_OP_FLUSH",
    "REQ_OP_DISCARD",
    "REQ_OP_SECURE_ERASE",
    "REQ_OP_WRITE_ZEROES",
    "REQ_OP_ZONE_APPEND",
    "REQ_OP_SCSI_IN",
    "REQ_OP_DRV_IN",
    "__REQ_FUA",
    "__REQ_PREFLUSH",
    "__REQ_META",
    "BPF_FUNC_task_pt_regs",
    "BIO_TRACE_COMPLETION",
    "BIO_CHAIN",
    "MQ_RQ_IDLE",
];

/// Tracepoints, by the kernel's own names (include/trace/events/block.h).
pub const TRACEPOINTS: &[&str] = &[
    "block_rq_issue",
    "block_rq_complete",
    "block_rq_requeue",
    "block_bio_queue",
    "block_bio_complete",
    "block_bio_remap",
    "block_split",
];
