//! The columns that the plain table and the live screen share.
//!
//! Must not know where a cell is drawn.

use super::format;
use crate::delta::{DeviceFigures, ProcessFigures, Quantiles};

/// Width of the first column, the device.
pub const DEVICE_WIDTH: usize = 14;
/// Least width of a screen that has room for the latency columns.
pub const WIDE: usize = 116;

/// One column of figures, right-aligned.
pub struct Column<T> {
    pub heading: &'static str,
    /// In characters, without the space before it.
    pub width: usize,
    pub text: fn(&T) -> String,
}

/// Figures of a device in every interval, for 80 characters with the device.
pub const DEVICE: [Column<DeviceFigures>; 8] = [
    Column {
        heading: "r/s",
        width: 6,
        text: |d| format::rate(d.rates.reads_per_second),
    },
    Column {
        heading: "w/s",
        width: 6,
        text: |d| format::rate(d.rates.writes_per_second),
    },
    Column {
        heading: "rMB/s",
        width: 6,
        text: |d| format::megabytes(d.rates.read_bytes_per_second),
    },
    Column {
        heading: "wMB/s",
        width: 6,
        text: |d| format::megabytes(d.rates.write_bytes_per_second),
    },
    Column {
        heading: "mis.rd%",
        width: 7,
        text: |d| format::percent(d.rates.misaligned_read_share),
    },
    Column {
        heading: "mis.wr%",
        width: 7,
        text: |d| format::percent(d.rates.misaligned_write_share),
    },
    Column {
        heading: "chunkX%",
        width: 7,
        text: |d| format::percent(d.rates.chunk_crossing_share),
    },
    Column {
        heading: "full/mix/part",
        width: 13,
        text: |d| match d.rates.stripe {
            Some(stripe) => [stripe.full, stripe.mixed, stripe.partial]
                .map(format::whole_percent)
                .join("/"),
            None => format::NOT_KNOWN.to_owned(),
        },
    },
];

/// Await in milliseconds, where there is room.
pub const DEVICE_WIDE: [Column<DeviceFigures>; 4] = [
    Column {
        heading: "al.p50",
        width: 8,
        text: |d| format::milliseconds(aligned(d).and_then(|q| q.p50)),
    },
    Column {
        heading: "al.p99",
        width: 8,
        text: |d| format::milliseconds(aligned(d).and_then(|q| q.p99)),
    },
    Column {
        heading: "mis.p50",
        width: 8,
        text: |d| format::milliseconds(misaligned(d).and_then(|q| q.p50)),
    },
    Column {
        heading: "mis.p99",
        width: 8,
        text: |d| format::milliseconds(misaligned(d).and_then(|q| q.p99)),
    },
];

/// Figures of a process, after device, command and pid.
pub const PROCESS: [Column<ProcessFigures>; 7] = [
    Column {
        heading: "r/s",
        width: 6,
        text: |p| format::rate(p.reads_per_second),
    },
    Column {
        heading: "w/s",
        width: 6,
        text: |p| format::rate(p.writes_per_second),
    },
    Column {
        heading: "rMB/s",
        width: 6,
        text: |p| format::megabytes(p.read_bytes_per_second),
    },
    Column {
        heading: "wMB/s",
        width: 6,
        text: |p| format::megabytes(p.write_bytes_per_second),
    },
    Column {
        heading: "mis.r%",
        width: 6,
        text: |p| format::percent(p.misaligned_read_share),
    },
    Column {
        heading: "mis.w%",
        width: 6,
        text: |p| format::percent(p.misaligned_write_share),
    },
    Column {
        heading: "part%",
        width: 5,
        text: |p| format::percent(p.partial_stripe_share),
    },
];

/// Width of a process's command.
pub const COMMAND_WIDTH: usize = 14;
/// Width of a pid.
pub const PID_WIDTH: usize = 7;
/// Width of a process's device.
pub const PROCESS_DEVICE_WIDTH: usize = 9;

fn aligned(device: &DeviceFigures) -> Option<Quantiles> {
    device.rates.await_seconds.map(|latency| latency.aligned)
}

fn misaligned(device: &DeviceFigures) -> Option<Quantiles> {
    device.rates.await_seconds.map(|latency| latency.misaligned)
}

/// The device's name, indented by its depth in the tree as far as the column
/// has room for the name.
#[must_use]
pub fn device_name(device: &DeviceFigures, indented: bool) -> String {
    let name_width = device.name.chars().count();
    let room = DEVICE_WIDTH.saturating_sub(name_width);
    let indent = if indented {
        (2 * device.depth).min(room)
    } else {
        0
    };
    format::cut(&format!("{:indent$}{}", "", device.name), DEVICE_WIDTH)
}

/// One line: the figures of `row` in each column, each after a space.
#[must_use]
pub fn cells<T>(columns: &[Column<T>], row: &T) -> String {
    line(columns, |column| (column.text)(row))
}

/// The headings of `columns`, above [`cells`].
#[must_use]
pub fn headings<T>(columns: &[Column<T>]) -> String {
    line(columns, |column| column.heading.to_owned())
}

fn line<T>(columns: &[Column<T>], text: impl Fn(&Column<T>) -> String) -> String {
    columns
        .iter()
        .map(|column| format!(" {:>1$}", text(column), column.width))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_fit_80_columns() {
        let device = DEVICE_WIDTH + headings(&DEVICE).len();
        assert!(device <= 80, "{device}");
        assert!(device + headings(&DEVICE_WIDE).len() <= WIDE);
        let process = PROCESS_DEVICE_WIDTH + 1 + COMMAND_WIDTH + 1 + PID_WIDTH;
        assert!(process + headings(&PROCESS).len() <= 80);
    }
}
