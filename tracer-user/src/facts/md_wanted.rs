//! What iotrace asks of md's modules: functions, structure fields and
//! constants, each named once. `docs/kernel.md` says since when each exists.
//!
//! Must not read anything, and must not decide what to do without it.

use tracer_ebpf::origin::EndIo;

use super::wanted::Field;

/// Modules that send bios to components, as `/proc/kallsyms` and
/// `/sys/kernel/btf` spell them.
pub const MODULES: [&str; 5] = ["md_mod", "raid456", "raid1", "raid10", "raid0"];

/// A function that is told when a bio ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndFunction {
    /// `None`: of the kernel itself.
    pub module: Option<&'static str>,
    pub symbol: &'static str,
    pub end_io: EndIo,
}

const fn of(module: &'static str, symbol: &'static str, end_io: EndIo) -> EndFunction {
    EndFunction {
        module: Some(module),
        symbol,
        end_io,
    }
}

const fn core(symbol: &'static str, end_io: EndIo) -> EndFunction {
    EndFunction {
        module: None,
        symbol,
        end_io,
    }
}

/// Every such function (`drivers/md/*.c`, `block/bio.c`). A symbol that this
/// kernel does not have is none that could be met.
pub const END_FUNCTIONS: &[EndFunction] = &[
    of("raid456", "raid5_end_read_request", EndIo::StripeRead),
    of("raid456", "raid5_end_write_request", EndIo::StripeWrite),
    of("raid456", "raid5_align_endio", EndIo::AlignedRead),
    of("raid456", "r5l_log_endio", EndIo::Journal),
    of("raid456", "r5l_log_flush_endio", EndIo::Journal),
    of("raid456", "ppl_log_endio", EndIo::Ppl),
    of("raid1", "raid1_end_read_request", EndIo::Copy),
    of("raid1", "raid1_end_write_request", EndIo::Copy),
    of("raid1", "end_sync_read", EndIo::Sync),
    of("raid1", "end_sync_write", EndIo::Sync),
    of("raid10", "raid10_end_read_request", EndIo::Copy),
    of("raid10", "raid10_end_write_request", EndIo::Copy),
    of("raid10", "raid10_end_discard_request", EndIo::Copy),
    of("raid10", "end_sync_read", EndIo::Sync),
    of("raid10", "end_sync_write", EndIo::Sync),
    of("raid10", "end_reshape_read", EndIo::Reshape),
    of("raid10", "end_reshape_write", EndIo::Reshape),
    of("md_mod", "super_written", EndIo::Metadata),
    of("md_mod", "md_end_io_acct", EndIo::Clone),
    of("md_mod", "md_end_clone_io", EndIo::Clone),
    core("submit_bio_wait_endio", EndIo::Waited),
    core("bio_wait_end_io", EndIo::Waited),
    core("bio_chain_endio", EndIo::Chained),
];

const fn number(structure: &'static str, path: &'static str, size_bytes: u32) -> Field {
    Field::number(structure, path, size_bytes)
}

pub const STRIPE_RAID_CONF: Field = Field::pointer("stripe_head", "raid_conf", "r5conf");
pub const STRIPE_SECTOR: Field = number("stripe_head", "sector", 8);
pub const STRIPE_PD_IDX: Field = number("stripe_head", "pd_idx", 2);
pub const STRIPE_QD_IDX: Field = number("stripe_head", "qd_idx", 2);
pub const STRIPE_STATE: Field = number("stripe_head", "state", 8);
pub const STRIPE_DISKS: Field = number("stripe_head", "disks", 4);
/// An array of `r5dev`, whose length says nothing: one, or flexible.
pub const STRIPE_DEV: Field = number("stripe_head", "dev", 0);
pub const DEV_RREQ: Field = number("r5dev", "rreq", 0);
pub const DEV_TOREAD: Field = Field::pointer("r5dev", "toread", "bio");
pub const DEV_TOWRITE: Field = Field::pointer("r5dev", "towrite", "bio");
pub const DEV_WRITTEN: Field = Field::pointer("r5dev", "written", "bio");
pub const DEV_FLAGS: Field = number("r5dev", "flags", 8);
pub const CONF_MDDEV: Field = Field::pointer("r5conf", "mddev", "mddev");
pub const CONF_RMW_LEVEL: Field = number("r5conf", "rmw_level", 4);
pub const MDDEV_RECOVERY: Field = number("mddev", "recovery", 8);
/// Named `resync_offset` since 6.18.
pub const MDDEV_RECOVERY_CP: Field = number("mddev", "recovery_cp", 8);
pub const MDDEV_RESYNC_OFFSET: Field = number("mddev", "resync_offset", 8);
pub const RESYNC_RAID_BIO: Field = number("resync_pages", "raid_bio", 8);
pub const R1BIO_MDDEV: Field = Field::pointer("r1bio", "mddev", "mddev");
pub const R10BIO_MDDEV: Field = Field::pointer("r10bio", "mddev", "mddev");
/// Since 5.14, as `md_io_acct` up to 5.15.
pub const CLONE_ORIG_BIO: Field = Field::pointer("md_io_clone", "orig_bio", "bio");
pub const ACCT_ORIG_BIO: Field = Field::pointer("md_io_acct", "orig_bio", "bio");
pub const CLONE_BIO: Field = number("md_io_clone", "bio_clone", 0);
pub const ACCT_BIO: Field = number("md_io_acct", "bio_clone", 0);

/// Every field above, with the module whose BTF has it.
pub const FIELDS: &[(&str, Field)] = &[
    ("raid456", STRIPE_RAID_CONF),
    ("raid456", STRIPE_SECTOR),
    ("raid456", STRIPE_PD_IDX),
    ("raid456", STRIPE_QD_IDX),
    ("raid456", STRIPE_STATE),
    ("raid456", STRIPE_DISKS),
    ("raid456", STRIPE_DEV),
    ("raid456", DEV_RREQ),
    ("raid456", DEV_TOREAD),
    ("raid456", DEV_TOWRITE),
    ("raid456", DEV_WRITTEN),
    ("raid456", DEV_FLAGS),
    ("raid456", CONF_MDDEV),
    ("raid456", CONF_RMW_LEVEL),
    ("md_mod", MDDEV_RECOVERY),
    ("md_mod", MDDEV_RECOVERY_CP),
    ("md_mod", MDDEV_RESYNC_OFFSET),
    ("raid1", RESYNC_RAID_BIO),
    ("raid10", RESYNC_RAID_BIO),
    ("raid1", R1BIO_MDDEV),
    ("raid10", R10BIO_MDDEV),
    ("md_mod", CLONE_ORIG_BIO),
    ("md_mod", ACCT_ORIG_BIO),
    ("md_mod", CLONE_BIO),
    ("md_mod", ACCT_BIO),
];

/// Structures whose size is asked for.
pub const SIZES: &[(&str, &str)] = &[("raid456", "r5dev")];

/// Enumerations that hold [`CONSTANTS`], with the module whose BTF has them;
/// `stripe_head`'s states are an anonymous one.
pub const ENUMS: &[(&str, &str)] = &[
    ("raid456", ""),
    ("raid456", "r5dev_flags"),
    ("md_mod", "recovery_flags"),
];

/// Constants, by the kernel's own names (drivers/md/raid5.h, md.h).
pub const CONSTANTS: &[&str] = &[
    "STRIPE_SYNCING",
    "STRIPE_EXPANDING",
    "STRIPE_EXPAND_SOURCE",
    "STRIPE_EXPAND_READY",
    "R5_UPTODATE",
    "R5_OVERWRITE",
    "R5_Insync",
    "R5_ReadError",
    "R5_ReWrite",
    "MD_RECOVERY_SYNC",
    "MD_RECOVERY_RECOVER",
    "MD_RECOVERY_REQUESTED",
    "MD_RECOVERY_CHECK",
    "MD_RECOVERY_RESHAPE",
];
