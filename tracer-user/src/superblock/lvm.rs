//! LVM2's physical volumes: `struct label_header`, `struct pv_header` and
//! `struct mda_header` of lvm2 (lib/label/label.h, lib/format_text/layout.h).
//! Little-endian; what a group looks like is text in a metadata area.
//!
//! Must not read.

use serde::{Deserialize, Serialize};

use crate::units::{Bytes, Sectors};

/// What the label of a physical volume says, and its group's text where there
/// is one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LvmPv {
    /// 32 letters and digits, as pvs shows them but for the dashes.
    pub uuid: String,
    /// Where the label lies: 0 to 3.
    pub label_sector: Sectors,
    pub device_size: Bytes,
    /// Where physical extents may lie; the first begins at `pe_start` of a
    /// volume that is in no group yet.
    pub data_areas: Vec<LvmArea>,
    /// Where text is kept.
    pub metadata_areas: Vec<LvmArea>,
    /// `None`: in no group, or its text could not be read (then a remark says
    /// so), or it keeps none on this volume.
    pub group: Option<LvmGroup>,
}

impl LvmPv {
    /// Where the first extent begins: as the group has it, else as the label.
    #[must_use]
    pub fn pe_start(&self) -> Option<Bytes> {
        let told = self.group.as_ref().and_then(|group| group.pe_start);
        told.map(Sectors::bytes)
            .or_else(|| self.data_areas.first().map(|area| area.start))
    }
}

/// A piece of a physical volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LvmArea {
    pub start: Bytes,
    /// `None`: to the end of the device.
    pub size: Option<Bytes>,
}

/// What the text says of the group and of this volume in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LvmGroup {
    pub name: String,
    /// How often the text was changed.
    pub sequence: u64,
    pub extent_size: Sectors,
    /// Of this volume.
    pub pe_start: Option<Sectors>,
    /// Extents of this volume.
    pub pe_count: Option<u64>,
}
