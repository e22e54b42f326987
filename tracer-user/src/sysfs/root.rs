//! Reads single attributes below an injected `/sys`.
//!
//! A missing file is `None`; what is there and cannot be used is `None` and a
//! line in the reader's `unreadable`. Must not know what an attribute means.

use std::{
    fs::{self, File},
    io::{self, Read},
    os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    str::FromStr,
};

/// The directory that stands for `/sys`.
#[derive(Clone, Debug)]
pub struct SysRoot(PathBuf);

/// A directory of sysfs could not be listed.
#[derive(Debug, thiserror::Error)]
#[error("cannot list {}", path.display())]
pub struct SysfsError {
    pub path: PathBuf,
    #[source]
    pub source: io::Error,
}

/// A value that a reshape is changing: `new (old)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Changing<T> {
    pub new: T,
    /// `None` where nothing is changing.
    pub old: Option<T>,
}

/// Attributes are a page at most; a longer file is not one.
const MAX_ATTRIBUTE_BYTES: u64 = 64 * 1024;

impl SysRoot {
    #[must_use]
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self(root.into())
    }

    /// `relative` below the root.
    #[must_use]
    pub fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.0.join(relative)
    }
}

impl Default for SysRoot {
    fn default() -> Self {
        Self::new("/sys")
    }
}

/// Reads the attributes below one directory and remembers which could not be.
#[derive(Debug)]
pub(super) struct Attributes {
    dir: PathBuf,
    pub(super) unreadable: Vec<String>,
}

impl Attributes {
    pub(super) const fn new(dir: PathBuf) -> Self {
        Self {
            dir,
            unreadable: Vec::new(),
        }
    }

    pub(super) fn exists(&self, name: &str) -> bool {
        self.dir.join(name).exists()
    }

    /// The trimmed text of an attribute; may be empty.
    pub(super) fn text(&mut self, name: &str) -> Option<String> {
        let path = self.dir.join(name);
        match read_text(&path) {
            Ok(text) => Some(text.trim().to_owned()),
            Err(error) if is_absent(&error) => None,
            Err(error) => {
                self.refuse(name, &error.to_string());
                None
            }
        }
    }

    /// An attribute of one value, such as a number of bytes.
    pub(super) fn value<T: FromStr>(&mut self, name: &str) -> Option<T> {
        let text = self.text(name)?;
        self.parsed(name, &text, text.parse().ok())
    }

    /// As [`Self::value`], for attributes that print a word (`none`) where
    /// there is no value.
    pub(super) fn value_unless<T: FromStr>(&mut self, name: &str, none: &[&str]) -> Option<T> {
        let text = self.text(name)?;
        if none.contains(&text.as_str()) {
            return None;
        }
        self.parsed(name, &text, text.parse().ok())
    }

    /// An attribute that prints `new (old)` while a reshape changes it.
    pub(super) fn changing<T: FromStr>(&mut self, name: &str) -> Option<Changing<T>> {
        let text = self.text(name)?;
        if text.is_empty() {
            return None;
        }
        self.parsed(name, &text, parse_changing(&text))
    }

    /// Notes that an attribute cannot be used, and why.
    pub(super) fn refuse(&mut self, name: &str, reason: &str) {
        self.unreadable
            .push(format!("{}: {reason}", self.dir.join(name).display()));
    }

    /// The names in a directory below, sorted; none where it is missing.
    pub(super) fn names(&mut self, name: &str) -> Vec<String> {
        match list(&self.dir.join(name)) {
            Ok(names) => names,
            Err(error) if is_absent(&error) => Vec::new(),
            Err(error) => {
                self.refuse(name, &error.to_string());
                Vec::new()
            }
        }
    }

    fn parsed<T>(&mut self, name: &str, text: &str, value: Option<T>) -> Option<T> {
        if value.is_none() {
            self.refuse(name, &format!("unexpected value {:?}", shorten(text)));
        }
        value
    }
}

/// The names in a directory, sorted. sysfs names are ASCII; another name
/// cannot be a device's and is left out.
pub(super) fn list(dir: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(dir)? {
        if let Ok(name) = entry?.file_name().into_string() {
            names.push(name);
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// Whether the file, or the device behind it, is not there (any more).
pub(super) fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    ) || error.raw_os_error() == Some(libc::ENODEV)
}

fn read_text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    // A copy of `/sys` may hold anything: a pipe would be waited on.
    let file = File::options()
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(path)?;
    if file.metadata()?.file_type().is_fifo() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "is a pipe"));
    }
    file.take(MAX_ATTRIBUTE_BYTES).read_to_string(&mut text)?;
    Ok(text)
}

fn parse_changing<T: FromStr>(text: &str) -> Option<Changing<T>> {
    let (new, old) = match text.split_once('(') {
        Some((new, old)) => (new, Some(old.strip_suffix(')')?)),
        None => (text, None),
    };
    Some(Changing {
        new: new.trim().parse().ok()?,
        old: match old {
            Some(old) => Some(old.trim().parse().ok()?),
            None => None,
        },
    })
}

/// Enough of a bad value to recognize it by.
fn shorten(text: &str) -> String {
    const CHARS: usize = 40;
    text.chars().take(CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_is_silent_and_garbled_is_told() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("size"), "12x\n").unwrap();
        fs::write(dir.path().join("binary"), [0xff, 0xfe]).unwrap();
        fs::create_dir(dir.path().join("folder")).unwrap();
        let mut attributes = Attributes::new(dir.path().to_owned());
        assert_eq!(attributes.value::<u64>("missing"), None);
        assert_eq!(attributes.value::<u64>("size/below"), None);
        assert!(attributes.unreadable.is_empty());
        assert_eq!(attributes.value::<u64>("size"), None);
        assert_eq!(attributes.text("binary"), None);
        assert_eq!(attributes.text("folder"), None);
        assert_eq!(attributes.unreadable.len(), 3);
        assert!(attributes.unreadable[0].contains("size: unexpected value \"12x\""));
    }

    /// Nobody writes to it: to read it as a file would be to wait for ever.
    #[test]
    fn a_pipe_is_no_attribute() {
        let dir = tempfile::tempdir().unwrap();
        let made = std::process::Command::new("mkfifo")
            .arg(dir.path().join("size"))
            .status();
        assert!(made.unwrap().success());
        let mut attributes = Attributes::new(dir.path().to_owned());
        assert_eq!(attributes.text("size"), None);
        assert!(attributes.unreadable[0].ends_with("size: is a pipe"));
    }

    #[test]
    fn values_in_reshape() {
        assert_eq!(
            parse_changing("11 (10)"),
            Some(Changing {
                new: 11u32,
                old: Some(10)
            })
        );
        assert_eq!(
            parse_changing("-1"),
            Some(Changing {
                new: -1i64,
                old: None
            })
        );
        assert_eq!(parse_changing::<u32>("11 (10"), None);
        assert_eq!(parse_changing::<u32>(""), None);
    }
}
