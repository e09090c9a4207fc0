//! A session, and its begin on a connection: who we are, what we have seen, and whether a server takes us up.
//!
//! ```text
//!   asked     protocol  4    newest zxid  8    timeout  4    session  8    password  buffer    read-only  1
//!   answered  protocol  4                      timeout  4    session  8    password  buffer   [read-only  1]
//! ```
//!
//! Source: `zookeeper.jute` (records `ConnectRequest`, `ConnectResponse`, `AuthPacket`), "ZooKeeper Sessions" in the
//! programmer's guide.

use std::time::Duration;

use super::answer::{Answer, Header};
use super::connection::Connection;
use super::error::Error;
use super::jute::{Input, Malformed};
use super::numbers::xid;
use super::request::{auth, framed};

/// What servers know each other's clients by.
#[derive(Default)]
pub(super) struct Session {
    /// 0 before the session begins.
    id: i64,
    /// A secret between servers and this client.
    password: Vec<u8>,
    /// After how long without a word servers forget it.
    pub(super) timeout: Duration,
    /// The newest transaction that an answer told of: a server that has not come so far does not take us up.
    pub(super) zxid: i64,
}

/// Why no session began on a connection.
#[derive(Debug)]
pub(super) enum Fault {
    /// The server cannot be spoken to.
    Away(String),
    /// It did not answer in time.
    Late(String),
    /// It broke off, or answered what makes no sense.
    Cut(String),
    /// It answered that there will be no session.
    Final(Error),
}

impl Session {
    /// Begins the session, or goes on with it; then tells the account. The account follows the answer: some servers
    /// would answer it before the session, which no client expects.
    pub(super) async fn greet(
        &mut self,
        connection: &mut Connection,
        timeout: Duration,
        digest: Option<&[u8]>,
    ) -> Result<(), Fault> {
        let greeting = framed(|out| {
            out.int(0);
            out.long(self.zxid);
            out.int(i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX));
            out.long(self.id);
            out.buffer(&self.password);
            // A server without its majority is of no use.
            out.boolean(false);
        });
        // Why a server broke off is learned from what it says last: that it refuses our certificate, say.
        connection.send(&greeting).await.ok();
        let answer = connection.next().await.map_err(Fault::Cut)?;
        let answer = Greeting::read(&answer).map_err(|why| Fault::Cut(why.to_string()))?;
        self.take(answer)?;
        let Some(digest) = digest else { return Ok(()) };
        connection
            .send(&auth("digest", digest))
            .await
            .map_err(|error| Fault::Cut(error.to_string()))?;
        let answer = connection.next().await.map_err(Fault::Cut)?;
        let mut input = Input(&answer);
        let header = Header::read(&mut input).and_then(|header| input.end().map(|()| header));
        match header {
            Ok(Header {
                xid: xid::AUTH,
                outcome,
                ..
            }) => outcome.map_err(|code| Fault::Final(Error::Answered(code))),
            Ok(_) => Err(Fault::Cut(
                "an answer to another question than the account".to_string(),
            )),
            Err(why) => Err(Fault::Cut(why.to_string())),
        }
    }

    fn take(&mut self, answer: Greeting) -> Result<(), Fault> {
        if answer.id == 0 || answer.timeout <= 0 {
            return Err(match self.id {
                0 => Fault::Cut("it grants no session".to_string()),
                _ => Fault::Final(Error::NotSent(EXPIRED.to_string())),
            });
        }
        if self.id != 0 && answer.id != self.id {
            return Err(Fault::Cut("it goes on with another session".to_string()));
        }
        self.id = answer.id;
        self.password = answer.password;
        let granted = Duration::from_millis(u64::from(answer.timeout.unsigned_abs()));
        self.timeout = granted.max(TIMEOUT_MIN);
        Ok(())
    }

    /// How long no word may come from a server, which answers pings, before it counts as gone. (As in ZooKeeper's own
    /// clients: a third of the session is left to find another server.)
    pub(super) fn silence_max(&self) -> Duration {
        self.timeout * 2 / 3
    }

    /// After how long without a request a ping is sent.
    pub(super) fn ping_after(&self) -> Duration {
        self.timeout / 3
    }
}

/// No server's word makes us ping more often than thirty times a second.
const TIMEOUT_MIN: Duration = Duration::from_millis(100);

/// Servers have forgotten the session.
pub(super) const EXPIRED: &str = "the session has expired";

/// A server's answer to a client that wants a session.
struct Greeting {
    timeout: i32,
    id: i64,
    password: Vec<u8>,
}

impl Greeting {
    fn read(frame: &[u8]) -> Result<Greeting, Malformed> {
        let mut input = Input(frame);
        input.int()?;
        let greeting = Greeting {
            timeout: input.int()?,
            id: input.long()?,
            password: input.buffer()?.to_vec(),
        };
        // Whether the server is read-only, which was not asked for; ZooKeeper 3.3 did not say so.
        if input.rest() > 0 {
            input.boolean()?;
        }
        input.end()?;
        Ok(greeting)
    }
}
