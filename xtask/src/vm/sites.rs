//! Where this machine gets Debian from, by its own apt configuration.
//!
//! Must not name a mirror.

use std::process::Command;

use anyhow::{Context as _, Result};

use super::apt::{self, PrivateApt};

/// Where this machine gets Debian from.
#[derive(Debug, PartialEq)]
pub(super) struct Sites {
    pub(super) main: String,
    security: Option<String>,
}

impl Sites {
    /// What is asked of apt, which reads its configuration whatever its format.
    const FORMAT: &str = "$(ORIGIN)|$(LABEL)|$(SITE)";

    pub(super) fn of_this_machine() -> Result<Self> {
        let targets = apt::index_targets(Command::new("apt-get"), Self::FORMAT)?;
        if let Some(sites) = Self::parse(&targets) {
            return Ok(sites);
        }
        // apt tells nothing about lists it has not read, as in a new container.
        let apt = PrivateApt::new("this-machine", None)?;
        apt.update()?;
        Self::parse(&apt.index_targets(Self::FORMAT)?).context(
            "this machine's apt configuration has no Debian suite, so there is no mirror to \
             take a kernel from: add one, or give an unpacked kernel package with --kernel PATH",
        )
    }

    fn parse(targets: &str) -> Option<Self> {
        let (mut main, mut security) = (None, None);
        for target in targets.lines() {
            let Some((label, site)) = target
                .strip_prefix("Debian|")
                .and_then(|target| target.split_once('|'))
            else {
                continue;
            };
            match label {
                "Debian" => main = main.or(Some(site.to_owned())),
                "Debian-Security" => security = security.or(Some(site.to_owned())),
                _ => {}
            }
        }
        Some(Self {
            main: main?,
            security,
        })
    }

    /// A `sources.list` for `suites`.
    pub(super) fn sources(&self, suites: &[&str], keyring: &str) -> String {
        let mut lines = String::new();
        for suite in suites {
            let site = if suite.ends_with("-security") {
                self.security.as_ref()
            } else {
                Some(&self.main)
            };
            match site {
                Some(site) => {
                    lines += &format!("deb [arch=amd64 signed-by={keyring}] {site} {suite} main\n");
                }
                None => eprintln!(
                    "xtask: this machine's apt configuration has no security suite: {suite} is \
                     left out"
                ),
            }
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TARGETS: &str = "\
Third|Third|http://third.invalid/apt
$(ORIGIN)|$(LABEL)|http://unread.invalid/debian
Debian|Debian|http://first.invalid/debian
Debian|Debian Backports|http://other.invalid/debian
Debian|Debian-Security|http://second.invalid/security
";

    #[test]
    fn sites_are_those_of_debian() {
        let sites = Sites::parse(TARGETS).unwrap();
        assert_eq!(sites.main, "http://first.invalid/debian");
        let sources = sites.sources(&["sid", "trixie-security"], "/k.gpg");
        assert_eq!(
            sources,
            "deb [arch=amd64 signed-by=/k.gpg] http://first.invalid/debian sid main\n\
             deb [arch=amd64 signed-by=/k.gpg] http://second.invalid/security trixie-security main\n"
        );
    }

    #[test]
    fn a_machine_may_have_no_security_suite_or_no_debian() {
        let sites = Sites::parse("Debian|Debian|mirror+file:/etc/apt/m.list\n").unwrap();
        let sources = sites.sources(&["trixie", "trixie-security"], "/k");
        assert_eq!(
            sources,
            "deb [arch=amd64 signed-by=/k] mirror+file:/etc/apt/m.list trixie main\n"
        );
        assert_eq!(Sites::parse("Ubuntu|Ubuntu|http://u.invalid\n"), None);
    }
}
