use std::{io::Write as _, sync::LazyLock};

use flate2::{Compression, write::GzEncoder};
use proptest::prelude::*;
use tar::{Builder, Header};

use super::*;
use crate::stack::{capture, testing::Example};

/// An archive of one entry, of any name and kind.
fn archive(name: &[u8], kind: EntryType, bytes: &[u8]) -> Vec<u8> {
    let mut header = Header::new_gnu();
    header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name);
    header.set_entry_type(kind);
    header.set_size(bytes.len() as u64);
    header.set_mode(0o644);
    if matches!(kind, EntryType::Symlink | EntryType::Link) {
        header.set_link_name("/etc/passwd").unwrap();
    }
    header.set_cksum();
    let mut tar = Builder::new(Vec::new());
    tar.append(&header, bytes).unwrap();
    tar.into_inner().unwrap()
}

fn refused(bytes: &[u8]) -> String {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    let error = Folder::unpack(file.path()).unwrap_err();
    let chain = anyhow::Error::from(error);
    format!("{chain:#}").replace(&file.path().display().to_string(), "FILE")
}

#[test]
fn what_iotrace_cannot_have_written() {
    let regular = EntryType::Regular;
    for (name, kind, said) in [
        ("../x", regular, "../x in it leads out of it"),
        ("a/../../x", regular, "a/../../x in it leads out of it"),
        ("/etc/x", regular, "/etc/x in it begins at the root"),
        ("x", EntryType::Symlink, "x in it is a link"),
        ("x", EntryType::Link, "x in it is a link"),
        (
            "x",
            EntryType::Block,
            "x in it is neither a file nor a folder",
        ),
        (
            "x",
            EntryType::Fifo,
            "x in it is neither a file nor a folder",
        ),
        (".", regular, ". in it has no name"),
        ("1/2/3/4/5/6/7/8/9/0/1/2/3", regular, "lies too deep"),
    ] {
        let refusal = refused(&archive(name.as_bytes(), kind, b""));
        assert!(refusal.ends_with(said), "{refusal}");
    }
    let [first, second] = [b"1", b"2"].map(|bytes| archive(b"x", regular, bytes));
    // Without the end of the first archive.
    let twice = [&first[..1024], &second[..]].concat();
    assert!(refused(&twice).ends_with("x in it is there twice"));
    let other = refused(&archive(b"x", regular, b"hello"));
    assert!(other.contains("is neither a copy of /sys"), "{other}");
}

#[test]
fn what_is_no_archive() {
    for bytes in [&b""[..], b"hello", &[0x1f, 0x8b, 8, 0], &[0xff; 2048]] {
        let refusal = refused(bytes);
        let said = "FILE is no capture: it is no tar archive";
        assert!(refusal.starts_with(said), "{refusal}");
    }
    let missing = Folder::unpack(Path::new("/nonexistent")).unwrap_err();
    assert_eq!(missing.to_string(), "cannot read /nonexistent");
}

#[test]
fn promises_of_more_than_there_may_be() {
    let mut header = Header::new_gnu();
    header.set_path("iotrace-capture/x").unwrap();
    header.set_size(MOST_BYTES + 1);
    header.set_mode(0o644);
    header.set_cksum();
    let said = "is no capture: it is longer than 512 MiB unpacked";
    assert_eq!(refused(header.as_bytes()), said);
    let name = b"iotrace-capture/x";
    let whole = archive(name, EntryType::Regular, &vec![0; 1 << 20]);
    let mut zipped = GzEncoder::new(Vec::new(), Compression::fast());
    zipped.write_all(&whole[..1024]).unwrap();
    let cut = refused(&zipped.finish().unwrap());
    assert!(
        cut.contains("cannot read") || cut.contains("no tar archive"),
        "{cut}"
    );
}

fn real() -> Vec<u8> {
    let example = Example::new();
    let mut bytes = Vec::new();
    capture::write(&mut bytes, &example.stack, &example.sys(), false).unwrap();
    let mut plain = Vec::new();
    let mut unzipped = MultiGzDecoder::new(&bytes[..]);
    unzipped.read_to_end(&mut plain).unwrap();
    plain
}

#[test]
fn not_compressed_as_well_and_cut_anywhere() {
    let bytes = real();
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&bytes).unwrap();
    let folder = Folder::unpack(file.path()).unwrap();
    assert_eq!(folder.tables.len(), 3);
    for cut in [1, 511, 513, 5000] {
        refused(&bytes[..cut]);
    }
}

#[test]
fn files_that_are_none_of_a_captures() {
    let dir = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
    let said = || Folder::open(dir.path()).unwrap_err().to_string();
    let about = |format| format!(r#"{{"format": {format}, "iotrace": "9", "missing": []}}"#);
    let table = |target: &str| {
        format!(
            r#"[{{"device": {{"major": 1, "minor": 2}},
                 "table": [{{"start": 0, "len": 1, "target": {target}}}]}}]"#
        )
    };
    fs::create_dir_all(dir.path().join("sys/block")).unwrap();
    assert!(said().contains("cannot read"));
    put("capture.json", &about(2));
    let other = "the capture is of format 2, this iotrace knows 1 only";
    assert_eq!(said(), other);
    put("capture.json", &about(1));
    let raid = r#"{"raid": {"level": "raid7", "layout": null, "chunk": 0, "region": null,
        "data_offset": 0, "legs": []}}"#;
    put("dm.json", &table(raid));
    assert!(said().ends_with("dm.json is no such file of a capture"));
    put(
        "dm.json",
        &table(r#"{"striped": {"chunk": 0, "stripes": []}}"#),
    );
    put("superblocks.json", "[]");
    put("mountinfo", "nonsense\n");
    put("swaps", "");
    let folder = Folder::open(dir.path()).unwrap();
    let kept = &folder.tables.values().next().unwrap()[0].target;
    assert_eq!(kept.name(), "striped");
    assert_eq!(kept.piece(), None, "a chunk of 0 is not kept");
}

static REAL: LazyLock<Vec<u8>> = LazyLock::new(real);

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Damaged anywhere it is refused or read, and nothing else.
    #[test]
    fn damaged(at in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40)) {
        let mut bytes = REAL.clone();
        for (at, byte) in at {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&bytes).unwrap();
        let _ = Folder::unpack(file.path());
    }
}
