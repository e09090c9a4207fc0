//! A client of ZooKeeper's protocol: one session, and any number of requests at a time on its one connection.
//!
//! A connection that breaks is replaced while the session lasts. What was sent on it and not answered is
//! [`Error::Lost`]: it may have been done. Nothing is ever sent twice, and what is asked while there is no connection
//! is not kept, but fails with [`Error::NotSent`]. Whoever drops a request's future does not disturb the others.
//!
//! What is spoken is as old as ZooKeeper 3.4, but for [`multi_read`], which came with 3.6. There are no watches, no
//! SASL, and no servers that are read-only.
//!
//! Source: the programmer's guide of Apache ZooKeeper, and `zookeeper.jute`, its description of all records.

mod acl;
mod answer;
mod connection;
mod ensemble;
mod error;
mod exchange;
mod frames;
mod in_flight;
mod jute;
mod numbers;
mod request;
mod session;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, mpsc, oneshot};

pub use self::acl::Acl;
pub use self::answer::{Answer, Children, Committed, Data, Empty, Header, Parts, Read, Stat};
use self::connection::Connection;
pub(super) use self::ensemble::Ensemble;
pub use self::error::{Code, Error, REQUEST_BYTES_MAX};
use self::exchange::{Answered, Batch, End, Sent, exchange};
pub use self::frames::Frames;
pub use self::in_flight::InFlight;
pub use self::jute::{Input, Malformed};
pub use self::request::{
    Ask, Multi, Request, create, delete, exists, get_acl, get_children, get_data, multi_read, set_acl,
    set_data, sync,
};
use self::session::{EXPIRED, Session};

/// A session. Clones share it; with the last one it ends, and the server is told.
#[derive(Clone)]
pub struct Client {
    requests: mpsc::Sender<Batch>,
    /// Told when the session is to end at once.
    ended: Arc<Notify>,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Client")
    }
}

/// How many batches of requests wait their turn, beside those that are on their way; who asks for more waits for room.
const WAITING_MAX: usize = 1024;

/// How long the servers are left alone before they are asked to go on with a session. (A request that comes meanwhile
/// is refused, and whoever made it begins a session of its own.)
const PAUSE: Duration = Duration::from_millis(500);

impl Client {
    /// Begins a session, which is kept by a task of the runtime.
    pub(super) async fn connect(ensemble: Arc<Ensemble>) -> Result<Client, Error> {
        let (tell, told) = oneshot::channel();
        let runtime = Arc::clone(&ensemble.runtime);
        runtime.spawn(Box::pin(keep(ensemble, tell)));
        told.await
            .unwrap_or_else(|_| Err(Error::Unreachable("the program is ending".to_string())))
    }

    /// Asks, and waits for the answer.
    ///
    /// # Errors
    /// As [`Error`] says.
    pub async fn ask<A: Answer>(&self, request: Request<A>) -> Result<A, Error> {
        self.ask_at(request).await.map(|(answer, _)| answer)
    }

    /// Several requests right behind one another; an answer or an error each.
    ///
    /// # Errors
    /// Nothing was sent.
    pub async fn ask_all<A: Answer>(
        &self,
        requests: impl IntoIterator<Item = Request<A>>,
    ) -> Result<Vec<Result<A, Error>>, Error> {
        let frames: Result<Vec<_>, _> = requests.into_iter().map(|request| request.frame).collect();
        self.answers(self.send(frames?).await?).await
    }

    /// The same behind a request that makes the server catch up: the answers are as of now, or newer.
    ///
    /// # Errors
    /// Nothing was sent, or the server could not catch up.
    pub async fn ask_now<A: Answer>(
        &self,
        requests: impl IntoIterator<Item = Request<A>>,
    ) -> Result<Vec<Result<A, Error>>, Error> {
        let mut frames = vec![sync("/").frame?];
        for request in requests {
            frames.push(request.frame?);
        }
        let mut told = self.send(frames).await?;
        self.answer::<Empty>(told.remove(0)).await?;
        self.answers(told).await
    }

    /// As [`ask_now`](Client::ask_now), for one.
    ///
    /// # Errors
    /// As [`Error`] says.
    pub async fn ask_one_now<A: Answer>(&self, request: Request<A>) -> Result<A, Error> {
        let answer = self.ask_now([request]).await?.pop();
        answer.expect("an answer to each request")
    }

    /// Does several writes together, or none.
    ///
    /// # Errors
    /// As [`Error`] says: a write that was refused is none.
    pub async fn commit(&self, multi: &Multi) -> Result<Committed, Error> {
        let (parts, zxid) = self.ask_at(multi.request::<Parts>()).await?;
        parts.judge(&multi.kinds, zxid).map_err(|why| self.give_up(&why))
    }

    /// Ends the session at once, for all clones. What was not answered is lost.
    pub fn end(&self) {
        self.ended.notify_one();
    }

    async fn ask_at<A: Answer>(&self, request: Request<A>) -> Result<(A, i64), Error> {
        let mut answers = self.send(vec![request.frame?]).await?;
        self.answer(answers.remove(0)).await
    }

    /// Sends requests one behind the other.
    async fn send(&self, frames: Vec<Vec<u8>>) -> Result<Vec<Told>, Error> {
        let (batch, told) = frames
            .into_iter()
            .map(|frame| {
                let (tell, told) = oneshot::channel();
                (Sent { frame, tell }, told)
            })
            .unzip();
        let sent: Result<(), _> = self.requests.send(batch).await;
        match sent {
            Ok(()) => Ok(told),
            Err(_) => Err(Error::NotSent("the session has ended".to_string())),
        }
    }

    async fn answers<A: Answer>(&self, told: Vec<Told>) -> Result<Vec<Result<A, Error>>, Error> {
        let mut all = Vec::with_capacity(told.len());
        for told in told {
            all.push(self.answer(told).await.map(|(answer, _)| answer));
        }
        Ok(all)
    }

    async fn answer<A: Answer>(&self, told: Told) -> Result<(A, i64), Error> {
        let Ok(told) = told.await else {
            return Err(Error::Lost("the session was ended".to_string()));
        };
        let Answered { zxid, record } = told?;
        let mut input = Input(&record);
        let answer = A::read(&mut input).and_then(|answer| input.end().map(|()| answer));
        match answer {
            Ok(answer) => Ok((answer, zxid)),
            Err(why) => Err(self.give_up(&why)),
        }
    }

    /// Trusts the server no further.
    fn give_up(&self, why: &Malformed) -> Error {
        self.end();
        Error::Lost(format!("the server is not understood: {why}"))
    }
}

/// How an answer arrives.
type Told = oneshot::Receiver<Result<Answered, Error>>;

/// Begins a session, tells whoever waits for it, and keeps it until nobody can ask any more.
async fn keep(ensemble: Arc<Ensemble>, mut tell: oneshot::Sender<Result<Client, Error>>) {
    let mut session = Session::default();
    let begun = tokio::select! {
        biased;
        // Whoever asked has given up.
        () = tell.closed() => return,
        begun = ensemble.connect(&mut session) => begun,
    };
    let connection = match begun {
        Ok(connection) => connection,
        Err(error) => return drop(tell.send(Err(error))),
    };
    let (requests, mut waiting) = mpsc::channel(WAITING_MAX);
    let ended = Arc::new(Notify::new());
    let client = Client {
        requests,
        ended: Arc::clone(&ended),
    };
    if tell.send(Ok(client)).is_err() {
        return;
    }
    tokio::select! {
        biased;
        () = ended.notified() => {}
        () = last(&ensemble, session, connection, &mut waiting) => {}
    }
}

/// Replaces connections that break as long as the session lasts.
async fn last(
    ensemble: &Ensemble,
    mut session: Session,
    mut connection: Connection,
    waiting: &mut mpsc::Receiver<Batch>,
) {
    let runtime = &*ensemble.runtime;
    loop {
        let why = match exchange(connection, &mut session, waiting, runtime).await {
            End::Closed => return,
            End::Broken(why) => why,
        };
        let over = runtime.sleep(session.timeout);
        let why = format!("the session has no connection: {why}");
        connection = tokio::select! {
            biased;
            () = refuse(waiting, &why) => return,
            found = find_again(ensemble, &mut session) => match found {
                Ok(connection) => connection,
                Err(error) => return refuse(waiting, &error.to_string()).await,
            },
            () = over => return refuse(waiting, EXPIRED).await,
        };
    }
}

/// A connection on which the session goes on.
async fn find_again(ensemble: &Ensemble, session: &mut Session) -> Result<Connection, Error> {
    loop {
        ensemble.runtime.sleep(PAUSE).await;
        match ensemble.connect(session).await {
            Err(Error::Unreachable(_)) => {}
            outcome => return outcome,
        }
    }
}

/// Answers whatever is asked for, until nobody can ask any more.
async fn refuse(waiting: &mut mpsc::Receiver<Batch>, why: &str) {
    while let Some(batch) = waiting.recv().await {
        for sent in batch {
            sent.tell.send(Err(Error::NotSent(why.to_string()))).ok();
        }
    }
}
