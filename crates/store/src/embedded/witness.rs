//! The witness: the second record of every mark, beside SQLite (protocol E1).
//!
//! ```text
//! | header A, 4096 | slot 0 | slot 1 | … | header B, 4096 | slot 0 | slot 1 | … |
//!                    64 bytes each         the same again
//! slot:   token 16 | key hash 16 | mark 8 | version 7 | lsn 6 | commit 6 | kind 1 | crc32c 4
//! header: magic 8 | cluster id 16 | generation 8 | base lsn 8 | base commit 8 | slots 8 | crc32c 4
//! ```
//!
//! Everything is big-endian. Each slot is written once, into both halves, in place: the file was written out
//! in full when it was made, so an append changes neither its size nor its blocks and cannot run out of
//! space. Checksums are seeded with cluster id, generation, half and slot number: a record that belongs
//! elsewhere does not pass. A single damaged byte leaves the other half's copy.
//!
//! The first record of every append says so. A hole before such a record lies before something that was
//! synced later, so it is damage; a hole after which no append begins is the torn tail of an append that was
//! never acknowledged.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

/// What one record says a register became.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Record {
    pub(super) kind: Kind,
    /// The first record of its append.
    pub(super) first: bool,
    pub(super) key: u128,
    pub(super) token: u128,
    pub(super) mark: u64,
    pub(super) version: u64,
    pub(super) lsn: u64,
    /// The database commit that wrote the register, or the last one before a claim.
    pub(super) commit: u64,
}

/// Which record holds the register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// The database has it too.
    Row = 1,
    /// Ahead of the database: claims since its last commit, merged.
    Claim = 2,
    /// The register was removed.
    Removed = 3,
}

/// The few calls that append; tests make them fail.
pub(super) trait WitnessFile: Send {
    /// One positioned write; may be short.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize>;
    /// Makes everything written durable. Never called again after it failed.
    fn sync(&self) -> io::Result<()>;
}

impl WitnessFile for File {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        FileExt::write_at(self, bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }
}

/// The few calls that read. A witness lies in a file; the fuzzers read a million of them from memory.
pub(super) trait ReadAt {
    /// How many bytes there are.
    fn length(&self) -> io::Result<u64>;
    /// Fills the buffer from there, or fails.
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;
}

impl ReadAt for File {
    fn length(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        FileExt::read_exact_at(self, buffer, offset)
    }
}

/// How an append failed.
#[derive(Debug)]
pub(super) struct AppendError {
    /// Nothing was written: the same slots can be used again.
    pub(super) clean: bool,
    pub(super) error: io::Error,
}

/// What a witness file is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Header {
    pub(super) cluster: u128,
    /// Counts compactions.
    pub(super) generation: u64,
    /// The lsn of slot 0.
    pub(super) base_lsn: u64,
    /// The database commit that the file was made after.
    pub(super) base_commit: u64,
    pub(super) slots: u64,
}

/// A witness that is being appended to.
pub(super) struct Witness {
    file: Box<dyn WitnessFile>,
    header: Header,
    next: u64,
    buffer: Vec<u8>,
}

/// What reading a witness found, besides its records.
#[derive(Debug)]
pub(super) struct Scan {
    pub(super) header: Header,
    /// The first free slot.
    pub(super) next: u64,
    /// Slots of which one copy is damaged; the other one holds.
    pub(super) damaged_copies: u64,
    /// The last append is torn: it was never acknowledged.
    pub(super) torn: bool,
}

impl Witness {
    /// Goes on after the records that `scan` found.
    pub(super) fn resume(file: Box<dyn WitnessFile>, header: Header, next: u64) -> Self {
        Witness {
            file,
            header,
            next,
            buffer: Vec::new(),
        }
    }

    pub(super) fn header(&self) -> Header {
        self.header
    }

    /// How many records fit.
    pub(super) fn room(&self) -> usize {
        (self.header.slots - self.next) as usize
    }

    /// The lsn of the next record.
    pub(super) fn next_lsn(&self) -> u64 {
        self.header.base_lsn + self.next
    }

    /// Writes records into both halves and syncs once. The caller has checked [`Witness::room`].
    pub(super) fn append(&mut self, records: &mut [Record]) -> Result<(), AppendError> {
        assert!(records.len() <= self.room(), "the caller compacts first");
        if records.is_empty() {
            return Ok(());
        }
        for (n, record) in records.iter_mut().enumerate() {
            record.first = n == 0;
            record.lsn = self.header.base_lsn + self.next + n as u64;
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        let written = self.write_halves(records, &mut buffer);
        self.buffer = buffer;
        written?;
        self.file
            .sync()
            .map_err(|error| AppendError { clean: false, error })?;
        self.next += records.len() as u64;
        Ok(())
    }

    fn write_halves(&self, records: &[Record], buffer: &mut Vec<u8>) -> Result<(), AppendError> {
        for half in [0, 1] {
            buffer.clear();
            for (n, record) in records.iter().enumerate() {
                buffer.extend_from_slice(&encode(record, &self.header, half, self.next + n as u64));
            }
            let mut offset = slot_offset(&self.header, half, self.next);
            let mut rest = &buffer[..];
            while !rest.is_empty() {
                let clean = half == 0 && rest.len() == buffer.len();
                match self.file.write_at(rest, offset) {
                    Ok(0) => {
                        return Err(AppendError {
                            clean,
                            error: io::ErrorKind::WriteZero.into(),
                        });
                    }
                    Ok(n) => (rest, offset) = (&rest[n..], offset + n as u64),
                    Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(AppendError { clean, error }),
                }
            }
        }
        Ok(())
    }
}

/// Writes a whole new witness at `path` and syncs it: `records`, then room for as many as `header` says.
/// Renaming it into place is the caller's.
pub(super) fn create(path: &Path, header: &Header, records: &mut [Record]) -> io::Result<File> {
    assert!(records.len() as u64 <= header.slots, "the caller sized it");
    for (n, record) in records.iter_mut().enumerate() {
        record.first = n == 0;
        record.lsn = header.base_lsn + n as u64;
    }
    // As in `private`, which the fuzzers do not have.
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    for half in [0, 1] {
        let start = half_offset(header.slots, half);
        let mut block = vec![0; HEADER_BYTES];
        block[..HEADER_USED].copy_from_slice(&encode_header(header, half));
        file.write_all_at(&block, start)?;
        let mut slot = 0;
        while slot < header.slots {
            let many = (header.slots - slot).min(CHUNK_SLOTS);
            let mut chunk = vec![0; (many as usize) * SLOT_BYTES];
            for n in 0..many {
                let Some(record) = records.get((slot + n) as usize) else {
                    break;
                };
                let at = n as usize * SLOT_BYTES;
                chunk[at..at + SLOT_BYTES].copy_from_slice(&encode(record, header, half, slot + n));
            }
            file.write_all_at(&chunk, slot_offset(header, half, slot))?;
            slot += many;
        }
    }
    file.sync_all()?;
    Ok(file)
}

/// How many slots a new witness gets: the default, or room for half as many records again as it starts with.
pub(super) fn slots_for(records: usize, least: u64) -> u64 {
    let records = records as u64;
    records + least.max(records / 2)
}

/// Reads a witness from front to back, passing every record on.
///
/// `Err(Ok(text))` says what is damaged; `Err(Err(error))` that reading failed.
pub(super) fn read(
    file: &(impl ReadAt + ?Sized),
    mut each: impl FnMut(&Record) -> Result<(), String>,
) -> Result<Scan, Result<String, io::Error>> {
    let length = file.length().map_err(Err)?;
    let (header, mut damaged_copies) = read_header(file, length)?;
    let mut hole: Option<u64> = None;
    let mut torn = false;
    let mut next = header.slots;
    let mut slot = 0;
    while slot < header.slots {
        let many = (header.slots - slot).min(CHUNK_SLOTS);
        let mut chunks = [
            vec![0; many as usize * SLOT_BYTES],
            vec![0; many as usize * SLOT_BYTES],
        ];
        for half in [0, 1] {
            let offset = slot_offset(&header, half, slot);
            file.read_exact_at(&mut chunks[half as usize], offset)
                .map_err(Err)?;
        }
        for n in 0..many {
            let at = n as usize * SLOT_BYTES;
            let copies = [0u8, 1].map(|half| {
                decode(
                    &chunks[half as usize][at..at + SLOT_BYTES],
                    &header,
                    half,
                    slot + n,
                )
            });
            let found = match copies {
                [Copy::Good(a), Copy::Good(b)] if a != b => {
                    return Err(Ok(format!(
                        "the two copies of witness record {} differ",
                        slot + n
                    )));
                }
                [Copy::Good(a), Copy::Good(_)] => Some(a),
                [Copy::Good(a), _] | [_, Copy::Good(a)] => {
                    damaged_copies += 1;
                    Some(a)
                }
                [Copy::Empty, Copy::Empty] => None,
                _ => {
                    torn = true;
                    None
                }
            };
            match (found, hole) {
                (Some(record), None) => {
                    each(&record).map_err(|why| Ok(format!("witness record {}: {why}", slot + n)))?
                }
                (Some(record), Some(hole)) if record.first => {
                    return Err(Ok(format!(
                        "witness record {hole} (lsn {}) is damaged in both copies, and record {} after it was \
                         written later",
                        header.base_lsn + hole,
                        slot + n
                    )));
                }
                (Some(_), Some(_)) => torn = true,
                (None, None) => (hole, next) = (Some(slot + n), slot + n),
                (None, Some(_)) => {}
            }
        }
        slot += many;
    }
    Ok(Scan {
        header,
        next,
        damaged_copies,
        torn,
    })
}

/// Passes on every record that can be read at all, in order, and answers the header and how many slots hold
/// something unreadable: for a repair.
pub(super) fn salvage(
    file: &(impl ReadAt + ?Sized),
    mut each: impl FnMut(&Record),
) -> Result<(Header, u64), Result<String, io::Error>> {
    let length = file.length().map_err(Err)?;
    // A file that was cut short still has its first half.
    let (header, _) = match read_header(file, length) {
        Err(Ok(_)) if length >= HEADER_BYTES as u64 => (first_header(file)?, 0),
        other => other?,
    };
    let mut unreadable = 0;
    for slot in 0..header.slots {
        let copies = [0u8, 1].map(|half| {
            let mut bytes = [0; SLOT_BYTES];
            match file.read_exact_at(&mut bytes, slot_offset(&header, half, slot)) {
                Ok(()) => decode(&bytes, &header, half, slot),
                Err(_) => Copy::Empty,
            }
        });
        match copies {
            [Copy::Good(record), _] | [_, Copy::Good(record)] => each(&record),
            [Copy::Empty, Copy::Empty] => {}
            _ => unreadable += 1,
        }
    }
    Ok((header, unreadable))
}

fn first_header(file: &(impl ReadAt + ?Sized)) -> Result<Header, Result<String, io::Error>> {
    let mut bytes = [0; HEADER_USED];
    file.read_exact_at(&mut bytes, 0).map_err(Err)?;
    decode_header(&bytes, 0).ok_or_else(|| Ok("both headers of the witness are damaged".into()))
}

/// Whether the file holds nothing but headers and empty slots, or not even that: nothing was ever
/// acknowledged through it.
pub(super) fn never_used(file: &File) -> io::Result<bool> {
    let mut used = false;
    match read(file, |_| {
        used = true;
        Ok(())
    }) {
        Ok(scan) => Ok(!used && !scan.torn),
        // A header that was never finished, or a file cut short.
        Err(Ok(_)) => Ok(!used),
        Err(Err(e)) if e.kind() == io::ErrorKind::UnexpectedEof => Ok(!used),
        Err(Err(e)) => Err(e),
    }
}

fn read_header(
    file: &(impl ReadAt + ?Sized),
    length: u64,
) -> Result<(Header, u64), Result<String, io::Error>> {
    let mut copies = [None, None];
    for half in [0u8, 1] {
        let mut bytes = [0; HEADER_USED];
        let offset = u64::from(half) * (length / 2);
        match file.read_exact_at(&mut bytes, offset) {
            Ok(()) => copies[half as usize] = decode_header(&bytes, half),
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => {}
            Err(e) => return Err(Err(e)),
        }
    }
    let (header, damaged) = match copies {
        [Some(a), Some(b)] if a != b => return Err(Ok("the two headers of the witness differ".into())),
        [Some(a), Some(_)] => (a, 0),
        [Some(a), None] | [None, Some(a)] => (a, 1),
        [None, None] => return Err(Ok("both headers of the witness are damaged".into())),
    };
    let whole = 2 * half_offset(header.slots, 1);
    if length != whole {
        return Err(Ok(format!(
            "the witness has {length} bytes, it was made with {whole}"
        )));
    }
    Ok((header, damaged))
}

enum Copy {
    Empty,
    Bad,
    Good(Record),
}

fn encode(record: &Record, header: &Header, half: u8, slot: u64) -> [u8; SLOT_BYTES] {
    assert!(record.version < 1 << 56 && record.lsn < 1 << 48 && record.commit < 1 << 48);
    let mut out = [0; SLOT_BYTES];
    out[0..16].copy_from_slice(&record.token.to_be_bytes());
    out[16..32].copy_from_slice(&record.key.to_be_bytes());
    out[32..40].copy_from_slice(&record.mark.to_be_bytes());
    out[40..47].copy_from_slice(&record.version.to_be_bytes()[1..]);
    out[47..53].copy_from_slice(&record.lsn.to_be_bytes()[2..]);
    out[53..59].copy_from_slice(&record.commit.to_be_bytes()[2..]);
    out[59] = KIND_SET | (u8::from(record.first) << 7) | record.kind as u8;
    let crc = checksum(&out[..60], header, half, slot);
    out[60..64].copy_from_slice(&crc.to_be_bytes());
    out
}

fn decode(bytes: &[u8], header: &Header, half: u8, slot: u64) -> Copy {
    if bytes.iter().all(|b| *b == 0) {
        return Copy::Empty;
    }
    let sum = u64::from(checksum(&bytes[..60], header, half, slot));
    if number(&bytes[60..64]) != sum {
        return Copy::Bad;
    }
    let kind = match bytes[59] & 0x3f {
        1 => Kind::Row,
        2 => Kind::Claim,
        3 => Kind::Removed,
        _ => return Copy::Bad,
    };
    let lsn = number(&bytes[47..53]);
    if lsn != header.base_lsn + slot {
        return Copy::Bad;
    }
    Copy::Good(Record {
        kind,
        first: bytes[59] & 0x80 != 0,
        key: wide(&bytes[16..32]),
        token: wide(&bytes[0..16]),
        mark: number(&bytes[32..40]),
        version: number(&bytes[40..47]),
        lsn,
        commit: number(&bytes[53..59]),
    })
}

fn encode_header(header: &Header, half: u8) -> [u8; HEADER_USED] {
    let mut out = [0; HEADER_USED];
    out[0..8].copy_from_slice(MAGIC);
    out[8..24].copy_from_slice(&header.cluster.to_be_bytes());
    out[24..32].copy_from_slice(&header.generation.to_be_bytes());
    out[32..40].copy_from_slice(&header.base_lsn.to_be_bytes());
    out[40..48].copy_from_slice(&header.base_commit.to_be_bytes());
    out[48..56].copy_from_slice(&header.slots.to_be_bytes());
    let crc = crc32c::crc32c_append(u32::from(half), &out[..56]);
    out[56..60].copy_from_slice(&crc.to_be_bytes());
    out
}

fn decode_header(bytes: &[u8; HEADER_USED], half: u8) -> Option<Header> {
    let crc = crc32c::crc32c_append(u32::from(half), &bytes[..56]);
    let header = Header {
        cluster: wide(&bytes[8..24]),
        generation: number(&bytes[24..32]),
        base_lsn: number(&bytes[32..40]),
        base_commit: number(&bytes[40..48]),
        slots: number(&bytes[48..56]),
    };
    // The bound keeps offsets within 63 bits whatever the file says.
    let sane = &bytes[0..8] == MAGIC && header.slots < 1 << 40;
    (sane && number(&bytes[56..60]) == u64::from(crc)).then_some(header)
}

/// Seeded with where the record lies, so that a record that belongs elsewhere does not pass.
fn checksum(bytes: &[u8], header: &Header, half: u8, slot: u64) -> u32 {
    let mut place = [0; 33];
    place[0..16].copy_from_slice(&header.cluster.to_be_bytes());
    place[16..24].copy_from_slice(&header.generation.to_be_bytes());
    place[24..32].copy_from_slice(&slot.to_be_bytes());
    place[32] = half;
    crc32c::crc32c_append(crc32c::crc32c(&place), bytes)
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |n, b| n << 8 | u64::from(*b))
}

fn wide(bytes: &[u8]) -> u128 {
    bytes.iter().fold(0, |n, b| n << 8 | u128::from(*b))
}

const fn half_offset(slots: u64, half: u8) -> u64 {
    half as u64 * (HEADER_BYTES as u64 + slots * SLOT_BYTES as u64)
}

const fn slot_offset(header: &Header, half: u8, slot: u64) -> u64 {
    half_offset(header.slots, half) + HEADER_BYTES as u64 + slot * SLOT_BYTES as u64
}

const MAGIC: &[u8; 8] = b"MINTWIT1";
const SLOT_BYTES: usize = 64;
const HEADER_BYTES: usize = 4096;
const HEADER_USED: usize = 60;
/// Set in every kind byte, so that no record is all zero.
const KIND_SET: u8 = 0x40;
/// How many slots are read or written at once: 64 KiB.
const CHUNK_SLOTS: u64 = 1024;
/// Slots of a small store's witness: a file of 1 MiB.
pub(super) const SLOTS_LEAST: u64 = (512 * 1024 - HEADER_BYTES as u64) / SLOT_BYTES as u64;

#[cfg(test)]
mod tests {
    use super::*;

    fn header(slots: u64) -> Header {
        Header {
            cluster: 7,
            generation: 3,
            base_lsn: 100,
            base_commit: 9,
            slots,
        }
    }

    fn record(n: u64) -> Record {
        Record {
            kind: Kind::Row,
            first: false,
            key: u128::from(n) << 64 | 5,
            token: u128::from(n) + 1,
            mark: n * 10,
            version: n,
            lsn: 0,
            commit: 9 + n,
        }
    }

    /// A witness of 8 slots with appends of 1, 2 and 1 records; its bytes.
    fn sample(dir: &Path) -> Vec<u8> {
        let path = dir.join("w");
        let file = create(&path, &header(8), &mut [record(0)]).unwrap();
        let mut witness = Witness::resume(Box::new(file), header(8), 1);
        witness.append(&mut [record(1), record(2)]).unwrap();
        witness.append(&mut [record(3)]).unwrap();
        std::fs::read(path).unwrap()
    }

    type Read = Result<(Vec<u64>, Scan), String>;

    fn read_bytes(dir: &Path, bytes: &[u8]) -> Read {
        let path = dir.join("r");
        std::fs::write(&path, bytes).unwrap();
        let mut marks = Vec::new();
        let scan = read(&File::open(path).unwrap(), |r| {
            marks.push(r.mark);
            Ok(())
        });
        scan.map(|scan| (marks, scan))
            .map_err(|e| e.unwrap_or_else(|io| panic!("{io}")))
    }

    #[test]
    fn records_come_back_in_order() {
        let dir = tempfile::tempdir().unwrap();
        let bytes = sample(dir.path());
        let (marks, scan) = read_bytes(dir.path(), &bytes).unwrap();
        assert_eq!(marks, [0, 10, 20, 30]);
        assert_eq!((scan.next, scan.torn, scan.damaged_copies), (4, false, 0));
        assert_eq!(scan.header, header(8));
    }

    #[test]
    fn any_single_damaged_byte_is_harmless() {
        let dir = tempfile::tempdir().unwrap();
        let good = sample(dir.path());
        // Padding of the header blocks is not read at all.
        let half = good.len() / 2;
        for at in (0..good.len()).filter(|at| at % half < 60 || at % half >= HEADER_BYTES) {
            for flip in [0x01, 0x80, 0xff] {
                let mut bytes = good.clone();
                bytes[at] ^= flip;
                let (marks, _) = read_bytes(dir.path(), &bytes).unwrap_or_else(|e| panic!("byte {at}: {e}"));
                assert_eq!(marks, [0, 10, 20, 30], "byte {at} ^ {flip:#x}");
            }
        }
    }

    #[test]
    fn both_copies_damaged_before_the_tail_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let good = sample(dir.path());
        let half = good.len() / 2;
        for slot in 0..3 {
            for wipe in [false, true] {
                let mut bytes = good.clone();
                for start in [0, half] {
                    let at = start + HEADER_BYTES + slot * SLOT_BYTES;
                    match wipe {
                        true => bytes[at..at + SLOT_BYTES].fill(0),
                        false => bytes[at + 33] ^= 1,
                    }
                }
                let error = read_bytes(dir.path(), &bytes).unwrap_err();
                assert!(error.contains(&format!("witness record {slot} ")), "{error}");
            }
        }
    }

    #[test]
    fn a_torn_tail_ends_the_log() {
        let dir = tempfile::tempdir().unwrap();
        let good = sample(dir.path());
        let half = good.len() / 2;
        let mut bytes = good.clone();
        for start in [0, half] {
            let at = start + HEADER_BYTES + 3 * SLOT_BYTES;
            bytes[at + 40..at + 64].fill(0);
        }
        let (marks, scan) = read_bytes(dir.path(), &bytes).unwrap();
        assert_eq!((marks, scan.next, scan.torn), (vec![0, 10, 20], 3, true));
        // The last append of two lost its first record: its second one does not count either.
        let path = dir.path().join("w2");
        let file = create(&path, &header(8), &mut [record(0)]).unwrap();
        Witness::resume(Box::new(file), header(8), 1)
            .append(&mut [record(1), record(2)])
            .unwrap();
        let mut bytes = std::fs::read(path).unwrap();
        for start in [0, half] {
            let at = start + HEADER_BYTES + SLOT_BYTES;
            bytes[at..at + SLOT_BYTES].fill(0);
        }
        let (marks, scan) = read_bytes(dir.path(), &bytes).unwrap();
        assert_eq!((marks, scan.next, scan.torn), (vec![0], 1, true));
    }

    #[test]
    fn a_file_of_another_size_or_place_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let good = sample(dir.path());
        for length in [0, 10, 4096, good.len() - 1, good.len() + 64] {
            let mut bytes = good.clone();
            bytes.resize(length, 0);
            read_bytes(dir.path(), &bytes).unwrap_err();
        }
        // A record copied into another slot does not pass there.
        let mut bytes = good.clone();
        let half = good.len() / 2;
        for start in [0, half] {
            let from = start + HEADER_BYTES;
            let (a, b) = bytes.split_at_mut(from + 2 * SLOT_BYTES);
            b[..SLOT_BYTES].copy_from_slice(&a[from..from + SLOT_BYTES]);
        }
        read_bytes(dir.path(), &bytes).unwrap_err();
    }

    #[test]
    fn a_default_witness_has_one_mebibyte() {
        assert_eq!(2 * half_offset(slots_for(0, SLOTS_LEAST), 1), 1 << 20);
        assert_eq!(slots_for(100_000, SLOTS_LEAST), 150_000);
    }
}
