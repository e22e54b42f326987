//! Fills in what follows from the attributes read: geometry, start checks and
//! notes, from the lowest device up.
//!
//! Must not read files.

use std::collections::{BTreeMap, BTreeSet};

use tracer_ebpf::classify;

use super::{
    device::{Device, Geometry, Kind, Topology},
    geometry::{self, Component},
    geometry_override::{Override, OverrideError},
    notes, start,
};
use crate::{
    dm::Target,
    units::{Bytes, DevId, Sectors},
};

/// From this size on, rotational drives have had 4096-byte blocks inside,
/// whatever they report.
const LARGE_DRIVE_BYTES: u64 = 2_000_000_000_000;

/// An override was dropped, because it does not fit the device (any more).
#[derive(Debug, thiserror::Error)]
#[error("geometry of {device}: {source}")]
pub struct DroppedOverride {
    pub device: String,
    #[source]
    pub source: OverrideError,
}

impl Topology {
    /// Computes every device's geometry, start checks and notes anew, and
    /// drops overrides that do not fit, saying which.
    pub fn derive(&mut self) -> Vec<DroppedOverride> {
        let mut dropped = Vec::new();
        for id in self.bottom_up() {
            let Some((device, error)) = self.derived(id) else {
                continue;
            };
            dropped.extend(error.map(|source| DroppedOverride {
                device: device.name.clone(),
                source,
            }));
            self.devices.insert(id, device);
        }
        self.derive_carried();
        for disk in &mut self.hidden {
            disk.geometry = geometry::of_whole(&disk.limits, None, &[]);
        }
        dropped
    }

    /// Sets what the user says of devices, in place of all that was said
    /// before. A disk's holds for its partitions too.
    ///
    /// # Errors
    /// With the first that does not fit its device or one of its partitions;
    /// then nothing changes.
    pub fn set_overrides(
        &mut self,
        overrides: &BTreeMap<DevId, Override>,
    ) -> Result<(), DroppedOverride> {
        let mut changed = self.clone();
        for device in changed.devices.values_mut() {
            device.overridden = overrides.get(&device.id).copied();
        }
        match changed.derive().into_iter().next() {
            Some(error) => Err(error),
            None => {
                *self = changed;
                Ok(())
            }
        }
    }

    /// As [`Self::set_overrides`], for devices that may have changed since the
    /// user spoke: what fits no more is left out, and told in
    /// [`Topology::unreadable`].
    pub fn set_overrides_that_fit(&mut self, overrides: &BTreeMap<DevId, Override>) {
        for device in self.devices.values_mut() {
            device.overridden = overrides.get(&device.id).copied();
        }
        let dropped = self.derive();
        self.unreadable
            .extend(dropped.iter().map(ToString::to_string));
    }

    /// How to classify IO on this device by its position on the *whole disk*;
    /// `None` for a device that is not listed.
    #[must_use]
    pub fn classifier(&self, id: DevId) -> Option<classify::Geometry> {
        let device = self.devices.get(&id)?;
        let start = device.partition.map_or(Sectors(0), |p| p.start);
        Some(geometry::classifier(&device.geometry, start))
    }

    /// All devices, each after those that it lies on.
    pub(crate) fn bottom_up(&self) -> Vec<DevId> {
        let mut order = Vec::with_capacity(self.devices.len());
        let mut seen = BTreeSet::new();
        for &id in self.devices.keys() {
            self.visit(id, &mut seen, &mut order);
        }
        order
    }

    fn visit(&self, id: DevId, seen: &mut BTreeSet<DevId>, order: &mut Vec<DevId>) {
        if !seen.insert(id) {
            return;
        }
        let Some(device) = self.devices.get(&id) else {
            return;
        };
        let disk = device.partition.map(|partition| partition.disk);
        let on = device
            .loop_on
            .or(device.bcache_on)
            .map(|place| place.device);
        for &below in disk.iter().chain(&on).chain(&device.members) {
            self.visit(below, seen, order);
        }
        order.push(id);
    }

    fn derived(&self, id: DevId) -> Option<(Device, Option<OverrideError>)> {
        let mut device = self.devices.get(&id)?.clone();
        let base = self.base_geometry(&device);
        let mut error = None;
        device.geometry = base;
        if let Some(over) = device.overridden {
            match over.apply(&base, device.partition) {
                Ok(geometry) => device.geometry = geometry,
                Err(refusal) => {
                    device.overridden = None;
                    error = Some(refusal);
                }
            }
        }
        device.chain = self.chain(&device);
        if let Some(chain) = &device.chain {
            device.geometry.phase = chain.phase();
        }
        device.start_checks = self.start_checks(&device);
        device.notes = self.notes(&device);
        Some((device, error))
    }

    fn base_geometry(&self, device: &Device) -> Geometry {
        let Some(partition) = device.partition else {
            let components = self.components(device);
            let whole = geometry::of_whole(&device.limits, device.md.as_ref(), &components);
            return striped(device).unwrap_or_default().of(whole);
        };
        self.devices
            .get(&partition.disk)
            .map_or_else(Geometry::default, |disk| {
                geometry::of_partition(&disk.geometry, partition.start)
            })
    }

    /// What an array's components contribute. An array whose `md/dev-*` are
    /// not there is taken to be made of its members from their first byte.
    fn components(&self, device: &Device) -> Vec<Component> {
        let Some(md) = &device.md else {
            return Vec::new();
        };
        let component = |id: Option<DevId>| {
            let below = id.and_then(|id| self.devices.get(&id));
            Component {
                physical_block: below.and_then(|below| below.geometry.physical_block),
                alignment_offset: below.and_then(|below| below.geometry.alignment_offset),
                data_offset: None,
                data_size: below.and_then(|below| below.size).map(Sectors::bytes),
            }
        };
        if md.components.is_empty() {
            return device
                .members
                .iter()
                .map(|&id| component(Some(id)))
                .collect();
        }
        // A spare or a journal holds no stripes.
        md.components
            .iter()
            .filter(|part| part.slot.is_some())
            .map(|part| {
                let below = component(part.device);
                Component {
                    data_offset: part.data_offset,
                    data_size: part.data_size.or(below.data_size),
                    ..below
                }
            })
            .collect()
    }

    fn start_checks(&self, device: &Device) -> Vec<start::StartCheck> {
        let Some(partition) = device.partition else {
            return Vec::new();
        };
        let Some(disk) = self.devices.get(&partition.disk) else {
            return Vec::new();
        };
        // Seen from the whole disk, with what the user says of the partition.
        let on_disk = geometry::classifier(&device.geometry, partition.start);
        let grid = Geometry {
            alignment_offset: device
                .geometry
                .alignment_offset
                .map(|_| Bytes(on_disk.alignment_offset_bytes)),
            ..device.geometry
        };
        start::check_all(&grid, partition.start, may_hide_4096(disk))
    }

    fn notes(&self, device: &Device) -> Vec<notes::Note> {
        let members: Vec<&Device> = device
            .members
            .iter()
            .filter_map(|id| self.devices.get(id))
            .collect();
        notes::notes(device, &members)
    }
}

/// Chunk and stripes of a mapped device that is striped throughout.
fn striped(device: &Device) -> Option<geometry::Striping> {
    let [segment] = device.dm_table.as_deref()? else {
        return None;
    };
    let Target::Striped { chunk, stripes } = &segment.target else {
        return None;
    };
    (stripes.len() > 1).then_some(geometry::Striping {
        chunk: Some(chunk.bytes()),
        data_disks: u32::try_from(stripes.len()).ok(),
    })
}

/// Whether a drive's report of 512-byte physical blocks may be untrue.
pub(super) fn may_hide_4096(device: &Device) -> bool {
    device.kind == Kind::Disk
        && device.limits.rotational == Some(true)
        && device.geometry.physical_block == Some(Bytes(512))
        && device
            .size
            .is_some_and(|size| size.bytes().0 >= LARGE_DRIVE_BYTES)
}
