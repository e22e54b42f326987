//! The terminal as a resource: whatever happens, a panic included, it is
//! given back as it was.
//!
//! Must not know what is drawn.

use std::{
    io::{self, Stdout, Write as _},
    panic,
    sync::Once,
};

use crossterm::{
    cursor::Show,
    execute,
    terminal::{
        Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode,
        enable_raw_mode,
    },
};
use ratatui::{Frame, Terminal, backend::CrosstermBackend};

/// The screen, taken over until it is dropped.
#[derive(Debug)]
pub struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Screen {
    /// Takes over the terminal on standard output.
    ///
    /// # Errors
    /// When standard output is no terminal, or cannot be switched.
    pub fn open() -> io::Result<Self> {
        restore_on_panic();
        enable_raw_mode()?;
        // From here on, dropping gives the terminal back.
        let mut screen = Self {
            terminal: Terminal::new(CrosstermBackend::new(io::stdout()))
                .inspect_err(|_| restore())?,
        };
        // Not `Terminal::clear`: that asks the terminal where its cursor is,
        // and a serial console does not answer.
        execute!(
            screen.terminal.backend_mut(),
            EnterAlternateScreen,
            Clear(ClearType::All)
        )?;
        Ok(screen)
    }

    /// Draws one frame.
    ///
    /// # Errors
    /// When the terminal cannot be written any more.
    pub fn draw(&mut self, render: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        self.terminal.draw(render).map(|_| ())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Gives the terminal back. There is nobody to tell if that fails.
fn restore() {
    let _ = disable_raw_mode();
    let mut out = io::stdout();
    let _ = execute!(out, LeaveAlternateScreen, Show);
    let _ = out.flush();
}

/// A panic message on the other screen would be lost.
fn restore_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let print = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            restore();
            print(info);
        }));
    });
}
