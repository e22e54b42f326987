//! What this process may do: `/proc/self/status`.
//!
//! Must not change any of it.

use caps::Capability;
use serde::{Deserialize, Serialize};

use super::root::{Absence, KernelRoot, read_text};

/// User and capabilities of the process that read them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Privileges {
    /// The effective user id.
    pub uid: u32,
    /// Names as in capabilities(7), sorted.
    pub effective: Vec<String>,
    /// What can be raised to effective at any time.
    pub permitted: Vec<String>,
}

impl Privileges {
    /// Reads the own status below `root`.
    ///
    /// # Errors
    /// [`Absence`] when the file is not there or lacks a line.
    pub fn read(root: &KernelRoot) -> Result<Self, Absence> {
        let path = root.own_status();
        let text = read_text(&path)?;
        parse(&text).ok_or_else(|| Absence::Malformed {
            path,
            message: "Uid, CapPrm or CapEff is missing".to_owned(),
        })
    }

    /// Is the capability there to be raised?
    #[must_use]
    pub fn permits(&self, capability: Capability) -> bool {
        let name = capability.to_string();
        self.permitted.contains(&name)
    }
}

fn parse(text: &str) -> Option<Privileges> {
    Some(Privileges {
        // Real, effective, saved, file system.
        uid: line(text, "Uid:")?
            .split_whitespace()
            .nth(1)?
            .parse()
            .ok()?,
        effective: names(line(text, "CapEff:")?)?,
        permitted: names(line(text, "CapPrm:")?)?,
    })
}

fn line<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(key))
}

/// The names of a set's bits; those that `caps` does not know are left out.
fn names(hexadecimal: &str) -> Option<Vec<String>> {
    let bits = u64::from_str_radix(hexadecimal.trim(), 16).ok()?;
    let mut names: Vec<String> = caps::all()
        .into_iter()
        .filter(|capability| bits & capability.bitmask() != 0)
        .map(|capability| capability.to_string())
        .collect();
    names.sort();
    Some(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_have_names() {
        let privileges = parse(
            "Name:\tiotrace\nUid:\t1000\t998\t1000\t1000\nCapInh:\t0000000000000000\n\
             CapPrm:\t000000c000000004\nCapEff:\t0000000000000000\n",
        )
        .unwrap();
        assert_eq!(privileges.uid, 998);
        assert!(privileges.effective.is_empty());
        assert_eq!(
            privileges.permitted,
            ["CAP_BPF", "CAP_DAC_READ_SEARCH", "CAP_PERFMON"]
        );
        assert!(privileges.permits(Capability::CAP_BPF));
        assert!(!privileges.permits(Capability::CAP_SYS_ADMIN));
    }

    #[test]
    fn garbage_is_no_privileges() {
        assert_eq!(parse(""), None);
        assert_eq!(parse("Uid:\nCapEff:\tzz\nCapPrm:\n"), None);
    }
}
