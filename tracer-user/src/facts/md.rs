//! What this kernel tells of md's insides: the functions that its bios end in,
//! and the structures of its modules.
//!
//! Must not decide whether that is enough.

use std::collections::BTreeMap;

use btf_rs::{Btf, Type};
use serde::{Deserialize, Serialize};

use super::{
    Finding,
    btf::{agreed, fields},
    md_wanted::{CONSTANTS, END_FUNCTIONS, ENUMS, FIELDS, MODULES, SIZES},
    root::{Absence, KernelRoot, read_bytes},
    symbols::{self, Symbols},
    types::FieldFacts,
};

/// What was found of what was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MdFacts {
    /// Modules that are loaded, and why one has no BTF of its own.
    pub modules: BTreeMap<String, Option<Absence>>,
    /// By structure and path.
    pub fields: BTreeMap<String, FieldFacts>,
    /// Sizes of structures, in bytes.
    pub sizes: BTreeMap<String, u32>,
    pub constants: BTreeMap<String, u32>,
    /// What is there but cannot be used, by the same names, and why.
    pub refused: BTreeMap<String, String>,
    /// Names of the functions found.
    pub functions: Vec<String>,
    /// Why no addresses of functions were found.
    pub no_addresses: Option<Absence>,
    /// Their addresses, which are nobody's business but the programs'.
    #[serde(skip)]
    pub addresses: Symbols,
}

impl MdFacts {
    /// md's modules that are loaded, or built in.
    #[must_use]
    pub fn loaded(root: &KernelRoot) -> Vec<&'static str> {
        let is_there = |module: &&str| root.module(module).is_dir();
        MODULES.into_iter().filter(is_there).collect()
    }

    /// Reads what there is below `root`; nothing at all where no module of
    /// md's is loaded.
    #[must_use]
    pub fn read(root: &KernelRoot) -> Self {
        let mut facts = Self::default();
        let loaded = Self::loaded(root);
        if loaded.is_empty() {
            return facts;
        }
        match symbols::read(root, END_FUNCTIONS) {
            Ok(addresses) => {
                facts.functions = addresses.keys().cloned().collect();
                facts.addresses = addresses;
            }
            Err(absence) => facts.no_addresses = Some(absence),
        }
        let base = read_base(root);
        for module in loaded {
            let read = match &base {
                Finding::Found(base) => facts.read_module(root, module, base),
                Finding::Missing(absence) => Err(absence.clone()),
            };
            facts.modules.insert(module.to_owned(), read.err());
        }
        facts
    }

    /// # Errors
    /// Why the module has no BTF of its own. What is built in has its types in
    /// the kernel's.
    fn read_module(&mut self, root: &KernelRoot, module: &str, base: &Btf) -> Result<(), Absence> {
        let path = root.module_btf(module);
        let split = read_bytes(&path).and_then(|bytes| {
            Btf::from_split_bytes(&bytes, base).map_err(|error| Absence::Malformed {
                path,
                message: error.to_string(),
            })
        });
        self.read_types(module, split.as_ref().unwrap_or(base));
        split.map(|_| ())
    }

    fn read_types(&mut self, module: &str, btf: &Btf) {
        for (_, wanted) in FIELDS.iter().filter(|(of, _)| *of == module) {
            match agreed(fields(btf, wanted)) {
                Ok(Some(found)) => {
                    self.fields.insert(wanted.name(), found);
                }
                Ok(None) => {}
                Err(why) => {
                    self.refused.insert(wanted.name(), why);
                }
            }
        }
        for (_, name) in SIZES.iter().filter(|(of, _)| *of == module) {
            let types = btf.resolve_types_by_name(name).unwrap_or_default();
            let size = types.iter().find_map(|found| match found {
                Type::Struct(found) => u32::try_from(found.size()).ok(),
                _ => None,
            });
            self.sizes
                .extend(size.map(|size| ((*name).to_owned(), size)));
        }
        for (_, name) in ENUMS.iter().filter(|(of, _)| *of == module) {
            self.read_constants(btf, name);
        }
    }

    fn read_constants(&mut self, btf: &Btf, name: &str) {
        for found in btf.resolve_types_by_name(name).unwrap_or_default() {
            let Type::Enum(found) = found else { continue };
            for member in &found.members {
                if let Ok(name) = btf.resolve_name(member)
                    && CONSTANTS.contains(&name.as_str())
                {
                    self.note_constant(name, member.val());
                }
            }
        }
    }

    fn note_constant(&mut self, name: String, value: u32) {
        if self
            .constants
            .get(&name)
            .is_some_and(|known| *known != value)
        {
            self.refused
                .insert(name, "modules disagree on its value".to_owned());
            return;
        }
        self.constants.insert(name, value);
    }
}

fn read_base(root: &KernelRoot) -> Finding<Btf> {
    let path = root.vmlinux_btf();
    let read = read_bytes(&path).and_then(|bytes| {
        Btf::from_bytes(&bytes).map_err(|error| Absence::Malformed {
            path,
            message: error.to_string(),
        })
    });
    read.into()
}
