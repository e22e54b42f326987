use super::*;
use crate::{
    delta::Meter,
    report::testing::{Bench, busy_bench, raid_topology},
};

fn interval() -> Box<Interval> {
    let bench = busy_bench();
    let first = Bench::new(raid_topology()).snapshot;
    let mut meter = Meter::new(first, Vec::new(), true);
    meter.devices(&bench.topology);
    Box::new(meter.interval(bench.snapshot))
}

fn app() -> App {
    let mut app = App::new("live".to_owned(), Mode::Devices, true);
    assert_eq!(app.update(Event::Interval(interval())), Action::Redraw);
    app
}

fn press(app: &mut App, code: KeyCode) -> Action {
    app.update(Event::Key(KeyEvent::new(code, KeyModifiers::NONE)))
}

fn names(app: &App) -> Vec<&str> {
    app.devices()
        .iter()
        .map(|device| device.name.as_str())
        .collect()
}

#[test]
fn idle_loop_devices_are_hidden() {
    assert_eq!(
        names(&app()),
        [
            "dm-0", "dm-1", "md127", "sda", "sda1", "sda2", "sdb", "sdb1"
        ]
    );
}

#[test]
fn the_selection_stays_with_its_device() {
    let mut app = app();
    for _ in 0..4 {
        press(&mut app, KeyCode::Down);
    }
    assert_eq!(names(&app)[app.selected(&app.devices())], "sda1");
    press(&mut app, KeyCode::Char('m'));
    assert_eq!(names(&app)[..3], ["sda", "sda1", "dm-0"]);
    assert_eq!(names(&app)[app.selected(&app.devices())], "sda1");
    press(&mut app, KeyCode::End);
    press(&mut app, KeyCode::Down);
    assert_eq!(app.selected(&app.devices()), 7);
    press(&mut app, KeyCode::Home);
    assert_eq!(app.selected(&app.devices()), 0);
}

#[test]
fn a_pause_keeps_the_figures_but_not_the_history() {
    let mut app = app();
    press(&mut app, KeyCode::Char(' '));
    let mut next = interval();
    next.devices.truncate(1);
    assert_eq!(app.update(Event::Interval(next)), Action::Nothing);
    assert_eq!(names(&app).len(), 8);
    let first = app.interval().unwrap().devices[0].clone();
    assert_eq!(app.history.of(&first).count(), 2);
    press(&mut app, KeyCode::Char(' '));
    assert!(!app.paused);
}

#[test]
fn quitting() {
    let mut app = app();
    press(&mut app, KeyCode::Char('?'));
    assert_eq!(press(&mut app, KeyCode::Char('q')), Action::Redraw);
    assert!(!app.help);
    assert_eq!(press(&mut app, KeyCode::Char('q')), Action::Quit);
    let key = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert_eq!(app.update(Event::Key(key)), Action::Quit);
    assert_eq!(press(&mut app, KeyCode::F(5)), Action::Nothing);
}

#[test]
fn history_is_bounded() {
    let mut app = app();
    for _ in 0..300 {
        app.update(Event::Interval(interval()));
    }
    let first = app.interval().unwrap().devices[0].clone();
    assert_eq!(
        app.history.of(&first).count(),
        super::super::history::POINTS
    );
}
