use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::{Terminal, backend::TestBackend};

use super::*;
use crate::{
    delta::Meter,
    report::{
        testing::{Bench, busy_bench, golden, raid_topology},
        tui::app::Event,
    },
};

/// A screen that has seen three intervals.
fn app(mode: Mode) -> App {
    let mut app = App::new("live, 7 programs by btf".to_owned(), mode, true);
    let first = Bench::new(raid_topology()).snapshot;
    for times in [1, 3, 2] {
        let mut bench = busy_bench();
        let row = bench.row("sda1");
        let details = row.detail.as_mut().unwrap().iter_mut();
        for cell in row.cells.iter_mut().chain(details) {
            *cell *= times;
        }
        let mut meter = Meter::new(first.clone(), Vec::new(), true);
        meter.devices(&bench.topology);
        let interval = meter.interval(bench.snapshot);
        app.update(Event::Interval(Box::new(interval)));
    }
    app
}

fn press(app: &mut App, keys: &str) {
    for key in keys.chars() {
        app.update(Event::Key(KeyEvent::new(
            KeyCode::Char(key),
            KeyModifiers::NONE,
        )));
    }
}

fn screen(app: &App, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| render(app, frame)).unwrap();
    text(&terminal)
}

fn text(terminal: &Terminal<TestBackend>) -> String {
    let buffer = terminal.backend().buffer();
    let width = usize::from(buffer.area.width);
    let mut text = String::new();
    for row in buffer.content.chunks(width) {
        let line: String = row.iter().map(ratatui::buffer::Cell::symbol).collect();
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[test]
fn at_80_by_24() {
    let mut app = app(Mode::Devices);
    press(&mut app, "jjjj");
    golden("tests/golden/tui_80x24.txt", &screen(&app, 80, 24));
}

#[test]
fn at_120_by_40() {
    let mut app = app(Mode::Devices);
    press(&mut app, "jjjj");
    golden("tests/golden/tui_120x40.txt", &screen(&app, 120, 40));
}

#[test]
fn an_array_at_120_by_40() {
    let mut app = app(Mode::Devices);
    press(&mut app, "jj ");
    golden("tests/golden/tui_md_120x40.txt", &screen(&app, 120, 40));
}

#[test]
fn too_small_and_back() {
    let app = app(Mode::Devices);
    let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
    terminal.draw(|frame| render(&app, frame)).unwrap();
    let before = text(&terminal);
    terminal.backend_mut().resize(20, 5);
    terminal.draw(|frame| render(&app, frame)).unwrap();
    golden("tests/golden/tui_20x5.txt", &text(&terminal));
    terminal.backend_mut().resize(80, 24);
    terminal.draw(|frame| render(&app, frame)).unwrap();
    assert_eq!(text(&terminal), before);
}

#[test]
fn any_size_and_any_key_can_be_drawn() {
    for mode in [Mode::Devices, Mode::Processes] {
        let mut app = app(mode);
        for keys in ["", "?", "?h", "h", "hm", "r", "w", "l", "b", "t", " "] {
            press(&mut app, keys);
            for (width, height) in [(1, 1), (20, 5), (80, 24), (81, 25), (115, 36), (300, 100)] {
                screen(&app, width, height);
            }
        }
    }
}

#[test]
fn processes_and_help() {
    let mut app = app(Mode::Processes);
    golden(
        "tests/golden/tui_processes_80x24.txt",
        &screen(&app, 80, 24),
    );
    press(&mut app, "?");
    golden("tests/golden/tui_help_80x24.txt", &screen(&app, 80, 24));
}

#[test]
fn before_the_first_interval() {
    let app = App::new("live".to_owned(), Mode::Devices, false);
    let text = screen(&app, 80, 24);
    assert!(text.contains("Counting"), "{text}");
}

#[test]
fn lost_events_stand_out() {
    let mut app = app(Mode::Devices);
    let mut interval = app.interval().unwrap().clone();
    interval.lost.by_maps = Some(7);
    app.update(Event::Interval(Box::new(interval.clone())));
    let text = screen(&app, 80, 24);
    assert!(text.contains("LOST EVENTS: 7"), "{text}");
    interval.lost.by_recursion = None;
    app.update(Event::Interval(Box::new(interval)));
    let text = screen(&app, 80, 24);
    assert!(text.contains("lost events: not known"), "{text}");
}

#[test]
fn no_color_means_no_color() {
    let mut app = app(Mode::Devices);
    app.color = false;
    press(&mut app, "jjjj");
    let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
    terminal.draw(|frame| render(&app, frame)).unwrap();
    for cell in &terminal.backend().buffer().content {
        assert_eq!((cell.fg, cell.bg), (Color::Reset, Color::Reset));
    }
}
