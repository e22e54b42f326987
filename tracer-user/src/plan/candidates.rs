//! Which ways to attach are open for an event, and why or why not.
//!
//! Must not choose what a person wants counted.

use super::{
    event::{Event, Kind},
    layout::{argument, classic, field},
};
use crate::facts::{
    BtfFacts, Finding, KernelFacts,
    wanted::{
        BDEV_DISK, BIO_BDEV, BIO_DISK, BIO_OPF, BIO_SECTOR, BIO_SIZE, DISK_FIRST_MINOR, DISK_MAJOR,
        DISK_QUEUE, Field, QUEUE_DISK, QUEUE_MQ_OPS, REQUEST_CMD_FLAGS, REQUEST_DATA_LEN,
        REQUEST_Q, REQUEST_RQ_DISK, REQUEST_SECTOR, REQUEST_START_TIME_NS, REQUEST_STATE,
    },
};

/// Constants without which no operation can be told.
const NEEDED_OPS: [&str; 2] = ["REQ_OP_READ", "REQ_OP_WRITE"];

/// What a way that is open rests on.
pub(super) struct Open {
    /// Index of the request or bio among the event's arguments.
    pub(super) argument: Option<u16>,
    pub(super) why: String,
}

/// Is this way open for the event?
///
/// # Errors
/// Why not, for a person.
pub(super) fn open(facts: &KernelFacts, event: Event, kind: Kind) -> Result<Open, String> {
    match kind {
        Kind::Btf => by_arguments(facts, event),
        Kind::Raw => by_arguments(facts, event).map(|open| Open {
            why: format!("{}, its fields by helper calls", open.why),
            ..open
        }),
        Kind::Tracepoint => by_record(facts, event),
    }
}

/// Both kinds read the same fields at the same offsets: a raw tracepoint is as
/// impossible without BTF as a typed one.
fn by_arguments(facts: &KernelFacts, event: Event) -> Result<Open, String> {
    let btf = match &facts.btf {
        Finding::Found(btf) => btf,
        Finding::Missing(absence) => return Err(absence.to_string()),
    };
    let index = argument(btf, event)?;
    needs_met(btf, event)?;
    let arguments = btf.prototypes.get(event.name());
    let arguments = arguments.map(|list| list.join(", ")).unwrap_or_default();
    Ok(Open {
        argument: Some(index),
        why: format!(
            "{} is argument {index} of ({arguments})",
            event.argument_type()
        ),
    })
}

fn needs_met(btf: &BtfFacts, event: Event) -> Result<(), String> {
    match event {
        Event::BlockRqIssue => request_needs(btf),
        Event::BlockRqRequeue => {
            field(btf, REQUEST_STATE)?;
            request_needs(btf)
        }
        Event::BlockRqComplete => {
            completed_bytes(btf)?;
            field(btf, REQUEST_START_TIME_NS)?;
            request_needs(btf)
        }
        Event::BlockBioQueue | Event::BlockBioRemap | Event::BlockSplit => bio_needs(btf),
        // The bio's address is all that is used.
        Event::BlockBioComplete => Ok(()),
    }
}

fn request_needs(btf: &BtfFacts) -> Result<(), String> {
    operations(btf)?;
    all(btf, &[REQUEST_CMD_FLAGS, REQUEST_DATA_LEN, REQUEST_SECTOR])?;
    // The disk is in the request (before 5.17: commit f3fa33acca9f)
    // or in its queue (since 5.15: commit d152c682f03c).
    if field(btf, REQUEST_RQ_DISK).is_err() {
        all(btf, &[REQUEST_Q, QUEUE_DISK])?;
    }
    all(btf, &[DISK_MAJOR, DISK_FIRST_MINOR])
}

fn bio_needs(btf: &BtfFacts) -> Result<(), String> {
    operations(btf)?;
    all(
        btf,
        &[BIO_OPF, BIO_SECTOR, BIO_SIZE, DISK_QUEUE, QUEUE_MQ_OPS],
    )?;
    // The disk is in the bio (before 5.12: commit 309dca309fc3) or in
    // its block device.
    if field(btf, BIO_DISK).is_err() {
        all(btf, &[BIO_BDEV, BDEV_DISK])?;
    }
    all(btf, &[DISK_MAJOR, DISK_FIRST_MINOR])
}

fn all(btf: &BtfFacts, fields: &[Field]) -> Result<(), String> {
    fields
        .iter()
        .try_for_each(|&wanted| field(btf, wanted).map(|_| ()))
}

fn operations(btf: &BtfFacts) -> Result<(), String> {
    for name in NEEDED_OPS {
        if !btf.constants.contains_key(name) {
            return Err(format!("{name} is not in BTF"));
        }
    }
    Ok(())
}

/// The programs take the bytes that were completed from the third argument,
/// and the request from the first.
fn completed_bytes(btf: &BtfFacts) -> Result<(), String> {
    let name = Event::BlockRqComplete.name();
    let arguments = btf.prototypes.get(name).map_or(&[][..], Vec::as_slice);
    match arguments {
        [request, _, bytes, ..] if request == "struct request *" && bytes == "unsigned int" => {
            Ok(())
        }
        _ => Err(format!(
            "{name}({}) does not end in the bytes completed",
            arguments.join(", ")
        )),
    }
}

fn by_record(facts: &KernelFacts, event: Event) -> Result<Open, String> {
    if let Some(why) = event.untold_by_record() {
        return Err(why.to_owned());
    }
    let tracefs = match &facts.tracefs {
        Finding::Found(tracefs) => tracefs,
        Finding::Missing(absence) => return Err(absence.to_string()),
    };
    classic(tracefs, event)?;
    let path = tracefs.path.join("events/block").join(event.name());
    Ok(Open {
        argument: None,
        why: format!("record as in {}/format", path.display()),
    })
}
