//! `mint demo`: a server that is killed again and again under its clients, which look for an id that comes twice.

mod clients;
mod seen;
mod server;
mod show;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use self::clients::Book;
use self::server::{Addresses, Server};
use self::show::{Screen, Summary};
use crate::connect::Client;
use crate::errors::Failure;
use crate::out::Out;
use crate::tls::TlsFiles;

#[derive(clap::Args, Debug)]
#[command(
    after_help = "It starts a server of its own, on free ports of 127.0.0.1 and in a folder that it makes in TMPDIR \
                  (else /tmp) and removes. One client takes numbers of a sequence through the Redis protocol and one \
                  by HTTP, a third one Snowflakes and UUIDs. Every id is remembered, a bit for each number: up to \
                  75 MB for the numbers, for the Snowflakes and for the UUIDs (3.6 million); of what has filled \
                  that, no more is taken.\n\n\
                  The exit code is 1 if an id came twice; those that did are shown."
)]
pub(crate) struct Args {
    /// How long it goes on, from when every client was answered
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    seconds: u64,
    /// After how many seconds the server is killed (kill -9) and started again; 0 for never
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u64).range(0..=86_400))]
    kill_every: u64,
    /// Leave the server's folder where it is
    #[arg(long)]
    keep: bool,
    /// Be the server of the demo that runs as this process
    #[arg(long, value_name = "PID", hide = true)]
    server_of: Option<u32>,
    /// The server's arguments
    #[arg(last = true, hide = true)]
    server_args: Vec<OsString>,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<(), Failure> {
    if let Some(parent) = args.server_of {
        return Err(server::become_server(parent, &args.server_args));
    }
    let stop = stopped_by_signals()?;
    let folder = Folder::new(args.keep)?;
    let summary = Demo::start(args, folder.path(), &stop)?.run(out)?;
    let summary = Summary {
        folder: folder.done()?,
        ..summary
    };
    summary.show(out)?;
    match summary.is_sound() {
        true => Ok(()),
        false => {
            out.flush()?;
            Err(Failure::Negative)
        }
    }
}

/// Set by Ctrl-C, and by whatever else asks this process to end.
fn stopped_by_signals() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [
        signal_hook::consts::SIGINT,
        signal_hook::consts::SIGTERM,
        signal_hook::consts::SIGHUP,
    ] {
        signal_hook::flag::register(signal, Arc::clone(&stop))
            .map_err(|error| Failure::cannot(format_args!("cannot listen to signals: {error}")))?;
    }
    Ok(stop)
}

/// Where the server keeps its store; removed with this value, unless it is to be kept.
struct Folder {
    made: TempDir,
    keep: bool,
}

impl Folder {
    fn new(keep: bool) -> Result<Folder, Failure> {
        let made = tempfile::Builder::new().prefix("mint-demo-").tempdir();
        let made = made.map_err(|error| {
            Failure::cannot(format_args!("cannot make a folder: {error}"))
                .with_hint("TMPDIR says where such folders are made")
        })?;
        Ok(Folder { made, keep })
    }

    fn path(&self) -> &Path {
        self.made.path()
    }

    fn done(self) -> Result<Option<PathBuf>, Failure> {
        if self.keep {
            return Ok(Some(self.made.keep()));
        }
        let path = self.made.path().to_path_buf();
        let failed = |error| Failure::cannot(format_args!("cannot remove {}: {error}", path.display()));
        self.made.close().map_err(failed)?;
        Ok(None)
    }
}

/// A demo under way.
struct Demo<'a> {
    args: &'a Args,
    folder: &'a Path,
    stop: &'a AtomicBool,
    at: Addresses,
    server: Server,
    /// When the server was killed, while it does not serve again.
    down_since: Option<Instant>,
    began: Instant,
    kills: u64,
    longest_start: Duration,
    book: Arc<Book>,
    clients: Vec<JoinHandle<()>>,
}

impl<'a> Demo<'a> {
    fn start(args: &'a Args, folder: &'a Path, stop: &'a AtomicBool) -> Result<Demo<'a>, Failure> {
        let server = Server::start(folder, None)?;
        let at = loop {
            match server.ready()? {
                Some(at) => break at,
                None if stop.load(Relaxed) => {
                    return Err(Failure::cannot("stopped before the server served"));
                }
                None => thread::sleep(TICK),
            }
        };
        let client = || Client::new(&format!("http://{}", at.http), &TlsFiles::default());
        clients::prepare(&client()?)?;
        let book = Book::new();
        let clients = clients::start(&book, at, client)?;
        // The seconds are counted once every client was answered.
        let since = Instant::now();
        let is_unanswered = || clients::Kind::ALL.iter().any(|kind| book.got(*kind) == 0);
        while is_unanswered() && since.elapsed() < FIRST_ANSWER_TIMEOUT && !stop.load(Relaxed) {
            thread::sleep(TICK);
        }
        Ok(Demo {
            args,
            folder,
            stop,
            at,
            server,
            down_since: None,
            began: Instant::now(),
            kills: 0,
            longest_start: Duration::ZERO,
            book,
            clients,
        })
    }

    fn run(mut self, out: &mut Out) -> Result<Summary, Failure> {
        let mut screen = Screen::new(out);
        let whole = Duration::from_secs(self.args.seconds);
        let mut kill_at = self.next_kill(Duration::ZERO);
        while self.began.elapsed() < whole && !self.stop.load(Relaxed) {
            if let Some(since) = self.down_since {
                if self.server.ready()?.is_some() {
                    self.down_since = None;
                    let took = since.elapsed();
                    self.longest_start = self.longest_start.max(took);
                    screen.restarted(self.kills, took);
                    kill_at = self.next_kill(self.began.elapsed());
                }
            } else if kill_at.is_some_and(|at| self.began.elapsed() >= at) {
                self.kill()?;
            } else {
                self.server.check()?;
            }
            screen.show(&self.summary(false));
            thread::sleep(TICK);
        }
        let was_stopped = self.stop.load(Relaxed);
        let took = self.began.elapsed();
        self.end_clients();
        let summary = Summary {
            took,
            was_stopped,
            ..self.summary(true)
        };
        screen.end();
        self.server.stop();
        match (summary.all(), self.book.last_error()) {
            (0, Some(error)) => Err(Failure::cannot(format_args!("the clients got no id: {error}"))),
            _ => Ok(summary),
        }
    }

    /// When to kill next, if that leaves time to see what comes of it.
    fn next_kill(&self, now: Duration) -> Option<Duration> {
        let at = now + Duration::from_secs(self.args.kill_every);
        let is_worth_it = at + Duration::from_millis(500) < Duration::from_secs(self.args.seconds);
        Some(at).filter(|_| self.args.kill_every > 0 && is_worth_it)
    }

    fn kill(&mut self) -> Result<(), Failure> {
        self.down_since = Some(Instant::now());
        self.kills += 1;
        self.server.kill();
        self.server = Server::start(self.folder, Some(self.at))?;
        Ok(())
    }

    /// Has the clients end while the server serves still, so that nothing is cut off that need not be.
    fn end_clients(&mut self) {
        self.book.stop();
        let since = Instant::now();
        while since.elapsed() < END_TIMEOUT && !self.clients.iter().all(JoinHandle::is_finished) {
            thread::sleep(TICK / 4);
        }
        if !self.clients.iter().all(JoinHandle::is_finished) {
            self.server.kill();
        }
        for client in self.clients.drain(..) {
            // What it has noted counts, whatever became of it.
            let _ = client.join();
        }
    }

    fn summary(&self, is_over: bool) -> Summary {
        let full = |kind: &clients::Kind| self.book.is_full(*kind);
        Summary {
            took: self.began.elapsed(),
            seconds: self.args.seconds,
            was_stopped: false,
            is_over,
            is_down: self.down_since.is_some(),
            kills: self.kills,
            longest_start: self.longest_start,
            got: clients::Kind::ALL.map(|kind| self.book.got(kind)),
            full: clients::Kind::ALL.into_iter().filter(full).collect(),
            repeats: self.book.repeats(),
            missing: self.book.missing(),
            longest_pause: self.book.longest_pause(),
            folder: None,
        }
    }
}

/// How often it looks around.
const TICK: Duration = Duration::from_millis(20);

/// A client that was not answered for so long is waited for no more.
const FIRST_ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// Clients end with their next answer.
const END_TIMEOUT: Duration = Duration::from_secs(3);
