//! `cargo xtask bench raid10-layouts`: near, far and offset copies under the
//! same sequential work, in a guest: the table and the plot of
//! `docs/raid10.md`.
//!
//! Must not measure or predict: `tests/behaviour/raid10.rs` does both, and fails
//! where they differ.

use std::{fs, path::PathBuf};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::{
    raid10_plot,
    table::{Table, thousands},
};
use crate::{test::guest, vm};

const TEST: &str = "raid10::heads_go_where_the_layout_says";

/// Arrays of each layout, number of disks and chunk.
const ARRAYS: usize = 3 * 2 * 6;

/// What raid10's n2, f2 and o2 do on 2 and 4 disks, with chunks of 4 KiB to
/// 4 MiB, under sequential writes and reads of 4 KiB: which member writes and
/// reads how much, how often its head moves, and how far. In a guest, seek by
/// seek compared with the layout; prints Markdown.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// As for `cargo xtask vm`.
    #[arg(long, value_name = "5.10|6.1|6.12|sid|PATH", default_value = "6.12")]
    kernel: String,
    /// Draws seeks over chunk size into this file, as SVG.
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

pub fn run(args: &Args) -> Result<()> {
    let command = format!(
        "export IOTRACE_REQUIRE=guest IOTRACE_BIN=/bin/iotrace IOTRACE_RAID10_LAYOUTS=1; \
         behaviour --include-ignored --nocapture --exact {TEST}"
    );
    let output = vm::output_of_guest(&args.kernel, &guest::payload()?, &command)?;
    let arrays = parse(&output)?;
    ensure!(
        arrays.len() == ARRAYS,
        "{} arrays in: {output}",
        arrays.len()
    );
    print!("{}", table(&arrays));
    if let Some(file) = &args.plot {
        fs::write(file, raid10_plot::svg(&arrays)?)
            .with_context(|| format!("writing {}", file.display()))?;
    }
    Ok(())
}

/// One array, and what its members did.
#[derive(Debug, PartialEq, Eq)]
pub struct Array {
    pub layout: String,
    pub chunk_bytes: u64,
    pub write: Vec<Head>,
    pub read: Vec<Head>,
}

/// One member in one kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    pub bytes: u64,
    /// Requests that did not begin where the one before ended.
    pub seeks: u64,
    /// Their distances together.
    pub seek_bytes: u64,
}

fn parse(output: &str) -> Result<Vec<Array>> {
    // The first is behind the name of the test.
    let lines = output
        .lines()
        .filter_map(|line| line.find('{').map(|at| &line[at..]));
    lines.map(array).collect()
}

fn array(line: &str) -> Result<Array> {
    let value: Value = serde_json::from_str(line).with_context(|| line.to_owned())?;
    let heads = |key: &str| {
        let heads = value[key]
            .as_array()
            .with_context(|| format!("no {key}: {line}"))?;
        heads.iter().map(head).collect::<Result<Vec<Head>>>()
    };
    Ok(Array {
        layout: value["layout"].as_str().context("no layout")?.to_owned(),
        chunk_bytes: number(&value, "chunk_bytes")?,
        write: heads("write")?,
        read: heads("read")?,
    })
}

fn head(value: &Value) -> Result<Head> {
    Ok(Head {
        bytes: number(value, "bytes")?,
        seeks: number(value, "seeks")?,
        seek_bytes: number(value, "seek_bytes")?,
    })
}

fn number(value: &Value, key: &str) -> Result<u64> {
    value[key]
        .as_u64()
        .with_context(|| format!("no number {key} in {value}"))
}

/// Mean length of the seeks of all these members; `None` where none moves.
pub fn mean_seek_bytes(heads: &[Head]) -> Option<f64> {
    let bytes: u64 = heads.iter().map(|head| head.seek_bytes).sum();
    all_seeks(heads).map(|seeks| bytes as f64 / seeks)
}

/// Seeks of all these members; `None` where none moves.
pub fn all_seeks(heads: &[Head]) -> Option<f64> {
    let seeks: u64 = heads.iter().map(|head| head.seeks).sum();
    (seeks != 0).then_some(seeks as f64)
}

fn table(arrays: &[Array]) -> String {
    let mut table = Table::new(&[
        "layout",
        "disks",
        "chunk",
        "written, MiB",
        "seeks",
        "mean seek",
        "read, MiB",
        "seeks",
        "mean seek",
    ]);
    let mut sorted: Vec<&Array> = arrays.iter().collect();
    sorted.sort_by_key(|array| (array.write.len(), rank(&array.layout), array.chunk_bytes));
    for array in sorted {
        let mut row = vec![
            array.layout.clone(),
            array.write.len().to_string(),
            size(array.chunk_bytes as f64),
        ];
        for heads in [&array.write, &array.read] {
            row.push(each(heads, |head| head.bytes >> 20));
            row.push(each(heads, |head| head.seeks));
            row.push(mean_seek_bytes(heads).map_or_else(|| "-".to_owned(), size));
        }
        table.row(row);
    }
    table.render()
}

fn rank(layout: &str) -> usize {
    raid10_plot::LAYOUTS
        .iter()
        .position(|(name, _)| *name == layout)
        .unwrap_or(usize::MAX)
}

/// A figure of each member; of all of them once where it is the same.
fn each(heads: &[Head], figure: impl Fn(&Head) -> u64) -> String {
    let figures: Vec<String> = heads.iter().map(|head| thousands(figure(head))).collect();
    match figures.split_first() {
        Some((first, others)) if others.iter().all(|other| other == first) => first.clone(),
        _ => figures.join(" / "),
    }
}

/// In the unit in which it is no less than 1.
pub fn size(bytes: f64) -> String {
    let (amount, unit) = if bytes >= f64::from(1 << 20) {
        (bytes / f64::from(1 << 20), "MiB")
    } else {
        (bytes / f64::from(1 << 10), "KiB")
    };
    let digits = usize::from(amount.fract() != 0.0);
    format!("{amount:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_test_become_rows() {
        let line = "test raid10 ... {\"layout\":\"o2\",\"chunk_bytes\":65536,\
            \"write\":[{\"bytes\":1048576,\"seeks\":0,\"seek_bytes\":0},\
            {\"bytes\":1048576,\"seeks\":15,\"seek_bytes\":1966080}],\
            \"read\":[{\"bytes\":524288,\"seeks\":7,\"seek_bytes\":458752},\
            {\"bytes\":524288,\"seeks\":7,\"seek_bytes\":458752}]}\nok\n";
        let arrays = parse(line).unwrap();
        assert_eq!(arrays.len(), 1);
        assert_eq!(all_seeks(&arrays[0].write), Some(15.0));
        let table = table(&arrays);
        let row: Vec<&str> = table
            .lines()
            .last()
            .unwrap()
            .split('|')
            .map(str::trim)
            .collect();
        let expected = [
            "", "o2", "2", "64 KiB", "1", "0 / 15", "128 KiB", "0", "7", "64 KiB", "",
        ];
        assert_eq!(row, expected);
    }
}
