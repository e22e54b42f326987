//! Every program, in every shape it can be configured to, passes this
//! kernel's verifier. Needs the privilege to load.

use caps::Capability;
use iotrace::{
    facts::{KernelFacts, KernelRoot, wanted},
    plan::{Kind, ProbePlan, Request},
    source::live::shapes,
};

/// A test that cannot run says why, and fails where it must run.
fn privileged() -> bool {
    let facts = KernelFacts::read(&KernelRoot::default());
    let permits = |capability| {
        facts
            .privileges
            .found()
            .is_some_and(|privileges| privileges.permits(capability))
    };
    let loadable = permits(Capability::CAP_SYS_ADMIN)
        || permits(Capability::CAP_BPF) && permits(Capability::CAP_PERFMON);
    if !loadable {
        assert!(
            std::env::var_os("IOTRACE_REQUIRE").is_none(),
            "IOTRACE_REQUIRE is set and the privilege to load programs is missing"
        );
        eprintln!("not run: needs CAP_BPF and CAP_PERFMON (run as root)");
    }
    loadable
}

#[test]
fn every_shape_loads() {
    if !privileged() {
        return;
    }
    let facts = KernelFacts::read(&KernelRoot::default());
    let request = Request {
        attach: None,
        by_process: true,
        bio_latency: true,
        bio_remap_needed: true,
    };
    let plan = ProbePlan::new(&facts, &request);
    plan.check().unwrap();
    let mut kinds = std::collections::BTreeSet::new();
    // Where not every way is tried either (see `xtask/src/test/guest.rs`).
    let shapes = match std::env::var_os("IOTRACE_WAYS") {
        None => shapes::shapes(),
        Some(_) => shapes::shapes_of_any_three(),
    };
    for config in shapes {
        for loaded in shapes::load(&plan, config).unwrap() {
            let what = format!(
                "{} by {} with {:?}",
                loaded.event, loaded.kind, loaded.config
            );
            match loaded.outcome {
                Ok(walked) => {
                    // How near to the limit of a million it is; told since 5.16.
                    eprintln!("{what}: {walked:?} instructions walked");
                    kinds.insert(loaded.kind)
                }
                Err(reason) => panic!("{what}: {reason}"),
            };
        }
    }
    assert!(
        kinds.contains(&Kind::Tracepoint),
        "no classic tracepoint: is tracefs mounted?"
    );
    if facts.btf.found().is_some() {
        assert!(kinds.contains(&Kind::Btf) && kinds.contains(&Kind::Raw));
    }
}

/// Whatever modules of md's this kernel has: the verifier does not know them.
#[test]
fn every_shape_on_components_loads() {
    if !privileged() {
        return;
    }
    let facts = KernelFacts::read(&KernelRoot::default());
    if facts.btf.found().is_none() {
        assert!(
            std::env::var_os("IOTRACE_REQUIRE").is_none(),
            "IOTRACE_REQUIRE is set and this kernel has no BTF"
        );
        eprintln!("not run: no BTF, without which nothing on components is loaded");
        return;
    }
    let request = Request {
        attach: None,
        by_process: false,
        bio_latency: false,
        bio_remap_needed: true,
    };
    let plan = ProbePlan::new(&facts, &request);
    for (name, layout) in shapes::md_layouts() {
        let mut layout = layout;
        let offset = |field: wanted::Field| {
            let found = facts
                .btf
                .found()
                .unwrap()
                .fields
                .get(&field.name())
                .unwrap();
            u16::try_from(found.offset_bytes).unwrap()
        };
        layout.bio_end_io = offset(wanted::BIO_END_IO);
        layout.bio_private = offset(wanted::BIO_PRIVATE);
        for loaded in shapes::load_for_md(&plan, &layout).unwrap() {
            let program = loaded.program;
            match loaded.outcome {
                Ok(walked) => eprintln!("{program}, {name}: {walked:?} instructions walked"),
                Err(reason) => panic!("{program}, {name}: {reason}"),
            }
        }
    }
}
