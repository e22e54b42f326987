//! BTF made by hand: the cases that kernels may bring and the recorded ones do
//! not have.

use std::path::Path;

use super::*;

/// Writes BTF (Documentation/bpf/btf.rst) of 64-bit little-endian kernels.
/// Types are numbered from 1 in the order in which they are added.
#[derive(Default)]
struct Maker {
    types: Vec<u8>,
    strings: Vec<u8>,
    count: u32,
}

const INT: u32 = 1;
const PTR: u32 = 2;
const STRUCT: u32 = 4;
const UNION: u32 = 5;
const ENUM: u32 = 6;
const TYPEDEF: u32 = 8;
const CONST: u32 = 10;
const FUNC_PROTO: u32 = 13;
const KIND_FLAG: u32 = 1 << 31;

impl Maker {
    fn new() -> Self {
        Self {
            strings: vec![0],
            ..Self::default()
        }
    }

    fn string(&mut self, text: &str) -> u32 {
        if text.is_empty() {
            return 0;
        }
        let offset = u32::try_from(self.strings.len()).unwrap();
        self.strings.extend_from_slice(text.as_bytes());
        self.strings.push(0);
        offset
    }

    fn words(&mut self, words: &[u32]) {
        for word in words {
            self.types.extend_from_slice(&word.to_le_bytes());
        }
    }

    /// `extra`: the words after the common three.
    fn add(&mut self, name: &str, kind: u32, vlen: usize, size_or_type: u32, extra: &[u32]) -> u32 {
        let name = self.string(name);
        let vlen = u32::try_from(vlen).unwrap();
        let info = (kind & !KIND_FLAG) << 24 | vlen | (kind & KIND_FLAG);
        self.words(&[name, info, size_or_type]);
        self.words(extra);
        self.count += 1;
        self.count
    }

    fn int(&mut self, name: &str, size_bytes: u32) -> u32 {
        self.add(name, INT, 0, size_bytes, &[size_bytes * 8])
    }

    fn pointer(&mut self, to: u32) -> u32 {
        self.add("", PTR, 0, to, &[])
    }

    /// Members: name, type, offset in bits (with `KIND_FLAG`: length << 24).
    fn structure(&mut self, kind: u32, name: &str, members: &[(&str, u32, u32)]) -> u32 {
        let mut words = Vec::new();
        for (name, r#type, bits) in members {
            words.extend([self.string(name), *r#type, *bits]);
        }
        self.add(name, kind, members.len(), 64, &words)
    }

    fn constants(&mut self, name: &str, values: &[(&str, u32)]) -> u32 {
        let mut words = Vec::new();
        for (name, value) in values {
            words.extend([self.string(name), *value]);
        }
        self.add(name, ENUM, values.len(), 4, &words)
    }

    fn prototype(&mut self, tracepoint: &str, parameters: &[u32]) {
        let words: Vec<u32> = parameters.iter().flat_map(|&id| [0, id]).collect();
        let function = self.add("", FUNC_PROTO, parameters.len(), 0, &words);
        let pointer = self.pointer(function);
        self.add(&format!("btf_trace_{tracepoint}"), TYPEDEF, 0, pointer, &[]);
    }

    fn bytes(&self) -> Vec<u8> {
        let types_len = u32::try_from(self.types.len()).unwrap();
        let strings_len = u32::try_from(self.strings.len()).unwrap();
        let mut bytes = vec![0x9f, 0xeb, 1, 0];
        for word in [24, 0, types_len, types_len, strings_len] {
            bytes.extend_from_slice(&u32::to_le_bytes(word));
        }
        bytes.extend_from_slice(&self.types);
        bytes.extend_from_slice(&self.strings);
        bytes
    }

    fn facts(&self) -> BtfFacts {
        BtfFacts::from_bytes(Path::new("made"), &self.bytes()).unwrap()
    }
}

#[test]
fn fields_behind_anonymous_members_and_typedefs_are_found() {
    let mut btf = Maker::new();
    let u64 = btf.int("long unsigned int", 8);
    let sector = btf.add("sector_t", TYPEDEF, 0, u64, &[]);
    let sector = btf.add("", CONST, 0, sector, &[]);
    let iter = btf.structure(
        STRUCT,
        "bvec_iter",
        &[("pad", u64, 0), ("bi_sector", sector, 64)],
    );
    let inner = btf.structure(STRUCT, "", &[("pad", u64, 0), ("bi_iter", iter, 64)]);
    let union = btf.structure(UNION, "", &[("other", u64, 0), ("", inner, 0)]);
    btf.structure(STRUCT, "bio", &[("bi_next", u64, 0), ("", union, 128)]);

    let facts = btf.facts();
    let field = &facts.fields["bio.bi_iter.bi_sector"];
    assert_eq!(field.offset_bytes, 16 + 8 + 8);
    assert_eq!(
        (field.size_bytes, field.type_name.as_str()),
        (8, "sector_t")
    );
    assert!(!facts.fields.contains_key("bio.bi_opf"));
    assert!(facts.refused.is_empty(), "{:?}", facts.refused);
}

#[test]
fn bitfields_are_refused_in_both_encodings() {
    let mut btf = Maker::new();
    let u32 = btf.int("unsigned int", 4);
    btf.structure(STRUCT | KIND_FLAG, "bio", &[("bi_opf", u32, 3 << 24 | 64)]);
    btf.structure(STRUCT, "request", &[("cmd_flags", u32, 67)]);
    let facts = btf.facts();
    assert!(facts.fields.is_empty());
    assert_eq!(facts.refused["bio.bi_opf"], "it is a bitfield");
    assert_eq!(facts.refused["request.cmd_flags"], "it is a bitfield");
}

#[test]
fn a_whole_member_beside_bitfields_is_none() {
    let mut btf = Maker::new();
    let u32 = btf.int("unsigned int", 4);
    btf.structure(STRUCT | KIND_FLAG, "bio", &[("bi_opf", u32, 64)]);
    assert_eq!(btf.facts().fields["bio.bi_opf"].offset_bytes, 8);
}

#[test]
fn copies_of_a_type_must_agree() {
    let mut btf = Maker::new();
    let u32 = btf.int("unsigned int", 4);
    let u64 = btf.int("long unsigned int", 8);
    btf.structure(
        STRUCT,
        "request",
        &[("cmd_flags", u32, 192), ("__sector", u64, 0)],
    );
    btf.structure(
        STRUCT,
        "request",
        &[("cmd_flags", u32, 192), ("__sector", u64, 64)],
    );
    btf.structure(STRUCT, "request", &[("of_some_driver", u32, 0)]);
    let facts = btf.facts();
    assert_eq!(facts.fields["request.cmd_flags"].offset_bytes, 24);
    assert!(!facts.fields.contains_key("request.__sector"));
    assert_eq!(
        facts.refused["request.__sector"],
        "several types of this name disagree"
    );
}

#[test]
fn arguments_are_found_by_type_wherever_they_are() {
    let mut btf = Maker::new();
    let void = btf.pointer(0);
    let queue = btf.structure(STRUCT, "request_queue", &[]);
    let queue = btf.pointer(queue);
    let request = btf.structure(STRUCT, "request", &[]);
    let request = btf.add("", CONST, 0, request, &[]);
    let request = btf.pointer(request);
    // 5.10.136 and before.
    btf.prototype("block_rq_issue", &[void, queue, request]);
    btf.prototype("block_rq_requeue", &[void, request]);
    btf.prototype("block_split", &[queue]);
    let facts = btf.facts();
    assert_eq!(
        facts.prototypes["block_rq_issue"],
        ["struct request_queue *", "struct request *"]
    );
    assert_eq!(facts.prototypes["block_rq_requeue"], ["struct request *"]);
    assert!(facts.refused["block_split"].contains("not void *"));
}

#[test]
fn constants_come_from_named_and_anonymous_enumerations() {
    let mut btf = Maker::new();
    btf.constants("req_opf", &[("REQ_OP_READ", 0), ("REQ_OP_WRITE_ZEROES", 9)]);
    btf.constants("", &[("BIO_TRACE_COMPLETION", 10)]);
    btf.constants("", &[("MQ_RQ_IDLE", 0)]);
    btf.constants("mq_rq_state", &[("MQ_RQ_IDLE", 1)]);
    btf.constants("of_some_driver", &[("REQ_OP_WRITE", 77)]);
    let facts = btf.facts();
    assert_eq!(facts.constants["REQ_OP_WRITE_ZEROES"], 9);
    assert_eq!(facts.constants["BIO_TRACE_COMPLETION"], 10);
    assert!(!facts.constants.contains_key("REQ_OP_WRITE"));
    assert!(facts.refused.contains_key("MQ_RQ_IDLE"));
}

#[test]
fn circles_in_damaged_btf_end() {
    let mut btf = Maker::new();
    // A typedef of itself, and a structure in itself.
    let circle = btf.add("circle", TYPEDEF, 0, 1, &[]);
    btf.structure(STRUCT, "bio", &[("bi_opf", circle, 0)]);
    btf.structure(STRUCT, "", &[("", 3, 0)]);
    btf.structure(STRUCT, "request", &[("", 3, 0), ("cmd_flags", circle, 0)]);
    let facts = btf.facts();
    assert!(facts.refused["bio.bi_opf"].contains("circle"));
    assert!(facts.refused["request.cmd_flags"].contains("circle"));
}

#[test]
fn what_is_no_btf_says_so_with_its_path() {
    for bytes in [
        &b""[..],
        b"\x9f\xeb",
        b"\x7fELF and more of it than a header has",
    ] {
        let error = BtfFacts::from_bytes(Path::new("/some/vmlinux"), bytes).unwrap_err();
        assert!(error.to_string().starts_with("/some/vmlinux"), "{error}");
    }
}

proptest::proptest! {
    #[test]
    fn damaged_btf_never_panics(flips: Vec<(proptest::sample::Index, u8)>) {
        let mut btf = Maker::new();
        let u64 = btf.int("long unsigned int", 8);
        let inner = btf.structure(UNION, "", &[("bi_flags", u64, 0)]);
        let bio = btf.structure(STRUCT, "bio", &[("", inner, 0), ("bi_opf", u64, 64)]);
        let void = btf.pointer(0);
        let bio = btf.pointer(bio);
        btf.prototype("block_bio_queue", &[void, bio]);
        btf.constants("req_op", &[("REQ_OP_READ", 0)]);
        for (index, value) in flips {
            let index = index.index(btf.types.len());
            btf.types[index] = value;
        }
        let _ = BtfFacts::from_bytes(Path::new("damaged"), &btf.bytes());
    }
}
