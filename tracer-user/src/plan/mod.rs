//! What to attach to this kernel, in which order of preference, and why: a
//! pure function of its facts.
//!
//! Must not read, load or attach anything.

mod candidates;
mod error;
mod event;
mod layout;
pub mod md;
mod missing;

use std::fmt;

use serde::Serialize;
use tracer_ebpf::abi::Layout;

pub use self::{
    error::PlanError,
    event::{Event, Kind, UnknownKind},
    missing::Missing,
};
use crate::facts::KernelFacts;

/// What the user wants, as far as it decides what is attached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Only this way (`--attach`); else whatever works, best first.
    pub attach: Option<Kind>,
    /// Keep who issues bios (`--by process`).
    pub by_process: bool,
    /// Time bios of md, dm and their like: costs a map entry for each.
    pub bio_latency: bool,
    /// There is a bio device that bios reach without an event of their own: a
    /// member of a raid0 or linear array whose driver sends the original bio
    /// on. BTF cannot tell, so the live source looks at the arrays.
    pub bio_remap_needed: bool,
}

/// What to attach, where things are, and what is lost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProbePlan {
    /// All of them, in the order of [`Event::ALL`].
    pub events: Vec<EventPlan>,
    /// For the frozen global of the programs. The facts say the same in a form
    /// for people.
    #[serde(skip)]
    pub layout: Layout,
    pub missing: Vec<Missing>,
    /// The first candidates leave the partition of an IO to be found by its
    /// sector.
    pub partitions_by_range: bool,
    /// Nothing can be counted, and why.
    #[serde(serialize_with = "as_text", skip_serializing_if = "Option::is_none")]
    pub error: Option<PlanError>,
}

/// One tracepoint of the plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EventPlan {
    pub event: Event,
    /// Why it is left alone though it may be there.
    pub not_wanted: Option<&'static str>,
    /// To be tried in this order; empty when not wanted.
    pub candidates: Vec<Candidate>,
    /// The ways that are closed.
    pub refusals: Vec<Refusal>,
}

/// A way that is open, as far as the facts say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Candidate {
    pub kind: Kind,
    /// Name of the program in the eBPF object.
    pub program: String,
    /// Index of the request or bio among the arguments.
    pub argument: Option<u16>,
    pub why: String,
}

/// A way that is closed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refusal {
    pub kind: Kind,
    pub why: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.why)
    }
}

impl ProbePlan {
    /// Plans for the kernel of `facts`. What stands in the way of everything
    /// is in [`ProbePlan::error`], so that the rest can still be shown.
    #[must_use]
    pub fn new(facts: &KernelFacts, request: &Request) -> Self {
        let layout = layout::layout(facts);
        let events: Vec<_> = Event::ALL
            .into_iter()
            .map(|event| EventPlan::new(facts, event, request))
            .collect();
        let by_range = events
            .iter()
            .filter(|plan| plan.event.is_mandatory())
            .filter_map(|plan| plan.candidates.first())
            .any(|first| partitions_by_range(&layout, first.kind));
        Self {
            missing: missing::missing(facts, &layout, &events, *request),
            error: error::check(facts, &events, request.attach).err(),
            partitions_by_range: by_range,
            layout,
            events,
        }
    }

    /// # Errors
    /// [`PlanError`] when following the plan would count nothing.
    pub fn check(&self) -> Result<(), PlanError> {
        self.error.clone().map_or(Ok(()), Err)
    }

    /// Must the partition of an IO be found by its sector when attached this
    /// way? The first candidate may fail and another be taken.
    #[must_use]
    pub fn partitions_by_range_with(&self, kind: Kind) -> bool {
        partitions_by_range(&self.layout, kind)
    }
}

/// Neither the record of a classic tracepoint nor, before 5.12, the request
/// and bio name the partition: the request has an `hd_struct`, and the bio's
/// partition number is 0 once it is queued.
fn partitions_by_range(layout: &Layout, kind: Kind) -> bool {
    use tracer_ebpf::abi::ABSENT;
    kind == Kind::Tracepoint
        || layout.request_part == ABSENT
        || layout.bio_bdev == ABSENT
        || layout.bdev_dev == ABSENT
}

impl EventPlan {
    fn new(facts: &KernelFacts, event: Event, request: &Request) -> Self {
        let mut plan = Self {
            event,
            not_wanted: not_wanted(event, request),
            candidates: Vec::new(),
            refusals: Vec::new(),
        };
        if plan.not_wanted.is_none() {
            for kind in Kind::ALL {
                plan.consider(facts, kind, request.attach);
            }
        }
        plan
    }

    fn consider(&mut self, facts: &KernelFacts, kind: Kind, only: Option<Kind>) {
        let opened = match only {
            Some(only) if only != kind => Err(format!("--attach asks for {only}")),
            _ => candidates::open(facts, self.event, kind),
        };
        match opened {
            Ok(open) => self.candidates.push(Candidate {
                kind,
                program: self.event.program(kind),
                argument: open.argument,
                why: open.why,
            }),
            Err(why) => self.refusals.push(Refusal { kind, why }),
        }
    }

    /// Will it see structures, if its first candidate attaches?
    fn by_arguments(&self) -> bool {
        let first = self.candidates.first();
        first.is_some_and(|first| first.kind != Kind::Tracepoint)
    }

    fn by_record(&self) -> bool {
        let first = self.candidates.first();
        first.is_some_and(|first| first.kind == Kind::Tracepoint)
    }
}

fn not_wanted(event: Event, request: &Request) -> Option<&'static str> {
    match event {
        Event::BlockBioComplete if !request.bio_latency => {
            Some("latency of bio devices was not asked for")
        }
        Event::BlockBioRemap if !request.bio_remap_needed => {
            Some("only needed below raid0 and linear arrays that send the original bio on")
        }
        _ => None,
    }
}

fn as_text<S: serde::Serializer>(
    error: &Option<PlanError>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match error {
        Some(error) => serializer.collect_str(error),
        None => serializer.serialize_none(),
    }
}

#[cfg(test)]
mod tests;
