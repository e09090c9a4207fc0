//! Files that keep what was reserved: the state file and the witness. Whatever happens to their bytes, what is read is
//! what was once written, or nothing.

use std::io;
use std::path::Path;

use mintage_local::state_file::{StateFile, StateFileError};

use crate::{Target, saw, scratch};

/// The reader of the witness, which is part of the ledger and not of its surface.
#[path = "../../../crates/store/src/embedded/witness.rs"]
#[allow(dead_code, clippy::unwrap_used)]
mod witness;

use witness::{Header, Kind, ReadAt, Record, Witness};

pub(super) fn targets() -> [Target; 2] {
    [
        Target::new("state-file", state_files(), check_state)
            .longest(8192)
            .words(&["payload-1", "payload-2", "\0\0\0\0"]),
        Target::new("witness", witnesses(), check_witness)
            .longest(WITNESS_BYTES)
            .words(&["MINTWIT1", "\0\0\0\0\0\0\0\0", "\0\0\0\0\0\0\0\u{1}"]),
    ]
}

/// A state file after one, two and three updates.
fn state_files() -> Vec<Vec<u8>> {
    let path = scratch::path("state-made");
    let file = StateFile::new(&path);
    let mut made = Vec::new();
    for n in 1..=3 {
        let done = file.update::<_, StateFileError>(|_| Ok((Some(format!("payload-{n}")), ())));
        done.expect("a new file can be written");
        made.push(std::fs::read(&path).expect("it was written"));
    }
    made
}

fn check_state(input: &[u8]) {
    match StateFile::new("state").newest(input) {
        Ok(None) => assert!(input.is_empty(), "a file with something in it reads as a new one"),
        Ok(Some((number, found))) => {
            assert_eq!(
                found.payload,
                format!("payload-{number}"),
                "this was never written"
            );
            assert!((1..=3).contains(&number));
            saw((number, found.twin_damaged));
        }
        Err(error) => saw(error.to_string().len()),
    }
}

const SLOTS: u64 = 8;
const WITNESS_BYTES: usize = 2 * (4096 + SLOTS as usize * 64);

fn header() -> Header {
    Header {
        cluster: 7,
        generation: 3,
        base_lsn: 100,
        base_commit: 9,
        slots: SLOTS,
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

/// A witness after one, two and three appends.
fn witnesses() -> Vec<Vec<u8>> {
    let path = scratch::path("witness-made");
    let bytes = |path: &Path| std::fs::read(path).expect("it was written");
    let file = witness::create(&path, &header(), &mut [record(0)]).expect("there is room");
    let mut made = vec![bytes(&path)];
    let mut witness = Witness::resume(Box::new(file), header(), 1);
    for mut records in [vec![record(1), record(2)], vec![record(3)]] {
        assert!(witness.append(&mut records).is_ok());
        made.push(bytes(&path));
    }
    made
}

impl ReadAt for [u8] {
    fn length(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let from = usize::try_from(offset).ok();
        let bytes = from.and_then(|from| self.get(from..)?.get(..buffer.len()));
        buffer.copy_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

fn check_witness(input: &[u8]) {
    let mut marks = Vec::new();
    let scan = witness::read(input, |record| {
        marks.push(record.mark);
        Ok(())
    });
    let _ = witness::salvage(input, |record| {
        assert!(record.mark <= 30 && record.mark % 10 == 0)
    });
    match scan {
        Ok(scan) => {
            // In order, from the first: a hole is refused, not passed over.
            assert!(
                marks.iter().enumerate().all(|(n, mark)| *mark == n as u64 * 10),
                "{marks:?}"
            );
            assert_eq!(marks.len() as u64, scan.next);
            saw((marks.len(), scan.torn, scan.damaged_copies));
        }
        Err(Ok(why)) => saw(why.len()),
        Err(Err(error)) => panic!("bytes in memory can be read: {error}"),
    }
}
