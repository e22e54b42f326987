//! Draws the state of the screen into a frame: pure, the same state gives
//! the same picture.
//!
//! Must not change state and must not compute figures.

use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    style::{Color, Modifier, Style},
    text::{Line, Span},
    widgets::Paragraph,
};

use super::{
    app::{App, Mode, Sort},
    detail, help, tables,
};
use crate::{
    delta::{DeviceFigures, Interval},
    report::{
        explain::{self, Weight},
        format,
    },
    snapshot::Lost,
};

/// Least screen that is drawn on.
pub const LEAST_WIDTH: u16 = 80;
/// Least screen that is drawn on.
pub const LEAST_HEIGHT: u16 = 24;
/// Screens from this height on have room for all histograms.
const TALL: u16 = 36;
const DETAIL_TALL: u16 = 20;
const DETAIL: u16 = 11;
/// Lines for the sentence on the selected device.
const SENTENCE_LEAST: u16 = 2;
const SENTENCE_MOST: u16 = 4;

/// Styles. What color says is always said in words or figures too.
#[derive(Clone, Copy, Debug)]
pub(super) struct Theme {
    pub(super) plain: Style,
    pub(super) heading: Style,
    pub(super) selected: Style,
    pub(super) idle: Style,
    pub(super) cost: Style,
    pub(super) lost: Style,
}

impl Theme {
    fn new(color: bool) -> Self {
        let bold = Style::new().add_modifier(Modifier::BOLD);
        let colored = |style: Style, color_: Color| {
            if color { style.fg(color_) } else { style }
        };
        Self {
            plain: Style::new(),
            heading: bold.add_modifier(Modifier::UNDERLINED),
            selected: Style::new().add_modifier(Modifier::REVERSED),
            idle: Style::new().add_modifier(Modifier::DIM),
            cost: colored(Style::new(), Color::Yellow),
            lost: colored(bold, Color::Red),
        }
    }
}

/// Draws everything.
pub fn render(app: &App, frame: &mut Frame<'_>) {
    let area = frame.area();
    if area.width < LEAST_WIDTH || area.height < LEAST_HEIGHT {
        too_small(frame, area);
        return;
    }
    let theme = Theme::new(app.color);
    let [head, body, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Min(0),
        Constraint::Length(2),
    ])
    .areas(area);
    head_line(app, &theme, frame, head);
    match app.mode {
        Mode::Devices => device_body(app, &theme, frame, body),
        Mode::Processes => {
            let processes = app.processes();
            tables::processes(processes.as_deref(), app.process_top, &theme, frame, body);
        }
    }
    foot_lines(app, &theme, frame, foot);
    if app.help {
        help::render(frame, area);
    }
}

fn too_small(frame: &mut Frame<'_>, area: Rect) {
    let text = format!(
        "iotrace needs {LEAST_WIDTH}x{LEAST_HEIGHT}, this is {}x{}: enlarge it. q quits",
        area.width, area.height
    );
    let lines: Vec<Line<'_>> = format::wrap(&text, usize::from(area.width))
        .into_iter()
        .map(Line::from)
        .collect();
    frame.render_widget(Paragraph::new(lines), area);
}

fn device_body(app: &App, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let devices = app.devices();
    let selected = app.selected(&devices);
    let Some(device) = devices.get(selected) else {
        let text = if app.interval().is_some() {
            "No devices to show"
        } else {
            "Counting; the first figures come at the end of the first interval"
        };
        frame.render_widget(text, area);
        return;
    };
    let tall = frame.area().height >= TALL;
    let explanation = explanation(device, theme, area.width);
    let lines = u16::try_from(explanation.len()).unwrap_or(SENTENCE_MOST);
    let [table, pane, sentence] = Layout::vertical([
        Constraint::Min(0),
        Constraint::Length(if tall { DETAIL_TALL } else { DETAIL }),
        Constraint::Length(lines),
    ])
    .areas(area);
    tables::devices(&devices, selected, app.sort, theme, frame, table);
    detail::render(app, device, theme, frame, pane);
    frame.render_widget(Paragraph::new(explanation), sentence);
}

/// The weightiest thing to know about the selected device; what has no room
/// is marked, and stands in the summary.
fn explanation(device: &DeviceFigures, theme: &Theme, width: u16) -> Vec<Line<'static>> {
    let finding = explain::sentence(device);
    let text = format!(
        "{} {}: {}",
        finding.weight.mark(),
        device.name,
        finding.text
    );
    let style = if finding.weight == Weight::Cost {
        theme.cost
    } else {
        theme.plain
    };
    let mut lines = format::wrap(&text, usize::from(width));
    if lines.len() > usize::from(SENTENCE_MOST) {
        lines.truncate(usize::from(SENTENCE_MOST));
        if let Some(last) = lines.last_mut() {
            *last = format::cut(&format!("{last} ..."), usize::from(width));
        }
    }
    lines.resize(lines.len().max(usize::from(SENTENCE_LEAST)), String::new());
    lines
        .into_iter()
        .map(|line| Line::styled(line, style))
        .collect()
}

fn head_line(app: &App, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let mut spans = vec![Span::styled("iotrace", theme.heading)];
    if let Some(interval) = app.interval() {
        spans.push(Span::raw(format!(
            "  {} UTC  {}  {}",
            interval.time.strftime("%H:%M:%S"),
            format::seconds(interval.length),
            format::counted(app.devices().len() as u64, "device"),
        )));
    }
    spans.push(Span::raw(format!("  sort: {}", sort_name(app))));
    if app.paused {
        spans.push(Span::styled("  PAUSED (space goes on)", theme.heading));
    }
    frame.render_widget(Line::from(spans), area);
}

fn sort_name(app: &App) -> &'static str {
    match (app.mode, app.sort) {
        (Mode::Processes, Sort::Tree | Sort::Latency) => "written bytes",
        (_, sort) => sort.name(),
    }
}

fn foot_lines(app: &App, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let lost = app
        .interval()
        .map_or_else(Span::default, |interval| lost_span(interval, theme));
    let keys: String = Sort::ALL.iter().map(|(key, _)| format!(" {key}")).collect();
    let other = match app.mode {
        Mode::Devices => "processes",
        Mode::Processes => "devices",
    };
    let lines = vec![
        Line::from(vec![lost, Span::raw(format!("  {}", app.attach))]),
        Line::from(format!(
            "q quit  ? help  space pause  p {other}  Tab histogram  sort:{keys}"
        )),
    ];
    frame.render_widget(Paragraph::new(lines), area);
}

fn lost_span(interval: &Interval, theme: &Theme) -> Span<'static> {
    let Lost {
        by_maps,
        by_recursion,
    } = interval.lost;
    match interval.lost.total() {
        Some(0) => Span::raw("lost events: 0"),
        Some(events) => Span::styled(
            format!(
                "LOST EVENTS: {} (maps {}, recursion {})",
                format::count(events),
                by_maps.unwrap_or(0),
                by_recursion.unwrap_or(0)
            ),
            theme.lost,
        ),
        None => Span::raw("lost events: not known"),
    }
}

#[cfg(test)]
#[path = "view_tests.rs"]
mod tests;
