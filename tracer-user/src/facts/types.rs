//! Walks over BTF types: what a field looks like, what a type is called.
//!
//! Knows the BTF format, and must not know any name of the kernel's.

use btf_rs::{Btf, BtfType, Struct, Type};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// More levels of modifiers, or of structures in structures, than any kernel
/// has: what goes deeper is a circle in damaged BTF.
const MAX_DEPTH: usize = 32;

/// Pointers of the kernels supported: 64 bits.
const POINTER_BYTES: u32 = 8;

/// Where a field is, and what it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldFacts {
    /// From the start of the outermost structure.
    pub offset_bytes: u32,
    pub size_bytes: u32,
    /// As C writes it, without `const` and `volatile`.
    pub type_name: String,
}

/// Why a type that is there cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TypeError {
    #[error("BTF is damaged: {0}")]
    Damaged(String),
    #[error("it is a bitfield")]
    Bitfield,
    #[error("its size is not known")]
    NoSize,
    #[error("{0} is not a structure")]
    NotAStructure(String),
}

impl From<btf_rs::Error> for TypeError {
    fn from(error: btf_rs::Error) -> Self {
        Self::Damaged(error.to_string())
    }
}

/// A member found by name: where, and the id of its type.
struct Place {
    offset_bytes: u32,
    type_id: u32,
}

/// Finds the field that a dotted path names. `None`: this kernel's structure
/// has no such field.
///
/// # Errors
/// [`TypeError`] where the field is there but cannot be read as bytes.
pub fn field(btf: &Btf, outer: &Struct, path: &str) -> Result<Option<FieldFacts>, TypeError> {
    let mut structure = outer.clone();
    let mut offset_bytes = 0;
    let mut names = path.split('.').peekable();
    while let Some(name) = names.next() {
        let Some(place) = member(btf, &structure, name, 0)? else {
            return Ok(None);
        };
        offset_bytes += place.offset_bytes;
        if names.peek().is_none() {
            return Ok(Some(FieldFacts {
                offset_bytes,
                size_bytes: size_bytes(btf, place.type_id)?,
                type_name: type_name(btf, place.type_id)?,
            }));
        }
        structure = match bare(btf, place.type_id)? {
            Type::Struct(inner) | Type::Union(inner) => inner,
            other => {
                return Err(TypeError::NotAStructure(format!(
                    "{name} ({})",
                    other.name()
                )));
            }
        };
    }
    Ok(None)
}

/// Finds a member, looking through anonymous structures and unions.
fn member(
    btf: &Btf,
    structure: &Struct,
    wanted: &str,
    depth: usize,
) -> Result<Option<Place>, TypeError> {
    if depth > MAX_DEPTH {
        return Err(TypeError::Damaged("structures nest in a circle".to_owned()));
    }
    for member in &structure.members {
        let name = btf.resolve_name(member)?;
        let type_id = chained_id(member)?;
        let offset_bytes = member.bit_offset() / 8;
        if name == wanted {
            // A bitfield's length is there (and not 0) in the encoding with
            // kind_flag; the old one shows by an odd offset only.
            if member.bitfield_size().unwrap_or(0) != 0 || member.bit_offset() % 8 != 0 {
                return Err(TypeError::Bitfield);
            }
            return Ok(Some(Place {
                offset_bytes,
                type_id,
            }));
        }
        if name.is_empty()
            && let Type::Struct(inner) | Type::Union(inner) = bare(btf, type_id)?
            && let Some(place) = self::member(btf, &inner, wanted, depth + 1)?
        {
            return Ok(Some(Place {
                offset_bytes: offset_bytes + place.offset_bytes,
                type_id: place.type_id,
            }));
        }
    }
    Ok(None)
}

fn chained_id(of: &dyn BtfType) -> Result<u32, TypeError> {
    of.get_type_id()
        .ok_or_else(|| TypeError::Damaged("a type is not said".to_owned()))
}

/// The type below typedefs, qualifiers and tags.
///
/// # Errors
/// [`TypeError::Damaged`].
pub fn bare(btf: &Btf, type_id: u32) -> Result<Type, TypeError> {
    let mut id = type_id;
    for _ in 0..MAX_DEPTH {
        let found = btf.resolve_type_by_id(id)?;
        id = match (&found, qualified(&found)) {
            (_, Some(below)) => chained_id(below)?,
            (Type::Typedef(typedef), None) => chained_id(typedef)?,
            _ => return Ok(found),
        };
    }
    Err(TypeError::Damaged("typedefs run in a circle".to_owned()))
}

/// The type itself if it only qualifies or tags the one below it.
fn qualified(found: &Type) -> Option<&dyn BtfType> {
    match found {
        Type::Volatile(t) | Type::Const(t) | Type::Restrict(t) => Some(t),
        Type::TypeTag(t) => Some(t),
        _ => None,
    }
}

fn size_bytes(btf: &Btf, type_id: u32) -> Result<u32, TypeError> {
    let size = match bare(btf, type_id)? {
        Type::Int(t) => t.size(),
        Type::Enum(t) => t.size(),
        Type::Enum64(t) => t.size(),
        Type::Float(t) => t.size(),
        Type::Struct(t) | Type::Union(t) => t.size(),
        Type::Ptr(_) => return Ok(POINTER_BYTES),
        Type::Array(t) => {
            let element = usize::try_from(element_bytes(btf, &t)?);
            element.unwrap_or(0).saturating_mul(t.len())
        }
        _ => return Err(TypeError::NoSize),
    };
    u32::try_from(size).map_err(|_too_large| TypeError::NoSize)
}

/// One level only: no array of arrays is asked for, and damaged BTF could make
/// them endless.
fn element_bytes(btf: &Btf, array: &btf_rs::Array) -> Result<u32, TypeError> {
    match bare(btf, chained_id(array)?)? {
        Type::Int(t) => u32::try_from(t.size()).map_err(|_too_large| TypeError::NoSize),
        Type::Struct(t) | Type::Union(t) => {
            u32::try_from(t.size()).map_err(|_too_large| TypeError::NoSize)
        }
        Type::Ptr(_) => Ok(POINTER_BYTES),
        _ => Err(TypeError::NoSize),
    }
}

/// What C calls the type, qualifiers left out: `struct request *`, `dev_t`.
///
/// # Errors
/// [`TypeError::Damaged`].
pub fn type_name(btf: &Btf, type_id: u32) -> Result<String, TypeError> {
    let mut id = type_id;
    let mut stars = String::new();
    for _ in 0..MAX_DEPTH {
        let found = btf.resolve_type_by_id(id)?;
        id = match (&found, qualified(&found)) {
            (_, Some(below)) => chained_id(below)?,
            (Type::Ptr(pointer), None) => {
                stars.push('*');
                chained_id(pointer)?
            }
            _ if stars.is_empty() => return target_name(btf, &found),
            _ => return Ok(format!("{} {stars}", target_name(btf, &found)?)),
        };
    }
    Err(TypeError::Damaged("pointers run in a circle".to_owned()))
}

/// The name of a type that is neither pointer nor qualifier.
fn target_name(btf: &Btf, of: &Type) -> Result<String, TypeError> {
    let name = own_name(btf, of)?;
    Ok(match of {
        Type::Struct(_) => format!("struct {name}"),
        Type::Union(_) => format!("union {name}"),
        Type::Fwd(t) if t.is_union() => format!("union {name}"),
        Type::Fwd(_) => format!("struct {name}"),
        Type::Enum(_) | Type::Enum64(_) => format!("enum {name}"),
        Type::Array(t) => {
            let element = bare(btf, chained_id(t)?)?;
            format!("{}[{}]", own_name(btf, &element)?, t.len())
        }
        _ => name,
    })
}

/// The type's own name; what has none is called by its kind.
fn own_name(btf: &Btf, of: &Type) -> Result<String, TypeError> {
    let named = of
        .as_btf_type()
        .filter(|named| named.get_name_offset().is_some());
    match named {
        Some(named) => Ok(btf.resolve_name(named)?),
        None => Ok(of.name().to_owned()),
    }
}
