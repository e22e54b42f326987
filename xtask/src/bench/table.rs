//! Figures as people read them: Markdown tables, verdicts, medians.
//!
//! Must not measure.

use std::fmt::Write as _;

/// A Markdown table; the first column to the left, all others to the right.
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new(head: &[&str]) -> Self {
        let head = head.iter().map(|&cell| cell.to_owned()).collect();
        Self { rows: vec![head] }
    }

    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    pub fn render(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or(0)
                .max(3)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut text = String::new();
        for (index, row) in self.rows.iter().enumerate() {
            line(&mut text, row, &widths);
            if index == 0 {
                rule(&mut text, &widths);
            }
        }
        text
    }
}

fn line(text: &mut String, row: &[String], widths: &[usize]) {
    for (column, width) in widths.iter().enumerate() {
        let cell = row.get(column).map_or("", String::as_str);
        // Writing to a string cannot fail.
        let _ = if column == 0 {
            write!(text, "| {cell:<width$} ")
        } else {
            write!(text, "| {cell:>width$} ")
        };
    }
    text.push_str("|\n");
}

fn rule(text: &mut String, widths: &[usize]) {
    for (column, width) in widths.iter().enumerate() {
        let end = if column == 0 { '-' } else { ':' };
        let _ = write!(text, "|{}{end}", "-".repeat(width + 1));
    }
    text.push_str("|\n");
}

/// Says whether a bar is met.
pub fn verdict(met: bool) -> &'static str {
    if met { "MET" } else { "NOT MET" }
}

/// The middle one, or between the two in the middle; `None` of nothing.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    if sorted.len() % 2 == 1 {
        return Some(upper);
    }
    let lower = *sorted.get(middle.checked_sub(1)?)?;
    Some((lower + upper) / 2.0)
}

/// A whole number with its thousands apart.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index != 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
    }

    #[test]
    fn tables_line_up() {
        let mut table = Table::new(&["program", "ns"]);
        table.row(vec!["a".to_owned(), thousands(1_234_567)]);
        let expected = "\
            | program |        ns |\n\
            |---------|----------:|\n\
            | a       | 1,234,567 |\n";
        assert_eq!(table.render(), expected);
        assert_eq!(thousands(12), "12");
        assert_eq!(thousands(123), "123");
    }
}
