//! What the programs on md's components get, out of the facts: where its
//! structures keep things, and which functions its bios end in.
//!
//! Must not do IO. A layout comes from the kernel's own BTF, or from the table
//! below where a kernel that has none for its modules is known to fit it.

use tracer_ebpf::{
    abi::ABSENT,
    origin::{EndIo, RecoveryBits, abi::MdLayout},
};

use super::layout::{field, usable};
use crate::facts::{
    BtfFacts, KernelFacts, MdFacts,
    md_wanted::{self, END_FUNCTIONS},
    symbols,
    wanted::{self, Field},
};

/// How sure the origins are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rows {
    /// Rows are looked into, by this kernel's own BTF.
    Measured,
    /// By a table of another kernel's, every structure checked.
    Table,
    /// They are not: of a stripe's IO only that it is one is known.
    Unknown,
}

/// How md's components are watched.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct MdPlan {
    #[serde(skip)]
    pub layout: MdLayout,
    /// Addresses of functions, and what they stand for.
    #[serde(skip)]
    pub end_functions: Vec<(u64, EndIo)>,
    pub rows: Rows,
    /// What could not be had, for a person.
    pub missing: Vec<String>,
}

impl MdPlan {
    /// # Errors
    /// Why origins cannot be told here at all.
    pub fn new(kernel: &KernelFacts, md: &MdFacts) -> Result<Self, String> {
        let Some(btf) = kernel.btf.found() else {
            return Err("without the kernel's BTF no bio can be read".to_owned());
        };
        if let Some(absence) = &md.no_addresses {
            return Err(format!(
                "{absence}: with kernel.kptr_restrict it takes CAP_SYSLOG to see addresses"
            ));
        }
        let mut missing = Vec::new();
        let mut layout = MdLayout {
            bio_end_io: field(btf, wanted::BIO_END_IO)?,
            bio_private: field(btf, wanted::BIO_PRIVATE)?,
            bio_chain: u64::from(super::layout::mask(btf, "BIO_CHAIN")),
            by_range: u16::from(field(btf, wanted::BIO_BDEV).is_err()),
            ..MdLayout::NONE
        };
        fill_mddev(&mut layout, md);
        let rows = match fill_rows(&mut layout, md) {
            Ok(()) => Rows::Measured,
            Err(why) if fits_table(btf) => {
                missing.push(format!("{why}: taken from a table instead"));
                fill_from_table(&mut layout);
                Rows::Table
            }
            Err(why) => {
                missing.push(format!("{why}: no IO of raid4/5/6 can be told apart"));
                Rows::Unknown
            }
        };
        Ok(Self {
            layout,
            end_functions: end_functions(md),
            rows,
            missing,
        })
    }
}

fn end_functions(md: &MdFacts) -> Vec<(u64, EndIo)> {
    let addresses = |function: &md_wanted::EndFunction| {
        let found = md.addresses.get(&symbols::key(function));
        let end_io = function.end_io;
        let found: Vec<_> = found.into_iter().flatten().copied().collect();
        found.into_iter().map(move |address| (address, end_io))
    };
    END_FUNCTIONS.iter().flat_map(addresses).collect()
}

fn offset(md: &MdFacts, wanted: Field) -> Result<u16, String> {
    usable(&md.fields, &md.refused, wanted)
}

/// The mask of the bit that a constant numbers.
fn mask(md: &MdFacts, name: &str) -> Result<u64, String> {
    let bit = md.constants.get(name).copied();
    bit.and_then(|bit| 1_u64.checked_shl(bit))
        .ok_or_else(|| format!("{name} is in no module's BTF"))
}

/// What runs on an array. Only names: what is missing is not told.
fn fill_mddev(layout: &mut MdLayout, md: &MdFacts) {
    let or_absent = |wanted| offset(md, wanted).unwrap_or(ABSENT);
    let bit = |name| mask(md, name).unwrap_or(0);
    layout.recovery = RecoveryBits {
        sync: bit("MD_RECOVERY_SYNC"),
        recover: bit("MD_RECOVERY_RECOVER"),
        requested: bit("MD_RECOVERY_REQUESTED"),
        check: bit("MD_RECOVERY_CHECK"),
        reshape: bit("MD_RECOVERY_RESHAPE"),
    };
    layout.mddev_recovery = or_absent(md_wanted::MDDEV_RECOVERY);
    layout.mddev_resync_offset = offset(md, md_wanted::MDDEV_RECOVERY_CP)
        .or_else(|_missing| offset(md, md_wanted::MDDEV_RESYNC_OFFSET))
        .unwrap_or(ABSENT);
    layout.resync_raid_bio = or_absent(md_wanted::RESYNC_RAID_BIO);
    layout.r1bio_mddev = or_absent(md_wanted::R1BIO_MDDEV);
    layout.r10bio_mddev = or_absent(md_wanted::R10BIO_MDDEV);
    layout.clone_orig_bio = offset(md, md_wanted::CLONE_ORIG_BIO)
        .or_else(|_missing| offset(md, md_wanted::ACCT_ORIG_BIO))
        .unwrap_or(ABSENT);
    layout.clone_bio = offset(md, md_wanted::CLONE_BIO)
        .or_else(|_missing| offset(md, md_wanted::ACCT_BIO))
        .unwrap_or(ABSENT);
    layout.conf_mddev = or_absent(md_wanted::CONF_MDDEV);
    layout.conf_rmw_level = or_absent(md_wanted::CONF_RMW_LEVEL);
}

/// Where a row keeps what is read of it: all of it, or nothing.
fn fill_rows(layout: &mut MdLayout, md: &MdFacts) -> Result<(), String> {
    let size = md.sizes.get("r5dev").copied();
    let filled = MdLayout {
        stripe_syncing: mask(md, "STRIPE_SYNCING")?,
        stripe_expanding: mask(md, "STRIPE_EXPANDING")?
            | mask(md, "STRIPE_EXPAND_SOURCE")?
            | mask(md, "STRIPE_EXPAND_READY")?,
        dev_uptodate: mask(md, "R5_UPTODATE")?,
        dev_overwrite: mask(md, "R5_OVERWRITE")?,
        dev_insync: mask(md, "R5_Insync")?,
        dev_retry: mask(md, "R5_ReadError")? | mask(md, "R5_ReWrite")?,
        dev_rewrite: mask(md, "R5_ReWrite")?,
        stripe_raid_conf: offset(md, md_wanted::STRIPE_RAID_CONF)?,
        stripe_sector: offset(md, md_wanted::STRIPE_SECTOR)?,
        stripe_pd_idx: offset(md, md_wanted::STRIPE_PD_IDX)?,
        stripe_qd_idx: offset(md, md_wanted::STRIPE_QD_IDX)?,
        stripe_state: offset(md, md_wanted::STRIPE_STATE)?,
        stripe_disks: offset(md, md_wanted::STRIPE_DISKS)?,
        stripe_dev: offset(md, md_wanted::STRIPE_DEV)?,
        dev_size: size
            .and_then(|size| u16::try_from(size).ok())
            .filter(|&size| size != 0 && size != ABSENT)
            .ok_or("the size of r5dev is in no module's BTF")?,
        dev_rreq: offset(md, md_wanted::DEV_RREQ)?,
        dev_toread: offset(md, md_wanted::DEV_TOREAD)?,
        dev_towrite: offset(md, md_wanted::DEV_TOWRITE)?,
        dev_written: offset(md, md_wanted::DEV_WRITTEN)?,
        dev_flags: offset(md, md_wanted::DEV_FLAGS)?,
        ..*layout
    };
    *layout = filled;
    Ok(())
}

/// The table is of kernels before 5.12, by what their own BTF shows of it: a
/// bio has a disk in place of a block device, and is 128 bytes long, of which
/// `r5dev` has two.
fn fits_table(btf: &BtfFacts) -> bool {
    field(btf, wanted::BIO_DISK).is_ok()
        && field(btf, wanted::BIO_END_IO) == Ok(56)
        && field(btf, wanted::BIO_PRIVATE) == Ok(64)
        && field(btf, wanted::BIO_SECTOR) == Ok(32)
}

/// drivers/md/raid5.h of 5.10, as gcc lays it out for x86-64 without spinlock
/// debugging: seen on Debian's 5.10.223.
pub(crate) fn fill_from_table(layout: &mut MdLayout) {
    *layout = MdLayout {
        stripe_syncing: 1 << 3,
        stripe_expanding: 1 << 10 | 1 << 11 | 1 << 12,
        dev_uptodate: 1,
        dev_overwrite: 1 << 3,
        dev_insync: 1 << 4,
        dev_retry: 1 << 9 | 1 << 10,
        dev_rewrite: 1 << 10,
        stripe_raid_conf: 40,
        stripe_sector: 56,
        stripe_pd_idx: 64,
        stripe_qd_idx: 66,
        stripe_state: 72,
        stripe_disks: 88,
        stripe_dev: 224,
        dev_size: 368,
        dev_rreq: 128,
        dev_toread: 312,
        dev_towrite: 328,
        dev_written: 336,
        dev_flags: 352,
        conf_rmw_level: 60,
        unsure: 1,
        ..*layout
    };
}
