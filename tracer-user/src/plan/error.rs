//! Why nothing can be counted, and what to do about it.

use caps::Capability;
use thiserror::Error;

use super::{EventPlan, Kind, event::Event};
use crate::facts::{Absence, KernelFacts, Privileges};

/// A plan that would count nothing.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PlanError {
    #[error(
        "loading eBPF programs needs {}, which this {} does not have: {}",
        missing.join(" and "),
        if *uid == 0 { "root" } else { "user" },
        privilege_remedy(*uid)
    )]
    Privilege { missing: Vec<String>, uid: u32 },
    #[error(
        "this kernel has no tracepoint {event}: it is built without block tracing \
         (CONFIG_BLK_DEV_IO_TRACE or another option that selects CONFIG_TRACEPOINTS)"
    )]
    NoTracepoint { event: Event },
    #[error("nothing can be attached to {event}: {reasons}. {remedy}")]
    NoWay {
        event: Event,
        reasons: String,
        remedy: String,
    },
    #[error("--attach {kind} cannot be done for {event}: {reasons}. {remedy}")]
    Forced {
        event: Event,
        kind: Kind,
        reasons: String,
        remedy: String,
    },
}

/// Checks that every mandatory event has a way, then that this process may go
/// it.
pub(super) fn check(
    facts: &KernelFacts,
    events: &[EventPlan],
    forced: Option<Kind>,
) -> Result<(), PlanError> {
    for plan in events {
        if plan.event.is_mandatory() && plan.candidates.is_empty() {
            return Err(no_way(facts, plan, forced));
        }
    }
    let Some(privileges) = facts.privileges.found() else {
        return Ok(());
    };
    let (missing, uid) = (lacking(privileges), privileges.uid);
    if missing.is_empty() {
        Ok(())
    } else {
        Err(PlanError::Privilege { missing, uid })
    }
}

/// Root without capabilities is in a container, as a rule.
const fn privilege_remedy(uid: u32) -> &'static str {
    if uid == 0 {
        "add them to the container (`--cap-add BPF --cap-add PERFMON`)"
    } else {
        "run as root, or give the program both (`setcap cap_bpf,cap_perfmon+ep`, or \
         AmbientCapabilities= in a systemd unit)"
    }
}

fn no_way(facts: &KernelFacts, plan: &EventPlan, forced: Option<Kind>) -> PlanError {
    let event = plan.event;
    if has_no_tracepoint(facts, event) {
        return PlanError::NoTracepoint { event };
    }
    let reasons: Vec<String> = plan
        .refusals
        .iter()
        .filter(|refusal| forced.is_none_or(|kind| kind == refusal.kind))
        .map(ToString::to_string)
        .collect();
    let reasons = reasons.join("; ");
    match forced {
        Some(kind) => PlanError::Forced {
            event,
            kind,
            reasons,
            remedy: forced_remedy(facts, kind),
        },
        None => PlanError::NoWay {
            event,
            reasons,
            remedy: remedy(facts),
        },
    }
}

/// Both places that list tracepoints were read, and neither has it.
fn has_no_tracepoint(facts: &KernelFacts, event: Event) -> bool {
    let (Some(btf), Some(tracefs)) = (facts.btf.found(), facts.tracefs.found()) else {
        return false;
    };
    let name = event.name();
    !btf.prototypes.contains_key(name)
        && !btf.refused.contains_key(name)
        && !tracefs.records.contains_key(name)
        && !tracefs.refused.contains_key(name)
}

fn forced_remedy(facts: &KernelFacts, kind: Kind) -> String {
    let leave = "eave --attach out to let iotrace take what works";
    match tracefs_remedy(facts) {
        Some(tracefs) if kind == Kind::Tracepoint => format!("Either {tracefs}, or l{leave}"),
        _ => format!("L{leave}"),
    }
}

fn tracefs_remedy(facts: &KernelFacts) -> Option<String> {
    match facts.tracefs.missing()? {
        Absence::NotMounted { path } | Absence::NotThere { path } => Some(format!(
            "mount tracefs (`mount -t tracefs nodev {}`)",
            path.display()
        )),
        Absence::NotPermitted { .. } => {
            Some("let this user read tracefs (root, or CAP_DAC_READ_SEARCH)".to_owned())
        }
        Absence::Unreadable { .. } | Absence::Malformed { .. } => None,
    }
}

fn remedy(facts: &KernelFacts) -> String {
    let tracefs = tracefs_remedy(facts).unwrap_or_else(|| {
        "send the output of `iotrace probe --format json` to iotrace's authors".to_owned()
    });
    if facts.btf.missing().is_some() {
        format!("Use a kernel built with CONFIG_DEBUG_INFO_BTF, or {tracefs}")
    } else {
        format!("To go by the classic tracepoint, {tracefs}")
    }
}

/// Capabilities that loading and attaching needs and that cannot be raised.
/// `CAP_SYS_ADMIN` holds both, and is the only one there was before 5.8
/// (capabilities(7)).
fn lacking(privileges: &Privileges) -> Vec<String> {
    if privileges.permits(Capability::CAP_SYS_ADMIN) {
        return Vec::new();
    }
    [Capability::CAP_BPF, Capability::CAP_PERFMON]
        .into_iter()
        .filter(|&capability| !privileges.permits(capability))
        .map(|capability| capability.to_string())
        .collect()
}
