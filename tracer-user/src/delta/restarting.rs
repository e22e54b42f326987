//! Counters that begin at 0 again when what counts them is made anew: programs
//! that are loaded once more, another copy of their maps.
//!
//! Must not know what is counted.

use tracer_ebpf::origin::abi::CELLS;

use crate::snapshot::{Lost, OriginCells};

/// Counters that begin at 0 again whenever what counts them is made anew.
#[derive(Debug, Default)]
pub(super) struct Restarting {
    ended: Option<OriginCells>,
    last: Option<OriginCells>,
}

impl Restarting {
    pub(super) fn take(&mut self, cells: OriginCells) {
        let fell = self
            .last
            .as_ref()
            .is_some_and(|last| last.iter().zip(cells.iter()).any(|(last, now)| now < last));
        if fell {
            self.restart();
        }
        self.last = Some(cells);
    }

    pub(super) fn restart(&mut self) {
        let Some(last) = self.last.take() else { return };
        match &mut self.ended {
            None => self.ended = Some(last),
            Some(ended) => {
                for (sum, cell) in ended.iter_mut().zip(last.iter()) {
                    *sum += cell;
                }
            }
        }
    }

    pub(super) fn sum(&self) -> impl Iterator<Item = u64> + '_ {
        let cell = |cells: &Option<OriginCells>, index: usize| {
            let cells = cells.as_ref();
            cells.and_then(|cells| cells.get(index)).copied()
        };
        (0..CELLS).map(move |index| {
            cell(&self.ended, index).unwrap_or(0) + cell(&self.last, index).unwrap_or(0)
        })
    }
}

/// What was lost, of all copies of the programs that ran.
#[derive(Debug, Default)]
pub(super) struct LostTotals {
    by_maps: Growing,
    by_recursion: Growing,
}

impl LostTotals {
    pub(super) fn take(&mut self, reading: Lost) -> Lost {
        Lost {
            by_maps: self.by_maps.take(reading.by_maps),
            by_recursion: self.by_recursion.take(reading.by_recursion),
        }
    }
}

/// A number that begins at 0 again whenever what counts it is made anew.
#[derive(Clone, Copy, Debug, Default)]
pub struct Growing {
    ended: u64,
    last: u64,
}

impl Growing {
    /// The sum of all that was counted; `None` where that is not known now.
    pub fn take(&mut self, reading: Option<u64>) -> Option<u64> {
        let reading = reading?;
        if reading < self.last {
            self.ended += self.last;
        }
        self.last = reading;
        Some(self.ended + self.last)
    }
}
