//! Asks every format in turn what lies on a device.
//!
//! Must not know a layout. What is read: the first 68 KiB in one piece, two
//! pieces of 4 KiB at the end, and what a header points to, each bounded by its
//! format; together never more than [`MOST_BYTES`].

use std::{cell::Cell, path::Path};

use super::{
    BlockFile, Content, Contents, Fault, Format, MdMember, MdVersion, ReadAt, Remark,
    SuperblockError,
    bcache::{BCACHE_AT, BCACHE_BYTES, Bcache},
    btrfs::{BTRFS_AT, BTRFS_BYTES, Btrfs},
    ext::{EXT_AT, EXT_BYTES, Ext},
    luks::Luks,
    lvm::LvmPv,
    md::{BITMAP_BYTES, v0, v1},
    partitions::PartitionTable,
    swap::Swap,
    xfs::Xfs,
};

/// As far as a superblock at the beginning reaches: btrfs's.
const HEAD_BYTES: usize = BTRFS_AT + BTRFS_BYTES;
/// A superblock of md's.
const MD_BYTES: usize = 4096;
/// A LUKS2 header may have 4 MiB, a GPT and LVM's texts 1 MiB each.
const MOST_BYTES: u64 = 8 << 20;

/// What lies on the device (or in the file) at `device`.
///
/// # Errors
/// Where it cannot be opened, or its beginning cannot be read.
pub fn read(device: &Path) -> Result<Contents, SuperblockError> {
    read_from(&BlockFile::open(device)?)
}

/// The same of anything that can be read.
///
/// # Errors
/// Where its beginning cannot be read.
pub fn read_from<D: ReadAt + ?Sized>(device: &D) -> Result<Contents, SuperblockError> {
    let mut head = vec![0; HEAD_BYTES];
    let count = device
        .read_at(0, &mut head)
        .map_err(SuperblockError::Read)?;
    head.truncate(count);
    let mut scan = Scan {
        pieces: Pieces {
            device,
            head,
            left: Cell::new(MOST_BYTES),
        },
        contents: Contents::default(),
    };
    scan.outer();
    scan.inner();
    contradictions(&mut scan.contents);
    Ok(scan.contents)
}

/// Bytes of a device, from its head where they lie there.
struct Pieces<'a, D: ?Sized> {
    device: &'a D,
    head: Vec<u8>,
    left: Cell<u64>,
}

impl<D: ReadAt + ?Sized> Pieces<'_, D> {
    /// `len` bytes from `offset`. `None`: not all of them are there, cannot be
    /// read, or are more than may be.
    fn piece(&self, offset: u64, len: usize) -> Option<Vec<u8>> {
        let end = offset.checked_add(len as u64)?;
        if end > self.device.size().0 {
            return None;
        }
        if let Some(known) = self
            .head
            .get(usize::try_from(offset).ok()?..usize::try_from(end).ok()?)
        {
            return Some(known.to_owned());
        }
        self.left.set(self.left.get().checked_sub(len as u64)?);
        let mut bytes = vec![0; len];
        let count = self.device.read_at(offset, &mut bytes).ok()?;
        (count == len).then_some(bytes)
    }
}

impl<D: ?Sized> Drop for Pieces<'_, D> {
    /// It may hold what a key is wrapped in.
    fn drop(&mut self) {
        self.head.fill(0);
        std::hint::black_box(&mut self.head);
    }
}

struct Scan<'a, D: ?Sized> {
    pieces: Pieces<'a, D>,
    contents: Contents,
}

impl<D: ReadAt + ?Sized> Scan<'_, D> {
    fn keep(&mut self, found: Option<Result<Content, Fault>>) {
        match found {
            Some(Ok(content)) => self.contents.found.push(content),
            Some(Err(fault)) => self.contents.faults.push(fault),
            None => {}
        }
    }

    /// Formats that hold other devices.
    fn outer(&mut self) {
        let (pieces, remarks) = (&self.pieces, &mut self.contents.remarks);
        let piece = |at, len| pieces.piece(at, len);
        let block = pieces.device.logical_block();
        let table = PartitionTable::parse(&pieces.head, block, piece, remarks);
        self.keep(table.map(|table| table.map(Content::Partitions)));
        self.members();
        let (pieces, remarks) = (&self.pieces, &mut self.contents.remarks);
        let piece = |at, len| pieces.piece(at, len);
        let volume = LvmPv::parse(&pieces.head, piece, remarks);
        let luks = Luks::parse(&pieces.head, |len| pieces.piece(0, len), remarks);
        let cache = part(&pieces.head, BCACHE_AT, BCACHE_BYTES);
        let cache = Bcache::parse(cache, remarks);
        self.keep(volume.map(|volume| volume.map(Content::LvmPv)));
        self.keep(luks.map(|luks| luks.map(Content::Luks)));
        self.keep(cache.map(|cache| cache.map(Content::Bcache)));
    }

    /// File systems and swap.
    fn inner(&mut self) {
        let (head, remarks) = (&self.pieces.head, &mut self.contents.remarks);
        let xfs = Xfs::parse(head, remarks);
        let ext = self.pieces.ext(remarks);
        let btrfs = Btrfs::parse(part(head, BTRFS_AT, BTRFS_BYTES), remarks);
        let swap = Swap::parse(head, self.pieces.device.size());
        self.keep(xfs.map(|xfs| xfs.map(|xfs| Content::Xfs(Box::new(xfs)))));
        self.keep(ext.map(|ext| ext.map(|ext| Content::Ext(Box::new(ext)))));
        self.keep(btrfs.map(|btrfs| btrfs.map(|btrfs| Content::Btrfs(Box::new(btrfs)))));
        self.keep(swap.map(|swap| swap.map(Content::Swap)));
    }

    fn members(&mut self) {
        for (version, place) in MdVersion::places(self.pieces.device.size()) {
            let Some(bytes) = self.pieces.piece(place.bytes().0, MD_BYTES) else {
                continue;
            };
            let remarks = &mut self.contents.remarks;
            let member = match version {
                MdVersion::V0_90 => v0::parse(&bytes, place, remarks),
                _ => v1::parse(&bytes, version, place, remarks),
            };
            let member = member.map(|member| member.map(|member| self.with_bitmap(member)));
            self.keep(
                member.map(|member| member.map(|member| Content::MdMember(Box::new(member)))),
            );
        }
    }

    fn with_bitmap(&mut self, mut member: MdMember) -> MdMember {
        if member.bitmap.is_some() {
            let head = member.bitmap_at();
            let head = head.and_then(|at| self.pieces.piece(at, BITMAP_BYTES));
            if !head.is_some_and(|head| member.set_bitmap_chunk(&head)) {
                let (format, part) = (Format::Md, "the head of its bitmap".into());
                self.contents.remarks.push(Remark::Unread { format, part });
            }
        }
        member
    }
}

impl<D: ReadAt + ?Sized> Pieces<'_, D> {
    /// ext's superblock as the page cache has it ([`super::access`] says why).
    fn ext(&self, remarks: &mut Vec<Remark>) -> Option<Result<Ext, Fault>> {
        let on_disk = part(&self.head, EXT_AT, EXT_BYTES);
        if !Ext::is_at(on_disk) {
            return None;
        }
        let mut cached = vec![0; EXT_BYTES];
        let count = self.device.read_cached_at(EXT_AT as u64, &mut cached);
        let whole = count.is_ok_and(|count| count == EXT_BYTES) && Ext::is_at(&cached);
        Ext::parse(if whole { &cached } else { on_disk }, remarks)
    }
}

/// What there is of a piece of the head.
fn part(head: &[u8], at: usize, len: usize) -> &[u8] {
    let rest = head.get(at..).unwrap_or_default();
    &rest[..rest.len().min(len)]
}

/// All but a member with its superblock at the end claim the beginning.
fn contradictions(contents: &mut Contents) {
    let claims = |content: &&Content| match content {
        Content::MdMember(member) => !member.version.is_at_end(),
        _ => true,
    };
    let claimants: Vec<Format> = contents
        .found
        .iter()
        .filter(claims)
        .map(Content::format)
        .collect();
    for (index, first) in claimants.iter().enumerate() {
        for second in &claimants[index + 1..] {
            contents.remarks.push(Remark::Contradiction {
                first: *first,
                second: *second,
            });
        }
    }
}
