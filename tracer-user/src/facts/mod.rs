//! What the kernel offers, read once below an injected root, and kept in a
//! form that can be recorded: the facts a user sends become a test fixture.
//!
//! Must not decide anything ([`crate::plan`] does), and must not load or
//! attach. The kernel's release is for people to read: nothing may branch on
//! it, because distributions move changes between versions.

pub mod btf;
pub mod md;
pub mod md_wanted;
pub mod privileges;
pub mod program;
pub mod root;
pub mod symbols;
pub mod tracefs;
pub mod types;
pub mod wanted;

use serde::{Deserialize, Serialize};

pub use self::{
    btf::BtfFacts,
    md::MdFacts,
    privileges::Privileges,
    root::{Absence, KernelRoot},
    tracefs::TracefsFacts,
    types::FieldFacts,
};

/// Something of the kernel's, or why it is not to be had.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finding<T> {
    Found(T),
    Missing(Absence),
}

impl<T> Finding<T> {
    /// What was found, if anything was.
    pub fn found(&self) -> Option<&T> {
        match self {
            Self::Found(found) => Some(found),
            Self::Missing(_) => None,
        }
    }

    /// Why nothing was found, if nothing was.
    pub fn missing(&self) -> Option<&Absence> {
        match self {
            Self::Found(_) => None,
            Self::Missing(absence) => Some(absence),
        }
    }
}

impl<T> From<Result<T, Absence>> for Finding<T> {
    fn from(result: Result<T, Absence>) -> Self {
        match result {
            Ok(found) => Self::Found(found),
            Err(absence) => Self::Missing(absence),
        }
    }
}

/// Everything that decides what can be attached to a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelFacts {
    /// `uname -r`. For display only.
    pub release: Option<String>,
    pub btf: Finding<BtfFacts>,
    pub tracefs: Finding<TracefsFacts>,
    pub privileges: Finding<Privileges>,
}

impl KernelFacts {
    /// Reads what there is below `root`. Never fails: what cannot be read is
    /// kept with its reason. Takes about a tenth of a second: BTF is
    /// megabytes.
    #[must_use]
    pub fn read(root: &KernelRoot) -> Self {
        let release = root::read_text(&root.os_release()).ok();
        Self {
            release: release.map(|text| text.trim().to_owned()),
            btf: BtfFacts::read(root).into(),
            tracefs: TracefsFacts::read(root, wanted::TRACEPOINTS).into(),
            privileges: Privileges::read(root).into(),
        }
    }
}
