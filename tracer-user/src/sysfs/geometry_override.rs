//! What a user says about a device, laid over what sysfs says.
//!
//! Must not parse: [`crate::geometry_spec`] does.

use super::{
    device::{Geometry, Partition},
    geometry,
};
use crate::units::{Bytes, Sectors};

/// The boundaries given for one device; they count from that device's own
/// first byte. `None`: as sysfs has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Override {
    pub physical_block: Option<Bytes>,
    pub alignment_offset: Option<Bytes>,
    pub chunk: Option<Bytes>,
    pub striping: Option<Striping>,
    pub boundary: Option<Bytes>,
}

/// Over how many disks data is spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Striping {
    /// Data disks: at least 1.
    Data(u32),
    /// No stripe of one width: a mirror, or a raid10 of an odd number.
    None,
}

/// An override that does not fit its device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OverrideError {
    #[error(
        "alignment {} is not less than the physical block, {} bytes",
        alignment.0,
        physical.0
    )]
    AlignmentTooLarge { alignment: Bytes, physical: Bytes },
    #[error("an alignment needs a physical block, and the device reports none: add physical:SIZE")]
    NoPhysicalBlock,
    #[error("data disks need a chunk, and the device has none: add chunk:SIZE")]
    NoChunk,
    #[error("chunk × data disks is more than 64 bits can hold")]
    StripeTooLarge,
    #[error(
        "the partition's own boundaries count from its start, but its disk's {what} of {} bytes \
         does not begin there: give both for the disk",
        bytes.0
    )]
    TwoOrigins { what: &'static str, bytes: Bytes },
}

impl Override {
    /// Whether it sets a boundary that counts from the device's first byte.
    const fn sets_origin(&self) -> bool {
        self.chunk.is_some() || self.striping.is_some() || self.boundary.is_some()
    }

    /// What of `self` is not set is taken from `earlier`.
    #[must_use]
    pub fn over(self, earlier: Self) -> Self {
        Self {
            physical_block: self.physical_block.or(earlier.physical_block),
            alignment_offset: self.alignment_offset.or(earlier.alignment_offset),
            chunk: self.chunk.or(earlier.chunk),
            striping: self.striping.or(earlier.striping),
            boundary: self.boundary.or(earlier.boundary),
        }
    }

    /// Lays the override over a device's geometry.
    ///
    /// # Errors
    /// Where both together make no geometry.
    pub fn apply(
        &self,
        base: &Geometry,
        partition: Option<Partition>,
    ) -> Result<Geometry, OverrideError> {
        let mut geometry = *base;
        let start = partition.map_or(Sectors(0), |partition| partition.start);
        self.set_physical(&mut geometry, start)?;
        self.set_striping(&mut geometry)?;
        geometry.boundary = self.boundary.or(base.boundary);
        if partition.is_some() {
            if self.sets_origin() {
                self.check_inherited(base, start)?;
                geometry.origin = start.bytes();
            }
            geometry.phase = geometry::phase(&geometry, start);
        }
        Ok(geometry)
    }

    /// Sets the physical block and where its grid begins.
    fn set_physical(&self, geometry: &mut Geometry, start: Sectors) -> Result<(), OverrideError> {
        if let Some(physical) = self.physical_block {
            geometry.alignment_offset = geometry::regrid(geometry, start, physical);
            geometry.physical_block = Some(physical);
        }
        let Some(alignment) = self.alignment_offset else {
            return Ok(());
        };
        let physical = geometry
            .physical_block
            .ok_or(OverrideError::NoPhysicalBlock)?;
        if alignment >= physical {
            return Err(OverrideError::AlignmentTooLarge {
                alignment,
                physical,
            });
        }
        geometry.alignment_offset = Some(alignment);
        Ok(())
    }

    /// Sets chunk, data disks and stripe.
    fn set_striping(&self, geometry: &mut Geometry) -> Result<(), OverrideError> {
        geometry.chunk = self.chunk.or(geometry.chunk);
        match self.striping {
            Some(Striping::Data(_)) if geometry.chunk.is_none() => {
                return Err(OverrideError::NoChunk);
            }
            Some(Striping::Data(data)) => geometry.data_disks = Some(data),
            Some(Striping::None) => geometry.data_disks = None,
            None => {}
        }
        geometry.stripe = geometry::stripe(geometry.chunk, geometry.data_disks);
        let too_large = geometry.chunk.is_some() && geometry.data_disks.is_some();
        if geometry.stripe.is_none() && too_large {
            return Err(OverrideError::StripeTooLarge);
        }
        Ok(())
    }

    /// Boundaries that stay the disk's must begin where the partition does.
    fn check_inherited(&self, base: &Geometry, start: Sectors) -> Result<(), OverrideError> {
        let stripe_stays = self.chunk.is_none() && self.striping.is_none();
        let inherited = [
            ("boundary", base.boundary, self.boundary.is_none()),
            ("chunk", base.chunk, self.chunk.is_none()),
            ("stripe", base.stripe, stripe_stays),
        ];
        for (what, width, stays) in inherited {
            let Some(bytes) = width.filter(|_| stays) else {
                continue;
            };
            let past = start.bytes().0.abs_diff(base.origin.0);
            if past.checked_rem(bytes.0) != Some(0) {
                return Err(OverrideError::TwoOrigins { what, bytes });
            }
        }
        Ok(())
    }
}
