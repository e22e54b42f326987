//! What doctor says another chunk, or another place, would have cost: against
//! an array that was made so, and the same writes.

use std::io::Write as _;

use serde_json::Value;

use super::{KIB, needs, rig::Rig};
use crate::harness::{
    direct::Direct,
    lab::Lab,
    stat::Stat,
    tracer::{Tracer, iotrace},
};

const DISKS: usize = 7;
const DATA_DISKS: u64 = 5;
const CHUNK: u64 = 64;
const SMALLER: u64 = 16;
const WRITES: u64 = 24;

/// Direct writes, all of one length, each on rows of its own.
#[derive(Clone, Copy)]
struct Work {
    first: u64,
    len: u64,
}

impl Work {
    fn run(self, rig: &Rig) -> u64 {
        let before = read_bytes(rig);
        let direct = Direct::open(&rig.device());
        let len = usize::try_from(self.len).expect("a length");
        for index in 0..WRITES {
            direct.write(self.first + index * 4 * DATA_DISKS * CHUNK * KIB, len, 1);
        }
        read_bytes(rig) - before
    }
}

#[test]
#[ignore = "needs md and scsi_debug: run in a guest"]
fn what_doctor_says_would_have_been_read_is_read() {
    let name = "what_doctor_says_would_have_been_read_is_read";
    let Some(lab) = Lab::open(name, &needs()) else {
        return;
    };
    let chunk = Work {
        first: 0,
        len: CHUNK * KIB,
    };
    let stripe = Work {
        first: CHUNK * KIB,
        len: DATA_DISKS * CHUNK * KIB,
    };
    let rig = array(&lab, CHUNK);
    let Some([of_chunks, of_stripes]) = told(&rig, [chunk, stripe]) else {
        return;
    };
    let moved = of_stripes["phase"]["move_by_bytes"]
        .as_u64()
        .expect("a move");
    assert_eq!(moved, (DATA_DISKS - 1) * CHUNK * KIB, "{of_stripes}");
    rig.empty_stripe_cache();
    let aligned = Work {
        first: stripe.first + moved,
        ..stripe
    };
    assert_eq!(of_stripes["phase"]["preread_bytes"], aligned.run(&rig));
    drop(rig);
    let rig = array(&lab, SMALLER);
    let with = |what_if: &Value| {
        let chunks = what_if["chunks"].as_array().expect("other chunks");
        let smaller = |one: &&Value| one["chunk_bytes"] == SMALLER * KIB;
        chunks.iter().find(smaller).expect("this one")["preread_bytes"].clone()
    };
    assert_eq!(with(&of_chunks), chunk.run(&rig), "{of_chunks}");
    rig.empty_stripe_cache();
    assert_eq!(with(&of_stripes), stripe.run(&rig), "{of_stripes}");
}

fn array(lab: &Lab, chunk_kib: u64) -> Rig {
    let rig = Rig::new(lab, "6", &chunk_kib.to_string(), DISKS, &["--bitmap=none"]);
    // Whatever this CPU's default is.
    rig.device().write("md/rmw_level", "1");
    rig
}

/// What doctor makes of each; the model is right about the array as it is.
/// `None`, and told, where the kernel skipped runs of a program.
fn told(rig: &Rig, work: [Work; 2]) -> Option<[Value; 2]> {
    let told = work.map(|work| {
        rig.empty_stripe_cache();
        let device = rig.device();
        let doctor = [
            "doctor",
            "--dev",
            device.name(),
            "--duration",
            "1h",
            "--format",
            "json",
        ];
        let doctor = Tracer::start(iotrace().args(doctor)).wait_until_attached();
        let read = work.run(rig);
        doctor.signal(libc::SIGINT);
        let ended = doctor.wait();
        assert_eq!(ended.status.code(), Some(0), "{:?}", ended.stderr);
        let said: Value = serde_json::from_str(&ended.stdout.concat()).expect("an object");
        if lost(&said) {
            return None;
        }
        let what_if = said["what_if"][0].clone();
        assert_eq!(what_if["writes"], WRITES, "{said}");
        assert_eq!(what_if["measured_preread_bytes"], read, "{what_if}");
        assert_eq!(what_if["as_it_is"]["preread_bytes"], read, "{what_if}");
        Some(what_if)
    });
    let [first, second] = told;
    Some([first?, second?])
}

fn lost(said: &Value) -> bool {
    let not_looked = said["not_looked_at"]
        .as_array()
        .expect("what was not looked at");
    let lost = not_looked
        .iter()
        .filter_map(Value::as_str)
        .find(|line| line.contains("lost"));
    let Some(lost) = lost else { return false };
    assert!(std::env::var_os("IOTRACE_PREEMPTIBLE").is_some(), "{lost}");
    // Past the test runner, which shows only what failed tests print.
    let told = writeln!(std::io::stderr(), "NOT COMPARED: {lost}");
    told.expect("standard error");
    true
}

fn read_bytes(rig: &Rig) -> u64 {
    rig.members()
        .iter()
        .map(|member| Stat::read(member).read_bytes())
        .sum()
}
