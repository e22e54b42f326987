//! Loads and attaches programs, trying each way of the plan in turn and
//! keeping every refusal.
//!
//! Must not decide the order: that is the plan's.

use std::{
    os::fd::{AsFd, AsRawFd},
    sync::{Arc, Mutex, PoisonError, Weak},
};

use aya::{
    Btf, BtfError, Ebpf,
    programs::{Program, ProgramError, TracePoint},
};

use crate::{
    facts::program::{self, ProgramFacts},
    plan::{Candidate, Event, EventPlan, Kind},
    privileges::{Need, raise},
};

/// A program that runs.
#[derive(Clone, Debug)]
pub struct Attached {
    pub event: Event,
    pub kind: Kind,
    /// The ways tried before, and why the kernel refused them.
    pub refusals: Vec<Refusal>,
}

/// A way of attaching that the kernel refused.
#[derive(Clone, Debug)]
pub struct Refusal {
    pub kind: Kind,
    pub reason: String,
}

/// No way to attach to an event was left.
#[derive(Debug, thiserror::Error)]
#[error("cannot attach to {event}: {}", list(.refusals))]
pub struct AttachError {
    pub event: Event,
    pub refusals: Vec<Refusal>,
}

fn list(refusals: &[Refusal]) -> String {
    let each: Vec<String> = refusals
        .iter()
        .map(|refusal| format!("by {}: {}", refusal.kind, refusal.reason))
        .collect();
    each.join("; ")
}

/// Attaches one event by the first of the planned ways that the kernel accepts.
///
/// # Errors
/// When it accepts none: with the ways that were closed from the start.
pub(super) fn attach(ebpf: &mut Ebpf, plan: &EventPlan) -> Result<Attached, AttachError> {
    let event = plan.event;
    let mut refusals = Vec::new();
    for Candidate { kind, .. } in &plan.candidates {
        let kind = *kind;
        match attach_by(ebpf, event, kind) {
            Ok(()) => {
                return Ok(Attached {
                    event,
                    kind,
                    refusals,
                });
            }
            Err(reason) => refusals.push(Refusal { kind, reason }),
        }
    }
    let closed = plan.refusals.iter().map(|refusal| Refusal {
        kind: refusal.kind,
        reason: refusal.why.clone(),
    });
    refusals.extend(closed);
    Err(AttachError { event, refusals })
}

fn attach_by(ebpf: &mut Ebpf, event: Event, kind: Kind) -> Result<(), String> {
    attach_named(ebpf, &event.program(kind), event)
}

/// Attaches the program of this name.
///
/// # Errors
/// What the kernel said.
pub(super) fn attach_named(ebpf: &mut Ebpf, name: &str, event: Event) -> Result<(), String> {
    let program = program(ebpf, name)?;
    load(program, event).map_err(|error| explain(&error))?;
    let attached = match program {
        Program::BtfTracePoint(program) => program.attach().map(|_link| ()),
        Program::RawTracePoint(program) => program.attach(event.name()).map(|_link| ()),
        Program::TracePoint(program) => attach_classic(program, event),
        _ => Err(ProgramError::UnexpectedProgramType),
    };
    attached.map_err(|error| explain(&error))
}

fn attach_classic(program: &mut TracePoint, event: Event) -> Result<(), ProgramError> {
    let attach = |program: &mut TracePoint| program.attach("block", event.name()).map(|_link| ());
    attach(program).or_else(|_refused| {
        let _raised = raise(Need::PerfEvents);
        attach(program)
    })
}

/// Loads one program without attaching it; tells how many instructions the
/// verifier walked.
pub(super) fn load_only(ebpf: &mut Ebpf, name: &str, event: Event) -> Result<Option<u32>, String> {
    let program = program(ebpf, name)?;
    load(program, event).map_err(|error| explain(&error))?;
    Ok(program
        .info()
        .ok()
        .and_then(|info| info.verified_instruction_count()))
}

fn program<'a>(ebpf: &'a mut Ebpf, name: &str) -> Result<&'a mut Program, String> {
    ebpf.program_mut(name)
        .ok_or_else(|| format!("the eBPF object has no program {name}"))
}

/// The kernel's BTF: megabytes, read once for all that is loaded while
/// somebody holds it.
pub(super) fn kernel_btf() -> Result<Arc<Btf>, BtfError> {
    static HELD: Mutex<Weak<Btf>> = Mutex::new(Weak::new());
    let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(btf) = held.upgrade() {
        return Ok(btf);
    }
    let btf = Arc::new(Btf::from_sys_fs()?);
    *held = Arc::downgrade(&btf);
    Ok(btf)
}

fn load(program: &mut Program, event: Event) -> Result<(), ProgramError> {
    match program {
        Program::BtfTracePoint(program) => program.load(event.name(), &*kernel_btf()?),
        Program::RawTracePoint(program) => program.load(),
        Program::TracePoint(program) => program.load(),
        _ => Err(ProgramError::UnexpectedProgramType),
    }
}

/// The end of the verifier's log says what it refused; the rest is its way
/// there.
fn explain(error: &ProgramError) -> String {
    const LAST_LINES: usize = 6;
    let ProgramError::LoadError {
        io_error,
        verifier_log,
    } = error
    else {
        return chain(error);
    };
    let log = verifier_log.to_string();
    let lines: Vec<&str> = log.lines().filter(|line| !line.trim().is_empty()).collect();
    let from = lines.len().saturating_sub(LAST_LINES);
    match lines.get(from..) {
        Some(tail) if !tail.is_empty() => {
            format!(
                "the kernel refused to load it ({io_error}): {}",
                tail.join(" | ")
            )
        }
        _ => format!("the kernel refused to load it ({io_error})"),
    }
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}

/// The kernel's own figures of a program that runs.
#[must_use]
pub(super) fn program_facts(ebpf: &Ebpf, attached: &Attached) -> Option<ProgramFacts> {
    facts_of(ebpf, &attached.event.program(attached.kind))
}

/// The same of the program of this name.
#[must_use]
pub(super) fn facts_of(ebpf: &Ebpf, name: &str) -> Option<ProgramFacts> {
    let fd = ebpf.program(name)?.fd().ok()?;
    program::read(fd.as_fd().as_raw_fd())
}
