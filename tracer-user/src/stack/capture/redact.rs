//! Takes out of texts what names one machine's hardware or file systems, and
//! keeps what is equal equal.
//!
//! Must not keep what it replaced beyond the capture that is written.

use std::collections::BTreeMap;

use serde_json::Value;
use uuid::Uuid;

/// Longer runs of letters and digits in a device-mapper uuid are identifiers:
/// LVM's have 32 or 64, WWNs 16 or more.
const IDENTIFIER_CHARS: usize = 16;
const UUID_CHARS: usize = 36;

/// Replaces identifiers by numbers, in the order they are met.
#[derive(Debug, Default)]
pub(super) struct Redactor {
    /// The user wants them as they are.
    keep: bool,
    known: BTreeMap<String, u64>,
}

impl Redactor {
    /// One that changes nothing if `keep` is set.
    pub(super) fn new(keep: bool) -> Self {
        Self {
            keep,
            ..Self::default()
        }
    }

    /// Every uuid within the text replaced.
    pub(super) fn text(&mut self, text: &str) -> String {
        if self.keep {
            return text.to_owned();
        }
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let uuid = rest.get(..UUID_CHARS).and_then(hyphenated);
            let taken = match uuid {
                Some(uuid) => {
                    out.push_str(&self.uuid(uuid).to_string());
                    UUID_CHARS
                }
                None => {
                    out.push(first);
                    first.len_utf8()
                }
            };
            rest = rest.get(taken..).unwrap_or_default();
        }
        out
    }

    /// Of device-mapper's `LVM-...`, `CRYPT-LUKS2-...` and the like: every long
    /// run of letters and digits too.
    pub(super) fn dm_uuid(&mut self, text: &str) -> String {
        if self.keep {
            return text.to_owned();
        }
        let text = self.text(text.trim());
        let words = text.split('-').map(|word| {
            let long =
                word.len() >= IDENTIFIER_CHARS && word.chars().all(|c| c.is_ascii_alphanumeric());
            if long {
                self.identifier(word)
            } else {
                word.to_owned()
            }
        });
        words.collect::<Vec<_>>().join("-")
    }

    /// A superblock as it is kept: uuids, identifiers and names of partitions.
    pub(super) fn value(&mut self, value: &mut Value) {
        if self.keep {
            return;
        }
        match value {
            Value::Array(all) => all.iter_mut().for_each(|value| self.value(value)),
            Value::Object(fields) => {
                let is_partition = fields.contains_key("number") && fields.contains_key("start");
                if let Some(name) = fields.get_mut("name").filter(|_| is_partition) {
                    *name = Value::from("");
                }
                for (key, value) in fields {
                    self.field(key, value);
                }
            }
            Value::String(text) => *text = self.text(text),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn field(&mut self, key: &str, value: &mut Value) {
        match (key, &mut *value) {
            // What a partition is for is a uuid, and names no one machine.
            ("kind", kind) if kind.get("gpt").is_some_and(Value::is_string) => {}
            ("signature", _) => *value = Value::from(0),
            ("uuid", Value::String(text)) if hyphenated(text).is_none() => {
                *text = self.identifier(text);
            }
            _ => self.value(value),
        }
    }

    fn uuid(&mut self, uuid: Uuid) -> Uuid {
        // Nobody's: it says that there is none.
        if uuid.is_nil() {
            return uuid;
        }
        let number = self.number(&uuid.simple().to_string());
        Uuid::from_u128(number.into())
    }

    /// As long as it was, all zeroes but for its number.
    fn identifier(&mut self, text: &str) -> String {
        let number = self.number(text);
        format!("{number:0width$}", width = text.len())
    }

    fn number(&mut self, text: &str) -> u64 {
        let next = self.known.len() as u64 + 1;
        *self.known.entry(text.to_owned()).or_insert(next)
    }
}

/// 8-4-4-4-12 hexadecimal digits.
fn hyphenated(text: &str) -> Option<Uuid> {
    let bytes = text.as_bytes();
    let dashes = bytes.len() == UUID_CHARS && [8, 13, 18, 23].iter().all(|at| bytes[*at] == b'-');
    dashes.then(|| Uuid::try_parse(text).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ONE: &str = "0f3c2f8e-7d52-4c0e-9d05-5a1c52c1e9aa";
    const FIRST: &str = "00000000-0000-0000-0000-000000000001";

    #[test]
    fn what_was_equal_stays_equal() {
        let mut redactor = Redactor::default();
        assert_eq!(
            redactor.text(&format!("luks-{ONE} ü {}", ONE.to_uppercase())),
            format!("luks-{FIRST} ü {FIRST}")
        );
        let vg = "8".repeat(32) + &"a".repeat(32);
        let lvm = redactor.dm_uuid(&format!("LVM-{vg}-tpool"));
        assert_eq!(lvm, format!("LVM-{:064}-tpool", 2));
        let simple = ONE.replace('-', "");
        let crypt = redactor.dm_uuid(&format!("CRYPT-LUKS2-{simple}-home"));
        assert_eq!(crypt, format!("CRYPT-LUKS2-{:032}-home", 1));
        assert_eq!(redactor.text("md127, 4096"), "md127, 4096");
    }

    #[test]
    fn a_partitions_type_is_no_serial_number() {
        let mut value = json!({"found": [{
            "format": "partitions",
            "kind": {"gpt": {"disk": ONE, "block_size": 512}},
            "partitions": [{"number": 1, "start": 34, "kind": {"gpt": ONE}, "name": "x"}],
        }, {"kind": {"mbr": {"signature": 7}}}, {"uuid": "abcdefABCDEF"}]});
        Redactor::default().value(&mut value);
        assert_eq!(value["found"][0]["kind"]["gpt"]["disk"], FIRST);
        assert_eq!(value["found"][0]["partitions"][0]["kind"]["gpt"], ONE);
        assert_eq!(value["found"][0]["partitions"][0]["name"], "");
        assert_eq!(value["found"][1]["kind"]["mbr"]["signature"], 0);
        assert_eq!(value["found"][2]["uuid"], "000000000002");
    }

    #[test]
    fn nothing_is_taken_from_who_wants_it() {
        let mut redactor = Redactor::new(true);
        assert_eq!(redactor.text(ONE), ONE);
        assert_eq!(redactor.dm_uuid(ONE), ONE);
    }
}
