//! Loads the programs without attaching them, in every shape that the frozen
//! globals can give them: what the verifier drops as dead at the defaults it
//! must accept when it is not.
//!
//! For tests. Must not count anything.

use tracer_ebpf::abi::Config;

use super::{attach, object, object::Sizes};
use crate::plan::{Event, Kind, ProbePlan};

/// One program in one shape, and what the kernel said to it.
#[derive(Debug)]
pub struct Loaded {
    pub event: Event,
    pub kind: Kind,
    pub config: Config,
    /// Instructions that the verifier walked; `None` before 5.16.
    pub outcome: Result<Option<u32>, String>,
}

/// Every configuration that changes the programs.
#[must_use]
pub fn shapes() -> Vec<Config> {
    let mut shapes = Vec::new();
    for by_process in [0, 1] {
        for bio_latency in [0, 1] {
            for log in [0, 1] {
                shapes.push(Config {
                    by_process,
                    bio_latency,
                    log,
                    _pad: 0,
                });
            }
        }
    }
    shapes
}

/// Loads every candidate of the plan in one shape.
///
/// # Errors
/// When not even the maps can be made.
pub fn load(plan: &ProbePlan, config: Config) -> Result<Vec<Loaded>, object::ObjectError> {
    let sizes = Sizes {
        slots: 64,
        details: 1,
    };
    let mut ebpf = object::open(&plan.layout, &config, sizes)?;
    let mut loaded = Vec::new();
    for event in &plan.events {
        for candidate in &event.candidates {
            let (event, kind) = (event.event, candidate.kind);
            let outcome = attach::load_only(&mut ebpf, event, kind);
            loaded.push(Loaded {
                event,
                kind,
                config,
                outcome,
            });
        }
    }
    Ok(loaded)
}
