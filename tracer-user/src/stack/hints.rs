//! Whether what a device says of its best IO can be so.
//!
//! Pure. Must not take a hint for a geometry.

use crate::{
    sysfs::device::{Device, Kind, Limits},
    units::{Bytes, SECTOR_BYTES},
};

/// A page: no stripe is a part of one.
const PAGE_BYTES: u64 = 4096;

/// Counters of a transfer's blocks are at least so wide; 2^n − 1 of them is no
/// stripe.
const LEAST_COUNTER_BITS: u32 = 15;

/// What `optimal_io_size` is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoOpt {
    /// 0, or not told.
    None,
    /// The physical block, no stripe.
    Block,
    /// `minimum_io_size` again, of a device that is no array.
    IoMin,
    /// The device's own stripe.
    Stripe,
    /// An array's that is not its stripe: the least common multiple with what
    /// its members report (block/blk-settings.c, `blk_stack_limits`).
    NotTheStripe,
    /// No multiple of a page, or the most blocks that a counter holds, as a
    /// bridge's 65535 × 512: no stripe of anything.
    Odd,
    /// The longest transfer that the device and its adapter take.
    TransferLimit,
    /// Nothing speaks against it.
    Plausible,
}

impl IoOpt {
    /// Of one device.
    #[must_use]
    pub fn of(device: &Device) -> Self {
        let limits = &device.limits;
        let Some(io_opt) = limits.io_opt.filter(|io_opt| io_opt.0 > 0) else {
            return Self::None;
        };
        let own = device
            .geometry
            .stripe
            .filter(|_| device.partition.is_none());
        if device.members.is_empty() {
            return Self::of_leaf(io_opt, limits);
        }
        let Some(own) = own else {
            // What lies on others has no adapter: a limit of theirs, if any.
            let passed_on = Limits {
                max_hw_io: None,
                ..*limits
            };
            return Self::of_leaf(io_opt, &passed_on);
        };
        if own == io_opt {
            Self::Stripe
        } else {
            Self::NotTheStripe
        }
    }

    fn of_leaf(io_opt: Bytes, limits: &Limits) -> Self {
        let said = Some(io_opt);
        if said == limits.physical_block {
            Self::Block
        } else if !io_opt.0.is_multiple_of(PAGE_BYTES) || is_counter_limit(io_opt, limits) {
            Self::Odd
        } else if said == limits.io_min {
            Self::IoMin
        } else if said == limits.max_hw_io {
            Self::TransferLimit
        } else {
            Self::Plausible
        }
    }

    /// As JSON has it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Block => "physical_block",
            Self::IoMin => "io_min",
            Self::Stripe => "stripe",
            Self::NotTheStripe => "not_the_stripe",
            Self::Odd => "odd",
            Self::TransferLimit => "transfer_limit",
            Self::Plausible => "plausible",
        }
    }
}

/// 2^n − 1 blocks, or so many rounded down to whole physical blocks or pages,
/// as newer kernels do (`blk_validate_limits`, block/blk-settings.c).
fn is_counter_limit(io_opt: Bytes, limits: &Limits) -> bool {
    let of = |block: Option<Bytes>| block.map_or(SECTOR_BYTES, |block| block.0);
    [
        SECTOR_BYTES,
        PAGE_BYTES,
        of(limits.logical_block),
        of(limits.physical_block),
    ]
    .iter()
    .filter_map(|block| io_opt.0.checked_add(*block))
    .any(|next| next.is_power_of_two() && next >= SECTOR_BYTES << LEAST_COUNTER_BITS)
}

/// Whether `minimum_io_size` can be so: at least the physical block, and whole
/// ones of it. `None`: not told.
#[must_use]
pub fn io_min_is_plausible(device: &Device) -> Option<bool> {
    let io_min = device.limits.io_min?.0;
    let physical = device.limits.physical_block?.0;
    Some(io_min >= physical && io_min.checked_rem(physical) == Some(0))
}

/// NVMe's preferred write granularity: the kernel keeps the smaller of it and
/// what is written at once for the physical block, and shows all of it as
/// `minimum_io_size` (drivers/nvme/host/core.c, `nvme_update_disk_info`).
/// `None` where it is no larger than a logical block, as without one.
#[must_use]
pub fn preferred_write(device: &Device) -> Option<Bytes> {
    let io_min = device.limits.io_min?;
    let is_larger = device
        .limits
        .logical_block
        .is_some_and(|block| io_min > block);
    (device.kind == Kind::Nvme && is_larger).then_some(io_min)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testing::device;

    fn hinted(io_min: u64, io_opt: u64) -> Device {
        let mut device = device("sda", 8, 0);
        device.limits.physical_block = Some(Bytes(4096));
        device.limits.io_min = Some(Bytes(io_min));
        device.limits.io_opt = Some(Bytes(io_opt));
        device
    }

    #[test]
    fn disks() {
        for (io_min, io_opt, worth) in [
            (4096, 0, IoOpt::None),
            (4096, 4096, IoOpt::Block),
            (4096, 33_553_920, IoOpt::Odd),
            (4096, 65535 * 4096, IoOpt::Odd),
            (4096, 32767 * 512, IoOpt::Odd),
            // 65535 × 512, and 2^32 − 1, rounded down by the kernel.
            (4096, 8191 * 4096, IoOpt::Odd),
            (4096, u64::from(u32::MAX) / 4096 * 4096, IoOpt::Odd),
            (4096, 255 * 65536, IoOpt::Plausible),
            (65536, 65536, IoOpt::IoMin),
            (65536, 458_752, IoOpt::Plausible),
        ] {
            assert_eq!(IoOpt::of(&hinted(io_min, io_opt)), worth, "{io_opt}");
        }
        let mut native = hinted(4096, 65535 * 4096);
        native.limits.logical_block = Some(Bytes(4096));
        assert_eq!(IoOpt::of(&native), IoOpt::Odd);
        let mut limited = hinted(4096, 1 << 20);
        limited.limits.max_hw_io = Some(Bytes(1 << 20));
        assert_eq!(IoOpt::of(&limited), IoOpt::TransferLimit);
        for stripe in [3 * 65536, 7 * 65536, 15 << 20, 16 << 20] {
            assert_eq!(
                IoOpt::of(&hinted(4096, stripe)),
                IoOpt::Plausible,
                "{stripe}"
            );
        }
        assert_eq!(io_min_is_plausible(&hinted(4096, 0)), Some(true));
        assert_eq!(io_min_is_plausible(&hinted(512, 0)), Some(false));
        assert_eq!(io_min_is_plausible(&hinted(6144, 0)), Some(false));
    }

    #[test]
    fn an_array_is_held_to_its_own_stripe() {
        let mut array = hinted(65536, 458_752);
        array.members = vec![crate::units::DevId::default()];
        array.geometry.stripe = Some(Bytes(458_752));
        assert_eq!(IoOpt::of(&array), IoOpt::Stripe);
        array.limits.io_opt = Some(Bytes(3_670_016));
        assert_eq!(IoOpt::of(&array), IoOpt::NotTheStripe);
    }
}
