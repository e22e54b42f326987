//! Whether what a device says of its best IO can be so.
//!
//! Pure. Must not take a hint for a geometry.

use crate::{
    sysfs::device::{Device, Kind},
    units::Bytes,
};

/// A page: no stripe is a part of one.
const PAGE_BYTES: u64 = 4096;

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
    /// No multiple of a page, as a bridge's 65535 × 512: no stripe of anything.
    Odd,
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
        if device.members.is_empty() || own.is_none() {
            return Self::of_leaf(io_opt, limits.physical_block, limits.io_min);
        }
        if own == Some(io_opt) {
            Self::Stripe
        } else {
            Self::NotTheStripe
        }
    }

    fn of_leaf(io_opt: Bytes, physical: Option<Bytes>, io_min: Option<Bytes>) -> Self {
        if !io_opt.0.is_multiple_of(PAGE_BYTES) && Some(io_opt) != physical {
            Self::Odd
        } else if Some(io_opt) == physical {
            Self::Block
        } else if Some(io_opt) == io_min {
            Self::IoMin
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
            Self::Plausible => "plausible",
        }
    }
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
            (65536, 65536, IoOpt::IoMin),
            (65536, 458_752, IoOpt::Plausible),
        ] {
            assert_eq!(IoOpt::of(&hinted(io_min, io_opt)), worth, "{io_opt}");
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
