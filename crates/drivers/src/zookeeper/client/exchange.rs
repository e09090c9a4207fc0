//! Requests and answers on one connection, until it breaks or nobody asks any more.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::{Notify, mpsc, oneshot};

use super::answer::{Answer, Header};
use super::connection::{Connection, read_more};
use super::error::Error;
use super::frames::Frames;
use super::in_flight::InFlight;
use super::jute::{Input, Malformed};
use super::request::{XID_AT, close_session, ping};
use super::session::Session;
use crate::runtime::Runtime;

/// Requests that are sent one right behind the other.
pub(super) type Batch = Vec<Sent>;

/// A request on its way, and who waits for its answer. One that nobody waits for any more is not sent; one that was
/// sent is answered, and its answer dropped.
pub(super) struct Sent {
    pub(super) frame: Vec<u8>,
    pub(super) tell: oneshot::Sender<Result<Answered, Error>>,
}

/// An answer as it came.
pub(super) struct Answered {
    pub(super) zxid: i64,
    /// Behind the header.
    pub(super) record: Vec<u8>,
}

/// How an exchange ends.
pub(super) enum End {
    /// Nobody can ask any more, and the server was told.
    Closed,
    /// The connection broke.
    Broken(String),
}

/// How many requests may be on their way: more wait their turn. (A server takes 1,000 of all its clients before it lets
/// them wait.)
pub(super) const IN_FLIGHT_MAX: usize = 1000;

/// How many bytes are put together for one write, if so much is waiting.
const WRITE_BYTES: usize = 64 << 10;

/// Serves what is asked for. Whatever was sent and not answered is lost at the end.
pub(super) async fn exchange(
    connection: Connection,
    session: &mut Session,
    requests: &mut mpsc::Receiver<Batch>,
    runtime: &dyn Runtime,
) -> End {
    let Connection { stream, mut frames } = connection;
    let (mut from, to) = tokio::io::split(stream);
    let flight = Flight::default();
    let sender = Sender {
        flight: &flight,
        runtime,
        ping_after: session.ping_after(),
    };
    let silence_max = session.silence_max();
    let end = tokio::select! {
        biased;
        why = receive(&mut from, &mut frames, &flight, &mut session.zxid, (silence_max, runtime)) => End::Broken(why),
        end = sender.run(to, requests) => end,
    };
    if let End::Broken(why) = &end {
        for sent in flight.state().take_all() {
            sent.send(Err(Error::Lost(why.clone()))).ok();
        }
    }
    end
}

type Waiting = oneshot::Sender<Result<Answered, Error>>;

/// What was sent and not answered.
#[derive(Default)]
struct Flight {
    state: Mutex<InFlight<Waiting>>,
    /// Told of every answer.
    less: Notify,
}

impl Flight {
    fn state(&self) -> MutexGuard<'_, InFlight<Waiting>> {
        // No code between lock and unlock panics half-way through a change.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_full(&self) -> bool {
        self.state().count() >= IN_FLIGHT_MAX
    }

    /// Gives an answer to whoever waits for it.
    fn land(&self, frame: &[u8]) -> Result<i64, Malformed> {
        let mut input = Input(frame);
        let header = Header::read(&mut input)?;
        let waiting = self.state().answered(header.xid)?;
        self.less.notify_one();
        if let Some(waiting) = waiting {
            let answer = header.outcome.map_err(Error::Answered);
            let record = input.0;
            let answer = answer.map(|()| Answered {
                zxid: header.zxid,
                record: record.to_vec(),
            });
            // Whoever asked may have given up.
            waiting.send(answer).ok();
        }
        Ok(header.zxid)
    }
}

/// Takes answers in until the connection breaks, and says why it did.
async fn receive(
    from: &mut (impl AsyncRead + Unpin),
    frames: &mut Frames,
    flight: &Flight,
    zxid: &mut i64,
    (silence_max, runtime): (Duration, &dyn Runtime),
) -> String {
    loop {
        loop {
            match frames
                .take()
                .and_then(|frame| frame.map(|frame| flight.land(frame)).transpose())
            {
                Ok(Some(newest)) => *zxid = newest.max(*zxid),
                Ok(None) => break,
                Err(why) => return format!("the server is not understood: {why}"),
            }
        }
        tokio::select! {
            biased;
            read = read_more(from, frames) => if let Err(why) = read { return why },
            () = runtime.sleep(silence_max) => return format!("no word from the server within {silence_max:?}"),
        }
    }
}

/// Sends requests, and pings while there are none.
struct Sender<'a> {
    flight: &'a Flight,
    runtime: &'a dyn Runtime,
    ping_after: Duration,
}

impl Sender<'_> {
    async fn run(&self, mut to: impl AsyncWrite + Unpin, requests: &mut mpsc::Receiver<Batch>) -> End {
        let mut out = Vec::new();
        loop {
            while self.flight.is_full() {
                self.flight.less.notified().await;
            }
            let asked = tokio::select! {
                biased;
                batch = requests.recv() => Some(batch),
                () = self.runtime.sleep(self.ping_after) => None,
            };
            let last = matches!(asked, Some(None));
            match asked {
                Some(Some(batch)) => self.gather(batch, requests, &mut out),
                Some(None) => out.extend(close_session()),
                None if self.flight.state().ping() => out.extend(ping()),
                None => continue,
            }
            let written = async {
                to.write_all(&out).await?;
                to.flush().await
            };
            match written.await {
                _ if last => return End::Closed,
                Err(error) => return End::Broken(error.to_string()),
                Ok(()) => out.clear(),
            }
            out.shrink_to(WRITE_BYTES);
        }
    }

    /// Puts together what is waiting.
    fn gather(&self, first: Batch, requests: &mut mpsc::Receiver<Batch>, out: &mut Vec<u8>) {
        let mut next = Some(first);
        while let Some(batch) = next {
            let mut flight = self.flight.state();
            for Sent { frame, tell } in batch.into_iter().filter(|sent| !sent.tell.is_closed()) {
                let from = out.len();
                out.extend(frame);
                let number = flight.add(tell);
                out[from..][XID_AT].copy_from_slice(&number.to_be_bytes());
            }
            next = match out.len() < WRITE_BYTES && flight.count() < IN_FLIGHT_MAX {
                true => requests.try_recv().ok(),
                false => None,
            };
        }
    }
}
