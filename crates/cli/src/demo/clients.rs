//! The clients of a demo: they take ids as fast as they get them, note every one, and go on after every failure.

use std::io::{self, BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use mintage_wire::{Ids, Op};
use uuid::Uuid;

use super::seen::{Numbers, Wide};
use super::server::Addresses;
use crate::ask::Ask;
use crate::connect::Client;
use crate::errors::Failure;

/// The sequence that two clients take from, one through each face.
pub(super) const SEQUENCE: &str = "orders";
/// The pool of the Snowflakes.
pub(super) const POOL: &str = "demo";

/// How ids are taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Incr,
    Next,
    Snowflake,
    Uuid7,
}

impl Kind {
    pub(super) const ALL: [Kind; 4] = [Kind::Incr, Kind::Next, Kind::Snowflake, Kind::Uuid7];

    /// Its key in documents.
    pub(super) fn key(self) -> &'static str {
        match self {
            Kind::Incr => "incr",
            Kind::Next => "next",
            Kind::Snowflake => "snowflake",
            Kind::Uuid7 => "uuid7",
        }
    }

    /// What people read.
    pub(super) fn label(self) -> &'static str {
        match self {
            Kind::Incr => "INCR orders, Redis protocol",
            Kind::Next => "numbers of orders, HTTP",
            Kind::Snowflake => "Snowflakes, HTTP",
            Kind::Uuid7 => "UUIDs of version 7, HTTP",
        }
    }
}

/// What the clients got, all together.
pub(super) struct Book {
    stop: AtomicBool,
    got: [AtomicU64; Kind::ALL.len()],
    numbers: Mutex<Numbers>,
    snowflakes: Mutex<Numbers>,
    uuids: Mutex<Wide>,
    repeats: Mutex<Repeats>,
    longest_pause_us: AtomicU64,
    /// What was last refused, or went wrong.
    last_error: Mutex<Option<String>>,
}

/// Ids that came twice.
#[derive(Clone, Default)]
pub(super) struct Repeats {
    pub(super) count: u64,
    /// The first of them, with how they were taken.
    pub(super) first: Vec<(Kind, String)>,
}

/// As many are named.
const REPEATS_NAMED: usize = 100;

impl Book {
    pub(super) fn new() -> Arc<Book> {
        Arc::new(Book {
            stop: AtomicBool::new(false),
            got: Default::default(),
            numbers: Mutex::default(),
            snowflakes: Mutex::default(),
            uuids: Mutex::default(),
            repeats: Mutex::default(),
            longest_pause_us: AtomicU64::new(0),
            last_error: Mutex::default(),
        })
    }

    /// Has the clients end.
    pub(super) fn stop(&self) {
        self.stop.store(true, Relaxed);
    }

    pub(super) fn got(&self, kind: Kind) -> u64 {
        self.got[kind as usize].load(Relaxed)
    }

    pub(super) fn repeats(&self) -> Repeats {
        locked(&self.repeats).clone()
    }

    /// Numbers up to the highest that no client got.
    pub(super) fn missing(&self) -> u64 {
        locked(&self.numbers).missing()
    }

    pub(super) fn longest_pause(&self) -> Duration {
        Duration::from_micros(self.longest_pause_us.load(Relaxed))
    }

    pub(super) fn last_error(&self) -> Option<String> {
        locked(&self.last_error).clone()
    }

    /// Whether ids of a kind are taken no more, because no more can be remembered.
    pub(super) fn is_full(&self, kind: Kind) -> bool {
        match kind {
            Kind::Incr | Kind::Next => locked(&self.numbers).is_full(),
            Kind::Snowflake => locked(&self.snowflakes).is_full(),
            Kind::Uuid7 => locked(&self.uuids).is_full(),
        }
    }

    /// Notes ids, as their numbers and as they were given.
    fn note(&self, kind: Kind, ids: &[(u128, &str)]) {
        let new: Vec<bool> = match kind {
            Kind::Incr | Kind::Next => note_numbers(&mut locked(&self.numbers), ids),
            Kind::Snowflake => note_numbers(&mut locked(&self.snowflakes), ids),
            Kind::Uuid7 => {
                let mut seen = locked(&self.uuids);
                ids.iter().map(|(id, _)| seen.insert(*id)).collect()
            }
        };
        self.got[kind as usize].fetch_add(ids.len() as u64, Relaxed);
        let repeated: Vec<_> = ids.iter().zip(new).filter(|(_, new)| !new).collect();
        if repeated.is_empty() {
            return;
        }
        let mut repeats = locked(&self.repeats);
        repeats.count += repeated.len() as u64;
        for ((_, text), _) in repeated {
            if repeats.first.len() < REPEATS_NAMED {
                repeats.first.push((kind, text.to_string()));
            }
        }
    }

    fn failed(&self, why: impl Into<String>) {
        *locked(&self.last_error) = Some(why.into());
        // A server that is down answers at once that it is.
        thread::sleep(RETRY_AFTER);
    }

    fn paused(&self, pause: Duration) {
        let pause_us = u64::try_from(pause.as_micros()).unwrap_or(u64::MAX);
        self.longest_pause_us.fetch_max(pause_us, Relaxed);
    }
}

const RETRY_AFTER: Duration = Duration::from_millis(2);

fn note_numbers(seen: &mut Numbers, ids: &[(u128, &str)]) -> Vec<bool> {
    // Parsed from 64 bits.
    ids.iter().map(|(id, _)| seen.insert(*id as u64)).collect()
}

/// A client that panicked has noted what it noted.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes what the clients take from.
pub(super) fn prepare(client: &Client) -> Result<(), Failure> {
    for op in [Op::CreateSequence, Op::CreatePool] {
        let name = if op == Op::CreatePool { POOL } else { SEQUENCE };
        let nothing_special = serde_json::json!({});
        client.call::<serde_json::Value>(&Ask::new(op, &[name]).saying(&nothing_special))?;
    }
    Ok(())
}

/// Starts them: one speaks the Redis protocol, one takes numbers and one other ids by HTTP.
pub(super) fn start(
    book: &Arc<Book>,
    at: Addresses,
    mut client: impl FnMut() -> Result<Client, Failure>,
) -> Result<Vec<JoinHandle<()>>, Failure> {
    let (numbers, others) = (client()?, client()?);
    let [incr, next, rest] = [(); 3].map(|()| Arc::clone(book));
    Ok(vec![
        thread::spawn(move || incr_client(&incr, at)),
        thread::spawn(move || http_client(&next, &numbers, &[Kind::Next])),
        thread::spawn(move || http_client(&rest, &others, &[Kind::Snowflake, Kind::Uuid7])),
    ])
}

/// Measures how long a client had to wait for the next answer.
struct Pace(Option<Instant>);

impl Pace {
    fn answered(&mut self, book: &Book) {
        let now = Instant::now();
        if let Some(before) = self.0.replace(now) {
            book.paused(now - before);
        }
    }

    /// At the end the pause that lasts counts too; but not one because nothing was asked for.
    fn ended(&self, book: &Book, was_asking: bool) {
        if let Some(before) = self.0.filter(|_| was_asking) {
            book.paused(before.elapsed());
        }
    }
}

/// Sends `INCR`, many at a time.
fn incr_client(book: &Book, at: Addresses) {
    let command = format!("*2\r\n$4\r\nINCR\r\n${}\r\n{SEQUENCE}\r\n", SEQUENCE.len());
    let batch = command.repeat(BATCH);
    let mut pace = Pace(None);
    let mut connection = None;
    while !book.stop.load(Relaxed) && !book.is_full(Kind::Incr) {
        let connected = match connection.take() {
            Some(connection) => Ok(connection),
            None => connect(at),
        };
        let mut numbers = Vec::with_capacity(BATCH);
        let asked = connected.and_then(|mut connected| {
            connected.get_mut().write_all(batch.as_bytes())?;
            let mut refused = None;
            for _ in 0..BATCH {
                match reply(&mut connected)? {
                    Ok(number) => numbers.push(number),
                    Err(why) => refused = Some(why),
                }
            }
            Ok((connected, refused))
        });
        // Also those that came before the connection broke.
        if !numbers.is_empty() {
            pace.answered(book);
            let texts: Vec<String> = numbers.iter().map(i64::to_string).collect();
            let ids: Vec<(u128, &str)> = numbers
                .iter()
                .map(|n| *n as u64 as u128)
                .zip(texts.iter().map(|t| &**t))
                .collect();
            book.note(Kind::Incr, &ids);
        }
        match asked {
            Ok((connected, None)) => connection = Some(connected),
            Ok((connected, Some(why))) => {
                connection = Some(connected);
                book.failed(why);
            }
            Err(error) => book.failed(error.to_string()),
        }
    }
    pace.ended(book, !book.is_full(Kind::Incr));
}

/// How many ids are asked for together.
const BATCH: usize = 100;

/// The same for each kind: fewer UUIDs, which take the most memory to remember.
fn batch(kind: Kind) -> usize {
    match kind {
        Kind::Uuid7 => BATCH / 2,
        _ => BATCH,
    }
}

/// A server that hangs is taken for down.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

fn connect(at: Addresses) -> io::Result<BufReader<TcpStream>> {
    let stream = TcpStream::connect_timeout(&at.resp, ANSWER_TIMEOUT)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
    stream.set_write_timeout(Some(ANSWER_TIMEOUT))?;
    Ok(BufReader::new(stream))
}

/// One reply: a number, or why there is none. One that was cut off is an error, and no number.
fn reply(from: &mut impl BufRead) -> io::Result<Result<i64, String>> {
    let mut line = String::new();
    from.read_line(&mut line)?;
    let Some(line) = line.strip_suffix("\r\n") else {
        return Err(io::ErrorKind::UnexpectedEof.into());
    };
    match line.strip_prefix(':').map(str::parse) {
        Some(Ok(number)) => Ok(Ok(number)),
        _ => Ok(Err(line.to_string())),
    }
}

/// Asks for ids of some kinds in turn.
fn http_client(book: &Book, client: &Client, kinds: &[Kind]) {
    let mut pace = Pace(None);
    'all: while !book.stop.load(Relaxed) {
        let mut asked = false;
        for &kind in kinds {
            if book.stop.load(Relaxed) {
                break 'all;
            }
            if book.is_full(kind) {
                continue;
            }
            asked = true;
            match client.call::<Ids>(&ask(kind)) {
                Ok(answer) => {
                    pace.answered(book);
                    note(book, kind, &answer);
                }
                Err(Failure::Said { message, .. }) => book.failed(message),
                Err(_) => book.failed("no answer"),
            }
        }
        if !asked {
            return;
        }
    }
    pace.ended(book, true);
}

fn ask(kind: Kind) -> Ask {
    let ask = match kind {
        Kind::Incr | Kind::Next => Ask::new(Op::Next, &[SEQUENCE]),
        Kind::Snowflake => Ask::new(Op::MakeSnowflakes, &[POOL]),
        Kind::Uuid7 => Ask::new(Op::MakeIds, &["uuid7"]),
    };
    ask.with("count", batch(kind))
}

fn note(book: &Book, kind: Kind, answer: &Ids) {
    let read = |text: &String| match kind {
        Kind::Uuid7 => Uuid::parse_str(text).ok().map(|id| id.as_u128()),
        _ => text.parse::<i64>().ok().map(|id| id as u64 as u128),
    };
    let ids: Vec<(u128, &str)> = answer
        .ids
        .iter()
        .filter_map(|text| Some((read(text)?, &**text)))
        .collect();
    book.note(kind, &ids);
    if ids.len() < answer.ids.len() {
        book.failed(format!("an answer held what is no id: {:?}", answer.ids));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeat_is_found_whichever_client_gets_it() {
        let book = Book::new();
        book.note(Kind::Incr, &[(1, "1"), (2, "2")]);
        book.note(Kind::Snowflake, &[(2, "2")]);
        assert_eq!(book.repeats().count, 0);
        book.note(Kind::Next, &[(3, "3"), (2, "2")]);
        let id = "019c0000-0000-7000-8000-000000000001".to_string();
        let (ids, cycle) = (vec![id.clone()], false);
        for _ in 0..2 {
            note(
                &book,
                Kind::Uuid7,
                &Ids {
                    ids: ids.clone(),
                    cycle,
                },
            );
        }
        let repeats = book.repeats();
        assert_eq!(
            (repeats.count, repeats.first),
            (2, vec![(Kind::Next, "2".to_string()), (Kind::Uuid7, id)])
        );
        assert_eq!(Kind::ALL.map(|kind| book.got(kind)), [2, 2, 1, 2]);
    }

    #[test]
    fn a_reply_that_was_cut_off_is_no_number() {
        let read = |text: &str| reply(&mut text.as_bytes()).ok();
        assert_eq!(read(":12\r\n"), Some(Ok(12)));
        assert_eq!(read("-ERR no\r\n"), Some(Err("-ERR no".into())));
        assert_eq!((read(":12"), read(":12\r"), read("")), (None, None, None));
    }
}
