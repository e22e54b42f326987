//! The live screen: state in [`app`], drawing in [`view`], the terminal
//! itself in [`term`].
//!
//! Must not know where intervals come from.

pub mod app;
mod bars;
mod detail;
mod help;
pub mod history;
mod tables;
pub mod term;
pub mod view;

use std::io;

use crossterm::event::{Event as Input, EventStream};
use futures_util::StreamExt as _;

use self::{
    app::{Action, App, Event, Mode},
    term::Screen,
};
use crate::delta::Interval;

/// The screen and its keys. Dropping it gives the terminal back.
#[derive(Debug)]
pub struct Tui {
    app: App,
    keys: EventStream,
    screen: Screen,
}

impl Tui {
    /// Takes over the terminal. `attach` says how it is counted.
    ///
    /// # Errors
    /// When standard output is no terminal, or cannot be switched.
    pub fn open(attach: String, mode: Mode, color: bool) -> io::Result<Self> {
        let mut tui = Self {
            app: App::new(attach, mode, color),
            screen: Screen::open()?,
            keys: EventStream::new(),
        };
        tui.draw()?;
        Ok(tui)
    }

    /// Shows an interval.
    ///
    /// # Errors
    /// When the terminal cannot be written any more.
    pub fn interval(&mut self, interval: &Interval) -> io::Result<()> {
        self.take(Event::Interval(Box::new(interval.clone())))
            .map(|_| ())
    }

    /// Waits for the next key or change of size and draws what comes of it.
    /// Nothing is lost if it is dropped while it waits.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub async fn next(&mut self) -> io::Result<Action> {
        match self.keys.next().await {
            Some(Ok(Input::Key(key))) => self.take(Event::Key(key)),
            Some(Ok(Input::Resize(..))) => self.take(Event::Resize),
            Some(Ok(_)) => Ok(Action::Nothing),
            Some(Err(error)) => Err(error),
            None => Ok(Action::Quit),
        }
    }

    fn take(&mut self, event: Event) -> io::Result<Action> {
        let action = self.app.update(event);
        if action == Action::Redraw {
            self.draw()?;
        }
        Ok(action)
    }

    fn draw(&mut self) -> io::Result<()> {
        let Self { app, screen, .. } = self;
        screen.draw(|frame| view::render(app, frame))
    }
}
