//! The pane of the selected device: geometry, latency, histograms, notes,
//! and the last minutes.
//!
//! Must not compute and must not keep state.

use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    style::Style,
    text::Line,
    widgets::{Block, Borders, Paragraph, Sparkline},
};

use super::{
    app::{App, Histogram},
    bars::Chart,
    history::Point,
    view::Theme,
};
use crate::{
    delta::{DeviceFigures, Op},
    report::{
        format::{self, NOT_KNOWN, amount, count},
        layers, plain, reasons,
    },
};

/// Width of the text beside the histograms.
const TEXT_WIDTH: u16 = 41;
/// Least room for all four histograms.
const GRID_WIDTH: u16 = 72;
const GRID_HEIGHT: u16 = 18;

pub(super) fn render(
    app: &App,
    device: &DeviceFigures,
    theme: &Theme,
    frame: &mut Frame<'_>,
    area: Rect,
) {
    let block = Block::new().borders(Borders::TOP).title(title(device));
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let [upper, lower] = Layout::vertical([Constraint::Min(0), Constraint::Length(1)]).areas(inner);
    let [text, _, charts] = Layout::horizontal([
        Constraint::Length(TEXT_WIDTH),
        Constraint::Length(1),
        Constraint::Min(0),
    ])
    .areas(upper);
    let lines = about(device, usize::from(text.width));
    frame.render_widget(Paragraph::new(lines), text);
    histograms(app.histogram, device, theme, frame, charts);
    sparklines(app, device, frame, lower);
}

fn title(device: &DeviceFigures) -> String {
    let mut title = format!(" {}", device.name);
    if let Some(name) = &device.dm_name {
        title.push_str(&format!(" ({name})"));
    }
    if let Some(level) = &device.md_level {
        title.push_str(&format!(", {level}"));
    }
    if let Some(disk) = &device.disk {
        title.push_str(&format!(", partition of {disk}"));
    }
    if !device.members.is_empty() {
        title.push_str(&format!(", of {}", device.members.join(" ")));
    }
    if !device.notes.is_empty() {
        title.push_str(&format!(
            ", {}",
            format::counted(device.notes.len() as u64, "note")
        ));
    }
    title.push(' ');
    title
}

/// The text of the pane; what a small screen cuts off comes last.
fn about(device: &DeviceFigures, width: usize) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    let geometry = plain::geometry(&device.geometry, width);
    if geometry.is_empty() {
        lines.push("geometry not known".to_owned());
    }
    lines.extend(geometry);
    lines.extend(layers::lines(device, width));
    lines.push(traffic(
        "reads ",
        &device.read,
        device.rates.mean_read_bytes,
    ));
    lines.push(traffic(
        "writes",
        &device.write,
        device.rates.mean_write_bytes,
    ));
    lines.extend(reasons::lines(device, width));
    lines.extend(latencies(device));
    for note in &device.notes {
        lines.extend(format::wrap(&format!("note: {note}"), width));
    }
    lines.into_iter().map(Line::from).collect()
}

fn traffic(name: &str, op: &Op, mean_bytes: Option<f64>) -> String {
    // A mean is cut to whole bytes: a cast of a float saturates.
    let mean = mean_bytes.map_or_else(
        || NOT_KNOWN.to_owned(),
        |bytes| amount(bytes.round() as u64),
    );
    format!(
        "{name} {} ({}), mean {mean}",
        count(op.requests),
        amount(op.bytes)
    )
}

/// A line for each class that had requests.
fn latencies(device: &DeviceFigures) -> Vec<String> {
    let mut lines = vec![format!(
        "{:<15}{:>6}{:>6}{:>7}{:>7}",
        "await, ms", "p50", "p90", "p99", "max"
    )];
    for (name, op) in [("read", &device.read), ("write", &device.write)] {
        let Some(latency) = op.latency_seconds else {
            continue;
        };
        for (class, quantiles) in [("al.", latency.aligned), ("misal.", latency.misaligned)] {
            if quantiles.count == 0 {
                continue;
            }
            let [p50, p90, p99, max] = [
                quantiles.p50,
                quantiles.p90,
                quantiles.p99,
                quantiles.max_le,
            ]
            .map(format::milliseconds);
            lines.push(format!(
                "{name:>6} {class:<8}{p50:>6}{p90:>6}{p99:>7}{max:>7}"
            ));
        }
    }
    if lines.len() == 1 {
        lines = vec!["await: not measured, or no requests".to_owned()];
    }
    lines
}

fn histograms(
    chosen: Histogram,
    device: &DeviceFigures,
    theme: &Theme,
    frame: &mut Frame<'_>,
    area: Rect,
) {
    let Some(histograms) = &device.histograms else {
        let text = "No histograms: they are kept for the devices named with --dev";
        let lines: Vec<Line<'_>> = format::wrap(text, usize::from(area.width))
            .into_iter()
            .map(Line::from)
            .collect();
        frame.render_widget(Paragraph::new(lines), area);
        return;
    };
    let mut draw = |kind: Histogram, area: Rect, style: Style| {
        let chart = Chart::new(kind, histograms);
        let lines = chart.lines(usize::from(area.width), usize::from(area.height), style);
        frame.render_widget(Paragraph::new(lines), area);
    };
    if area.width < GRID_WIDTH || area.height < GRID_HEIGHT {
        draw(chosen, area, theme.heading);
        return;
    }
    let rows: [Rect; 2] = Layout::vertical([Constraint::Fill(1); 2]).areas(area);
    for (row, kinds) in rows.into_iter().zip(Histogram::ALL.chunks(2)) {
        let cells: [Rect; 2] = Layout::horizontal([Constraint::Fill(1); 2])
            .spacing(2)
            .areas(row);
        for (cell, &kind) in cells.into_iter().zip(kinds) {
            draw(kind, cell, theme.heading);
        }
    }
}

fn sparklines(app: &App, device: &DeviceFigures, frame: &mut Frame<'_>, area: Rect) {
    let points: Vec<Point> = app.history.of(device).collect();
    let halves: [Rect; 2] = Layout::horizontal([Constraint::Fill(1); 2])
        .spacing(2)
        .areas(area);
    let [left, right] = halves;
    let requests: Vec<u64> = points.iter().map(|p| p.requests_per_second).collect();
    sparkline("IO/s", &requests, frame, left);
    let misaligned: Vec<u64> = points.iter().map(|p| p.misaligned_per_second).collect();
    sparkline("misaligned/s", &misaligned, frame, right);
}

/// `name ▁▃█ max N`, the newest at the right end of the line.
fn sparkline(name: &str, data: &[u64], frame: &mut Frame<'_>, area: Rect) {
    let most = format!("max {}", count(data.iter().copied().max().unwrap_or(0)));
    let length = |text: &str| u16::try_from(text.chars().count()).unwrap_or(u16::MAX);
    let [label, graph, limit] = Layout::horizontal([
        Constraint::Length(length(name)),
        Constraint::Min(0),
        Constraint::Length(length(&most)),
    ])
    .spacing(1)
    .areas(area);
    let room = usize::from(graph.width);
    let newest = data.get(data.len().saturating_sub(room)..).unwrap_or(data);
    frame.render_widget(name, label);
    frame.render_widget(Sparkline::default().data(newest), graph);
    frame.render_widget(most, limit);
}
