//! A program on a terminal of its own.

use std::{
    fs::File,
    io::{Read as _, Write as _},
    mem::MaybeUninit,
    os::{
        fd::{AsRawFd as _, FromRawFd as _, OwnedFd},
        unix::process::CommandExt as _,
    },
    process::{Child, Command, ExitStatus},
    ptr,
    sync::{Arc, Mutex},
    thread,
};

use super::{process::text, wait};

pub(crate) struct Terminal {
    child: Child,
    /// The side of whoever looks at the screen.
    screen_side: File,
    /// The program's side; kept open, so that its modes can be asked for.
    program_side: OwnedFd,
    modes_before: Modes,
    output: Arc<Mutex<Vec<u8>>>,
}

/// How it ended.
pub(crate) struct End {
    pub(crate) status: ExitStatus,
    /// Everything ever written.
    pub(crate) screen: String,
    pub(crate) modes_restored: bool,
}

/// What a program may change of a terminal.
#[derive(PartialEq)]
struct Modes([libc::tcflag_t; 4]);

impl Modes {
    fn of(terminal: &OwnedFd) -> Self {
        let mut modes = MaybeUninit::<libc::termios>::uninit();
        // SAFETY: filled in by the call when it succeeds.
        let modes = unsafe {
            let result = libc::tcgetattr(terminal.as_raw_fd(), modes.as_mut_ptr());
            assert_eq!(result, 0, "tcgetattr");
            modes.assume_init()
        };
        Self([modes.c_iflag, modes.c_oflag, modes.c_cflag, modes.c_lflag])
    }
}

impl Terminal {
    /// Starts `command` on a new terminal of this size.
    pub(crate) fn start(command: &mut Command, columns: u16, rows: u16) -> Self {
        let (screen_side, program_side) = pair(columns, rows);
        let copy = || program_side.try_clone().expect("a copy of the terminal");
        command.env("TERM", "xterm-256color");
        command.stdin(copy()).stdout(copy()).stderr(copy());
        // SAFETY: only system calls between fork and exec.
        unsafe {
            command.pre_exec(|| {
                libc::setsid();
                libc::ioctl(0, libc::TIOCSCTTY, 0);
                Ok(())
            });
        }
        let modes_before = Modes::of(&program_side);
        let child = command.spawn().expect("a program on a terminal");
        let output = Arc::new(Mutex::new(Vec::new()));
        let reader = screen_side.try_clone().expect("a copy of the screen");
        read_all(reader, Arc::clone(&output));
        Self {
            child,
            screen_side,
            program_side,
            modes_before,
            output,
        }
    }

    pub(crate) fn press(&self, keys: &[u8]) {
        (&self.screen_side).write_all(keys).expect("keys");
    }

    pub(crate) fn pid(&self) -> libc::pid_t {
        self.child.id().try_into().expect("a pid")
    }

    pub(crate) fn signal(&self, signal: libc::c_int) {
        // SAFETY: the child is not waited for yet, so its pid is its own.
        assert_eq!(unsafe { libc::kill(self.pid(), signal) }, 0);
    }

    fn screen(&self) -> String {
        text(&self.output.lock().expect("no panic in between"))
    }

    pub(crate) fn wait_for(&mut self, what: &str) {
        wait::until_true(&format!("{what:?} on the terminal"), || {
            let screen = self.screen();
            if let Some(status) = self.child.try_wait().expect("its status") {
                panic!("ended before {what:?}: {status}\n{screen:?}");
            }
            screen.contains(what)
        });
    }

    pub(crate) fn wait(mut self) -> End {
        let status = wait::until("the program to end", || {
            self.child.try_wait().expect("its status")
        });
        // The last bytes may still be on their way.
        wait::until_true("the screen to be given back", || {
            !status.success() || self.screen().contains("\x1b[?1049l")
        });
        End {
            status,
            screen: self.screen(),
            modes_restored: Modes::of(&self.program_side) == self.modes_before,
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn pair(columns: u16, rows: u16) -> (File, OwnedFd) {
    let (mut screen, mut program) = (-1, -1);
    let size = libc::winsize {
        ws_row: rows,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    // SAFETY: both descriptors are written by the call; no name and no modes.
    let result = unsafe {
        libc::openpty(
            &raw mut screen,
            &raw mut program,
            ptr::null_mut(),
            ptr::null(),
            &raw const size,
        )
    };
    assert_eq!(result, 0, "openpty");
    // SAFETY: just opened, and owned by nobody else.
    unsafe { (File::from_raw_fd(screen), OwnedFd::from_raw_fd(program)) }
}

fn read_all(mut from: File, to: Arc<Mutex<Vec<u8>>>) {
    // Ends with an error when the last program side is closed.
    thread::spawn(move || {
        let mut part = [0; 4096];
        while let Ok(bytes @ 1..) = from.read(&mut part) {
            let mut output = to.lock().expect("no panic in between");
            output.extend_from_slice(&part[..bytes]);
        }
    });
}
