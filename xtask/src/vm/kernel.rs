//! Which kernels there are, and where the files of one lie.
//!
//! Must not know how packages are fetched (`debian_kernel`) or what a guest needs of
//! the modules (`modules`).

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail};

use super::{cache, debian_kernel};

/// The kernels every change is tested with, oldest first.
pub const MATRIX: [&str; 4] = ["5.10", "6.1", "6.12", "sid"];

/// Debian's suites with the kernels of [`MATRIX`]; the second, where there is
/// one, has the security updates of the first.
const SUITES: [&[&str]; 4] = [
    &["bullseye", "bullseye-security"],
    &["bookworm", "bookworm-security"],
    &["trixie", "trixie-security"],
    &["sid"],
];

/// A bootable kernel.
#[derive(Debug)]
pub(super) struct Kernel {
    /// What `uname -r` says in the guest.
    pub(super) release: String,
    pub(super) image: PathBuf,
    /// The folder with `kernel/`, `modules.builtin` and so on.
    pub(super) modules: PathBuf,
}

/// The kernel a user named; downloaded unless it has been before, or anew
/// with `refresh`.
pub(super) fn get(name: &str, refresh: bool) -> Result<Kernel> {
    if std::env::consts::ARCH != "x86_64" {
        bail!("guests run on x86_64 only: their programs are this machine's");
    }
    if let Some(index) = MATRIX.iter().position(|known| *known == name) {
        return packaged(name, SUITES[index], refresh);
    }
    let path = Path::new(name);
    if !path.is_dir() {
        bail!(
            "no kernel `{name}`: give one of {}, or the folder of an unpacked kernel package",
            MATRIX.join(", ")
        );
    }
    locate(path)
}

fn packaged(name: &str, suites: &[&str], refresh: bool) -> Result<Kernel> {
    let folder = cache::folder("kernels")?.join(name);
    cache::filled_folder(&folder, refresh, |new| {
        debian_kernel::unpack(suites, new)
            .with_context(|| format!("no kernel {name}: its Debian package can't be had"))
    })?;
    locate(&folder)
}

/// Finds the image and the modules below `root`, where Debian's packages have
/// them: `boot/` and `lib/modules/`, or from Linux 7 on all in `usr/lib/modules/`.
fn locate(root: &Path) -> Result<Kernel> {
    let modules = modules_folder(root)?;
    let release = modules
        .file_name()
        .and_then(|name| name.to_str())
        .with_context(|| format!("{} has no kernel release for a name", modules.display()))?
        .to_owned();
    let image = [
        root.join(format!("boot/vmlinuz-{release}")),
        root.join("boot/vmlinuz"),
        modules.join("vmlinuz"),
    ]
    .into_iter()
    .find(|file| file.is_file())
    .with_context(|| {
        format!(
            "{} has modules for {release} but no vmlinuz: neither in boot/ nor beside them",
            root.display()
        )
    })?;
    Ok(Kernel {
        release,
        image,
        modules,
    })
}

fn modules_folder(root: &Path) -> Result<PathBuf> {
    let mut found = Vec::new();
    for parent in ["lib/modules", "usr/lib/modules"] {
        let Ok(entries) = fs::read_dir(root.join(parent)) else {
            continue;
        };
        for entry in entries {
            let folder = entry?.path();
            if folder.join("kernel").is_dir() {
                // Where /lib is a link to usr/lib both names lead here.
                found.push(fs::canonicalize(&folder)?);
            }
        }
    }
    found.sort();
    found.dedup();
    match found.as_slice() {
        [one] => Ok(one.clone()),
        [] => bail!(
            "{} is no unpacked kernel package: it has no lib/modules/RELEASE/kernel",
            root.display()
        ),
        several => bail!(
            "{} has several kernels: {}. Unpack one package to a folder of its own",
            root.display(),
            several
                .iter()
                .map(|folder| folder.display().to_string())
                .collect::<Vec<_>>()
                .join(", ")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[&str]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for file in files {
            let file = root.path().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "").unwrap();
        }
        root
    }

    #[test]
    fn both_layouts_of_debian_are_found() {
        for files in [
            ["boot/vmlinuz-6.1.0-1", "lib/modules/6.1.0-1/kernel/a.ko"],
            [
                "usr/lib/modules/6.1.0-1/vmlinuz",
                "usr/lib/modules/6.1.0-1/kernel/a.ko",
            ],
        ] {
            let root = tree(&files);
            let kernel = locate(root.path()).unwrap();
            assert_eq!(kernel.release, "6.1.0-1");
            assert!(kernel.image.ends_with(files[0]), "{kernel:?}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_folder_is_said() {
        let message = |files: &[&str]| format!("{:#}", locate(tree(files).path()).unwrap_err());
        assert!(message(&["etc/motd"]).contains("no unpacked kernel package"));
        assert!(message(&["lib/modules/1/kernel/a"]).contains("no vmlinuz"));
        let two = message(&["lib/modules/1/kernel/a", "lib/modules/2/kernel/a"]);
        assert!(two.contains("several kernels"), "{two}");
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        let message = format!("{:#}", get("4.19", false).unwrap_err());
        assert!(message.contains("5.10, 6.1, 6.12, sid"), "{message}");
    }
}
