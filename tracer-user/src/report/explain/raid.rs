//! Why an array read while it was written to, and what to do about it.
//!
//! Must not compute: every number in a sentence is in [`RaidFigures`].

use super::{Finding, Weight};
use crate::{
    delta::{DeviceFigures, MainCause, RaidEstimate, RaidFigures},
    report::format::{counted, percent, size},
    sysfs::chain::Layer,
};

/// The pre-reads of an array, compared with what is normal, and their cause.
pub(in crate::report) fn prereads(device: &DeviceFigures) -> Option<Finding> {
    let Some(raid) = device.raid.as_ref() else {
        return device.raid_estimate.as_ref().and_then(estimated);
    };
    let preread = raid.preread.sum();
    if preread == 0 {
        return degraded(raid).or_else(|| nothing_read(raid));
    }
    let mut text = format!(
        "{} read because writes did not fill their stripes, for {} written ({}%; normal: 0%): {}% \
         on top of what md writes. ",
        size(preread),
        size(raid.user_write_bytes),
        percent(raid.ratios.preread),
        percent(raid.ratios.reads_on_write),
    );
    if let Some((main, bytes)) = raid.causes.and_then(|causes| causes.main()) {
        let share = (bytes != preread).then(|| format!("Most ({}) because ", size(bytes)));
        text.push_str(&share.unwrap_or_else(|| "Because ".to_owned()));
        text.push_str(&why(device, main));
    }
    text.push_str(&full_cache(device, raid).unwrap_or_default());
    if let Some(action) = raid
        .sync_action
        .as_deref()
        .filter(|action| !matches!(*action, "idle" | "frozen"))
    {
        text.push_str(&format!(". A {action} is running: not typical"));
    }
    Some(Finding::new(Weight::Cost, text))
}

/// No kind and no cause: nobody looked into the bios.
fn estimated(raid: &RaidEstimate) -> Option<Finding> {
    let written = size((raid.user_write_bytes != 0).then_some(raid.user_write_bytes)?);
    Some(if raid.preread_bytes == 0 {
        let text = format!("estimated: {written} written, and nothing had to be read for it");
        Finding::new(Weight::Fine, text)
    } else {
        let text = format!(
            "estimated: {} read because writes did not fill their stripes, for {written} written \
             ({}%; normal: 0%). That is what the members were read beyond what was read here; why \
             is told where the kernel has BTF (`iotrace probe`)",
            size(raid.preread_bytes),
            percent(raid.preread_ratio),
        );
        Finding::new(Weight::Cost, text)
    })
}

/// More rows at a time may be filled by writes that follow one another.
fn full_cache(device: &DeviceFigures, raid: &RaidFigures) -> Option<String> {
    let (cache, larger) = (raid.stripe_cache?, raid.larger_cache?);
    let memory = larger
        .memory_bytes
        .map_or_else(String::new, |bytes| format!(" ({} of memory)", size(bytes)));
    Some(format!(
        ". The stripe cache is full ({} of {} rows); a larger one may merge more writes: `echo {} \
         > /sys/block/{}/md/stripe_cache_size`{memory}",
        cache.active_rows, cache.size_rows, larger.rows, device.name
    ))
}

fn nothing_read(raid: &RaidFigures) -> Option<Finding> {
    let filled = raid.fills.is_some_and(|fills| fills.write_fill_bytes != 0);
    let full = raid.ratios.rows.filter(|_| !filled)?.full;
    Some(Finding::new(
        Weight::Fine,
        format!(
            "{} written, and nothing had to be read for it (normal: 0%): {}% of the rows were \
             filled",
            size(raid.user_write_bytes),
            percent(Some(full)),
        ),
    ))
}

/// Whether the pre-reads of an array whose writes are all aligned are less than
/// what write calls had to read before.
pub(super) fn fewer_than_fills(device: &DeviceFigures) -> bool {
    let filled = device.fills.map_or(0, |fills| fills.write_fill_bytes);
    let misaligned = device.write.physical.misaligned != 0;
    let raid = device.raid.as_ref();
    raid.is_some_and(|raid| !misaligned && raid.preread.sum() < filled)
}

/// Books that md kept, where that took more writes than the array was asked
/// for.
pub(super) fn own_writes(device: &DeviceFigures) -> Option<Finding> {
    let raid = device.raid.as_ref()?;
    let asked = device.write.requests;
    (asked != 0 && raid.metadata_writes > asked).then(|| {
        Finding::new(
            Weight::Hint,
            format!(
                "{} of md's own books ({}) for {} to it: superblock and bitmap, on every member. A \
                 larger bitmap chunk makes them fewer, and none (`mdadm --grow --bitmap=none`) \
                 means a whole resync after a crash",
                counted(raid.metadata_writes, "write"),
                size(raid.metadata_write_bytes),
                counted(asked, "write"),
            ),
        )
    })
}

/// Writes of a component that do not cover whole blocks, where all of them are
/// md's own.
pub(super) fn books(device: &DeviceFigures) -> Option<Finding> {
    let misaligned = device.origin?.write_misaligned;
    let own = misaligned.metadata;
    (own != 0 && own == misaligned.sum() && device.write.physical.misaligned <= own).then(|| {
        Finding::new(
            Weight::Hint,
            format!(
                "{} of md's own books, shorter than a physical block: superblock and bitmap are \
                 written in logical blocks. Each may cost the drive a read-modify-write; a larger \
                 bitmap chunk makes them fewer",
                counted(own, "write"),
            ),
        )
    })
}

fn degraded(raid: &RaidFigures) -> Option<Finding> {
    (raid.degraded_read_bytes != 0).then(|| {
        Finding::new(
            Weight::Cost,
            format!(
                "{} read from the other members to make up for a failed one: replace it",
                size(raid.degraded_read_bytes)
            ),
        )
    })
}

/// The cause, and the remedy.
fn why(device: &DeviceFigures, main: MainCause) -> String {
    let stripe = device
        .geometry
        .stripe
        .map_or_else(|| "a stripe".to_owned(), |stripe| size(stripe.0));
    match main {
        MainCause::SubBlock => {
            "writes cover 4 KiB blocks only partly: write whole blocks of 4 KiB, \
                                and start them on one"
                .to_owned()
        }
        MainCause::SmallerThanStripe => format!(
            "writes are shorter than a stripe: write {stripe} or multiples of it, buffered writes \
             one after another, or use a smaller chunk"
        ),
        MainCause::StartsInsideStripe => format!(
            "writes that are long enough start inside a stripe: {}, and write in multiples of that",
            move_to_a_stripe(device, &stripe)
        ),
        MainCause::EndsInsideStripe => match shift(device) {
            Some(shift) => {
                format!("writes end inside a stripe: {shift}, and write in multiples of that")
            }
            None => format!(
                "writes start at a stripe and end inside one: make them multiples of {stripe}"
            ),
        },
        MainCause::SplitByMd => format!(
            "md cuts longer writes in two inside a stripe: write at most as many times {stripe} as \
             queue/max_sectors_kb holds"
        ),
        MainCause::NotSynced => "the array is not synchronized yet, and md then reconstructs \
                                 always: wait for the resync to end"
            .to_owned(),
        MainCause::RmwLevel => format!(
            "rmw_level is 0: `echo 1 > /sys/block/{}/md/rmw_level`",
            device.name
        ),
        MainCause::NotTold => "of writes that could not be found any more".to_owned(),
    }
}

fn move_to_a_stripe(device: &DeviceFigures, stripe: &str) -> String {
    shift(device)
        .unwrap_or_else(|| format!("move what lies on the array to a multiple of {stripe}"))
}

/// The layers that begin inside a stripe, and where they should begin.
fn shift(device: &DeviceFigures) -> Option<String> {
    let stripe = device.geometry.stripe?.0;
    let (lowest, more) = device.raid.as_ref()?.shifts().split_first()?;
    let own = |layer: &Layer| layer.place.as_ref().ok().map(|place| place.own_offset.0);
    let mut text = format!(
        "{} begins {} into a stripe of {}",
        named(&lowest.device, lowest.dm_name.as_deref()),
        size(own(lowest)?),
        named(&device.name, device.dm_name.as_deref()),
    );
    for layer in more {
        text.push_str(&format!(
            ", {} another {} in",
            named(&layer.device, layer.dm_name.as_deref()),
            size(own(layer)?)
        ));
    }
    let whose = if more.is_empty() {
        "its start"
    } else {
        "each start"
    };
    text.push_str(&format!(": move {whose} to a multiple of {}", size(stripe)));
    if lowest
        .dm_uuid
        .as_ref()
        .is_some_and(|uuid| uuid.starts_with("LVM-"))
    {
        text.push_str(&format!(
            " (LVM: `pvcreate --dataalignment {}k`, extents a multiple of it)",
            stripe >> 10
        ));
    }
    Some(text)
}

/// `vg-data (dm-0)`.
fn named(device: &str, dm_name: Option<&str>) -> String {
    dm_name.map_or_else(|| device.to_owned(), |name| format!("{name} ({device})"))
}

#[cfg(test)]
#[path = "raid_cache_tests.rs"]
mod cache_tests;
#[cfg(test)]
#[path = "raid_tests.rs"]
mod tests;
