//! What is installed where.
//!
//! Must not know in which kind of archive.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result};

use crate::{process, workspace};

const DOC: &str = "usr/share/doc/iotrace";
const MAN: &str = "usr/share/man/man1";
const SHARE: &str = "usr/share/iotrace";

/// Files of the workspace, and what they are installed as.
const FILES: [(&str, &str); 9] = [
    (
        "deploy/systemd/iotrace.service",
        "usr/lib/systemd/system/iotrace.service",
    ),
    (
        "deploy/systemd/iotrace.socket",
        "usr/lib/systemd/system/iotrace.socket",
    ),
    ("deploy/systemd/iotrace.default", "etc/default/iotrace"),
    ("deploy/debian/copyright", "usr/share/doc/iotrace/copyright"),
    ("LICENSE-MIT", "usr/share/doc/iotrace/LICENSE-MIT"),
    ("LICENSE-APACHE", "usr/share/doc/iotrace/LICENSE-APACHE"),
    ("LICENSE-GPL", "usr/share/doc/iotrace/LICENSE-GPL"),
    ("README.md", "usr/share/doc/iotrace/README.md"),
    ("CHANGELOG.md", "usr/share/doc/iotrace/changelog"),
];

/// Folders of the workspace, and what they are installed in.
const FOLDERS: [(&str, &str); 3] = [("docs", DOC), ("dashboards", SHARE), ("prometheus", SHARE)];

/// What completes the command line of a shell, as it is written and where it is
/// looked for.
const COMPLETIONS: [(&str, &str); 3] = [
    (
        "iotrace.bash",
        "usr/share/bash-completion/completions/iotrace",
    ),
    ("_iotrace", "usr/share/zsh/vendor-completions/_iotrace"),
    (
        "iotrace.fish",
        "usr/share/fish/vendor_completions.d/iotrace.fish",
    ),
];

/// Lays everything out below `root`; `manual` writes pages and completions.
pub(super) fn lay_out(root: &Path, program: &Path, manual: &Path) -> Result<()> {
    let workspace = workspace::root()?;
    install(program, &root.join("usr/bin/iotrace"), 0o755)?;
    for (from, to) in FILES {
        install(&workspace.join(from), &root.join(to), 0o644)?;
    }
    for (from, to) in FOLDERS {
        let folder = workspace.join(from);
        for file in files(&folder)? {
            install(
                &folder.join(&file),
                &root.join(to).join(from).join(&file),
                0o644,
            )?;
        }
    }
    let written = tempfile::tempdir()?;
    process::run(Command::new(manual).arg(written.path()))?;
    for (from, to) in COMPLETIONS {
        install(&written.path().join(from), &root.join(to), 0o644)?;
    }
    let mut packed = vec![root.join(DOC).join("changelog")];
    for page in files(written.path())? {
        if page.extension().is_some_and(|section| section == "1") {
            let installed = root.join(MAN).join(&page);
            install(&written.path().join(&page), &installed, 0o644)?;
            packed.push(installed);
        }
    }
    process::run(
        Command::new("gzip")
            .args(["--best", "--no-name"])
            .args(packed),
    )
}

fn install(from: &Path, to: &Path, mode: u32) -> Result<()> {
    let folder = to.parent().context("a file at /")?;
    fs::create_dir_all(folder)?;
    fs::copy(from, to).with_context(|| format!("installing {}", from.display()))?;
    fs::set_permissions(to, fs::Permissions::from_mode(mode))?;
    Ok(())
}

/// Every file below a folder, from there, in order.
pub(super) fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![PathBuf::new()];
    while let Some(at) = open.pop() {
        let entries = fs::read_dir(folder.join(&at));
        for entry in entries.with_context(|| folder.display().to_string())? {
            let entry = entry?;
            let path = at.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                open.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(file: &str) -> String {
        fs::read_to_string(workspace::root().unwrap().join(file)).unwrap()
    }

    #[test]
    fn what_is_installed_is_there() {
        let workspace = workspace::root().unwrap();
        for (from, to) in FILES {
            assert!(workspace.join(from).is_file(), "{from}");
            assert!(to.starts_with("usr/") || to.starts_with("etc/"), "{to}");
        }
    }

    /// Wherever it runs as a service, it is given the same.
    #[test]
    fn services_have_the_same_capabilities() {
        let unit = read("deploy/systemd/iotrace.service");
        let of = |key: &str| -> Vec<&str> {
            let mut lines = unit.lines();
            let words = lines.find_map(|line| line.strip_prefix(key)).unwrap();
            words.split(' ').collect()
        };
        let given = of("AmbientCapabilities=");
        assert_eq!(given, ["CAP_BPF", "CAP_PERFMON", "CAP_SYSLOG"]);
        assert_eq!(of("CapabilityBoundingSet="), given);
        let names = given.join("\", \"").replace("CAP_", "");
        let kubernetes = read("deploy/kubernetes/daemonset.yaml");
        assert!(kubernetes.contains(&format!("add: [\"{names}\"]")));
        let privileges = read("docs/privileges.md");
        for capability in given {
            assert!(
                privileges.contains(&format!("| `{capability}`")),
                "{capability}"
            );
        }
    }
}
