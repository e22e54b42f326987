//! What `iotrace stack` prints, and what tools do.

use serde_json::Value;

use crate::harness::{
    device::Device,
    process::{finished, run},
    tracer::iotrace,
};

/// What it prints, in one of its formats.
pub(super) fn print(args: &[&str]) -> String {
    let output = finished(iotrace().arg("stack").args(args));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {errors}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

pub(super) fn stack(device: &Device) -> Stack {
    let stack = Stack::of(&["--dev", device.name(), "--format", "json"]);
    assert_eq!(stack.0["missing"], serde_json::json!([]));
    stack
}

pub(super) struct Stack(Value);

impl Stack {
    pub(super) fn of(args: &[&str]) -> Self {
        Self(serde_json::from_str(&print(args)).expect("JSON"))
    }

    pub(super) fn device(&self, device: &Device) -> &Value {
        let devices = self.0["devices"].as_array().expect("devices");
        let found = devices.iter().find(|one| one["device"] == device.name());
        found.unwrap_or_else(|| panic!("no {} in {}", device.name(), self.0))
    }

    /// What lies on a device, of one format.
    pub(super) fn content(&self, device: &Device, format: &str) -> &Value {
        let row = self.device(device);
        let contents = row["contents"].as_array();
        let contents = contents.unwrap_or_else(|| panic!("not looked into: {row}"));
        let found = contents.iter().find(|one| one["format"] == format);
        found.unwrap_or_else(|| panic!("no {format}: {row}"))
    }
}

/// Offset against a boundary of a layer.
pub(super) fn offset(of: &Value, layer: &Device, boundary: &str) -> u64 {
    let all = of["against"].as_array().expect("places");
    let found = all
        .iter()
        .find(|one| one["device"] == layer.name() && one["boundary"] == boundary);
    let found = found.unwrap_or_else(|| panic!("no {boundary} of {}: {of}", layer.name()));
    let (offset, width) = (&found["offset_bytes"], &found["width_bytes"]);
    let phase = found["phase_bytes"].as_u64().expect("a phase");
    let offset = offset
        .as_u64()
        .unwrap_or_else(|| panic!("no place: {found}"));
    assert_eq!((offset + phase) % width.as_u64().expect("a width"), 0);
    offset
}

/// The number after a label: `Data Offset : 2048 sectors`.
pub(super) fn told(text: &str, label: &str) -> u64 {
    let line = text
        .lines()
        .find_map(|line| line.trim().strip_prefix(label));
    let line = line.unwrap_or_else(|| panic!("no {label:?} in {text}"));
    let digits = line.trim_start_matches([' ', ':', '=']);
    let end = digits.find(|c: char| !c.is_ascii_digit());
    let digits = &digits[..end.unwrap_or(digits.len())];
    digits
        .parse()
        .unwrap_or_else(|_| panic!("{label:?}: {line:?}"))
}

/// Every column of `lsblk -t` that `stack` has too.
pub(super) fn as_lsblk_says(stack: &Stack, devices: &[&Device]) {
    const COLUMNS: &str = "NAME,ALIGNMENT,MIN-IO,OPT-IO,PHY-SEC,LOG-SEC,RA,DISC-GRAN";
    for device in devices {
        let node = device.node_text();
        let args = ["--bytes", "--nodeps", "--json", "--output", COLUMNS, &node];
        let said: Value = serde_json::from_str(&run("lsblk", &args)).expect("JSON");
        let said = &said["blockdevices"][0];
        // Older ones write numbers as texts.
        let number = |key: &str| match &said[key] {
            Value::String(text) => text.parse::<i64>().expect("a number"),
            other => other.as_i64().unwrap_or_else(|| panic!("{key}: {said}")),
        };
        let ours = stack.device(device);
        let value = |key: &str| ours[key].as_i64().unwrap_or(0);
        let alignment = match ours["alignment_inconsistent"].as_bool() {
            Some(true) => -1,
            _ => value("alignment_offset_bytes"),
        };
        assert_eq!(alignment, number("alignment"), "{ours}");
        for (column, key) in [
            ("min-io", "io_min_bytes"),
            ("opt-io", "io_opt_bytes"),
            ("phy-sec", "physical_block_bytes"),
            ("log-sec", "logical_block_bytes"),
            ("disc-gran", "discard_granularity_bytes"),
        ] {
            assert_eq!(value(key), number(column), "{column}: {ours}");
        }
        assert_eq!(value("read_ahead_bytes"), number("ra") * 1024, "{ours}");
    }
}
