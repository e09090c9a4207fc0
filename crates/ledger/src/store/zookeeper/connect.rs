//! How a ZooKeeper ensemble is reached, and who answers there.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use zookeeper_client::{Acl, Acls, Client, Error, MultiReadResult, SessionState};

use super::super::address::{Address, invalid};
use super::super::link::{Answering, Driver, Failure, InitRecord};
use super::super::{Class, Durability, Setting, Standing, StoreError, StoreErrorKind, record};
use super::names::Names;
use super::tls::Tls;
use crate::runtime::{BoxFuture, Runtime};

/// The way to an ensemble. The driver keeps one session and changes servers by itself; a session never spans two
/// ensembles, and no server takes a client that has seen more than it has.
#[derive(Clone)]
pub(in crate::store) struct ZooKeeper {
    /// Hosts as the driver wants them.
    hosts: String,
    tls: Option<Arc<Tls>>,
    digest: Option<Vec<u8>>,
    place: String,
    pub(super) names: Names,
    /// After how many writes a register moves to a fresh node.
    pub(super) writes_per_node: i32,
    session_timeout: Duration,
    runtime: Arc<dyn Runtime>,
}

/// What every write compares: the meta record's version, and the node that carries the cluster id in its name.
#[derive(Clone, Debug)]
pub(in crate::store) struct MetaStamp {
    pub(super) text: Vec<u8>,
    pub(super) version: i32,
    /// The node that exists as long as the registers are those of this cluster.
    pub(super) cluster: String,
}

/// A session, and the access list that new nodes get: that of `mint_register`.
#[derive(Clone, Debug)]
pub(in crate::store) struct Connection {
    pub(super) client: Client,
    pub(super) acls: Arc<[Acl]>,
    end: Arc<End>,
}

/// Ends a session's thread when it is dropped, or at once. The driver keeps what was asked while it had no
/// connection and sends it on the next one, however late; with its thread, all that ends.
#[derive(Debug)]
struct End {
    alive: Mutex<Option<oneshot::Sender<()>>>,
}

impl Connection {
    /// The client, if its session has a connection.
    pub(super) fn live(&self) -> Result<&Client, Failure> {
        match self.client.state() {
            SessionState::SyncConnected => Ok(&self.client),
            state => Err(Failure::Useless(
                StoreErrorKind::Unavailable,
                format!("the session is {state:?}"),
            )),
        }
    }
}

/// Long enough for a pause of the program, short enough for the server to forget one that is gone.
const SESSION_TIMEOUT_MIN: Duration = Duration::from_secs(10);

/// The driver gives a connection up that is silent for two fifths of the session's timeout; an answer may take as
/// long as is allowed. (The server may grant less: twenty of its ticks unless told otherwise.)
fn session_timeout(request_timeout: Duration) -> Duration {
    (request_timeout * 5 / 2).max(SESSION_TIMEOUT_MIN)
}

/// ZooKeeper's versions end at 2^31 - 1; this leaves room for all that are on their way.
const WRITES_PER_NODE: i32 = 2_000_000_000;

/// How often every server is asked for a session. The driver sends the account behind its first request, and a server
/// whose connections are Netty's (all with TLS) sometimes answers both in the wrong order, which the driver takes for
/// damage: one of its threads may end the wait for the session before another has sent the answer.
const ATTEMPTS: u32 = 5;

const OPTIONS: &str = "tls, tls_ca, tls_cert, tls_key, writes_per_node";

impl ZooKeeper {
    /// Checks a URL, without connecting: `//[USER:PASSWORD@]HOST[:PORT][,…][/CHROOT][?tls=on&…]`.
    pub(super) fn new(
        rest: &str,
        request_timeout: Duration,
        runtime: Arc<dyn Runtime>,
    ) -> Result<ZooKeeper, StoreError> {
        let bad = |why: &str| invalid(format!("store zookeeper: {why}"));
        let mut address = Address::parse("zookeeper", rest, 2181, true)?;
        let writes_per_node = match address.take_option("writes_per_node") {
            None => WRITES_PER_NODE,
            Some(digits) => digits
                .parse()
                .ok()
                .filter(|n| (1..=WRITES_PER_NODE).contains(n))
                .ok_or_else(|| bad("writes_per_node is a number from 1 to 2000000000"))?,
        };
        let tls = address.take_tls_if_on()?;
        address.no_more_options(OPTIONS)?;
        let digest = match (&address.user, &address.password) {
            (Some(user), Some(password)) => Some(format!("{user}:{password}").into_bytes()),
            (None, None) => None,
            _ => return Err(bad("user and password go together")),
        };
        let chroot = address.path.trim_end_matches('/');
        let plain = |segment: &str| {
            let known = |b: u8| b.is_ascii_alphanumeric() || b"_.:-".contains(&b);
            !segment.is_empty() && segment != "." && segment != ".." && segment.bytes().all(known)
        };
        if !chroot.is_empty() && !chroot.split('/').all(plain) {
            return Err(bad("its chroot is a path of names of [A-Za-z0-9_.:-]"));
        }
        Ok(ZooKeeper {
            hosts: address.host_list(),
            tls: match tls {
                Some(files) => Some(Arc::new(Tls::new(&files, &address.hosts)?)),
                None => None,
            },
            digest,
            place: match chroot {
                "" => format!("zookeeper://{}", address.host_list()),
                chroot => format!("zookeeper://{}/{chroot}", address.host_list()),
            },
            names: Names::under(chroot),
            writes_per_node,
            session_timeout: session_timeout(request_timeout),
            runtime,
        })
    }

    /// A session, and the access list for new nodes.
    async fn session(&self) -> Result<(Client, Vec<Acl>), Failure> {
        let mut attempt = 1;
        let client = loop {
            let error = match self.begin().await {
                Ok(client) => break client,
                Err(error @ Error::AuthFailed) => return Err(failure(&error)),
                Err(error) => error,
            };
            let faults = match &self.tls {
                Some(tls) => tls.faults().await,
                None => Vec::new(),
            };
            let may_pass = self.tls.as_ref().is_none_or(|tls| faults.len() < tls.hosts());
            if may_pass && matches!(error, Error::NoHosts) && attempt < ATTEMPTS {
                attempt += 1;
                continue;
            }
            // No session, so nothing was asked.
            let why = match faults.is_empty() {
                true => error.to_string(),
                false => faults.join("; "),
            };
            return Err(Failure::Useless(StoreErrorKind::Unavailable, why));
        };
        match client.get_acl(&self.names.register).await {
            Ok((acls, _)) => Ok((client, acls)),
            // The probe will say what this means.
            Err(Error::NoNode | Error::NoAuth) => Ok((client, self.acls())),
            Err(error) => Err(failure(&error)),
        }
    }

    /// Asks every server once for a session.
    async fn begin(&self) -> Result<Client, Error> {
        let mut connector = Client::connector()
            .with_session_timeout(self.session_timeout)
            .with_fail_eagerly();
        if let Some(digest) = &self.digest {
            connector = connector.with_auth("digest", digest);
        }
        match &self.tls {
            Some(tls) => {
                connector
                    .with_tls(tls.options())
                    .secure_connect(&self.hosts)
                    .await
            }
            None => connector.connect(&self.hosts).await,
        }
    }

    /// Whether nodes belong to an account.
    pub(super) fn acls(&self) -> Vec<Acl> {
        let default = match self.digest {
            Some(_) => Acls::creator_all(),
            None => Acls::anyone_all(),
        };
        default.iter().cloned().collect()
    }
}

/// Judges an error of the driver for a whole request: whether a server answered it, and whether the session can go
/// on.
pub(super) fn failure(error: &Error) -> Failure {
    let why = error.to_string();
    match error {
        Error::NoAuth | Error::InvalidAcl => Failure::Refused(StoreErrorKind::Denied, why),
        Error::AuthFailed => Failure::Useless(StoreErrorKind::Denied, why),
        Error::NotReadOnly | Error::NoHosts => Failure::Useless(StoreErrorKind::Unavailable, why),
        Error::Throttled | Error::QuotaExceeded => Failure::Refused(StoreErrorKind::Unavailable, why),
        Error::NoNode
        | Error::NodeExists
        | Error::BadVersion
        | Error::NotEmpty
        | Error::NoChildrenForEphemerals
        | Error::Unimplemented
        | Error::BadArguments(_) => Failure::Refused(StoreErrorKind::Corrupt, why),
        // Lost connections, expired sessions, and everything that the driver itself makes up.
        _ => Failure::Lost(why),
    }
}

impl Driver for ZooKeeper {
    type Connection = Connection;
    type MetaStamp = MetaStamp;

    fn scheme(&self) -> &'static str {
        "zookeeper"
    }

    fn place(&self) -> String {
        self.place.clone()
    }

    fn connect(&self) -> BoxFuture<'_, Result<Connection, Failure>> {
        let (own, (tell, told)) = (self.clone(), oneshot::channel());
        let (alive, mut ended) = oneshot::channel::<()>();
        let started = self.runtime.spawn_thread(
            "zookeeper",
            Box::new(move || {
                let Ok(tokio) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
                    return;
                };
                tokio.block_on(async move {
                    tokio::select! {
                        // The one who asked has given up, or uses it no more.
                        _ = &mut ended => return,
                        made = own.session() => drop(tell.send(made)),
                    }
                    ended.await.ok();
                });
            }),
        );
        Box::pin(async move {
            let lost = |why: String| Failure::Lost(why);
            started.map_err(|error| lost(error.to_string()))?;
            let made = told.await.map_err(|_| lost("its thread has ended".to_string()))?;
            let (client, acls) = made?;
            Ok(Connection {
                client,
                acls: acls.into(),
                end: Arc::new(End {
                    alive: Mutex::new(Some(alive)),
                }),
            })
        })
    }

    fn discard(&self, connection: &Connection) {
        let alive = connection.end.alive.lock();
        drop(alive.unwrap_or_else(PoisonError::into_inner).take());
    }

    fn probe(&self, connection: Connection) -> BoxFuture<'_, Result<Answering<MetaStamp>, Failure>> {
        Box::pin(async move {
            let client = connection.live()?;
            let sync = client.sync("/");
            let meta = client.get_data(&self.names.meta);
            sync.await.map_err(|error| failure(&error))?;
            let meta = meta.await;
            let config = match client.get_config().await {
                Ok((config, _)) => Some(config),
                Err(Error::NoNode | Error::NoAuth) => None,
                Err(error) => return Err(failure(&error)),
            };
            let (text, stat) = match meta {
                Ok(found) => found,
                Err(Error::NoNode) => {
                    return Ok(Answering {
                        meta: None,
                        whole: true,
                        durability: judge(config.as_deref()),
                        incarnation: String::new(),
                        unbounded: None,
                    });
                }
                Err(Error::NoAuth) => {
                    let why = "this account may not read mint_meta".to_string();
                    return Err(Failure::Useless(StoreErrorKind::Denied, why));
                }
                Err(error) => return Err(failure(&error)),
            };
            let damaged = |why: &str| Failure::Useless(StoreErrorKind::Corrupt, why.to_string());
            let meta: InitRecord =
                record::read_meta(&text).ok_or_else(|| damaged("mint_meta is not as it was made"))?;
            let cluster = self.names.sentinel(meta.cluster_id);
            let sentinel = client
                .check_stat(&cluster)
                .await
                .map_err(|error| failure(&error))?;
            Ok(Answering {
                meta: Some((
                    meta,
                    MetaStamp {
                        text,
                        version: stat.version,
                        cluster,
                    },
                )),
                whole: sentinel.is_some(),
                durability: judge(config.as_deref()),
                incarnation: format!("made at zxid {:x}", stat.czxid),
                unbounded: None,
            })
        })
    }
}

/// What an ensemble with this configuration may forget.
fn judge(config: Option<&[u8]>) -> Durability {
    let text = String::from_utf8_lossy(config.unwrap_or_default());
    let server = |line: &&str| line.starts_with("server.") && !line.contains(":observer");
    let members = text.lines().filter(server).count().max(1);
    let (class, why) = match members {
        3.. => (
            Class::Survives,
            format!("{members} voting servers, a write is on most of their disks before it is answered"),
        ),
        _ => (
            Class::Durable,
            format!(
                "{members} voting server(s): a write is on disk before it is answered, but no server may be lost"
            ),
        ),
    };
    let voting = Setting::good("voting servers", members, "3 or more");
    let settings = vec![
        match members {
            3.. => voting,
            _ => voting.but(
                Standing::Note,
                "no server may be lost",
                "add servers to its configuration (reconfig -add)",
            ),
        },
        Setting::good("forceSync", "?", "yes").but(
            Standing::Note,
            "cannot be seen from outside: no server may have forceSync=no",
            "",
        ),
    ];
    Durability::judged(class, why, "", settings)
}

/// Several reads at one moment; an answer each, in order.
pub(super) async fn read_all(
    client: &Client,
    asked: &[Ask<'_>],
) -> Result<Vec<Result<Found, Error>>, Failure> {
    let mut reader = client.new_multi_reader();
    for ask in asked {
        let added = match ask {
            Ask::Data(path) => reader.add_get_data(path),
            Ask::Children(path) => reader.add_get_children(path),
        };
        added.map_err(|error| failure(&error))?;
    }
    let answers = reader.commit().await.map_err(|error| failure(&error))?;
    answers
        .into_iter()
        .map(|answer| match answer {
            MultiReadResult::Data { data, stat } => Ok(Ok(Found::Data(data, stat.version))),
            MultiReadResult::Children { children } => Ok(Ok(Found::Children(children))),
            MultiReadResult::Error {
                err: err @ (Error::NoNode | Error::NoAuth),
            } => Ok(Err(err)),
            MultiReadResult::Error { err } => Err(failure(&err)),
            _ => Err(Failure::Lost("an answer of an unknown kind".to_string())),
        })
        .collect()
}

/// One read of [`read_all`].
#[derive(Clone, Copy, Debug)]
pub(super) enum Ask<'a> {
    Data(&'a str),
    Children(&'a str),
}

/// What one read found.
#[derive(Debug)]
pub(super) enum Found {
    Data(Vec<u8>, i32),
    Children(Vec<String>),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::SystemRuntime;

    fn new(rest: &str) -> Result<String, String> {
        let tokio = tokio::runtime::Builder::new_current_thread().build().unwrap();
        ZooKeeper::new(
            rest,
            Duration::from_secs(5),
            SystemRuntime::new(tokio.handle().clone()),
        )
        .map(|zookeeper| zookeeper.place)
        .map_err(|error| error.message)
    }

    #[test]
    fn urls_name_servers_and_a_chroot_and_show_no_secret() {
        for (rest, place) in [
            ("//a,b:1", "zookeeper://a:2181,b:1"),
            ("//ann:s%40cret@a/ids/eu/", "zookeeper://a:2181/ids/eu"),
            ("//a?writes_per_node=7", "zookeeper://a:2181"),
            ("//a:2281,[::1]:2281?tls=on", "zookeeper://a:2281,[::1]:2281"),
        ] {
            assert_eq!(new(rest).as_deref(), Ok(place));
        }
    }

    #[test]
    fn urls_that_make_no_sense_are_refused() {
        for (rest, why) in [
            ("//", "names no host"),
            ("//a//b", "chroot is a path"),
            ("//a/../b", "chroot is a path"),
            ("//ann@a", "go together"),
            ("//a?writes_per_node=0", "from 1 to"),
            ("//a?writes_per_node=2147483647", "from 1 to"),
            ("//a?timeout=1", "no option is named \"timeout\""),
            ("//a?tls=yes", "on or off"),
            ("//a?tls=off&tls_ca=x", "on or off"),
            ("//a?tls_cert=x", "go together"),
            ("//a?tls_ca=/does/not/exist", "cannot read /does/not/exist"),
            ("//a?tls_ca=/dev/null", "/dev/null holds no certificate"),
            (
                "//[fe80::1%25eth0]?tls=on",
                "no certificate can be for fe80::1%25eth0",
            ),
        ] {
            let error = new(rest).unwrap_err();
            assert!(error.contains(why), "{rest}: {error}");
        }
    }

    #[test]
    fn three_voting_servers_survive_one() {
        let with = |kinds: &[&str]| -> String {
            let lines = kinds.iter().enumerate();
            let lines = lines.map(|(n, kind)| format!("server.{n}=h{n}:2888:3888:{kind};0.0.0.0:2181\n"));
            lines.chain(["version=100000000".to_string()]).collect()
        };
        for (config, class) in [
            (None, Class::Durable),
            (Some(String::new()), Class::Durable),
            (Some(with(&["participant"])), Class::Durable),
            (
                Some(with(&["participant", "participant", "observer"])),
                Class::Durable,
            ),
            (Some(with(&["participant"; 3])), Class::Survives),
        ] {
            assert_eq!(
                judge(config.as_deref().map(str::as_bytes)).class,
                class,
                "{config:?}"
            );
        }
    }

    #[test]
    fn only_a_servers_word_makes_an_outcome_certain() {
        for (error, certain) in [
            (Error::NoAuth, true),
            (Error::BadVersion, true),
            (Error::Throttled, true),
            (Error::NotReadOnly, true),
            (Error::ConnectionLoss, false),
            (Error::SessionExpired, false),
            (Error::SessionMoved, false),
            (Error::Timeout, false),
            (Error::ClientClosed, false),
            (Error::UnexpectedErrorCode(-1), false),
        ] {
            let lost = matches!(failure(&error), Failure::Lost(_));
            assert_eq!(!lost, certain, "{error}");
        }
    }
}
