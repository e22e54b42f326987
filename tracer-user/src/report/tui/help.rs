//! The help that `?` lays over the screen.
//!
//! Must fit the least screen, 80 by 24.

use ratatui::{
    Frame,
    layout::Rect,
    text::Line,
    widgets::{Block, Clear, Paragraph},
};

const TEXT: &[&str] = &[
    " up down, j k    select a device          q  Ctrl-C      quit, with a summary",
    " PgUp PgDn Home End   further             space          pause",
    " t r w b m l     sort: tree, reads, writes, MB/s, misaligned, p99 of await",
    " Tab, h          next histogram           p              processes, devices",
    "",
    " r/s w/s         requests issued per second (bios on md, dm and their like)",
    " rMB/s wMB/s     1,000,000 bytes per second",
    " mis.rd% mis.wr% misaligned to the physical block; normal: 0. A misaligned",
    "                 write costs the drive a read-modify-write",
    " chunkX%         reads and writes that cross a chunk boundary",
    " full/mix/part   writes that cover only whole stripes / whole stripes and a",
    "                 ragged end / no whole stripe, in percent of writes; + is a",
    "                 little more than 0",
    " al. mis.        await in milliseconds of aligned, of misaligned requests",
    " grain           largest power of two that divides both start and length",
    "",
    " What sits on top stands first, its members below it, partitions below their",
    " disk. A row counts what reached that device; a disk's holds its partitions'.",
    " -  is not known, or there was nothing. A color never says more than the text.",
];

pub(super) fn render(frame: &mut Frame<'_>, area: Rect) {
    let lines: Vec<Line<'_>> = TEXT.iter().copied().map(Line::from).collect();
    let height = u16::try_from(lines.len() + 2).unwrap_or(u16::MAX);
    let over = Rect {
        height: height.min(area.height),
        ..area
    };
    frame.render_widget(Clear, over);
    let block = Block::bordered().title(" help: ? or q closes it ");
    frame.render_widget(Paragraph::new(lines).block(block), over);
}
