//! Throughput of 4 KiB random writes, observed and not, in turns.
//!
//! A machine's speed drifts: each round has one measurement of everything, in
//! an order that rotates, and only measurements of one round are compared.

use std::{path::Path, time::Duration};

use anyhow::{Context as _, Result};

use super::{
    fio,
    interrupt::Interrupt,
    observer::{self, Iotrace, Observer},
    stats_switch::StatsSwitch,
    table::{Table, median, thousands, verdict},
};

/// What is left of the throughput when iotrace runs.
const BAR: f64 = 0.98;

/// Who observes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Nobody,
    Iotrace,
    Peer(&'static str),
}

const ALL: [By; 4] = [
    By::Nobody,
    By::Iotrace,
    By::Peer("bitesize"),
    By::Peer("biolatency"),
];

/// What is written to, and how it is observed.
pub struct Load<'a> {
    /// For the report.
    pub name: String,
    /// A device or file.
    pub to: &'a Path,
    /// What iotrace is asked for.
    pub device: &'a Path,
    /// Requests at once.
    pub depth: u32,
}

/// Requests a second of one round, in the order of [`ALL`].
pub struct Round([f64; ALL.len()]);

/// Measures so many rounds, after one that warms up.
pub fn measure(
    iotrace: &Iotrace,
    load: &Load<'_>,
    length: Duration,
    rounds: u32,
    interrupt: &Interrupt,
) -> Result<Vec<Round>> {
    // Nobody's programs run with statistics outside of a bench.
    let _stats = StatsSwitch::off()?;
    fio::random_writes(load.to, load.depth, length, interrupt)?;
    let mut measured = Vec::new();
    for round in 0..rounds as usize {
        let mut iops = [0.0; ALL.len()];
        for step in 0..ALL.len() {
            let index = (round + step) % ALL.len();
            let by = ALL.get(index).copied().context("nobody to observe")?;
            let mut observer = start(by, iotrace, load, interrupt)?;
            let requests = fio::random_writes(load.to, load.depth, length, interrupt)?;
            if let Some(observer) = &mut observer {
                observer.expect_running().context(observer.name)?;
            }
            if let Some(cell) = iops.get_mut(index) {
                *cell = requests;
            }
        }
        eprintln!(
            "xtask: measured throughput on {}, {} of {rounds}",
            load.name,
            round + 1
        );
        measured.push(Round(iops));
    }
    Ok(measured)
}

fn start(
    by: By,
    iotrace: &Iotrace,
    load: &Load<'_>,
    interrupt: &Interrupt,
) -> Result<Option<Observer>> {
    match by {
        By::Nobody => Ok(None),
        By::Iotrace => iotrace.start(load.device, None, interrupt).map(Some),
        By::Peer(name) => observer::peer(name, interrupt).map(Some),
    }
}

/// The table, and the bar.
pub fn report(load: &str, rounds: &[Round], length: Duration) -> String {
    let mut table = Table::new(&[
        "observed by",
        "requests/s, median",
        "to nobody, median",
        "lowest",
        "highest",
    ]);
    let mut bar = String::new();
    for (index, by) in ALL.iter().enumerate() {
        let iops: Vec<f64> = rounds.iter().map(|round| round.iops(index)).collect();
        let ratios: Vec<f64> = rounds.iter().map(|round| round.ratio(index)).collect();
        let (Some(iops), Some(ratio)) = (median(&iops), median(&ratios)) else {
            continue;
        };
        let lowest = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        let highest = ratios.iter().copied().fold(0.0, f64::max);
        let figures = [ratio, lowest, highest].map(|ratio| format!("{ratio:.3}"));
        let mut row = vec![by.describe(), thousands(iops as u64)];
        row.extend(figures);
        table.row(row);
        if *by == By::Iotrace {
            bar = format!("{ratio:.3}: **{}**", verdict(ratio >= BAR));
        }
    }
    format!(
        "## Throughput on {load}\n\n4 KiB random writes, {} rounds of {} s each:\n\n{}\n\
         With iotrace at least {BAR:.2} of the throughput without: {bar}\n",
        rounds.len(),
        length.as_secs(),
        table.render()
    )
}

impl By {
    fn describe(self) -> String {
        match self {
            Self::Nobody => "nobody".to_owned(),
            Self::Iotrace => "iotrace, with histograms of the disk".to_owned(),
            Self::Peer(name) => name.to_owned(),
        }
    }
}

impl Round {
    fn iops(&self, index: usize) -> f64 {
        self.0.get(index).copied().unwrap_or(f64::NAN)
    }

    /// To what was measured with nobody observing in the same round.
    fn ratio(&self, index: usize) -> f64 {
        self.iops(index) / self.iops(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_compared_within_themselves() {
        // The machine halves its speed; iotrace costs 1% all along.
        let rounds = [
            Round([1000.0, 990.0, 900.0, 800.0]),
            Round([500.0, 495.0, 450.0, 400.0]),
            Round([400.0, 396.0, 360.0, 320.0]),
        ];
        let report = report("a disk", &rounds, Duration::from_secs(4));
        assert!(report.contains("0.990: **MET**"), "{report}");
        assert!(report.contains("0.800"), "{report}");
    }
}
