//! What the kernel's own BTF says of the tracepoints, fields and constants in
//! [`super::wanted`].
//!
//! Must not judge whether a size or type fits: it reports what is there.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use btf_rs::{Btf, BtfType, Type};
use serde::{Deserialize, Serialize};

use super::{
    root::{Absence, KernelRoot, read_bytes},
    types::{self, FieldFacts, TypeError},
    wanted::{CONSTANTS, ENUMS, FIELDS, Field, TRACEPOINTS},
};

/// Begins the typedef of a tracepoint's prototype
/// (`__DEFINE_TRACE_EVENT` in include/trace/bpf_probe.h, since 5.5).
const PROTOTYPE_PREFIX: &str = "btf_trace_";

/// What was found of what was asked for. A name that is in no map does not
/// exist in this kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BtfFacts {
    pub path: PathBuf,
    /// Types of the arguments, by tracepoint: the index is the one that a
    /// program finds the argument at.
    pub prototypes: BTreeMap<String, Vec<String>>,
    /// By structure and path, as in `bio.bi_iter.bi_sector`.
    pub fields: BTreeMap<String, FieldFacts>,
    pub constants: BTreeMap<String, u32>,
    /// What is there but cannot be used, by the same names, and why.
    pub refused: BTreeMap<String, String>,
}

impl BtfFacts {
    /// Reads the BTF of the kernel below `root`.
    ///
    /// # Errors
    /// [`Absence`] when the file cannot be read or is no BTF.
    pub fn read(root: &KernelRoot) -> Result<Self, Absence> {
        let path = root.vmlinux_btf();
        let bytes = read_bytes(&path)?;
        Self::from_bytes(&path, &bytes)
    }

    /// The same of bytes that were read from `path`.
    ///
    /// # Errors
    /// [`Absence::Malformed`] when they are no BTF.
    pub fn from_bytes(path: &Path, bytes: &[u8]) -> Result<Self, Absence> {
        let malformed = |error: btf_rs::Error| Absence::Malformed {
            path: path.to_owned(),
            message: error.to_string(),
        };
        let btf = Btf::from_bytes(bytes).map_err(malformed)?;
        let mut facts = Self {
            path: path.to_owned(),
            prototypes: BTreeMap::new(),
            fields: BTreeMap::new(),
            constants: BTreeMap::new(),
            refused: BTreeMap::new(),
        };
        for &tracepoint in TRACEPOINTS {
            let found = agreed(prototypes(&btf, tracepoint));
            facts.note(tracepoint, found, |facts| &mut facts.prototypes);
        }
        for wanted in FIELDS {
            let found = agreed(fields(&btf, wanted));
            facts.note(&wanted.name(), found, |facts| &mut facts.fields);
        }
        facts.read_constants(&btf);
        Ok(facts)
    }

    fn note<T>(
        &mut self,
        name: &str,
        found: Result<Option<T>, String>,
        map: impl FnOnce(&mut Self) -> &mut BTreeMap<String, T>,
    ) {
        match found {
            Ok(Some(fact)) => {
                map(self).insert(name.to_owned(), fact);
            }
            Ok(None) => {}
            Err(why) => {
                self.refused.insert(name.to_owned(), why);
            }
        }
    }

    fn read_constants(&mut self, btf: &Btf) {
        let mut values: BTreeMap<String, Vec<Result<u32, TypeError>>> = BTreeMap::new();
        for name in ENUMS {
            for r#type in btf.resolve_types_by_name(name).unwrap_or_default() {
                let Type::Enum(r#enum) = r#type else { continue };
                for member in &r#enum.members {
                    let Ok(name) = btf.resolve_name(member) else {
                        continue;
                    };
                    if CONSTANTS.contains(&name.as_str()) {
                        values.entry(name).or_default().push(Ok(member.val()));
                    }
                }
            }
        }
        for (name, values) in values {
            self.note(&name, agreed(values), |facts| &mut facts.constants);
        }
    }
}

/// One answer out of several types of the same name. Deduplication leaves
/// copies of a type behind, and a driver may have one of the same name: as
/// long as all that have an answer give the same, it is the answer.
pub(super) fn agreed<T: PartialEq>(
    answers: Vec<Result<T, TypeError>>,
) -> Result<Option<T>, String> {
    let mut agreed = None;
    for answer in answers {
        let answer = answer.map_err(|error| error.to_string())?;
        match &agreed {
            Some(earlier) if *earlier != answer => {
                return Err("several types of this name disagree".to_owned());
            }
            _ => agreed = Some(answer),
        }
    }
    Ok(agreed)
}

pub(super) fn fields(btf: &Btf, wanted: &Field) -> Vec<Result<FieldFacts, TypeError>> {
    let candidates = btf.resolve_types_by_name(wanted.structure);
    candidates
        .unwrap_or_default()
        .iter()
        .filter_map(|candidate| match candidate {
            Type::Struct(structure) => types::field(btf, structure, wanted.path).transpose(),
            _ => None,
        })
        .collect()
}

fn prototypes(btf: &Btf, tracepoint: &str) -> Vec<Result<Vec<String>, TypeError>> {
    let candidates = btf.resolve_types_by_name(&format!("{PROTOTYPE_PREFIX}{tracepoint}"));
    candidates
        .unwrap_or_default()
        .iter()
        .filter_map(|candidate| match candidate {
            Type::Typedef(typedef) => Some(arguments(btf, typedef)),
            _ => None,
        })
        .collect()
}

/// The arguments that programs get: all but the first, `void *__data`
/// (`btf_ctx_access`, kernel/bpf/btf.c, skips it too).
fn arguments(btf: &Btf, typedef: &dyn BtfType) -> Result<Vec<String>, TypeError> {
    let damaged = || TypeError::Damaged("the prototype is no pointer to a function".to_owned());
    let pointer = types::bare(btf, typedef.get_type_id().ok_or_else(damaged)?)?;
    let Type::Ptr(pointer) = pointer else {
        return Err(damaged());
    };
    let function = types::bare(btf, pointer.get_type_id().ok_or_else(damaged)?)?;
    let Type::FuncProto(function) = function else {
        return Err(damaged());
    };
    let mut names = Vec::new();
    for parameter in &function.parameters {
        names.push(types::type_name(
            btf,
            parameter.get_type_id().ok_or_else(damaged)?,
        )?);
    }
    if names.first().is_none_or(|first| first != "void *") {
        return Err(TypeError::Damaged(
            "the prototype's first argument is not void *".to_owned(),
        ));
    }
    Ok(names.split_off(1))
}

#[cfg(test)]
#[path = "btf_tests.rs"]
mod tests;
