//! Writes a capture.
//!
//! Must not read what [`wanted`] does not name, and must not let a serial
//! number through unless the user wants it.

use std::{
    fs::{self, File},
    io::{self, Read as _, Write},
    path::Path,
};

use flate2::{Compression, write::GzEncoder};
use serde::Serialize;
use tar::{Builder, EntryType, Header};

use super::{
    ABOUT, FORMAT, MOUNTS, SUPERBLOCKS, SWAPS, SYS, TABLES, TOP,
    folder::{About, ContentsOf, TableOf},
    redact::Redactor,
    wanted,
};
use crate::{
    stack::Stack,
    sysfs::{SysRoot, mounts::Mount, swaps::SwapArea},
};

/// An attribute is a page at most.
const MOST_ATTRIBUTE_BYTES: u64 = 64 << 10;

/// What was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Captured {
    pub devices: usize,
    /// Those whose superblocks are in it.
    pub looked_into: usize,
}

/// Writes all of `stack`, whose attributes lie below `sys`.
///
/// # Errors
/// Where `out` cannot be written. What cannot be read is left out.
pub fn write(
    out: impl Write,
    stack: &Stack,
    sys: &SysRoot,
    with_serials: bool,
) -> io::Result<Captured> {
    let mut writer = Writer {
        tar: Builder::new(GzEncoder::new(out, Compression::default())),
        redactor: Redactor::new(with_serials),
        with_serials,
    };
    writer.about(stack)?;
    writer.attributes(sys)?;
    writer.btrfs(sys)?;
    writer.tables(stack)?;
    writer.superblocks(stack)?;
    writer.mounts(stack)?;
    writer.tar.into_inner()?.finish()?.flush()?;
    Ok(Captured {
        devices: stack.topology.devices.len(),
        looked_into: stack.contents.values().filter(|read| read.is_ok()).count(),
    })
}

struct Writer<W: Write> {
    tar: Builder<GzEncoder<W>>,
    redactor: Redactor,
    with_serials: bool,
}

impl<W: Write> Writer<W> {
    fn about(&mut self, stack: &Stack) -> io::Result<()> {
        let missing = stack.missing.iter();
        let about = About {
            format: FORMAT,
            iotrace: env!("CARGO_PKG_VERSION").to_owned(),
            missing: missing.map(|text| self.redactor.text(text)).collect(),
        };
        self.json(ABOUT, &about)
    }

    fn attributes(&mut self, sys: &SysRoot) -> io::Result<()> {
        for name in names(&sys.path("block")) {
            let place = format!("block/{name}");
            self.files(sys, &place, wanted::OF_DISK)?;
            self.folders(sys, &place)?;
            if self.with_serials {
                self.files(sys, &place, wanted::SERIALS)?;
            }
            for part in names(&sys.path(format!("{place}/md"))) {
                if part.starts_with("dev-") {
                    self.files(sys, &format!("{place}/md/{part}"), wanted::OF_COMPONENT)?;
                }
            }
            for part in names(&sys.path(&place)) {
                let part = format!("{place}/{part}");
                if sys.path(format!("{part}/partition")).exists() {
                    self.files(sys, &part, wanted::OF_PARTITION)?;
                    self.folders(sys, &part)?;
                }
            }
        }
        Ok(())
    }

    fn files(&mut self, sys: &SysRoot, place: &str, names: &[&str]) -> io::Result<()> {
        for name in names {
            let path = format!("{place}/{name}");
            let Some(text) = attribute(&sys.path(&path)) else {
                continue;
            };
            let text = match *name {
                "dm/uuid" => self.redactor.dm_uuid(&text),
                _ => self.redactor.text(&text),
            };
            self.file(&format!("{SYS}/{path}"), text.as_bytes())?;
        }
        Ok(())
    }

    /// Those that tell something by being there, and by the names in them.
    fn folders(&mut self, sys: &SysRoot, place: &str) -> io::Result<()> {
        for mark in wanted::MARKS {
            let path = format!("{place}/{mark}");
            if sys.path(&path).is_dir() {
                self.folder(&format!("{SYS}/{path}"))?;
            }
        }
        for list in wanted::LISTS {
            for name in names(&sys.path(format!("{place}/{list}"))) {
                self.folder(&format!("{SYS}/{place}/{list}/{name}"))?;
            }
        }
        Ok(())
    }

    /// Which devices a btrfs has.
    fn btrfs(&mut self, sys: &SysRoot) -> io::Result<()> {
        const PLACE: &str = "fs/btrfs";
        for uuid in names(&sys.path(PLACE)) {
            let devices = names(&sys.path(format!("{PLACE}/{uuid}/devices")));
            let uuid = self.redactor.text(&uuid);
            for device in devices {
                self.folder(&format!("{SYS}/{PLACE}/{uuid}/devices/{device}"))?;
            }
        }
        Ok(())
    }

    fn tables(&mut self, stack: &Stack) -> io::Result<()> {
        let devices = stack.topology.devices.values();
        let tables = devices.filter_map(|device| {
            Some(TableOf {
                device: device.id,
                table: device.dm_table.clone()?,
            })
        });
        self.json(TABLES, &tables.collect::<Vec<_>>())
    }

    fn superblocks(&mut self, stack: &Stack) -> io::Result<()> {
        let all = stack.contents.iter().map(|(device, read)| ContentsOf {
            device: *device,
            read: read.clone(),
        });
        let mut value = serde_json::to_value(all.collect::<Vec<_>>())?;
        self.redactor.value(&mut value);
        self.json(SUPERBLOCKS, &value)
    }

    fn mounts(&mut self, stack: &Stack) -> io::Result<()> {
        let topology = &stack.topology;
        let of_devices = stack.mounts.iter().filter(|mount| {
            topology.devices.contains_key(&mount.device)
                || topology.by_node(&mount.source).is_some()
        });
        let mounts: String = of_devices.map(mount_line).collect();
        let mounts = self.redactor.text(&mounts);
        self.file(MOUNTS, mounts.as_bytes())?;
        let areas = stack.swaps.iter().filter(|area| !area.is_file);
        let swaps: String = areas.map(swap_line).collect();
        let swaps = self.redactor.text(&swaps);
        self.file(SWAPS, swaps.as_bytes())
    }

    fn json(&mut self, name: &str, value: &impl Serialize) -> io::Result<()> {
        let mut text = serde_json::to_vec_pretty(value)?;
        text.push(b'\n');
        self.file(name, &text)
    }

    fn file(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.entry(name, EntryType::Regular, bytes)
    }

    fn folder(&mut self, name: &str) -> io::Result<()> {
        self.entry(name, EntryType::Directory, &[])
    }

    fn entry(&mut self, name: &str, kind: EntryType, bytes: &[u8]) -> io::Result<()> {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(bytes.len() as u64);
        header.set_mode(if kind == EntryType::Directory {
            0o755
        } else {
            0o644
        });
        let path = Path::new(TOP).join(name);
        self.tar.append_data(&mut header, path, bytes)
    }
}

/// The names in a folder, sorted; none where it cannot be listed.
fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().into_string());
    let mut names: Vec<String> = names.filter_map(Result::ok).collect();
    names.sort_unstable();
    names
}

fn attribute(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    let file = File::open(path).ok()?;
    file.take(MOST_ATTRIBUTE_BYTES)
        .read_to_end(&mut bytes)
        .ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// As the kernel writes it, of what iotrace reads.
fn mount_line(mount: &Mount) -> String {
    format!(
        "1 0 {} / {} rw - {} {} {}\n",
        mount.device,
        escape(&mount.point.to_string_lossy()),
        mount.fs_type,
        escape(&mount.source),
        mount.options
    )
}

fn swap_line(area: &SwapArea) -> String {
    format!(
        "{} partition {} 0 {}\n",
        escape(&area.path),
        area.size.0 / 1024,
        area.priority
    )
}

/// As `mangle` does (fs/proc_namespace.c).
fn escape(text: &str) -> String {
    [
        ("\\", "\\134"),
        (" ", "\\040"),
        ("\t", "\\011"),
        ("\n", "\\012"),
    ]
    .iter()
    .fold(text.to_owned(), |text, (plain, code)| {
        text.replace(plain, code)
    })
}

#[cfg(test)]
#[path = "write_tests.rs"]
mod tests;
