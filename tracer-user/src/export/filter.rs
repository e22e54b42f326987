//! Which devices are told: patterns over the kernel's names, and no memory
//! disks unless somebody asks for them.
//!
//! Must not know counters.

use regex::Regex;

use crate::sysfs::device::Kind;

/// Patterns of `--device-include` and `--device-exclude`.
#[derive(Clone, Debug, Default)]
pub struct DeviceFilter {
    include: Option<Regex>,
    exclude: Option<Regex>,
    /// Devices were named with `--dev`: each is told, whatever it is.
    named: bool,
}

/// A pattern that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{option}: {source}")]
pub struct FilterError {
    option: &'static str,
    #[source]
    source: regex::Error,
}

impl DeviceFilter {
    /// A pattern matches anywhere in a name, as node_exporter's do: `^sd` is
    /// all that begin so.
    ///
    /// # Errors
    /// For a pattern that is none.
    pub fn new(
        include: Option<&str>,
        exclude: Option<&str>,
        named: bool,
    ) -> Result<Self, FilterError> {
        let regex = |option, pattern: Option<&str>| {
            pattern
                .map(Regex::new)
                .transpose()
                .map_err(|source| FilterError { option, source })
        };
        Ok(Self {
            include: regex("--device-include", include)?,
            exclude: regex("--device-exclude", exclude)?,
            named,
        })
    }

    /// Whether a device of that name is told.
    #[must_use]
    pub fn tells(&self, name: &str, kind: Option<Kind>) -> bool {
        let excluded = |regex: &Regex| regex.is_match(name);
        if self.exclude.as_ref().is_some_and(excluded) {
            return false;
        }
        match &self.include {
            Some(include) => include.is_match(name),
            None => self.named || !is_memory(name, kind),
        }
    }
}

/// Most machines have many of them, and no IO on most. A partition of one is
/// named like it.
fn is_memory(name: &str, kind: Option<Kind>) -> bool {
    matches!(kind, Some(Kind::Loop | Kind::Ram | Kind::Zram))
        || ["loop", "ram", "zram"]
            .iter()
            .any(|word| name.starts_with(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(include: Option<&str>, exclude: Option<&str>, named: bool) -> Vec<&'static str> {
        let filter = DeviceFilter::new(include, exclude, named).unwrap();
        let names = [
            "sda", "sda1", "md127", "dm-0", "loop0", "loop0p1", "ram1", "zram0",
        ];
        let told = names.into_iter().filter(|name| filter.tells(name, None));
        told.collect()
    }

    #[test]
    fn no_memory_disks_unless_asked_for() {
        assert_eq!(told(None, None, false), ["sda", "sda1", "md127", "dm-0"]);
        assert_eq!(told(None, None, true).len(), 8);
        assert_eq!(told(Some("^loop"), None, false), ["loop0", "loop0p1"]);
        assert_eq!(
            told(Some("^(sd|loop)"), Some("1$"), false),
            ["sda", "loop0"]
        );
        assert_eq!(told(None, Some("^dm-"), false), ["sda", "sda1", "md127"]);
    }

    #[test]
    fn a_broken_pattern_is_named() {
        let error = DeviceFilter::new(None, Some("("), false).unwrap_err();
        assert!(
            error.to_string().starts_with("--device-exclude: "),
            "{error}"
        );
    }
}
