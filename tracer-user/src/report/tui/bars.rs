//! Histograms as bars of characters.
//!
//! Must not count: only the length of a bar is worked out here.

use ratatui::{
    style::Style,
    text::{Line, Span},
};

use super::app::Histogram;
use crate::{
    delta::{Histograms, PowerBin},
    report::format::{count, size},
};

const READS: &str = "░";
const WRITES: &str = "█";
const BOTH: &str = "▒";
const LABEL_WIDTH: usize = 9;
const COUNT_WIDTH: usize = 9;

/// One bin.
struct Bar {
    label: String,
    reads: u64,
    writes: u64,
}

/// One histogram, ready to be drawn.
pub(super) struct Chart {
    title: &'static str,
    /// What reads and writes are drawn with.
    fills: [&'static str; 2],
    bars: Vec<Bar>,
}

impl Chart {
    pub(super) fn new(kind: Histogram, histograms: &Histograms) -> Self {
        let (title, bars) = match kind {
            Histogram::Remainder => ("start in physical block", remainders(histograms)),
            Histogram::Grain => ("grain", powers(&histograms.grain_bytes)),
            Histogram::Size => ("size up to", powers(&histograms.size_bytes)),
            Histogram::Seek => ("seek up to", seeks(histograms)),
        };
        let fills = match kind {
            Histogram::Seek => [BOTH, BOTH],
            _ => [READS, WRITES],
        };
        Self { title, fills, bars }
    }

    /// The chart in `rows` lines of `width` characters, the title among them.
    pub(super) fn lines(mut self, width: usize, rows: usize, title: Style) -> Vec<Line<'static>> {
        let legend = match self.fills {
            [reads, writes] if reads != writes => format!("{reads} read {writes} write"),
            [both, _] => format!("{both} all"),
        };
        let pad = width.saturating_sub(self.title.chars().count() + legend.chars().count());
        let head = if pad > 0 {
            format!("{}{:pad$}{legend}", self.title, "")
        } else {
            self.title.to_owned()
        };
        let mut lines = vec![Line::from(Span::styled(head, title))];
        let room = rows.saturating_sub(1);
        let left_out = self.keep_largest(room);
        if self.bars.is_empty() {
            lines.push(Line::from("  no requests"));
        }
        let greatest = self.bars.iter().map(Bar::total).max().unwrap_or(0).max(1);
        let length = width.saturating_sub(LABEL_WIDTH + COUNT_WIDTH + 2);
        for bar in &self.bars {
            lines.push(Line::from(bar.text(self.fills, length, greatest)));
        }
        if left_out > 0 {
            lines.push(Line::from(format!("  ({left_out} smaller bins not shown)")));
        }
        lines.truncate(rows);
        lines
    }

    /// Drops the emptiest bins until the rest has room; returns how many
    /// with requests were dropped.
    fn keep_largest(&mut self, room: usize) -> usize {
        if self.bars.len() <= room {
            return 0;
        }
        self.bars.retain(|bar| bar.total() > 0);
        if self.bars.len() <= room {
            return 0;
        }
        let mut totals: Vec<u64> = self.bars.iter().map(Bar::total).collect();
        totals.sort_unstable_by(|a, b| b.cmp(a));
        // One line is for saying so.
        let keep = room.saturating_sub(1);
        let least = totals.get(keep).copied().unwrap_or(0);
        let before = self.bars.len();
        self.bars.retain(|bar| bar.total() > least);
        before - self.bars.len()
    }
}

impl Bar {
    fn total(&self) -> u64 {
        self.reads.saturating_add(self.writes)
    }

    fn text(&self, fills: [&str; 2], length: usize, greatest: u64) -> String {
        let scaled = |count: u64| (count as f64 / greatest as f64 * length as f64).ceil() as usize;
        let reads = scaled(self.reads).min(length);
        let writes = scaled(self.writes).min(length - reads);
        let rest = length - reads - writes;
        format!(
            "{:>LABEL_WIDTH$} {}{}{:rest$} {:<COUNT_WIDTH$}",
            self.label,
            fills[0].repeat(reads),
            fills[1].repeat(writes),
            "",
            match self.total() {
                0 => String::new(),
                total => count(total),
            }
        )
    }
}

fn remainders(histograms: &Histograms) -> Vec<Bar> {
    let bins = histograms.remainder_bytes.iter().flatten();
    bins.map(|bin| Bar {
        // Not in the largest unit: neighbours are easier to compare in one.
        label: format!("+{}", bin.bytes),
        reads: bin.reads,
        writes: bin.writes,
    })
    .collect()
}

fn powers(bins: &[PowerBin]) -> Vec<Bar> {
    bins.iter()
        .map(|bin| Bar {
            label: bound(bin.le),
            reads: bin.reads,
            writes: bin.writes,
        })
        .collect()
}

fn seeks(histograms: &Histograms) -> Vec<Bar> {
    histograms
        .seek_bytes
        .iter()
        .map(|bin| Bar {
            label: bound(bin.le),
            reads: bin.requests,
            writes: 0,
        })
        .collect()
}

fn bound(le: Option<u64>) -> String {
    match le {
        // The lowest bin of a seek: the next byte.
        Some(1) => "none".to_owned(),
        Some(le) => size(le),
        None => "more".to_owned(),
    }
}
