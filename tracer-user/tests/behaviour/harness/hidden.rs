//! A process from which parts of /proc and /sys are hidden: what a kernel or a
//! container without them looks like.

use std::{ffi::CString, io, os::unix::process::CommandExt as _, process::Command, ptr};

/// What lies over a path.
#[derive(Clone, Copy)]
pub(crate) enum Over<'a> {
    /// An empty folder.
    Nothing,
    /// Another file.
    File(&'a str),
}

/// Makes `command` see the paths changed; nobody else does.
pub(crate) fn hide<'a>(command: &'a mut Command, paths: &[(&str, Over<'_>)]) -> &'a mut Command {
    let text = |text: &str| CString::new(text).expect("no NUL in a path");
    let paths: Vec<(CString, Option<CString>)> = paths
        .iter()
        .map(|(path, over)| match over {
            Over::Nothing => (text(path), None),
            Over::File(file) => (text(path), Some(text(file))),
        })
        .collect();
    // SAFETY: between fork and exec the closure only makes system calls with
    // strings that were allocated before.
    unsafe {
        command.pre_exec(move || {
            own_mounts()?;
            paths
                .iter()
                .try_for_each(|(path, over)| cover(path, over.as_ref()))
        })
    }
}

/// A mount namespace whose changes stay in it.
fn own_mounts() -> io::Result<()> {
    // SAFETY: no pointers.
    done(unsafe { libc::unshare(libc::CLONE_NEWNS) })?;
    // SAFETY: NUL-terminated; the other arguments are ignored.
    done(unsafe {
        libc::mount(
            ptr::null(),
            c"/".as_ptr(),
            ptr::null(),
            libc::MS_REC | libc::MS_PRIVATE,
            ptr::null(),
        )
    })
}

fn cover(path: &CString, over: Option<&CString>) -> io::Result<()> {
    let (source, flags) = match over {
        Some(file) => (file.as_c_str(), libc::MS_BIND),
        None => (c"tmpfs", 0),
    };
    // SAFETY: NUL-terminated strings that live for the call.
    done(unsafe {
        libc::mount(
            source.as_ptr(),
            path.as_ptr(),
            c"tmpfs".as_ptr(),
            flags,
            ptr::null(),
        )
    })
}

fn done(result: libc::c_int) -> io::Result<()> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
