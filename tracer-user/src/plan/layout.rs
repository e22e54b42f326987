//! The offsets and constants that the programs get, out of the facts.
//!
//! A field counts only if it looks as the programs will read it: size, and
//! what it points to. Must not decide what to do without one.

use std::collections::BTreeMap;

use tracer_ebpf::{
    abi::{ABSENT, ClassicRecord, Layout},
    caller::Calls,
    op::OpCodes,
};

use super::event::Event;
use crate::facts::{
    BtfFacts, FieldFacts, KernelFacts, TracefsFacts,
    tracefs::RecordField,
    wanted::{self, Field},
};

/// Everything that the facts say about where things are.
pub(super) fn layout(facts: &KernelFacts) -> Layout {
    let mut layout = Layout::NONE;
    if let Some(btf) = facts.btf.found() {
        fill_fields(&mut layout, btf);
        fill_constants(&mut layout, btf);
        fill_arguments(&mut layout, btf);
        fill_caller(&mut layout, btf);
    }
    if let Some(tracefs) = facts.tracefs.found() {
        fill_records(&mut layout, tracefs);
    }
    layout
}

/// Where the field is; [`ABSENT`] where there is none that fits.
fn offset(btf: &BtfFacts, wanted: Field) -> u16 {
    field(btf, wanted).unwrap_or(ABSENT)
}

/// The same with the reason why not, for a person.
pub(super) fn field(btf: &BtfFacts, wanted: Field) -> Result<u16, String> {
    usable(&btf.fields, &btf.refused, wanted)
}

/// Where a field is, out of what was found and refused by name; a size of 0
/// stands for any.
///
/// # Errors
/// Why it cannot be used, for a person.
pub(super) fn usable(
    fields: &BTreeMap<String, FieldFacts>,
    refused: &BTreeMap<String, String>,
    wanted: Field,
) -> Result<u16, String> {
    let name = wanted.name();
    let Some(found) = fields.get(&name) else {
        return Err(match refused.get(&name) {
            Some(why) => format!("{name}: {why}"),
            None => format!("{name} is not in BTF"),
        });
    };
    if wanted.size_bytes != 0 && found.size_bytes != wanted.size_bytes {
        return Err(format!(
            "{name} is {} bytes long, not {}",
            found.size_bytes, wanted.size_bytes
        ));
    }
    if let Some(target) = wanted.points_to
        && found.type_name != format!("struct {target} *")
    {
        return Err(format!("{name} is a {}", found.type_name));
    }
    u16::try_from(found.offset_bytes)
        .ok()
        .filter(|&offset| offset != ABSENT)
        .ok_or_else(|| format!("{name} is {} bytes in", found.offset_bytes))
}

fn fill_fields(layout: &mut Layout, btf: &BtfFacts) {
    layout.request_cmd_flags = offset(btf, wanted::REQUEST_CMD_FLAGS);
    layout.request_data_len = offset(btf, wanted::REQUEST_DATA_LEN);
    layout.request_sector = offset(btf, wanted::REQUEST_SECTOR);
    layout.request_part = offset(btf, wanted::REQUEST_PART);
    layout.request_q = offset(btf, wanted::REQUEST_Q);
    layout.request_rq_disk = offset(btf, wanted::REQUEST_RQ_DISK);
    layout.request_state = request_state(btf);
    layout.request_start_time_ns = offset(btf, wanted::REQUEST_START_TIME_NS);
    layout.request_io_start_time_ns = offset(btf, wanted::REQUEST_IO_START_TIME_NS);
    layout.queue_disk = offset(btf, wanted::QUEUE_DISK);
    layout.queue_mq_ops = offset(btf, wanted::QUEUE_MQ_OPS);
    layout.disk_major = offset(btf, wanted::DISK_MAJOR);
    layout.disk_first_minor = offset(btf, wanted::DISK_FIRST_MINOR);
    layout.disk_name = offset(btf, wanted::DISK_NAME);
    layout.disk_queue = offset(btf, wanted::DISK_QUEUE);
    layout.disk_diskseq = offset(btf, wanted::DISK_DISKSEQ);
    layout.bdev_dev = offset(btf, wanted::BDEV_DEV);
    layout.bdev_disk = offset(btf, wanted::BDEV_DISK);
    layout.bio_bdev = offset(btf, wanted::BIO_BDEV);
    layout.bio_disk = offset(btf, wanted::BIO_DISK);
    layout.bio_partno = offset(btf, wanted::BIO_PARTNO);
    layout.bio_opf = offset(btf, wanted::BIO_OPF);
    layout.bio_flags = offset(btf, wanted::BIO_FLAGS);
    layout.bio_sector = offset(btf, wanted::BIO_SECTOR);
    layout.bio_size = offset(btf, wanted::BIO_SIZE);
    layout.bio_blkg = offset(btf, wanted::BIO_BLKG);
    layout.blkg_blkcg = offset(btf, wanted::BLKG_BLKCG);
    layout.blkcg_cgroup = offset(btf, wanted::BLKCG_CGROUP);
    layout.cgroup_kn = offset(btf, wanted::CGROUP_KN);
    layout.kernfs_id = offset(btf, wanted::KERNFS_ID);
}

/// `struct pt_regs` of x86-64 (arch/x86/include/asm/ptrace.h).
const X86_REGS_BYTES: u16 = 168;

/// Whose call it is: the number lies in the saved registers, which a helper
/// finds since 5.15 (commit dd6e10fbd9fb). Before, x86-64 has them at the end
/// of the stack.
fn fill_caller(layout: &mut Layout, btf: &BtfFacts) {
    let Some(calls) = Calls::native() else { return };
    layout.task_flags = offset(btf, wanted::TASK_FLAGS);
    layout.task_stack = offset(btf, wanted::TASK_STACK);
    layout.regs_size = X86_REGS_BYTES;
    layout.regs_by_helper = btf.constants.contains_key("BPF_FUNC_task_pt_regs").into();
    let wide = field(btf, wanted::REGS_ORIG_AX).ok();
    layout.regs_call_wide = wide.is_some().into();
    layout.calls = calls;
    layout.meta_mask = mask(btf, "__REQ_META");
    let found = layout.task_flags != ABSENT
        && (layout.regs_by_helper != 0 || layout.task_stack != ABSENT && wide.is_some());
    if found {
        layout.regs_call = wide.unwrap_or_else(|| offset(btf, wanted::REGS_SYSCALLNO));
    }
}

/// The programs take 0 for idle (`MQ_RQ_IDLE`, include/linux/blk-mq.h): where
/// it is not, the state says nothing to them.
fn request_state(btf: &BtfFacts) -> u16 {
    match btf.constants.get("MQ_RQ_IDLE") {
        Some(0) => offset(btf, wanted::REQUEST_STATE),
        _ => ABSENT,
    }
}

fn fill_constants(layout: &mut Layout, btf: &BtfFacts) {
    let none = OpCodes::ABSENT;
    layout.op = OpCodes {
        read: op(btf, "REQ_OP_READ").unwrap_or(none),
        write: op(btf, "REQ_OP_WRITE").unwrap_or(none),
        flush: op(btf, "REQ_OP_FLUSH").unwrap_or(none),
        discard: op(btf, "REQ_OP_DISCARD").unwrap_or(none),
        secure_erase: op(btf, "REQ_OP_SECURE_ERASE").unwrap_or(none),
        write_zeroes: op(btf, "REQ_OP_WRITE_ZEROES").unwrap_or(none),
        zone_append: op(btf, "REQ_OP_ZONE_APPEND").unwrap_or(none),
        // SCSI has none of its own since 5.14 (commit da6269da4cfe).
        passthrough_from: [op(btf, "REQ_OP_SCSI_IN"), op(btf, "REQ_OP_DRV_IN")]
            .into_iter()
            .flatten()
            .min()
            .unwrap_or(none),
    };
    layout.fua_mask = mask(btf, "__REQ_FUA");
    layout.preflush_mask = mask(btf, "__REQ_PREFLUSH");
    layout.trace_completion_mask = mask(btf, "BIO_TRACE_COMPLETION");
}

fn op(btf: &BtfFacts, name: &str) -> Option<u8> {
    let code = u8::try_from(*btf.constants.get(name)?).ok()?;
    (code != OpCodes::ABSENT).then_some(code)
}

/// The mask of the bit that the constant numbers; 0 where not known.
pub(super) fn mask(btf: &BtfFacts, name: &str) -> u32 {
    let bit = btf.constants.get(name).copied();
    bit.and_then(|bit| 1_u32.checked_shl(bit)).unwrap_or(0)
}

fn fill_arguments(layout: &mut Layout, btf: &BtfFacts) {
    let index = |event| argument(btf, event).unwrap_or(0);
    layout.arg_issue_rq = index(Event::BlockRqIssue);
    layout.arg_requeue_rq = index(Event::BlockRqRequeue);
    layout.arg_bio_queue_bio = index(Event::BlockBioQueue);
    layout.arg_bio_complete_bio = index(Event::BlockBioComplete);
    layout.arg_bio_remap_bio = index(Event::BlockBioRemap);
    layout.arg_split_bio = index(Event::BlockSplit);
}

/// Index of the argument that the event's programs need.
///
/// The queue before the request went away in 5.11 (commit a54895fa057c), and
/// in 5.10.137 too: only the prototype tells.
///
/// # Errors
/// Why there is no such argument, for a person.
pub(super) fn argument(btf: &BtfFacts, event: Event) -> Result<u16, String> {
    let name = event.name();
    let Some(arguments) = btf.prototypes.get(name) else {
        return Err(match btf.refused.get(name) {
            Some(why) => format!("{name}: {why}"),
            None => format!("BTF has no prototype btf_trace_{name}"),
        });
    };
    let wanted = event.argument_type();
    let found = arguments.iter().position(|argument| argument == wanted);
    found
        .and_then(|index| u16::try_from(index).ok())
        .ok_or_else(|| format!("{name}({}) has no {wanted}", arguments.join(", ")))
}

fn fill_records(layout: &mut Layout, tracefs: &TracefsFacts) {
    let record = |event| classic(tracefs, event).unwrap_or(ClassicRecord::NONE);
    layout.classic_issue = record(Event::BlockRqIssue);
    layout.classic_requeue = record(Event::BlockRqRequeue);
    layout.classic_complete = record(Event::BlockRqComplete);
    layout.classic_bio_queue = record(Event::BlockBioQueue);
    layout.classic_bio_remap = record(Event::BlockBioRemap);
    layout.classic_split = record(Event::BlockSplit);
}

/// The record of a classic tracepoint, with all the fields that its program
/// reads.
///
/// # Errors
/// What is missing, for a person.
pub(super) fn classic(tracefs: &TracefsFacts, event: Event) -> Result<ClassicRecord, String> {
    let name = event.name();
    let Some(fields) = tracefs.records.get(name) else {
        return Err(match tracefs.refused.get(name) {
            Some(why) => why.to_string(),
            None => format!("tracefs has no events/block/{name}"),
        });
    };
    let get = |field: &str, size| record_field(name, field, fields.get(field), size);
    let optional = |field: &str, size| get(field, size).unwrap_or(ABSENT);
    let mut record = ClassicRecord {
        dev: get("dev", 4)?,
        sector: get("sector", 8)?,
        rwbs: rwbs(name, fields.get("rwbs"))?,
        ..ClassicRecord::NONE
    };
    match event {
        // `bytes` tells what a passthrough request transfers.
        Event::BlockRqIssue => {
            record.nr_sector = get("nr_sector", 4)?;
            record.bytes = optional("bytes", 4);
        }
        Event::BlockBioRemap => {
            record.nr_sector = get("nr_sector", 4)?;
            record.old_dev = get("old_dev", 4)?;
        }
        Event::BlockSplit => {}
        _ => record.nr_sector = get("nr_sector", 4)?,
    }
    Ok(record)
}

fn record_field(
    record: &str,
    name: &str,
    found: Option<&RecordField>,
    size_bytes: u32,
) -> Result<u16, String> {
    let found = found.ok_or_else(|| format!("the record of {record} has no {name}"))?;
    if found.size_bytes != size_bytes {
        let size = found.size_bytes;
        return Err(format!(
            "{name} of {record} is {size} bytes long, not {size_bytes}"
        ));
    }
    record_offset(record, name, *found)
}

/// An array whose length has grown (8 letters, 10 since 6.18): the two that
/// are read must be there.
fn rwbs(record: &str, found: Option<&RecordField>) -> Result<u16, String> {
    let found = found.ok_or_else(|| format!("the record of {record} has no rwbs"))?;
    if found.size_bytes < 2 {
        return Err(format!("rwbs of {record} is too short"));
    }
    record_offset(record, "rwbs", *found)
}

fn record_offset(record: &str, name: &str, found: RecordField) -> Result<u16, String> {
    u16::try_from(found.offset_bytes)
        .ok()
        .filter(|&offset| offset != ABSENT)
        .ok_or_else(|| format!("{name} of {record} is {} bytes in", found.offset_bytes))
}
