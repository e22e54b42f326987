//! Readers of superblocks against images that the formats' own tools made
//! (`tests/fixtures/superblocks`), and against what those tools say of them.

mod access;
mod file_systems;
mod hostile;
mod layers;
mod md;
mod tables;

use std::{cell::Cell, collections::BTreeMap, fs, io, path::PathBuf};

use super::{Content, Contents, ReadAt, read_from};
use crate::units::Bytes;

const LINE: usize = 32;

fn fixtures() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/superblocks")
}

/// A device of which only a few pieces are not zero.
#[derive(Clone)]
struct Image {
    size: u64,
    lines: BTreeMap<u64, [u8; LINE]>,
    /// What the page cache has of it, where that is something else.
    cached: Option<Box<Self>>,
    read: Cell<u64>,
}

impl Image {
    fn named(name: &str) -> Self {
        let text = fs::read_to_string(fixtures().join(format!("{name}.img"))).unwrap();
        let (size, lines) = text.split_once('\n').unwrap();
        let line = |line: &str| {
            let (offset, digits) = line.split_once(' ').unwrap();
            let byte = |at: usize| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).unwrap();
            (offset.parse().unwrap(), std::array::from_fn(byte))
        };
        Self {
            size: size.strip_prefix("size ").unwrap().parse().unwrap(),
            lines: lines.lines().map(line).collect(),
            cached: None,
            read: Cell::new(0),
        }
    }

    fn empty(size: u64) -> Self {
        Self {
            size,
            lines: BTreeMap::new(),
            cached: None,
            read: Cell::new(0),
        }
    }

    /// Both at once; `other`'s lines where both have some.
    fn with(mut self, other: &Self) -> Self {
        self.lines.extend(&other.lines);
        self
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) {
        for (at, byte) in (offset..).zip(bytes) {
            let begin = at - at % LINE as u64;
            let line = self.lines.entry(begin).or_default();
            line[usize::try_from(at - begin).unwrap()] = *byte;
        }
    }

    fn bytes(&self, offset: u64, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        let end = offset + len as u64;
        let first = (offset + 1).saturating_sub(LINE as u64);
        for (begin, line) in self.lines.range(first..end) {
            for (at, byte) in (*begin..).zip(line) {
                if (offset..end).contains(&at) {
                    bytes[usize::try_from(at - offset).unwrap()] = *byte;
                }
            }
        }
        bytes
    }

    fn contents(&self) -> Contents {
        read_from(self).unwrap()
    }

    /// The only thing on it, of which there is nothing to say.
    fn only(&self) -> Content {
        let contents = self.contents();
        assert_eq!(contents.faults, []);
        assert_eq!(contents.remarks, []);
        let [content] = &contents.found[..] else {
            panic!("{:?}", contents.found);
        };
        content.clone()
    }

    fn fault(&self) -> String {
        let contents = self.contents();
        assert_eq!(contents.found, []);
        let [fault] = &contents.faults[..] else {
            panic!("{:?}", contents.faults);
        };
        fault.to_string()
    }

    fn remarks(&self) -> Vec<String> {
        let remarks = self.contents().remarks;
        remarks.iter().map(ToString::to_string).collect()
    }
}

impl ReadAt for Image {
    fn size(&self) -> Bytes {
        Bytes(self.size)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let rest = usize::try_from(self.size.saturating_sub(offset)).unwrap();
        let len = rest.min(buffer.len());
        buffer[..len].copy_from_slice(&self.bytes(offset, len));
        self.read.set(self.read.get() + buffer.len() as u64);
        Ok(len)
    }

    fn read_cached_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        match &self.cached {
            Some(cached) => cached.read_at(offset, buffer),
            None => self.read_at(offset, buffer),
        }
    }
}

/// What a tool said.
struct Said(String);

impl Said {
    fn of(name: &str) -> Self {
        Self(fs::read_to_string(fixtures().join(format!("{name}.txt"))).unwrap())
    }

    /// What stands behind `label` (and a colon, an equals sign, blanks).
    fn text(&self, label: &str) -> &str {
        let after = |line: &'_ str| -> Option<usize> {
            let rest = line.trim_start().strip_prefix(label)?;
            let is_whole = rest.starts_with([':', '=', ' ', '\t']);
            is_whole.then_some(line.len() - rest.len())
        };
        let mut lines = self.0.lines();
        let found = lines.find_map(|line| Some(&line[after(line)?..]));
        let found = found.unwrap_or_else(|| panic!("no {label:?}"));
        found.trim_matches([':', '=', ' ', '\t'])
    }

    /// The number there, without its unit.
    fn number(&self, label: &str) -> u64 {
        let text = self.text(label);
        let digits = text.split(|char: char| !char.is_ascii_alphanumeric());
        let digits = digits.into_iter().find(|word| !word.is_empty()).unwrap();
        match digits.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).unwrap(),
            None => digits
                .trim_end_matches(char::is_alphabetic)
                .parse()
                .unwrap(),
        }
    }
}

/// Names of all fixtures.
fn all() -> Vec<String> {
    let entries = fs::read_dir(fixtures()).unwrap();
    let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
    let names = entries.map(name);
    let mut names: Vec<String> = names
        .filter_map(|name| name.strip_suffix(".img").map(str::to_owned))
        .collect();
    names.sort();
    names
}

#[test]
fn every_fixture_is_one_thing_without_a_fault_and_survives_json() {
    let names = all();
    assert_eq!(names.len(), 28);
    for name in names {
        let image = Image::named(&name);
        let content = image.only();
        let json = serde_json::to_string(&content).unwrap();
        assert_eq!(
            serde_json::from_str::<Content>(&json).unwrap(),
            content,
            "{name}"
        );
    }
    assert!(Image::empty(1 << 30).contents().is_empty());
    assert!(Image::empty(0).contents().is_empty());
}
