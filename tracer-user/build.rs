//! Embeds the eBPF object that `cargo xtask build` made: copies it to
//! `OUT_DIR/iotrace.bpf.o`, or puts an empty file there, with which the library
//! builds and says that it was built without its programs.
//!
//! Must not build the object: plain `cargo build` works without its compiler.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

/// Another object than the workspace's own.
const OVERRIDE: &str = "IOTRACE_BPF_OBJECT";

/// Where xtask puts the object.
const OBJECT: &str = "../target/bpf/iotrace.bpf.o";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={OVERRIDE}");
    let data = match env::var_os(OVERRIDE) {
        Some(path) => {
            let path = PathBuf::from(path);
            println!("cargo::rerun-if-changed={}", path.display());
            fs::read(&path).map_err(|error| {
                io::Error::new(
                    error.kind(),
                    format!("{OVERRIDE}={}: {error}", path.display()),
                )
            })?
        }
        None => workspace_object(&folder("CARGO_MANIFEST_DIR")?.join(OBJECT))?,
    };
    fs::write(folder("OUT_DIR")?.join("iotrace.bpf.o"), data)
}

fn workspace_object(object: &Path) -> io::Result<Vec<u8>> {
    match fs::read(object) {
        Ok(data) => {
            println!("cargo::rerun-if-changed={}", object.display());
            Ok(data)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // Cargo would rebuild every time for a file that is missing, so
            // its folder is watched, which must then exist.
            if let Some(dir) = object.parent() {
                fs::create_dir_all(dir)?;
                println!("cargo::rerun-if-changed={}", dir.display());
            }
            Ok(Vec::new())
        }
        Err(error) => Err(error),
    }
}

fn folder(variable: &str) -> io::Result<PathBuf> {
    env::var_os(variable)
        .map(PathBuf::from)
        .ok_or_else(|| io::Error::other(format!("cargo sets no {variable}")))
}
