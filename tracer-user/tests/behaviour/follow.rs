//! Devices that come, go and change while iotrace runs: their rows follow, and
//! no request of theirs is missed, whatever was known of them at the time.

use serde_json::Value;

use crate::{
    case::{Books, books_agree},
    harness::{
        device::Device,
        fio::Fio,
        lab::{Lab, Needs},
        loopdev::Loop,
        md::Array,
        partition::Partition,
        scsi_debug::ScsiDebug,
        stat::{Stat, settle},
        tracer::{Attach, Report, Tracer, row},
        wait,
    },
};

const MIB: u64 = 1 << 20;
const FIO: Needs = Needs::Program("fio");
const MDADM: Needs = Needs::Program("mdadm");

/// Attached in the ways that tell everything.
struct Both(Vec<(Attach, Tracer)>);

impl Both {
    fn of(devices: &[&Device]) -> Self {
        let ways = Attach::tried(&Attach::TELLING).into_iter();
        let started: Vec<_> = ways
            .map(|attach| (attach, Tracer::of(devices, attach, &[])))
            .collect();
        let attached = started
            .into_iter()
            .map(|(attach, tracer)| (attach, tracer.wait_until_attached()));
        Self(attached.collect())
    }

    /// Waits until each has printed a row of `name` that is as wanted.
    fn wait_for_row(&self, name: &str, what: &str, wanted: impl Fn(&Value) -> bool) {
        for (attach, tracer) in &self.0 {
            wait::until_true(&format!("{} to show {name} {what}", attach.word()), || {
                let lines = tracer.lines();
                let last = lines.last().and_then(|line| row(line, name));
                last.is_some_and(&wanted)
            });
        }
    }

    /// Ends both; each must have lost nothing, and its row of `name` must be
    /// what the kernel's books say.
    fn stop(self, name: &str, stat: &Stat, books: Books) -> Vec<(Attach, Report)> {
        let reports = self.0.into_iter().map(|(attach, tracer)| {
            let report = tracer.stop();
            let who = format!("{} on {name}", attach.word());
            let row = row(&report.summary, name)
                .unwrap_or_else(|| panic!("{who}: no row in {}", report.summary));
            books_agree(&who, attach, row, stat, books);
            (attach, report)
        });
        reports.collect()
    }
}

#[test]
fn a_loop_device_attached_again() {
    let Some(lab) = Lab::open("a_loop_device_attached_again", &[FIO]) else {
        return;
    };
    let mut disk = Loop::new(&lab, 16 * MIB);
    let device = disk.device();
    let before = settle(std::slice::from_ref(&device))[0];
    let both = Both::of(&[&device]);
    Fio::mixed(&device, 101).run(&lab);
    disk.reattach(&lab, 32 * MIB);
    Fio::mixed(&device, 103).set("offset=16m").run(&lab);
    let stat = settle(std::slice::from_ref(&device))[0] - before;
    both.stop(device.name(), &stat, Books::All);
    assert!(stat.reads() + stat.writes() >= 204, "{stat:?}");
}

#[test]
fn a_disk_partitioned_meanwhile() {
    let Some(lab) = Lab::open("a_disk_partitioned_meanwhile", &[FIO]) else {
        return;
    };
    let disk = Loop::new(&lab, 32 * MIB);
    let device = disk.device();
    let before = settle(std::slice::from_ref(&device))[0];
    let both = Both::of(&[&device]);
    Fio::mixed(&device, 101).run(&lab);
    // IO to the partition at once, before anybody can have looked at it.
    let partition = Partition::create(&device, 63, 20_001);
    Fio::mixed(&partition, 103).run(&lab);
    let of_partition = settle(&[(*partition).clone()])[0];
    both.wait_for_row(partition.name(), "as a partition", |row| {
        row["kind"] == "partition"
    });
    let stat = settle(std::slice::from_ref(&device))[0] - before;
    let reports = both.stop(device.name(), &stat, Books::All);
    for (attach, report) in reports {
        let row = row(&report.summary, partition.name()).expect("the partition's row");
        books_agree(attach.word(), attach, row, &of_partition, Books::All);
    }
}

/// From its first request on: those of the kernel's own look at the new disk
/// come before anybody can know its geometry.
#[test]
#[ignore = "needs scsi_debug: run in a guest"]
fn a_disk_added_meanwhile() {
    let Some(lab) = Lab::open("a_disk_added_meanwhile", &[FIO]) else {
        return;
    };
    let module = ScsiDebug::load(&["dev_size_mb=32", "sector_size=512", "physblk_exp=3"]);
    let both = Both::of(&[]);
    module.add(1);
    let new = module.disks().remove(1);
    Fio::mixed(&new, 211).run(&lab);
    both.wait_for_row(new.name(), "with its blocks", |row| {
        row["geometry"]["physical_block_bytes"] == 4096
    });
    // Known by now: classified.
    Fio::mixed(&new, 101)
        .set("rw=randwrite")
        .set("bssplit=512/100")
        .run(&lab);
    let stat = settle(std::slice::from_ref(&new))[0];
    let reports = both.stop(new.name(), &stat, Books::All);
    for (_, report) in &reports {
        let row = row(&report.summary, new.name()).expect("its row");
        let sub_block = row["write"]["physical"]["sub_block"].as_u64();
        assert!(sub_block >= Some(101), "{row}");
    }
}

#[test]
#[ignore = "needs md: run in a guest"]
fn an_array_created_again_with_another_chunk() {
    let name = "an_array_created_again_with_another_chunk";
    let Some(lab) = Lab::open(name, &[FIO, MDADM]) else {
        return;
    };
    let disks: Vec<Loop> = (0..4).map(|_| Loop::new(&lab, 16 * MIB)).collect();
    let members: Vec<_> = disks.iter().map(Loop::device).collect();
    let first = Array::create("md71", "5", "64", &members);
    let device = first.device();
    let before = settle(std::slice::from_ref(&device))[0];
    let both = Both::of(&[&device]);
    Fio::mixed(&device, 101).run(&lab);
    let of_first = settle(std::slice::from_ref(&device))[0] - before;
    first.stop();

    let second = Array::create("md71", "5", "128", &members);
    both.wait_for_row("md71", "with the new chunk", |row| {
        row["geometry"]["chunk_bytes"] == 128 << 10
    });
    Fio::mixed(&device, 53)
        .set("rw=randwrite")
        .set("bssplit=128k/100")
        .set("blockalign=128k")
        .run(&lab);
    let of_second = settle(&[second.device()])[0];
    let reports = both.stop("md71", &(of_first + of_second), Books::Array);
    for (_, report) in &reports {
        let row = row(&report.summary, "md71").expect("its row");
        let aligned = row["write"]["chunk"]["aligned"].as_u64();
        assert!(aligned >= Some(53), "{row}");
    }
}

/// One disk more: the chunk stays, the stripe grows.
#[test]
#[ignore = "needs md: run in a guest"]
fn an_array_reshaped() {
    let Some(lab) = Lab::open("an_array_reshaped", &[FIO, MDADM]) else {
        return;
    };
    let disks: Vec<Loop> = (0..5).map(|_| Loop::new(&lab, 32 * MIB)).collect();
    let members: Vec<_> = disks.iter().map(Loop::device).collect();
    let array = Array::create("md72", "5", "64", &members[..4]);
    let device = array.device();
    let before = settle(std::slice::from_ref(&device))[0];
    let both = Both::of(&[&device]);
    Fio::mixed(&device, 101).run(&lab);
    array.grow(&members[4], 5, &lab);
    both.wait_for_row("md72", "with four data disks", |row| {
        row["geometry"]["data_disks"] == 4 && row["geometry"]["stripe_bytes"] == 4 * (64 << 10)
    });
    Fio::mixed(&device, 53)
        .set("rw=randwrite")
        .set("bssplit=256k/100")
        .set("blockalign=256k")
        .run(&lab);
    let stat = settle(std::slice::from_ref(&device))[0] - before;
    let reports = both.stop("md72", &stat, Books::Array);
    for (_, report) in &reports {
        let row = row(&report.summary, "md72").expect("its row");
        let full = row["write"]["stripe"]["full"].as_u64();
        assert!(full >= Some(53), "{row}");
    }
}
