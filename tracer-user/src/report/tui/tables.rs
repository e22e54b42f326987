//! The tables of devices and of processes.
//!
//! Must not sort or filter: the rows come in order.

use ratatui::{
    Frame,
    layout::Rect,
    text::{Line, Span},
    widgets::Paragraph,
};

use super::{app::Sort, view::Theme};
use crate::{
    delta::{DeviceFigures, ProcessFigures},
    report::{
        columns::{self, DEVICE, DEVICE_WIDE, DEVICE_WIDTH, PROCESS, WIDE},
        explain::{self, Weight},
        plain,
    },
};

/// Draws as many devices as there is room for, the selected one among them.
pub(super) fn devices(
    devices: &[&DeviceFigures],
    selected: usize,
    sort: Sort,
    theme: &Theme,
    frame: &mut Frame<'_>,
    area: Rect,
) {
    let wide = usize::from(area.width) >= WIDE;
    let mut heading = format!("{:<DEVICE_WIDTH$}{}", "DEVICE", columns::headings(&DEVICE));
    if wide {
        heading.push_str(&columns::headings(&DEVICE_WIDE));
    }
    let mut lines = vec![Line::styled(heading, theme.heading)];
    let room = usize::from(area.height).saturating_sub(1);
    let first = first_shown(selected, devices.len(), room);
    for (index, device) in devices.iter().enumerate().skip(first).take(room) {
        let name = columns::device_name(device, sort == Sort::Tree);
        let mut figures = columns::cells(&DEVICE, device);
        if wide {
            figures.push_str(&columns::cells(&DEVICE_WIDE, device));
        }
        let style = match explain::sentence(device).weight {
            Weight::Cost => theme.cost,
            _ if !device.active => theme.idle,
            _ => theme.plain,
        };
        let line = Line::from(vec![
            Span::styled(format!("{name:<DEVICE_WIDTH$}"), style),
            Span::styled(figures, style),
        ]);
        lines.push(if index == selected {
            line.patch_style(theme.selected)
        } else {
            line
        });
    }
    frame.render_widget(Paragraph::new(lines), area);
}

/// Keeps the selected row near the middle of a list that is too long.
fn first_shown(selected: usize, len: usize, room: usize) -> usize {
    selected
        .saturating_sub(room / 2)
        .min(len.saturating_sub(room))
}

/// Draws the processes from `top` on; says so where they are not counted.
pub(super) fn processes(
    processes: Option<&[&ProcessFigures]>,
    top: usize,
    theme: &Theme,
    frame: &mut Frame<'_>,
    area: Rect,
) {
    let heading = format!(
        "{}{}",
        plain::process_head("DEVICE", "COMMAND", "PID"),
        columns::headings(&PROCESS)
    );
    let mut lines = vec![Line::styled(heading, theme.heading)];
    match processes {
        None => lines.push(Line::from(
            "Processes are not counted in this run: start it with --by process",
        )),
        Some([]) => lines.push(Line::from("No process queued any IO to these devices")),
        Some(processes) => lines.extend(processes.iter().skip(top).flat_map(|process| {
            let costly = process
                .misaligned_write_share
                .is_some_and(|share| share > 0.0);
            let style = if costly { theme.cost } else { theme.plain };
            let row = Line::styled(plain::process_row(process), style);
            let for_whom = plain::on_behalf(process).map(Line::from);
            [row].into_iter().chain(for_whom)
        })),
    }
    // The last lines say what the table is; a list that long hides them.
    let note = [
        "",
        "Bios queued by each process; a kernel thread may write for others. Normal: 0%",
        "misaligned. part% = writes that cover no whole stripe; - = not known, or none.",
    ];
    lines.extend(note.map(Line::from));
    frame.render_widget(Paragraph::new(lines), area);
}

#[cfg(test)]
mod tests {
    use super::first_shown;

    #[test]
    fn the_selected_row_is_always_shown() {
        for len in 0..30 {
            for room in 1..12 {
                for selected in 0..len {
                    let first = first_shown(selected, len, room);
                    assert!(first <= selected && selected < first + room);
                    assert!(first + room <= len.max(room));
                }
            }
        }
    }
}
