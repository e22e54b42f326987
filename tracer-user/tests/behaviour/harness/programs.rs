//! Which eBPF programs of iotrace the kernel holds.

use aya::programs::loaded_programs;

/// What the names of iotrace's programs begin with: they are named after their
/// tracepoints. (The kernel keeps 15 bytes.)
const EVENTS: [&str; 7] = [
    "block_rq_issue",
    "block_rq_comple",
    "block_rq_requeu",
    "block_bio_queue",
    "block_bio_compl",
    "block_bio_remap",
    "block_split",
];

/// The names of those loaded now, by anybody.
pub(crate) fn loaded() -> Vec<String> {
    loaded_programs()
        .filter_map(|program| {
            // Gone between being listed and being asked.
            let name = program.ok()?.name_as_str()?.to_owned();
            EVENTS
                .iter()
                .any(|event| name.starts_with(event))
                .then_some(name)
        })
        .collect()
}
