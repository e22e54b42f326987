//! The records of the classic tracepoints: `events/block/*/format` in tracefs.
//!
//! Must not decide which fields are needed.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::root::{Absence, KernelRoot, read_text};

/// What tracefs says of the tracepoints asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracefsFacts {
    pub path: PathBuf,
    /// By tracepoint; one that is in neither map does not exist in this kernel.
    pub records: BTreeMap<String, Record>,
    /// Tracepoints whose record could not be read or understood.
    pub refused: BTreeMap<String, Absence>,
}

/// One tracepoint's record, by the name of the field. Fields that every record
/// begins with (`common_*`) are left out.
pub type Record = BTreeMap<String, RecordField>;

/// Where a field is in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordField {
    pub offset_bytes: u32,
    /// Of the whole array where it is one.
    pub size_bytes: u32,
    pub signed: bool,
}

impl TracefsFacts {
    /// Reads the records of `tracepoints` in the first tracefs that is there.
    ///
    /// # Errors
    /// [`Absence`] of the usual place, when tracefs is at neither.
    pub fn read(root: &KernelRoot, tracepoints: &[&str]) -> Result<Self, Absence> {
        let path = find(root)?;
        let mut facts = Self {
            records: BTreeMap::new(),
            refused: BTreeMap::new(),
            path,
        };
        for &tracepoint in tracepoints {
            match read_record(&facts.path, tracepoint) {
                Ok(record) => {
                    facts.records.insert(tracepoint.to_owned(), record);
                }
                Err(Absence::NotThere { .. }) => {}
                Err(absence) => {
                    facts.refused.insert(tracepoint.to_owned(), absence);
                }
            }
        }
        Ok(facts)
    }
}

/// The first mounted tracefs. Its directory is open to root only, so that the
/// mount point of the usual place tells more than a failure of the other one.
fn find(root: &KernelRoot) -> Result<PathBuf, Absence> {
    let [usual, old] = root.tracefs();
    let reason = match probe(&usual) {
        Ok(()) => return Ok(usual),
        Err(absence) => absence,
    };
    match probe(&old) {
        Ok(()) => Ok(old),
        Err(_) => Err(reason),
    }
}

fn probe(path: &Path) -> Result<(), Absence> {
    let events = path.join("events");
    match std::fs::metadata(&events) {
        Ok(_) => Ok(()),
        Err(_) if is_empty(path) => Err(Absence::NotMounted {
            path: path.to_owned(),
        }),
        Err(error) => Err(Absence::from_io(&events, &error)),
    }
}

fn is_empty(path: &Path) -> bool {
    std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
}

fn read_record(tracefs: &Path, tracepoint: &str) -> Result<Record, Absence> {
    let path = tracefs.join("events/block").join(tracepoint).join("format");
    let record = parse_format(&read_text(&path)?);
    if record.is_empty() {
        return Err(Absence::Malformed {
            path,
            message: "it names no field of its own".to_owned(),
        });
    }
    Ok(record)
}

/// Parses the text of a `format` file. A line that is no field is passed over,
/// as is a field that lacks a number: one odd field must not cost the others.
///
/// A line looks like `field:char rwbs[10]; offset:34; size:10; signed:0;`, with
/// tabs for spaces between the parts (`f_show`, kernel/trace/trace_events.c).
#[must_use]
pub fn parse_format(text: &str) -> Record {
    text.lines()
        .filter_map(parse_field)
        .filter(|(name, _)| !name.starts_with("common_"))
        .collect()
}

fn parse_field(line: &str) -> Option<(String, RecordField)> {
    let mut parts = line.split(';').map(str::trim);
    let declaration = parts.next()?.strip_prefix("field:")?;
    let mut field = (None, None, None);
    for part in parts {
        let Some((key, value)) = part.split_once(':') else {
            continue;
        };
        match key {
            "offset" => field.0 = value.parse().ok(),
            "size" => field.1 = value.parse().ok(),
            "signed" => field.2 = Some(value == "1"),
            _ => {}
        }
    }
    Some((
        declared_name(declaration)?.to_owned(),
        RecordField {
            offset_bytes: field.0?,
            size_bytes: field.1?,
            signed: field.2?,
        },
    ))
}

/// The name in a C declaration: the last word, without array brackets.
fn declared_name(declaration: &str) -> Option<&str> {
    let name = declaration.split_whitespace().next_back()?;
    let name = name.split('[').next()?.trim_start_matches('*');
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
#[path = "tracefs_tests.rs"]
mod tests;
