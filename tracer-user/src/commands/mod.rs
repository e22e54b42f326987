//! What the subcommands do, apart from the reading of their arguments.
//!
//! Must not parse command lines. The only room for `anyhow`: here errors meet
//! the person who reads them.

mod bpf_log;
pub mod doctor;
pub mod live;
mod machine;
pub mod open;
pub mod probe;
pub mod run;
pub mod schema;
pub mod serve;
pub mod stack;

use std::{
    io::{self, Write},
    os::fd::{BorrowedFd, OwnedFd},
};

use tokio::io::{Interest, unix::AsyncFd};

use crate::report::format::harmless;

/// What a failure to write there is told with.
const TO_STDOUT: &str = "cannot write to standard output";

/// Says something on standard error. Nobody can be told where that is closed
/// or full.
fn tell(message: &str) {
    let _ = writeln!(io::stderr(), "iotrace: {}", harmless(message));
}

/// Writes what `print` makes, as a terminal may have it.
fn shown(
    out: &mut impl Write,
    print: impl FnOnce(&mut Vec<u8>) -> io::Result<()>,
) -> io::Result<()> {
    let mut text = Vec::new();
    print(&mut text)?;
    out.write_all(harmless(&String::from_utf8_lossy(&text)).as_bytes())
}

/// Waits on a descriptor of our own for another's, which stays free to be used.
#[expect(
    deprecated,
    reason = "unsound only for a type that gives its descriptor up, which an OwnedFd cannot; \
              what replaces it is unsafe"
)]
fn until_readable(fd: BorrowedFd<'_>) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(fd.try_clone_to_owned()?, Interest::READABLE)
}

/// Whoever read the output has gone: nothing is wrong, and nobody to tell.
#[must_use]
pub fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| {
            let io = cause.downcast_ref::<io::Error>().map(io::Error::kind);
            // Which does not give the error within as its cause.
            let json = || cause.downcast_ref::<serde_json::Error>()?.io_error_kind();
            io.or_else(json)
        })
        .any(|kind| kind == io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use anyhow::Context as _;

    use super::*;

    #[test]
    fn a_terminal_is_told_nothing() {
        let mut out = Vec::new();
        shown(&mut out, |text| writeln!(text, "sd\x1b[2Ja\u{9b}é")).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "sd\u{fffd}[2Ja\u{fffd}é\n");
    }

    #[test]
    fn a_closed_pipe_is_known_in_every_wrapping() {
        let broken = || io::Error::from(io::ErrorKind::BrokenPipe);
        assert!(is_closed_pipe(&broken().into()));
        let said = Err::<(), _>(broken()).context(TO_STDOUT).unwrap_err();
        assert!(is_closed_pipe(&said));
        struct Closed;
        impl Write for Closed {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let json = serde_json::to_writer(Closed, &1).unwrap_err();
        assert!(is_closed_pipe(&json.into()));
        assert!(!is_closed_pipe(
            &io::Error::from(io::ErrorKind::StorageFull).into()
        ));
    }
}
