//! Members of an array that do not fit each other, or show what is not theirs.

use super::{
    Finding, Remedy, Severity, Sure,
    patient::{Patient, is_mdadms, node},
    rules,
};
use crate::{
    sysfs::{device::Device, notes::NoteKind},
    units::Bytes,
};

pub(super) fn findings(patient: &Patient<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for device in patient.devices().filter(|device| is_mdadms(device)) {
        found.extend(unlike(patient, device));
        found.extend(logical_block(patient, device));
        found.extend(exposed(patient, device));
        found.extend(parity(device));
    }
    found
}

fn unlike(patient: &Patient<'_>, device: &Device) -> Option<Finding> {
    let mut notes = device.notes.iter();
    let note = notes.find(|note| note.kind == NoteKind::UnlikeMembers)?;
    let members = device.members.iter().filter_map(|id| patient.device(*id));
    let blocks = members.filter_map(|member| member.geometry.physical_block);
    let largest = blocks.max()?;
    Some(
        Finding::new(&rules::UNLIKE_MEMBERS, &device.name, note.text.clone())
            .number("physical_block_bytes", largest.0)
            .sure(Sure::Likely)
            .expected("writes shorter than the larger block cost some members a read-modify-write")
            .remedy(Remedy::repair(format!(
                "write in blocks of {}; if the smaller report is untrue, `--geometry` says so",
                largest.words()
            ))),
    )
}

/// md takes the largest logical block of its members when it is assembled
/// (`md_run`, drivers/md/md.c, through the queue's limits), unless its
/// superblocks tell one.
fn logical_block(patient: &Patient<'_>, device: &Device) -> Option<Finding> {
    let own = device.limits.logical_block?;
    let md = device.md.as_ref()?;
    if md.logical_block_kept == Some(own) {
        return None;
    }
    let components = &md.components;
    let mut members = Vec::new();
    for part in components.iter().filter(|part| !part.books_only) {
        let member = patient.device(part.device?)?;
        members.push((member.limits.logical_block?, member));
    }
    let largest = members.iter().map(|(block, _)| *block).max()?;
    if largest == own {
        return None;
    }
    let list: Vec<String> = members
        .iter()
        .map(|(block, member)| format!("{} {}", member.name, block.0))
        .collect();
    let finding = Finding::new(
        &rules::LOGICAL_BLOCK,
        &device.name,
        format!(
            "its logical block is {} and its members' largest {} ({}): assembled again it has {}",
            own.0,
            largest.0,
            list.join(", "),
            largest.0
        ),
    )
    .number("logical_block_bytes", own.0)
    .number("members_logical_block_bytes", largest.0)
    .sure(Sure::Likely)
    .expected(
        "a partition table counts in logical blocks and a file system may have smaller ones: \
         after the next start neither may be found",
    );
    let redundant = !matches!(device.md.as_ref()?.level.as_str(), "raid0" | "linear");
    let larger = members.iter().find(|(block, _)| *block > own);
    Some(match larger {
        // Without redundancy no member can be taken out.
        Some(_) if !redundant => finding,
        Some((_, member)) => finding.remedy(
            Remedy::repair(format!(
                "puts another drive, of {}-byte blocks, in the place of {} before the array is \
                 stopped: first `mdadm {} --add` it",
                own.0,
                member.name,
                node(device)
            ))
            .run(format!("mdadm {} --fail {}", node(device), node(member)))
            .warn("the array runs without its redundancy until the other drive is rebuilt")
            .run(format!("mdadm {} --remove {}", node(device), node(member))),
        ),
        None => finding.severity(Severity::Warning),
    })
}

/// The kernel finds on a member's beginning what the array holds at its own.
fn exposed(patient: &Patient<'_>, device: &Device) -> Option<Finding> {
    let md = device.md.as_ref()?;
    let version = md.metadata_version.as_deref()?;
    if !matches!(version, "0.90" | "1.0") {
        return None;
    }
    let members = md.components.iter().filter_map(|part| part.device);
    let mut shown = Vec::new();
    let mut remedy = Remedy::repair(
        "lets the kernel forget the members' partitions until the next start; they are the \
         array's, and stay on it",
    );
    for member in members {
        let partitions = patient.stack.topology.partitions_of(member);
        if let Some(member) = patient.device(member).filter(|_| !partitions.is_empty()) {
            let names = partitions.iter().filter_map(|id| patient.device(*id));
            shown.extend(names.map(|partition| partition.name.clone()));
            remedy = remedy.run(format!("partx --delete {}", node(member)));
        }
    }
    (!shown.is_empty()).then(|| {
        Finding::new(
            &rules::EXPOSED,
            &device.name,
            format!(
                "metadata {version} lies at the end of the members, and the kernel found the \
                 array's partition table on them: {}",
                shown.join(", ")
            ),
        )
        .number("exposed_partitions", shown.len() as u64)
        .expected("a write to one of them goes past the array: its copies or parity are wrong then")
        .remedy(remedy)
        .maybe(create(patient, device).map(|create| {
            Remedy::anew("the array with metadata 1.2, which lies at the beginning")
                .run(format!("mdadm --stop {}", node(device)))
                .run(create)
                .warn("what lies on the array is lost")
        }))
    })
}

/// `mdadm --create` of an array as it is, with metadata 1.2.
fn create(patient: &Patient<'_>, device: &Device) -> Option<String> {
    let md = device.md.as_ref()?;
    let mut parts: Vec<_> = md
        .components
        .iter()
        .filter(|part| part.slot.is_some())
        .collect();
    parts.sort_by_key(|part| part.slot);
    let members: Option<Vec<String>> = parts
        .iter()
        .map(|part| Some(node(patient.device(part.device?)?)))
        .collect();
    let chunk = md.chunk.map_or_else(String::new, |chunk: Bytes| {
        format!(" --chunk={}K", chunk.0 >> 10)
    });
    Some(format!(
        "mdadm --create {} --metadata=1.2 --level={}{chunk} --raid-devices={} {}",
        node(device),
        md.level.trim_start_matches("raid"),
        md.raid_disks?,
        members?.join(" ")
    ))
}

fn parity(device: &Device) -> Option<Finding> {
    let mut notes = device.notes.iter();
    let note = notes.find(|note| note.kind == NoteKind::FixedParity)?;
    let md = device.md.as_ref()?;
    let name = node(device);
    let file = device.name.replace('/', "-");
    let backup = format!("--backup-file=/root/{file}-grow.backup");
    let remedy = Remedy::repair("spreads the parity over all members; the array stays in use");
    let command = match md.level.as_str() {
        "raid4" => format!("mdadm --grow {name} --level=5 --layout=left-symmetric {backup}"),
        "raid5" => format!("mdadm --grow {name} --layout=left-symmetric {backup}"),
        _ => format!("mdadm --grow {name} --layout=normalise {backup}"),
    };
    Some(
        Finding::new(&rules::FIXED_PARITY, &device.name, note.text.clone())
            .expected("writes go no faster than one member can take the parity of all of them")
            .remedy(remedy.run(command).warn(
                "rewrites the whole array, which takes hours; the backup file must lie on \
                 another device, and is needed if the machine stops meanwhile",
            )),
    )
}
