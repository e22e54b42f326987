//! Programs the tests call.

use std::{
    fs::File,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

/// Runs a program to its end and gives its standard output; anything but
/// success fails the test with what it printed.
pub(crate) fn run(program: &str, args: &[&str]) -> String {
    run_from(program, args, Path::new("/dev/null"))
}

/// `run` with a file as standard input.
pub(crate) fn run_from(program: &str, args: &[&str], stdin: &Path) -> String {
    let stdin = File::open(stdin).expect("a file to read from");
    let output = finished(Command::new(program).args(args).stdin(Stdio::from(stdin)));
    assert!(
        output.status.success(),
        "{program} {}: {}\n{}{}",
        args.join(" "),
        output.status,
        text(&output.stdout),
        text(&output.stderr),
    );
    text(&output.stdout)
}

/// Runs a program to its end, however it ends.
pub(crate) fn finished(command: &mut Command) -> Output {
    command
        .output()
        .unwrap_or_else(|error| panic!("starting {:?}: {error}", command.get_program()))
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Where a program is, by `PATH` and the folders of root's programs.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var("PATH").unwrap_or_default();
    path.split(':')
        .chain(["/usr/sbin", "/sbin"])
        .map(|folder| PathBuf::from(folder).join(program))
        .find(|file| file.is_file())
}
