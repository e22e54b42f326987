//! What a measured workload would have cost with another chunk, another phase,
//! or a stripe cache that misses nothing: the row model, fed with the
//! histograms.
//!
//! Modelled, and to be labelled so. The histograms tell how long writes were and
//! in which chunk of a stripe they began, each for itself: which write began
//! where, and in which order, they do not tell. Lengths and starts are taken to
//! be independent; a write is taken to begin at the most common grain within its
//! chunk, anywhere alike; every row is cold.

use schemars::JsonSchema;
use serde::Serialize;

use super::patient::shape;
use crate::{
    delta::{DeviceFigures, Histograms, PowerBin},
    raid::{ArraySector, Extent, RmwLevel, RowModel, Synced, WriteCost},
    sysfs::device::MdArray,
    units::{Bytes, SECTOR_BYTES, Sectors},
};

/// Chunks tried: this many halvings and doublings.
const HALVINGS: u32 = 7;
const DOUBLINGS: u32 = 3;
const LEAST_CHUNK: u64 = 4096;
/// Places within a chunk that stand for all.
const PLACES: u64 = 16;

/// A workload on an array with parity, and what else it would have cost.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WhatIf {
    /// The array.
    pub device: String,
    pub writes: u64,
    pub written_bytes: u64,
    /// What md did read. null: nobody looked into its members' IO.
    pub measured_preread_bytes: Option<u64>,
    /// The same by the model, as the array is: how far the two are apart tells
    /// how much of the model is to be believed.
    pub as_it_is: Modelled,
    /// With other chunks, the smallest first.
    pub chunks: Vec<OtherChunk>,
    /// With everything moved so that most writes begin at a stripe. null: they do.
    pub phase: Option<OtherPhase>,
    /// With a stripe cache that keeps a row until all writes that follow one
    /// another have filled it: the least there can be. null: that would not help.
    pub larger_cache: Option<Modelled>,
    /// What the model takes for granted here.
    pub caveats: Vec<&'static str>,
}

/// A cost by the row model: estimated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Modelled {
    pub preread_bytes: u64,
    pub parity_write_bytes: u64,
    /// To what was written to the array.
    pub preread_ratio: f64,
}

/// The same with another chunk.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct OtherChunk {
    pub chunk_bytes: u64,
    pub stripe_bytes: u64,
    #[serde(flatten)]
    pub cost: Modelled,
}

/// The same, moved.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct OtherPhase {
    /// To be added to the start of what lies on the array.
    pub move_by_bytes: u64,
    #[serde(flatten)]
    pub cost: Modelled,
}

/// Writes of one length.
#[derive(Clone, Copy, Debug)]
struct Length {
    bytes: u64,
    writes: u64,
}

/// What is known of the writes to an array.
struct Workload {
    lengths: Vec<Length>,
    /// Of the stripe, by chunk.
    starts: Vec<u64>,
    /// That starts within a chunk are multiples of.
    grain: u64,
    written: u64,
}

impl WhatIf {
    /// Of an array with parity that was written to; `None` for another, and
    /// where its histograms were not kept.
    #[must_use]
    pub fn of(md: &MdArray, figures: &DeviceFigures) -> Option<Self> {
        let chunk = md.chunk?;
        let work = Workload::new(figures, chunk)?;
        let stripe = shape(md, chunk)?.stripe().0;
        let now = |shift: u64| work.cost(md, chunk, stripe, shift);
        let as_it_is = now(0)?;
        let raid = figures.raid.as_ref();
        let mut caveats =
            vec!["every row is taken to be cold, and each write to be handled before the next"];
        if work.lengths.len() > 1 && work.starts.iter().filter(|starts| **starts != 0).count() > 1 {
            caveats.push("lengths and starts are taken to be independent of each other");
        }
        if work.grain < chunk.0 {
            caveats.push("starts within a chunk are not told: taken to be anywhere in it alike");
        }
        if work.starts.len() < usize::try_from(stripe / chunk.0).unwrap_or(usize::MAX) {
            caveats.push("starts beyond the 63rd chunk of a stripe are not told apart");
        }
        Some(Self {
            device: figures.name.clone(),
            writes: figures.write.requests,
            written_bytes: work.written,
            measured_preread_bytes: raid.map(|raid| raid.preread.sum()),
            as_it_is: as_it_is.modelled(work.written),
            chunks: work.other_chunks(md, chunk, stripe),
            phase: work.phase(md, chunk, stripe),
            larger_cache: work
                .merged(figures)
                .and_then(|merged| merged.cost(md, chunk, stripe, 0))
                .filter(|cost| cost.preread < as_it_is.preread)
                .map(|cost| cost.modelled(work.written)),
            caveats,
        })
    }

    /// The largest of the smaller chunks that would have read next to nothing,
    /// else less than half; `None` where there is none, or where a move alone
    /// would have done as much.
    #[must_use]
    pub fn better_chunk(&self, now: Bytes) -> Option<OtherChunk> {
        let all = self.as_it_is.preread_bytes;
        let below = |most: u64| {
            let chunks = self.chunks.iter().rev();
            let mut smaller = chunks.filter(|one| one.chunk_bytes < now.0);
            smaller.find(|one| one.cost.preread_bytes < most)
        };
        let best = below(all / 20).or_else(|| below(all / 2))?;
        let moved = self.phase.map(|phase| phase.cost.preread_bytes);
        moved
            .is_none_or(|moved| moved > best.cost.preread_bytes)
            .then_some(*best)
    }
}

/// Sums of the model, in bytes; not whole where places are averaged.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    preread: f64,
    parity: f64,
}

impl Sum {
    fn add(&mut self, cost: &WriteCost, weight: f64) {
        self.preread += cost.preread.total().0 as f64 * weight;
        self.parity += cost.parity_write.0 as f64 * weight;
    }

    fn modelled(self, written: u64) -> Modelled {
        Modelled {
            preread_bytes: self.preread.round() as u64,
            parity_write_bytes: self.parity.round() as u64,
            preread_ratio: self.preread / written.max(1) as f64,
        }
    }
}

impl Workload {
    fn new(figures: &DeviceFigures, chunk: Bytes) -> Option<Self> {
        let histograms = figures.histograms.as_ref()?;
        let starts = histograms.write_starts_by_chunk.clone()?;
        let written = figures.write.bytes;
        if written == 0 || starts.iter().all(|starts| *starts == 0) {
            return None;
        }
        Some(Self {
            lengths: lengths(&histograms.size_bytes, written)?,
            grain: grain(histograms).clamp(SECTOR_BYTES, chunk.0.max(SECTOR_BYTES)),
            starts,
            written,
        })
    }

    /// All writes on stripes of `chunk`, moved by `shift` bytes. `told`: the
    /// stripe that starts are known modulo.
    fn cost(&self, md: &MdArray, chunk: Bytes, told: u64, shift: u64) -> Option<Sum> {
        let shape = shape(md, chunk)?;
        let rmw = md
            .rmw_level
            .map_or(Some(RmwLevel::Fewer), RmwLevel::from_md)?;
        let model = RowModel::new(shape, rmw, Synced::Whole);
        let stripe = shape.stripe().0;
        let all: u64 = self.starts.iter().sum();
        // Larger stripes than were told: any of the places that look the same.
        let turns = (stripe / told).max(1);
        let places = self.places(told / self.told_chunks(md)?);
        let mut sum = Sum::default();
        for (index, starts) in (0u64..)
            .zip(&self.starts)
            .filter(|(_, starts)| **starts != 0)
        {
            for turn in 0..turns {
                for place in &places {
                    let at = index * (told / self.told_chunks(md)?) + place + turn * told + shift;
                    let at = at % stripe / SECTOR_BYTES;
                    for length in &self.lengths {
                        let len = Sectors(length.bytes.div_ceil(SECTOR_BYTES));
                        let write = Extent::new(ArraySector(at), len)?;
                        let parts = all as f64 * turns as f64 * places.len() as f64;
                        let weight = length.writes as f64 * *starts as f64 / parts;
                        sum.add(&model.write(&write), weight);
                    }
                }
            }
        }
        Some(sum)
    }

    fn told_chunks(&self, md: &MdArray) -> Option<u64> {
        Some(shape(md, md.chunk?)?.data_disks().into())
    }

    /// Starts within a chunk, alike.
    fn places(&self, chunk: u64) -> Vec<u64> {
        let step = self.grain.max(chunk / PLACES).max(1);
        (0..chunk.div_ceil(step).max(1))
            .map(|turn| turn * step)
            .collect()
    }

    fn other_chunks(&self, md: &MdArray, chunk: Bytes, stripe: u64) -> Vec<OtherChunk> {
        let smaller = (1..=HALVINGS)
            .rev()
            .filter_map(|by| chunk.0.checked_shr(by));
        let larger = (1..=DOUBLINGS).filter_map(|by| chunk.0.checked_mul(1 << by));
        smaller
            .filter(|chunk| *chunk >= LEAST_CHUNK)
            .chain(larger)
            .filter_map(|chunk| {
                let sum = self.cost(md, Bytes(chunk), stripe, 0)?;
                Some(OtherChunk {
                    chunk_bytes: chunk,
                    stripe_bytes: shape(md, Bytes(chunk))?.stripe().0,
                    cost: sum.modelled(self.written),
                })
            })
            .collect()
    }

    /// The chunk that most writes begin in, moved to the first.
    fn phase(&self, md: &MdArray, chunk: Bytes, stripe: u64) -> Option<OtherPhase> {
        let most = self.starts.iter().max()?;
        let index = self.starts.iter().position(|starts| starts == most)? as u64;
        if index == 0 {
            return None;
        }
        let shift = stripe.checked_sub(index * chunk.0)?;
        Some(OtherPhase {
            move_by_bytes: shift,
            cost: self.cost(md, chunk, stripe, shift)?.modelled(self.written),
        })
    }

    /// Runs of writes that follow one another, each as one write.
    fn merged(&self, figures: &DeviceFigures) -> Option<Self> {
        let histograms = figures.histograms.as_ref()?;
        let near = histograms
            .seek_bytes
            .iter()
            .filter(|bin| bin.le.is_some_and(|le| le <= 1));
        let following: u64 = near.map(|bin| bin.requests).sum();
        let requests = figures.read.requests + figures.write.requests;
        let writes = figures.write.requests;
        // Of reads and writes together: only where nearly all are writes.
        if following == 0 || figures.read.requests * 10 > writes {
            return None;
        }
        let runs = requests.saturating_sub(following).max(1).min(writes);
        Some(Self {
            lengths: vec![Length {
                bytes: (self.written / runs) / SECTOR_BYTES * SECTOR_BYTES,
                writes: runs,
            }],
            starts: self.starts.clone(),
            grain: self.grain,
            written: self.written,
        })
    }
}

/// Of each bin one length, so that all together are the bytes that were written.
fn lengths(bins: &[PowerBin], written: u64) -> Option<Vec<Length>> {
    let bins: Vec<(u64, u64)> = bins
        .iter()
        .filter(|bin| bin.writes != 0)
        .map(|bin| Some((bin.le?, bin.writes)))
        .collect::<Option<_>>()?;
    let most: u128 = bins
        .iter()
        .map(|(le, writes)| u128::from(*le) * u128::from(*writes))
        .sum();
    if most == 0 {
        return None;
    }
    let part = |(le, writes): (u64, u64)| {
        let bytes = u128::from(le) * u128::from(written) / most;
        // A bin's are longer than half its bound.
        let bytes = u64::try_from(bytes).unwrap_or(le).clamp(le / 2, le);
        let whole = if bytes >= LEAST_CHUNK {
            LEAST_CHUNK
        } else {
            SECTOR_BYTES
        };
        Length {
            bytes: (bytes / whole * whole).max(SECTOR_BYTES),
            writes,
        }
    };
    Some(bins.into_iter().map(part).collect())
}

/// The grain of most writes.
fn grain(histograms: &Histograms) -> u64 {
    let writes = histograms.grain_bytes.iter().filter(|bin| bin.writes != 0);
    let most = writes.max_by_key(|bin| bin.writes);
    most.and_then(|bin| bin.le).unwrap_or(SECTOR_BYTES)
}

#[cfg(test)]
#[path = "what_if_tests.rs"]
mod tests;
