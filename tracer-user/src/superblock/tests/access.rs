//! Reading of files and what is none.

use std::{fs::File, os::unix::fs::FileExt, path::Path};

use super::{Image, all};
use crate::{
    superblock::{BlockFile, ReadAt, SuperblockError, read, read_from},
    units::Bytes,
};

/// The image as a sparse file.
fn file(image: &Image, path: &Path) {
    let file = File::create(path).unwrap();
    file.set_len(image.size).unwrap();
    for (offset, line) in &image.lines {
        file.write_all_at(line, *offset).unwrap();
    }
}

#[test]
fn a_file_reads_as_its_image_does() {
    let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let path = dir.path().join("image");
    for name in all() {
        let image = Image::named(&name);
        file(&image, &path);
        assert_eq!(read(&path).unwrap(), image.contents(), "{name}");
    }
}

#[test]
fn pieces_at_any_place_and_beyond_the_end() {
    let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let path = dir.path().join("image");
    let bytes: Vec<u8> = (0..20_001_u32)
        .map(|at| (at * 7 % 251).to_le_bytes()[0])
        .collect();
    std::fs::write(&path, &bytes).unwrap();
    let file = BlockFile::open(&path).unwrap();
    assert_eq!(file.size(), Bytes(20_001));
    for (offset, len) in [
        (0, 1),
        (4095, 2),
        (1, 9000),
        (19_999, 100),
        (20_001, 1),
        (9999, 0),
    ] {
        let mut ours = vec![0; len];
        let mut whole = vec![0; len];
        let count = file.read_at(offset, &mut ours).unwrap();
        assert_eq!(count, bytes[..].read_at(offset, &mut whole).unwrap());
        assert_eq!(ours, whole, "{len} at {offset}");
        let mut cached = vec![0; len];
        assert_eq!(file.read_cached_at(offset, &mut cached).unwrap(), count);
        assert_eq!(cached, whole);
    }
}

#[test]
fn what_is_no_device_says_so() {
    assert!(matches!(
        read(Path::new("/dev/null")),
        Err(SuperblockError::NoDevice(_))
    ));
    assert!(matches!(
        read(Path::new("/")),
        Err(SuperblockError::NoDevice(_))
    ));
    let missing = read(Path::new("/nonexistent")).unwrap_err();
    assert_eq!(missing.to_string(), "cannot open /nonexistent");
}

#[test]
fn a_device_that_fails_at_once_is_an_error_later_it_is_not() {
    struct Failing(Image, u64);
    impl ReadAt for Failing {
        fn size(&self) -> Bytes {
            self.0.size()
        }
        fn read_at(&self, offset: u64, buffer: &mut [u8]) -> std::io::Result<usize> {
            if offset + buffer.len() as u64 > self.1 {
                return Err(std::io::ErrorKind::NotFound.into());
            }
            self.0.read_at(offset, buffer)
        }
    }
    let gone = Failing(Image::named("luks2_128k"), 0);
    assert!(matches!(read_from(&gone), Err(SuperblockError::Read(_))));
    let half = Failing(Image::named("luks2_128k"), 72 << 10);
    let contents = read_from(&half).unwrap();
    assert_eq!(
        contents.faults[0].to_string(),
        "LUKS header: JSON is cut off"
    );
}
