//! The one table of all rules: id, usual severity, and what it is in a line.
//! The docs' list and the tests come from it.
//!
//! Must not decide anything.

use std::fmt::Write as _;

use super::Severity;

/// The page with a section for each rule.
pub const PAGE: &str = "docs/findings.md";

/// One rule.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// Stable; the anchor of its section in the docs.
    pub id: &'static str,
    /// What it usually has; a finding may have less or more.
    pub severity: Severity,
    pub what: &'static str,
    /// Only where something was counted (`--duration`).
    pub measured: bool,
}

macro_rules! rules {
    ($($name:ident: $severity:ident, $measured:literal, $id:literal, $what:literal;)*) => {
        $(pub(super) static $name: Rule = Rule {
            id: $id, severity: Severity::$severity, what: $what, measured: $measured,
        };)*
        /// Every rule there is, in the order of the docs.
        pub static ALL: &[&Rule] = &[$(&$name,)*];
    };
}

rules! {
    PARTITION: Error, false, "misaligned-partition",
        "A partition starts off the physical block, or inside a chunk or stripe of what it lies on.";
    PV: Warning, false, "misaligned-pv",
        "The extents of an LVM physical volume begin off the physical block, a chunk or a stripe.";
    VOLUME: Warning, false, "misaligned-volume",
        "A logical volume, or another mapping, begins off the physical block, a chunk or a stripe.";
    LUKS: Warning, false, "misaligned-luks",
        "The payload of LUKS begins off the physical block, a chunk or a stripe.";
    BCACHE: Warning, false, "misaligned-bcache",
        "The data of a bcache backing device begin off the physical block, a chunk or a stripe.";
    LOOP: Warning, false, "misaligned-loop",
        "A loop device begins off the physical block, a chunk or a stripe of what it lies on.";
    MEMBER_DATA: Error, false, "misaligned-member-data",
        "An array's data begin off the physical block of a member.";
    IO_OPT: Info, false, "io-opt-implausible",
        "optimal_io_size is a number that no stripe has, such as 33553920 = 65535 × 512.";
    IO_OPT_LIMIT: Info, false, "io-opt-transfer-limit",
        "optimal_io_size is the longest transfer that the drive or its adapter takes, no stripe.";
    IO_OPT_BLOCK: Info, false, "io-opt-is-block",
        "optimal_io_size is the physical block again, no stripe.";
    IO_MIN_OPT: Info, false, "io-min-is-io-opt",
        "minimum_io_size and optimal_io_size are the same: chunk and stripe cannot both be that.";
    ARRAY_HINTS: Warning, false, "io-opt-no-stripe",
        "An array's optimal_io_size is not its stripe, as where members have one of their own.";
    READ_AHEAD: Warning, false, "read-ahead-from-hint",
        "Read-ahead was made of an optimal_io_size that is none.";
    INCONSISTENT: Info, false, "alignment-inconsistent",
        "alignment_offset is −1: the kernel found layers that do not fit; no byte count.";
    MAY_HIDE: Info, false, "drive-may-hide-4096",
        "A large rotational drive reports 512-byte blocks, and many are 4096 inside.";
    LARGE_BLOCK: Info, false, "physical-block-is-hint",
        "A physical block larger than any sector: an indirection unit or an atomic-write hint.";
    UNLIKE_MEMBERS: Warning, false, "members-disagree",
        "Members of an array disagree on the physical block.";
    LOGICAL_BLOCK: Error, false, "logical-block-would-change",
        "An array's logical block is not its members' largest: it changes when it is assembled again.";
    EXPOSED: Warning, false, "metadata-exposes-partitions",
        "md metadata lies at the end (0.90, 1.0), and the kernel found the array's partitions on a member.";
    FIXED_PARITY: Warning, false, "parity-on-one-member",
        "All parity lies on one member, as in a RAID4 left from a grow.";
    SYNC: Info, false, "sync-running",
        "A check, resync, recovery or reshape is running: figures are not typical.";
    BITMAP_FINE: Warning, false, "bitmap-chunk-too-fine",
        "A bit of the write-intent bitmap stands for little: md writes the bitmap often.";
    BITMAP_WRITES: Warning, true, "bitmap-writes-too-many",
        "md wrote its books more often than the array was written to.";
    BITMAP_IO_OPT: Info, false, "bitmap-in-io-opt-units",
        "Members report an optimal_io_size, in units of which some kernels write the bitmap.";
    BOOKS: Info, true, "books-shorter-than-block",
        "md wrote its superblock or bitmap in pieces shorter than a member's physical block.";
    CACHE: Warning, true, "stripe-cache-too-small",
        "The stripe cache was full while md had to read before it wrote.";
    CHUNK_LARGE: Warning, true, "chunk-too-large",
        "The writes seen would fill stripes of a smaller chunk, and do not fill these.";
    CHUNK_SMALL: Info, true, "chunk-too-small",
        "Most requests keep several members busy that one could have served.";
    PREREADS: Warning, true, "prereads",
        "md read from its members because writes did not fill their stripes.";
    XFS_WRONG: Warning, false, "xfs-stripe-wrong",
        "XFS's sunit or swidth is not the chunk and stripe below.";
    XFS_MISSING: Info, false, "xfs-stripe-missing",
        "XFS knows no sunit and swidth, and lies on an array with stripes.";
    XFS_NEEDLESS: Info, false, "xfs-stripe-needless",
        "XFS has sunit and swidth, and nothing below has stripes.";
    EXT_WRONG: Warning, false, "ext-stripe-wrong",
        "ext4's stride or stripe width is not the chunk and stripe below.";
    EXT_MISSING: Info, false, "ext-stripe-missing",
        "ext4 knows no stripe width, and lies on an array with stripes.";
    EXT_NEEDLESS: Info, false, "ext-stripe-needless",
        "ext4 has a stripe width, and nothing below has stripes.";
    FS_BLOCK: Warning, false, "fs-block-below-physical",
        "A file system's block, sector or log is shorter than the physical block.";
    CRYPT_SECTOR: Info, false, "crypt-sector-512",
        "dm-crypt works in 512-byte sectors on a device of larger physical blocks.";
    ODD_LENGTH: Info, false, "odd-length",
        "A length is no multiple of 4096: the page cache keeps the device in smaller blocks.";
    OFF_GRID: Error, true, "misaligned-writes",
        "Writes of a block or more started or ended off the physical block.";
    SUB_BLOCK: Warning, true, "sub-block-writes",
        "Writes were shorter than the physical block: a database's, a log's.";
    FILLS: Warning, true, "write-fills",
        "Buffered writes of less than a page made the kernel read first.";
}

/// The rule of that id.
#[must_use]
pub fn by_id(id: &str) -> Option<&'static Rule> {
    ALL.iter().find(|rule| rule.id == id).copied()
}

/// The list in the docs, in Markdown.
#[must_use]
pub fn reference() -> String {
    let mut text = String::from("| rule | usually | seen | |\n|---|---|---|---|\n");
    for rule in ALL {
        // To a String: never fails.
        let _ = writeln!(
            text,
            "| [{id}](#{id}) | {} | {} | {} |",
            rule.severity.word(),
            if rule.measured {
                "measured"
            } else {
                "as built"
            },
            rule.what,
            id = rule.id,
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use super::*;

    #[test]
    fn ids_are_plain_and_each_once() {
        let ids: BTreeSet<&str> = ALL.iter().map(|rule| rule.id).collect();
        assert_eq!(ids.len(), ALL.len());
        for id in ids {
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            assert!(id.chars().all(plain), "{id}");
            assert_eq!(by_id(id).map(|rule| rule.id), Some(id));
        }
    }

    /// The page has the table as it is here, and a section for each rule in
    /// its order, none for others, each with all that a reader needs.
    #[test]
    fn the_docs_have_every_rule() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(PAGE);
        let page = fs::read_to_string(path).unwrap();
        assert!(
            page.contains(&reference()),
            "the table should be:\n{}",
            reference()
        );
        let sections: Vec<&str> = page
            .lines()
            .filter_map(|line| line.strip_prefix("## "))
            .filter(|title| !title.contains(' '))
            .collect();
        let ids: Vec<&str> = ALL.iter().map(|rule| rule.id).collect();
        assert_eq!(sections, ids);
        for section in page
            .split("\n## ")
            .skip(1)
            .filter(|one| by_id(one.lines().next().unwrap()).is_some())
        {
            for part in ["**Seen**", "**Costs**", "**Remedy**", "**Ignore it**"] {
                assert!(section.contains(part), "{part}: {section}");
            }
        }
    }
}
