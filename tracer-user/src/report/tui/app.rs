//! What the screen shows, and what a key does to it.
//!
//! Must not draw and must not touch the terminal.

use std::cmp::Ordering;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::history::{DeviceKey, History};
use crate::delta::{DeviceFigures, Interval, ProcessFigures};

/// Something happened.
#[derive(Clone, Debug)]
pub enum Event {
    Key(KeyEvent),
    /// The terminal has another size now.
    Resize,
    Interval(Box<Interval>),
}

/// What is to be done about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Nothing,
    Redraw,
    Quit,
}

/// Which table fills the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    #[default]
    Devices,
    Processes,
}

/// The order of the rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// As the devices lie on each other.
    #[default]
    Tree,
    Reads,
    Writes,
    Bytes,
    Misaligned,
    Latency,
}

impl Sort {
    /// All orders, with their keys.
    pub const ALL: [(char, Self); 6] = [
        ('t', Self::Tree),
        ('r', Self::Reads),
        ('w', Self::Writes),
        ('b', Self::Bytes),
        ('m', Self::Misaligned),
        ('l', Self::Latency),
    ];

    /// What it is called on the screen.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tree => "tree",
            Self::Reads => "reads/s",
            Self::Writes => "writes/s",
            Self::Bytes => "MB/s",
            Self::Misaligned => "misaligned/s",
            Self::Latency => "p99 of await",
        }
    }
}

/// The histogram shown where there is room for one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Histogram {
    #[default]
    Remainder,
    Grain,
    Size,
    Seek,
}

impl Histogram {
    /// In the order of the key that goes through them.
    pub const ALL: [Self; 4] = [Self::Remainder, Self::Grain, Self::Size, Self::Seek];

    const fn next(self) -> Self {
        match self {
            Self::Remainder => Self::Grain,
            Self::Grain => Self::Size,
            Self::Size => Self::Seek,
            Self::Seek => Self::Remainder,
        }
    }
}

/// The whole state of the screen.
#[derive(Clone, Debug)]
pub struct App {
    /// How it is counted.
    pub attach: String,
    /// Draw in color.
    pub color: bool,
    pub mode: Mode,
    pub sort: Sort,
    pub histogram: Histogram,
    pub paused: bool,
    pub help: bool,
    pub history: History,
    interval: Option<Interval>,
    selected: Option<DeviceKey>,
    /// First process shown.
    pub process_top: usize,
}

/// Rows that a page key moves by.
const PAGE: isize = 10;

impl App {
    /// Nothing has been counted yet. `attach` says how it will be.
    #[must_use]
    pub fn new(attach: String, mode: Mode, color: bool) -> Self {
        Self {
            attach,
            color,
            mode,
            sort: Sort::default(),
            histogram: Histogram::default(),
            paused: false,
            help: false,
            history: History::default(),
            interval: None,
            selected: None,
            process_top: 0,
        }
    }

    /// Takes an event in.
    pub fn update(&mut self, event: Event) -> Action {
        match event {
            Event::Key(key) if key.kind == KeyEventKind::Release => Action::Nothing,
            Event::Key(key) => self.key(key),
            Event::Resize => Action::Redraw,
            Event::Interval(interval) => {
                self.history.add(&interval);
                if self.paused {
                    return Action::Nothing;
                }
                self.interval = Some(*interval);
                Action::Redraw
            }
        }
    }

    /// The interval that is shown; `None` before the first.
    #[must_use]
    pub fn interval(&self) -> Option<&Interval> {
        self.interval.as_ref()
    }

    /// The devices shown, in order.
    #[must_use]
    pub fn devices(&self) -> Vec<&DeviceFigures> {
        let all = self.interval.iter().flat_map(|interval| &interval.devices);
        let mut shown: Vec<&DeviceFigures> = all
            .filter(|device| !device.idle_pseudo || device.asked)
            .collect();
        if self.sort != Sort::Tree {
            shown.sort_by(|a, b| falling(device_figure(self.sort, a), device_figure(self.sort, b)));
        }
        shown
    }

    /// The processes, in order; `None` where they are not counted.
    #[must_use]
    pub fn processes(&self) -> Option<Vec<&ProcessFigures>> {
        let processes = self.interval.as_ref()?.processes.as_ref()?;
        let mut shown: Vec<&ProcessFigures> = processes.iter().collect();
        shown.sort_by(|a, b| falling(process_figure(self.sort, a), process_figure(self.sort, b)));
        Some(shown)
    }

    /// Index of the selected device among `devices`: the first, unless one
    /// was selected that is still there.
    #[must_use]
    pub fn selected(&self, devices: &[&DeviceFigures]) -> usize {
        self.selected
            .as_ref()
            .and_then(|key| {
                devices
                    .iter()
                    .position(|device| device.id == key.id && device.name == key.name)
            })
            .unwrap_or(0)
    }

    fn key(&mut self, key: KeyEvent) -> Action {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if control => return Action::Quit,
            KeyCode::Char(_) if control => return Action::Nothing,
            KeyCode::Esc | KeyCode::Char('q' | '?') if self.help => self.help = false,
            KeyCode::Char('q') => return Action::Quit,
            KeyCode::Char('?') => self.help = true,
            KeyCode::Char(' ') => self.paused = !self.paused,
            KeyCode::Char('p') => {
                self.mode = match self.mode {
                    Mode::Devices => Mode::Processes,
                    Mode::Processes => Mode::Devices,
                };
            }
            KeyCode::Tab | KeyCode::Char('h') => self.histogram = self.histogram.next(),
            KeyCode::Up | KeyCode::Char('k') => self.step(-1),
            KeyCode::Down | KeyCode::Char('j') => self.step(1),
            KeyCode::PageUp => self.step(-PAGE),
            KeyCode::PageDown => self.step(PAGE),
            KeyCode::Home => self.step(isize::MIN),
            KeyCode::End => self.step(isize::MAX),
            KeyCode::Char(letter) => {
                let Some((_, sort)) = Sort::ALL.iter().find(|(key, _)| *key == letter) else {
                    return Action::Nothing;
                };
                self.sort = *sort;
            }
            _ => return Action::Nothing,
        }
        Action::Redraw
    }

    /// Moves the selection, or scrolls the processes, by `rows`.
    fn step(&mut self, rows: isize) {
        match self.mode {
            Mode::Devices => {
                let devices = self.devices();
                let index = moved(self.selected(&devices), rows, devices.len());
                self.selected = devices.get(index).map(|device| DeviceKey::from(*device));
            }
            Mode::Processes => {
                let rows_there = self.processes().map_or(0, |list| list.len());
                self.process_top = moved(self.process_top, rows, rows_there);
            }
        }
    }
}

fn moved(index: usize, rows: isize, len: usize) -> usize {
    index.saturating_add_signed(rows).min(len.saturating_sub(1))
}

/// Greatest first, unknown last; equal ones stay in the order of the tree.
fn falling(a: Option<f64>, b: Option<f64>) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) => b.total_cmp(&a),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => Ordering::Equal,
    }
}

fn device_figure(sort: Sort, device: &DeviceFigures) -> Option<f64> {
    let rates = &device.rates;
    match sort {
        Sort::Tree => None,
        Sort::Reads => rates.reads_per_second,
        Sort::Writes => rates.writes_per_second,
        Sort::Bytes => rates.bytes_per_second(),
        Sort::Misaligned => rates.misaligned_per_second,
        Sort::Latency => {
            let latency = rates.await_seconds?;
            let both = [latency.aligned.p99, latency.misaligned.p99];
            both.into_iter().flatten().reduce(f64::max)
        }
    }
}

fn process_figure(sort: Sort, process: &ProcessFigures) -> Option<f64> {
    match sort {
        Sort::Tree | Sort::Latency => None,
        Sort::Reads => process.reads_per_second,
        Sort::Writes => process.writes_per_second,
        Sort::Bytes => process.bytes_per_second(),
        Sort::Misaligned => process.misaligned_per_second,
    }
}

#[cfg(test)]
#[path = "app_tests.rs"]
mod tests;
