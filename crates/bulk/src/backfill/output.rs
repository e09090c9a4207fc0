//! Where rows with ids go: beside the output, renamed to it at the end, with a checkpoint from which an interrupted run
//! goes on.
//!
//! ```text
//! out.csv.mint-part         what is written so far, locked by the run that writes it
//! out.csv.mint-checkpoint   JSON: how far, of what, and how
//! out.csv.mint-work/        ids of rows that had to be sorted by time first
//! ```
//!
//! Compressed output ends a gzip member or zstd frame at every mark. Marks stand at places that only the input decides
//! on, so a run that was interrupted writes the same bytes as one that was not.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::Error;
use crate::input::Compression;

/// The files beside an output.
#[derive(Clone, Debug)]
pub(super) struct Paths {
    pub(super) output: PathBuf,
    pub(super) part: PathBuf,
    pub(super) checkpoint: PathBuf,
    pub(super) work: PathBuf,
}

impl Paths {
    pub(super) fn of(output: &Path) -> Paths {
        let beside = |suffix: &str| {
            let mut name = output.as_os_str().to_owned();
            name.push(suffix);
            PathBuf::from(name)
        };
        Paths {
            output: output.to_path_buf(),
            part: beside(".mint-part"),
            checkpoint: beside(".mint-checkpoint"),
            work: beside(".mint-work"),
        }
    }

    /// Opens the part and locks it against a second run.
    pub(super) fn lock(&self) -> Result<File, Error> {
        let part = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(&self.part)
            .map_err(|e| match e.kind() {
                io::ErrorKind::NotFound => Error::file("write", &self.output, &e)
                    .with_hint(format_args!("make the folder {} first", self.folder().display())),
                _ => Error::file("write", &self.part, &e),
            })?;
        match part.try_lock() {
            Ok(()) => Ok(part),
            Err(TryLockError::WouldBlock) => Err(Error::usage(format_args!(
                "another run is writing {} now",
                self.output.display()
            ))),
            Err(TryLockError::Error(e)) => Err(Error::file("lock", &self.part, &e)),
        }
    }

    /// The checkpoint, if there is one that can be read.
    pub(super) fn load<C: DeserializeOwned>(&self) -> Option<C> {
        serde_json::from_slice(&fs::read(&self.checkpoint).ok()?).ok()
    }

    /// Writes a checkpoint: whole or not at all.
    pub(super) fn save<C: Serialize>(&self, checkpoint: &C) -> io::Result<()> {
        let new = self.checkpoint.with_added_extension("new");
        let mut file = File::create(&new)?;
        file.write_all(&serde_json::to_vec(checkpoint)?)?;
        file.sync_data()?;
        fs::rename(&new, &self.checkpoint)
    }

    /// Removes what only an interrupted run needs. What cannot be removed is in nobody's way.
    pub(super) fn clear(&self) {
        let _ = fs::remove_file(&self.checkpoint);
        let _ = fs::remove_dir_all(&self.work);
    }

    /// Removes everything that is not the output.
    pub(super) fn abandon(&self) {
        self.clear();
        let _ = fs::remove_file(&self.part);
    }

    fn folder(&self) -> PathBuf {
        match self.output.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder.to_path_buf(),
            _ => PathBuf::from("."),
        }
    }
}

/// Takes blocks and writes them in a thread of its own.
pub(super) struct Output<C> {
    orders: SyncSender<Order<C>>,
    emptied: Receiver<Vec<u8>>,
    writer: Option<JoinHandle<Result<u64, Error>>>,
}

enum Order<C> {
    Data(Vec<u8>),
    /// End the frame; the checkpoint is completed by the length so far.
    Mark(Option<Box<C>>),
    Finish,
}

/// A checkpoint that learns how long the output is.
pub(super) trait Checkpoint: Serialize + Send + 'static {
    fn set_output_bytes(&mut self, bytes: u64);
}

impl<C: Checkpoint> Output<C> {
    /// Goes on at `from` of a locked part.
    pub(super) fn to_file(
        mut part: File,
        from: u64,
        paths: Paths,
        compression: Compression,
        save_every: Duration,
    ) -> Result<Output<C>, Error> {
        let placed = part
            .set_len(from)
            .and_then(|()| part.seek(SeekFrom::Start(from)).map(drop));
        placed.map_err(|e| Error::file("write", &paths.part, &e))?;
        let sink = Sink::new(part, compression);
        Ok(Output::spawn(Writer {
            sink: sink.map_err(|e| Error::file("write", &paths.part, &e))?,
            compression,
            paths: Some(paths),
            saved: Instant::now(),
            save_every,
        }))
    }

    /// Writes to standard output, which knows no checkpoint.
    pub(super) fn to_stdout(stdout: File) -> Result<Output<C>, Error> {
        Ok(Output::spawn(Writer {
            sink: Sink::Plain(stdout),
            compression: Compression::None,
            paths: None,
            saved: Instant::now(),
            save_every: Duration::MAX,
        }))
    }

    fn spawn(mut writer: Writer) -> Output<C> {
        let (orders, orders_out) = sync_channel(4);
        let (emptied_in, emptied) = sync_channel(8);
        let handle = thread::spawn(move || {
            loop {
                match orders_out.recv() {
                    Ok(Order::Data(mut block)) => {
                        writer.data(&block)?;
                        block.clear();
                        // Nobody may want it any more.
                        let _ = emptied_in.try_send(block);
                    }
                    Ok(Order::Mark(checkpoint)) => writer.mark(checkpoint)?,
                    Ok(Order::Finish) => return writer.finish(),
                    // The run failed: what is written stays for the next one.
                    Err(_) => return Ok(0),
                }
            }
        });
        Output {
            orders,
            emptied,
            writer: Some(handle),
        }
    }

    /// Writes what is in `block` and leaves an empty one.
    pub(super) fn write(&mut self, block: &mut Vec<u8>) -> Result<(), Error> {
        let next = self.emptied.try_recv().unwrap_or_default();
        let full = std::mem::replace(block, next);
        self.order(Order::Data(full))
    }

    /// Ends a frame, and makes a checkpoint if the last one is some time ago.
    pub(super) fn mark(&mut self, checkpoint: Option<C>) -> Result<(), Error> {
        self.order(Order::Mark(checkpoint.map(Box::new)))
    }

    /// Ends without an output; what is written stays as it is.
    pub(super) fn stop(mut self) -> Result<(), Error> {
        let Output { orders, writer, .. } = &mut self;
        // The thread ends when nobody can give it orders.
        *orders = sync_channel(0).0;
        match writer.take().map(JoinHandle::join) {
            Some(Ok(result)) => result.map(drop),
            _ => Ok(()),
        }
    }

    /// Makes it durable and renames it to the output. Gives its length in bytes.
    pub(super) fn finish(mut self) -> Result<u64, Error> {
        self.order(Order::Finish)?;
        self.joined()
    }

    fn order(&mut self, order: Order<C>) -> Result<(), Error> {
        match self.orders.send(order) {
            Ok(()) => Ok(()),
            // The writer has ended, and says why.
            Err(_) => self.joined().map(drop),
        }
    }

    fn joined(&mut self) -> Result<u64, Error> {
        let ended = self.writer.take().map(JoinHandle::join);
        match ended {
            Some(Ok(result)) => result,
            _ => Err(Error::io(
                "cannot write",
                &io::Error::other("the writing thread ended"),
            )),
        }
    }
}

struct Writer {
    sink: Sink,
    compression: Compression,
    /// None for standard output.
    paths: Option<Paths>,
    saved: Instant,
    save_every: Duration,
}

impl Writer {
    fn data(&mut self, block: &[u8]) -> Result<(), Error> {
        self.sink.write_all(block).map_err(|e| self.cannot(&e))
    }

    fn mark<C: Checkpoint>(&mut self, checkpoint: Option<Box<C>>) -> Result<(), Error> {
        let Some(paths) = &self.paths else {
            return Ok(());
        };
        let ended = std::mem::replace(&mut self.sink, Sink::Nothing).finish();
        let mut part = ended.map_err(|e| self.cannot(&e))?;
        let length = part.stream_position().map_err(|e| self.cannot(&e))?;
        if let Some(mut checkpoint) = checkpoint
            && self.saved.elapsed() >= self.save_every
        {
            checkpoint.set_output_bytes(length);
            let saved = part.sync_data().and_then(|()| paths.save(&*checkpoint));
            saved.map_err(|e| self.cannot(&e))?;
            self.saved = Instant::now();
        }
        self.sink = Sink::new(part, self.compression).map_err(|e| self.cannot(&e))?;
        Ok(())
    }

    fn finish(mut self) -> Result<u64, Error> {
        let ended = std::mem::replace(&mut self.sink, Sink::Nothing).finish();
        let mut file = ended.map_err(|e| self.cannot(&e))?;
        let Some(paths) = &self.paths else {
            return Ok(0);
        };
        let renamed = file.sync_all().and_then(|()| {
            let length = file.stream_position()?;
            fs::rename(&paths.part, &paths.output)?;
            // Durable only once the folder is.
            File::open(paths.folder())?.sync_all()?;
            Ok(length)
        });
        let length = renamed.map_err(|e| self.cannot(&e))?;
        paths.clear();
        Ok(length)
    }

    fn cannot(&self, error: &io::Error) -> Error {
        match &self.paths {
            Some(paths) => Error::file("write", &paths.part, error),
            None => Error::io("cannot write the output", error),
        }
    }
}

/// One frame.
enum Sink {
    Plain(File),
    Gzip(flate2::write::GzEncoder<File>),
    Zstd(zstd::stream::write::Encoder<'static, File>),
    /// Between two frames.
    Nothing,
}

impl Sink {
    fn new(file: File, compression: Compression) -> io::Result<Sink> {
        Ok(match compression {
            Compression::None => Sink::Plain(file),
            Compression::Gzip => Sink::Gzip(flate2::write::GzEncoder::new(
                file,
                flate2::Compression::new(GZIP_LEVEL),
            )),
            Compression::Zstd => Sink::Zstd(zstd::stream::write::Encoder::new(file, ZSTD_LEVEL)?),
        })
    }

    fn write_all(&mut self, block: &[u8]) -> io::Result<()> {
        match self {
            Sink::Plain(file) => file.write_all(block),
            Sink::Gzip(encoder) => encoder.write_all(block),
            Sink::Zstd(encoder) => encoder.write_all(block),
            Sink::Nothing => Err(io::Error::other("no frame is open")),
        }
    }

    fn finish(self) -> io::Result<File> {
        match self {
            Sink::Plain(file) => Ok(file),
            Sink::Gzip(encoder) => encoder.finish(),
            Sink::Zstd(encoder) => encoder.finish(),
            Sink::Nothing => Err(io::Error::other("no frame is open")),
        }
    }
}

const GZIP_LEVEL: u32 = 4;
const ZSTD_LEVEL: i32 = 3;
