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
        self.shuffle(&mut order);
        order
    }

    fn shuffle<T>(&self, all: &mut [T]) {
        for end in (1..all.len()).rev() {
            all.swap(end, (self.random() % (end as u64 + 1)) as usize);
        }
    }

    fn random(&self) -> u64 {
        let mut random = [0; 8];
        self.runtime.fill_random(&mut random);
        u64::from_be_bytes(random)
    }

    async fn try_host(&self, at: usize, session: &mut Session, round: u32) -> Result<Connection, Fault> {
        let hosts = u32::try_from(self.hosts.len()).unwrap_or(u32::MAX);
        let patience = self.connect_timeout * (round + 1).min(ROUNDS_OF_THE_LATE) / hosts;
        let attempt = async {
            let mut connection = Connection::new(self.dial(at, patience).await.map_err(Fault::Away)?);
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

    async fn dial(&self, at: usize, patience: Duration) -> Result<Box<dyn Stream>, String> {
        let stream = self.reach(&self.hosts[at], patience).await?;
        stream.set_nodelay(true).ok();
        match &self.tls {
            Some(tls) => Ok(Box::new(
                tls.connect(at, stream).await.map_err(|error| error.to_string())?,
            )),
            None => Ok(Box::new(stream)),
        }
    }

    /// Any address of a name that takes the connection. They share the patience: one may be that of a server that is gone.
    async fn reach(&self, host: &Host, patience: Duration) -> Result<TcpStream, String> {
        let found = tokio::net::lookup_host((host.name.as_str(), host.port)).await;
        let mut addresses: Vec<_> = found.map_err(|error| error.to_string())?.collect();
        self.shuffle(&mut addresses);
        let each = patience / u32::try_from(addresses.len()).unwrap_or(u32::MAX).max(1);
        let mut why = "the name has no address".to_string();
        for address in addresses {
            tokio::select! {
                biased;
                stream = TcpStream::connect(address) => match stream {
                    Ok(stream) => return Ok(stream),
                    Err(error) => why = error.to_string(),
                },
                () = self.runtime.sleep(each) => why = format!("{address} does not answer"),
            }
        }
        Err(why)
    }
}
