//! The servers of an ensemble, and the way to one of them.

use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;

use super::super::super::address::Host;
use super::super::tls::Tls;
use super::connection::{Connection, Stream};
use super::error::Error;
use super::session::{Fault, Session};
use crate::runtime::Runtime;

/// Where an ensemble is, and how it is to be spoken to.
pub(in super::super) struct Ensemble {
    pub(in super::super) hosts: Vec<Host>,
    pub(in super::super) tls: Option<Tls>,
    /// `USER:PASSWORD`.
    pub(in super::super) digest: Option<Vec<u8>>,
    /// What is asked for; a server may grant less, or more.
    pub(in super::super) session_timeout: Duration,
    /// How long all hosts together may take to be asked in vain.
    pub(in super::super) connect_timeout: Duration,
    /// The longest answer that is taken.
    pub(in super::super) answer_bytes: usize,
    pub(in super::super) runtime: Arc<dyn Runtime>,
}

/// How often every server is asked for a session if one breaks off, as one does that is about to end.
const ROUNDS: u32 = 5;

/// How often if they only take too long: twice as long the second time.
const ROUNDS_OF_THE_LATE: u32 = 2;

impl Ensemble {
    /// A connection to any server, on which the session has begun, or goes on.
    pub(super) async fn connect(&self, session: &mut Session) -> Result<Connection, Error> {
        let mut round = 0;
        loop {
            let mut faults = Vec::new();
            let mut rounds = 1;
            for at in self.shuffled() {
                let why = match self.try_host(at, session, round).await {
                    Ok(connection) => return Ok(connection),
                    Err(Fault::Final(error)) => return Err(error),
                    Err(Fault::Away(why)) => why,
                    Err(Fault::Late(why)) => {
                        rounds = rounds.max(ROUNDS_OF_THE_LATE);
                        why
                    }
                    Err(Fault::Cut(why)) => {
                        rounds = ROUNDS;
                        why
                    }
                };
                faults.push((at, format!("{}: {why}", self.hosts[at])));
            }
            round += 1;
            if round >= rounds {
                faults.sort_unstable();
                let faults: Vec<_> = faults.into_iter().map(|(_, why)| why).collect();
                return Err(Error::Unreachable(faults.join("; ")));
            }
        }
    }

    /// Every host's place in the list, in random order: clients spread over the servers.
    fn shuffled(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.hosts.len()).collect();
        for end in (1..order.len()).rev() {
            let mut random = [0; 8];
            self.runtime.fill_random(&mut random);
            order.swap(end, (u64::from_be_bytes(random) % (end as u64 + 1)) as usize);
        }
        order
    }

    async fn try_host(&self, at: usize, session: &mut Session, round: u32) -> Result<Connection, Fault> {
        let hosts = u32::try_from(self.hosts.len()).unwrap_or(u32::MAX);
        let patience = self.connect_timeout * (round + 1).min(ROUNDS_OF_THE_LATE) / hosts;
        let attempt = async {
            let mut connection = Connection::new(self.dial(at).await.map_err(Fault::Away)?);
            session
                .greet(&mut connection, self.session_timeout, self.digest.as_deref())
                .await?;
            connection.frames.set_longest(self.answer_bytes);
            Ok(connection)
        };
        tokio::select! {
            biased;
            outcome = attempt => outcome,
            () = self.runtime.sleep(patience) => Err(Fault::Late(format!("no session within {patience:?}"))),
        }
    }

    async fn dial(&self, at: usize) -> Result<Box<dyn Stream>, String> {
        let host = &self.hosts[at];
        let stream = TcpStream::connect((host.name.as_str(), host.port)).await;
        let stream = stream.map_err(|error| error.to_string())?;
        stream.set_nodelay(true).ok();
        match &self.tls {
            Some(tls) => Ok(Box::new(
                tls.connect(at, stream).await.map_err(|error| error.to_string())?,
            )),
            None => Ok(Box::new(stream)),
        }
    }
}
