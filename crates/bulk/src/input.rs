//! Files and standard input, plain or compressed, as blocks that a thread of its own reads ahead.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;

use crate::error::Error;
use crate::hint::Hint;

/// How a file is compressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compression {
    /// Not at all.
    None,
    /// gzip, RFC 1952; several members in a row are one stream.
    Gzip,
    /// Zstandard, RFC 8878; several frames in a row are one stream.
    Zstd,
}

impl Compression {
    /// What the name of a file promises.
    ///
    /// ```
    /// use mintage_bulk::Compression;
    /// assert_eq!(Compression::of_name("log.csv.gz".as_ref()), Compression::Gzip);
    /// assert_eq!(Compression::of_name("log.csv".as_ref()), Compression::None);
    /// ```
    pub fn of_name(path: &Path) -> Compression {
        let ending = path.extension().unwrap_or_default().to_ascii_lowercase();
        match ending.to_str() {
            Some("gz" | "gzip") => Compression::Gzip,
            Some("zst" | "zstd") => Compression::Zstd,
            _ => Compression::None,
        }
    }

    /// What the first bytes of a file say.
    fn of_bytes(bytes: &[u8]) -> Compression {
        match bytes {
            [0x1f, 0x8b, ..] => Compression::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Compression::Zstd,
            _ => Compression::None,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Compression::None => "plain",
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
        }
    }
}

/// Where rows or ids come from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Source {
    /// A file.
    File(PathBuf),
    /// Standard input.
    Stdin,
    /// An input that flows by, kept in this file so that it can be read again, and its name in messages.
    Kept(PathBuf, String),
}

impl Source {
    /// `-` is standard input, everything else a path.
    pub fn from_arg(text: &str) -> Source {
        match text {
            "-" => Source::Stdin,
            path => Source::File(path.into()),
        }
    }

    /// Its name in messages.
    pub fn name(&self) -> String {
        match self {
            Source::File(path) => path.display().to_string(),
            Source::Stdin => "standard input".into(),
            Source::Kept(_, name) => name.clone(),
        }
    }

    /// The name without the ending for compression: what decides on the kind of rows.
    pub(crate) fn stem(&self) -> Option<PathBuf> {
        match self {
            Source::File(path) if Compression::of_name(path) != Compression::None => {
                Some(path.with_extension(""))
            }
            Source::File(path) => Some(path.clone()),
            Source::Stdin | Source::Kept(..) => None,
        }
    }

    /// The file that can be read again, if there is one.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Source::File(path) | Source::Kept(path, _) => Some(path),
            Source::Stdin => None,
        }
    }

    /// Whether it can be read only once.
    pub(crate) fn flows(&self) -> bool {
        match self {
            Source::Stdin => true,
            // A pipe with a name, such as a shell's <(…).
            Source::File(path) => path
                .metadata()
                .is_ok_and(|meta| !meta.is_file() && !meta.is_dir()),
            Source::Kept(..) => false,
        }
    }
}

/// Copies an input that flows by to a file in `folder`, because it may have to be read twice.
pub(crate) fn kept(source: &Source, folder: &Path, hint: Hint) -> Result<NamedTempFile, Error> {
    let cannot = |e: io::Error| Error::file("keep the input in", folder, &e).with_hint(hint.clone());
    let mut file = NamedTempFile::new_in(folder).map_err(cannot)?;
    let mut input: Box<dyn Read> = match source.path() {
        Some(path) => Box::new(File::open(path).map_err(|e| Error::file("read", path, &e))?),
        None => Box::new(io::stdin().lock()),
    };
    io::copy(&mut input, &mut file).map_err(cannot)?;
    Ok(file)
}

/// What tells a file from an earlier or another one, without reading it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub(crate) struct Identity {
    path: String,
    bytes: u64,
    modified_ns: u128,
}

impl Identity {
    /// The length of the file.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn of(path: &Path) -> io::Result<Identity> {
        let meta = path.metadata()?;
        let since = meta.modified()?.duration_since(std::time::UNIX_EPOCH);
        Ok(Identity {
            path: path.canonicalize()?.display().to_string(),
            bytes: meta.len(),
            modified_ns: since.map_or(0, |since| since.as_nanos()),
        })
    }
}

/// How much may be read, for whom.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Bytes of text, after decompression: a few of a compressed file may be gigabytes.
    pub text_bytes: u64,
    /// Set by somebody who does not wait for the result any more.
    pub given_up: Arc<AtomicBool>,
}

impl Default for Limits {
    /// All that there is.
    fn default() -> Limits {
        Limits {
            text_bytes: u64::MAX,
            given_up: Arc::default(),
        }
    }
}

impl Limits {
    /// Whether the work goes on, of which so many bytes of text are done.
    pub(crate) fn check(&self, name: &str, text_bytes: u64) -> Result<(), Error> {
        if self.given_up.load(Ordering::Relaxed) {
            return Err(Error::usage("nobody waits for the result any more"));
        }
        match text_bytes > self.text_bytes {
            true => Err(Error::data(format_args!(
                "{name} holds more than {} bytes of text, which is the limit here",
                self.text_bytes
            ))),
            false => Ok(()),
        }
    }
}

/// How far reading has come, in bytes of the file on disk, and what they hash to if that was asked for.
/// Shared with the reading thread.
#[derive(Clone, Debug, Default)]
pub struct Meter {
    bytes: Arc<AtomicU64>,
    digest: Option<Arc<Mutex<Sha256>>>,
    limits: Limits,
}

impl Meter {
    /// Nothing was read yet, and no more than this will be.
    pub(crate) fn within(limits: &Limits) -> Meter {
        Meter {
            limits: limits.clone(),
            ..Meter::default()
        }
    }

    /// Bytes read so far.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Counts on with this one, and hashes what it sees from here on.
    pub(crate) fn with_digest(&self) -> Meter {
        Meter {
            bytes: self.bytes.clone(),
            digest: Some(Arc::default()),
            limits: self.limits.clone(),
        }
    }

    /// The SHA-256 of all that was seen, in hexadecimal; what `sha256sum` says of a file that was read to its end.
    pub(crate) fn sha256(&self) -> Option<String> {
        let digest = self.digest.as_ref()?.lock().ok()?.clone().finalize();
        Some(digest.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    pub(crate) fn add(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    fn saw(&self, bytes: &[u8]) {
        self.add(bytes.len() as u64);
        if let Some(digest) = &self.digest
            && let Ok(mut digest) = digest.lock()
        {
            digest.update(bytes);
        }
    }
}

/// Decoded bytes.
pub(crate) struct Blocks {
    from: From,
    name: String,
    compression: Compression,
    /// Decoded bytes handed out.
    handed: u64,
    limits: Limits,
}

enum From {
    /// A thread that reads ahead.
    Thread {
        full: Receiver<io::Result<Vec<u8>>>,
        empty: Sender<Vec<u8>>,
    },
    Memory(Option<Vec<u8>>),
}

impl Blocks {
    /// One block that is there already.
    pub(crate) fn in_memory(block: Vec<u8>, name: &str) -> Blocks {
        Blocks {
            from: From::Memory(Some(block)),
            name: name.to_string(),
            compression: Compression::None,
            handed: 0,
            limits: Limits::default(),
        }
    }

    /// Opens a source and skips the first `skip` decoded bytes.
    pub(crate) fn open(source: &Source, skip: u64, meter: &Meter) -> Result<Blocks, Error> {
        let name = source.name();
        let compression;
        let reader: Box<dyn Read + Send> = match source {
            Source::Stdin => {
                let (found, reader) = decoded(io::stdin(), meter)
                    .map_err(|e| Error::io(format_args!("cannot read {name}"), &e))?;
                compression = found;
                reader
            }
            Source::File(path) | Source::Kept(path, _) => {
                let cannot = |e: io::Error| Error::file("read", path, &e);
                let mut file = File::open(path).map_err(cannot)?;
                if file.metadata().map_err(cannot)?.is_dir() {
                    return Err(Error::usage(format_args!("{name} is a folder, not a file")));
                }
                let promised = match source {
                    Source::File(_) => Compression::of_name(path),
                    _ => Compression::None,
                };
                let mut start = [0; 4];
                let got = read_up_to(&mut file, &mut start).map_err(cannot)?;
                let found = Compression::of_bytes(&start[..got]);
                if promised != Compression::None && found != promised {
                    return Err(Error::data(format_args!(
                        "{name} is not {}: it does not begin as such a file does",
                        promised.word()
                    )));
                }
                compression = found;
                // What cannot seek, such as a pipe with a name, is read on from its position.
                match file.seek(SeekFrom::Start(0)) {
                    Ok(_) => decoded(file, meter).map_err(cannot)?.1,
                    Err(_) => {
                        decoded(io::Cursor::new(start[..got].to_vec()).chain(file), meter)
                            .map_err(cannot)?
                            .1
                    }
                }
            }
        };
        let mut blocks = Blocks::spawn(reader, name, compression, skip);
        blocks.limits = meter.limits.clone();
        Ok(blocks)
    }

    fn spawn(mut reader: Box<dyn Read + Send>, name: String, compression: Compression, skip: u64) -> Blocks {
        let (full_in, full): (SyncSender<io::Result<Vec<u8>>>, _) = sync_channel(AHEAD);
        let (empty, empty_out) = channel::<Vec<u8>>();
        // It ends with the input, or when nobody takes its blocks any more.
        thread::spawn(move || {
            if skip > 0
                && let Err(e) = io::copy(&mut (&mut reader).take(skip), &mut io::sink())
            {
                let _ = full_in.send(Err(e));
                return;
            }
            loop {
                let mut block = empty_out.try_recv().unwrap_or_default();
                block.resize(BLOCK_BYTES, 0);
                match read_up_to(&mut reader, &mut block) {
                    Ok(0) => return,
                    Ok(got) => {
                        block.truncate(got);
                        if full_in.send(Ok(block)).is_err() {
                            return;
                        }
                    }
                    Err(e) => {
                        let _ = full_in.send(Err(e));
                        return;
                    }
                }
            }
        });
        Blocks {
            from: From::Thread { full, empty },
            name,
            compression,
            handed: skip,
            limits: Limits::default(),
        }
    }

    /// The next block, or `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Vec<u8>>, Error> {
        let full = match &mut self.from {
            From::Thread { full, .. } => full,
            From::Memory(block) => return Ok(block.take()),
        };
        match full.recv() {
            Err(_) => Ok(None),
            Ok(Ok(block)) => {
                self.handed += block.len() as u64;
                self.limits.check(&self.name, self.handed)?;
                Ok(Some(block))
            }
            Ok(Err(e)) if self.compression == Compression::None => {
                Err(Error::io(format_args!("cannot read {}", self.name), &e))
            }
            Ok(Err(e)) => {
                let word = self.compression.word();
                let what = match e.kind() {
                    io::ErrorKind::UnexpectedEof => "the file ends in the middle of the data".to_string(),
                    _ => e.to_string(),
                };
                Err(Error::data(format_args!(
                    "{}: its {word} data is damaged after {} decoded bytes: {what}",
                    self.name, self.handed
                )))
            }
        }
    }

    /// Gives a block back to be filled again.
    pub(crate) fn recycle(&self, block: Vec<u8>) {
        if let From::Thread { empty, .. } = &self.from {
            // The thread may have ended.
            let _ = empty.send(block);
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

/// How many blocks are read ahead.
const AHEAD: usize = 4;
const BLOCK_BYTES: usize = 1 << 20;

/// The reader's decoded bytes, and how it was compressed.
fn decoded(
    mut reader: impl Read + Send + 'static,
    meter: &Meter,
) -> io::Result<(Compression, Box<dyn Read + Send>)> {
    let mut start = [0; 4];
    let got = read_up_to(&mut reader, &mut start)?;
    let compression = Compression::of_bytes(&start[..got]);
    let whole = Metered {
        inner: io::Cursor::new(start[..got].to_vec()).chain(reader),
        meter: meter.clone(),
    };
    Ok((
        compression,
        match compression {
            Compression::None => Box::new(whole),
            Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(
                io::BufReader::with_capacity(256 * 1024, whole),
            )),
            Compression::Zstd => Box::new(zstd::stream::read::Decoder::new(whole)?),
        },
    ))
}

struct Metered<R> {
    inner: R,
    meter: Meter,
}

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.inner.read(buffer)?;
        self.meter.saw(&buffer[..got]);
        Ok(got)
    }
}

/// Fills the buffer as far as the reader goes.
pub(crate) fn read_up_to(reader: &mut (impl Read + ?Sized), buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match reader.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(got) => filled += got,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn read_all(path: &Path, skip: u64) -> Result<Vec<u8>, Error> {
        let mut blocks = Blocks::open(&Source::File(path.into()), skip, &Meter::default())?;
        let mut all = Vec::new();
        while let Some(block) = blocks.next()? {
            all.extend_from_slice(&block);
            blocks.recycle(block);
        }
        Ok(all)
    }

    fn gz(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn every_compression_gives_the_same_bytes_from_any_place() {
        let folder = tempfile::tempdir().unwrap();
        let data: Vec<u8> = (0..3_000_000u32).flat_map(u32::to_be_bytes).collect();
        let (first, second) = data.split_at(1_234_567);
        let members = [gz(first), gz(second)].concat();
        let frames = [
            zstd::encode_all(first, 1).unwrap(),
            zstd::encode_all(second, 1).unwrap(),
        ]
        .concat();
        for (name, bytes) in [("a.bin", &data), ("a.gz", &members), ("a.zst", &frames)] {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            for skip in [0, 5_000_001] {
                assert!(
                    read_all(&path, skip as u64).unwrap() == data[skip..],
                    "{name} from {skip}"
                );
            }
        }
    }

    #[test]
    fn damaged_and_mislabelled_files_are_refused_in_words() {
        let folder = tempfile::tempdir().unwrap();
        let whole = gz(&vec![7; 100_000]);
        for (name, bytes, says) in [
            ("cut.gz", &whole[..whole.len() - 20], "damaged after"),
            ("plain.gz", &b"time,x\n"[..], "is not gzip"),
            ("empty.zst", &b""[..], "is not zstd"),
        ] {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            let said = read_all(&path, 0).unwrap_err().to_string();
            assert!(said.contains(says) && said.contains(name), "{said}");
        }
        let said = read_all(&folder.path().join("absent"), 0)
            .unwrap_err()
            .to_string();
        assert!(said.contains("no such file"), "{said}");
    }
}
