//! How a ZooKeeper ensemble is reached, and who answers there.

use std::sync::Arc;
use std::time::Duration;

use super::super::address::{Address, invalid};
use super::super::link::{Answering, Driver, Failure, InitRecord};
use super::super::settings::StoreSettings;
use super::super::{Class, Durability, Outcome, Setting, Standing, StoreError, StoreErrorKind, record};
use super::client::{Acl, Ask, Client, Code, Ensemble, Error, Read, exists, get_acl, get_data, multi_read};
use super::names::Names;
use super::tls::Tls;
use crate::runtime::{BoxFuture, Runtime};

/// The way to an ensemble. A session changes servers by itself; it never spans two ensembles, and no server takes a
/// client that has seen more than it has.
#[derive(Clone)]
pub(crate) struct ZooKeeper {
    ensemble: Arc<Ensemble>,
    place: String,
    pub(super) names: Names,
    /// After how many writes a register moves to a fresh node.
    pub(super) writes_per_node: i32,
}

/// What every write compares: the meta record's version, and the node that carries the cluster id in its name.
#[derive(Clone, Debug)]
pub(crate) struct MetaStamp {
    pub(super) text: Vec<u8>,
    pub(super) version: i32,
    /// The node that exists as long as the registers are those of this cluster.
    pub(super) cluster: String,
}

/// A session, and the access list that new nodes get: that of `mint_register`.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    pub(super) client: Client,
    /// `None`: the server keeps it back from this account.
    acls: Option<Arc<[Acl]>>,
}

impl Connection {
    /// The access list of new nodes.
    ///
    /// # Errors
    /// It is not known.
    pub(super) fn acls(&self) -> Result<&[Acl], Failure> {
        self.acls.as_deref().ok_or_else(|| {
            let why = "this account has not the right `a` on mint_register, whose access list new nodes get: \
                       without it the server hides whose they would be";
            Failure::Refused(StoreErrorKind::Denied, why.to_string())
        })
    }
}

/// Long enough for a pause of the program, short enough for the server to forget one that is gone.
const SESSION_TIMEOUT_MIN: Duration = Duration::from_secs(10);

/// A connection is given up that is silent for two thirds of the session's timeout; an answer may take as long as is
/// allowed. (The server may grant less: twenty of its ticks unless told otherwise.)
fn session_timeout(request_timeout: Duration) -> Duration {
    (request_timeout * 3 / 2).max(SESSION_TIMEOUT_MIN)
}

/// ZooKeeper's versions end at 2^31 - 1; this leaves room for all that are on their way.
const WRITES_PER_NODE: i32 = 2_000_000_000;

/// The longest answer that is taken: the names of some 500,000 registers.
const ANSWER_BYTES: usize = 16 << 20;

const OPTIONS: &str = "tls, tls_ca, tls_cert, tls_key, writes_per_node, answer_bytes";

impl ZooKeeper {
    /// Checks a URL, without connecting: `//[USER:PASSWORD@]HOST[:PORT][,…][/CHROOT][?tls=on&…]`.
    pub(super) fn new(
        rest: &str,
        settings: &StoreSettings,
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
        let answer_bytes = match address.take_option("answer_bytes") {
            None => ANSWER_BYTES,
            Some(digits) => digits
                .parse()
                .ok()
                .filter(|n| (1 << 22..=1 << 30).contains(n))
                .ok_or_else(|| bad("answer_bytes is a number from 4194304 to 1073741824"))?,
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
            place: match chroot {
                "" => format!("zookeeper://{}", address.host_list()),
                chroot => format!("zookeeper://{}/{chroot}", address.host_list()),
            },
            names: Names::under(chroot),
            writes_per_node,
            ensemble: Arc::new(Ensemble {
                tls: match tls {
                    Some(files) => Some(Tls::new(&files, &address.hosts)?),
                    None => None,
                },
                hosts: address.hosts,
                digest,
                session_timeout: session_timeout(settings.request_timeout),
                connect_timeout: settings.connect_timeout,
                answer_bytes,
                runtime,
            }),
        })
    }

    /// Begins a session.
    pub(super) async fn begin(&self) -> Result<Client, Failure> {
        let begun = Client::connect(Arc::clone(&self.ensemble)).await;
        begun.map_err(|error| failure(&error))
    }

    /// Whether nodes belong to an account.
    pub(super) fn acls(&self) -> Vec<Acl> {
        vec![match self.ensemble.digest {
            Some(_) => Acl::creator(),
            None => Acl::anyone(),
        }]
    }
}

/// Judges an error for a whole request: whether a server answered it, and whether the session can go on.
pub(super) fn failure(error: &Error) -> Failure {
    let why = error.to_string();
    let code = match error {
        Error::NotSent(_) | Error::Unreachable(_) => {
            return Failure::Useless(StoreErrorKind::Unavailable, why);
        }
        Error::TooLong(_) => return Failure::Refused(StoreErrorKind::Unavailable, why),
        Error::Lost(_) => return Failure::Lost(why),
        Error::Answered(code) => *code,
    };
    match code {
        Code::NO_AUTH | Code::INVALID_ACL => Failure::Refused(StoreErrorKind::Denied, why),
        Code::AUTH_FAILED | Code::SASL_REQUIRED => Failure::Useless(StoreErrorKind::Denied, why),
        Code::NOT_READ_ONLY => Failure::Useless(StoreErrorKind::Unavailable, why),
        Code::UNIMPLEMENTED => {
            let why = format!("{why}: ZooKeeper 3.6 or newer is needed");
            Failure::Useless(StoreErrorKind::Unavailable, why)
        }
        Code::THROTTLED | Code::QUOTA_EXCEEDED => Failure::Refused(StoreErrorKind::Unavailable, why),
        Code::NO_NODE
        | Code::NODE_EXISTS
        | Code::BAD_VERSION
        | Code::NOT_EMPTY
        | Code::NO_CHILDREN_FOR_EPHEMERALS
        | Code::BAD_ARGUMENTS => Failure::Refused(StoreErrorKind::Corrupt, why),
        // Expired sessions, time-outs between servers, and everything that may mean that it was done.
        _ => Failure::Lost(why),
    }
}

/// Whether a server keeps the account of an entry back, as it does from whoever may read and not administrate a node.
/// Its hash is an `x` then, and a node that was made with such an entry would belong to nobody.
fn is_hidden(acl: &Acl) -> bool {
    acl.scheme == "digest" && acl.id.ends_with(":x")
}

/// A session with the ensemble behind a URL, for programs that look at nodes as such. Every path is a whole one: the
/// URL's chroot is not put before it.
///
/// # Errors
/// The URL makes no sense, or no server takes the session up.
pub async fn open_client(
    url: &str,
    settings: &StoreSettings,
    runtime: Arc<dyn Runtime>,
) -> Result<Client, StoreError> {
    let rest = url
        .strip_prefix("zookeeper:")
        .ok_or_else(|| invalid("no URL of ZooKeeper".to_string()))?;
    let zookeeper = ZooKeeper::new(rest, settings, runtime)?;
    let begun = Client::connect(Arc::clone(&zookeeper.ensemble)).await;
    begun.map_err(|error| {
        StoreError::new(
            StoreErrorKind::Unavailable,
            Outcome::NotDone,
            format!("{}: {error}", zookeeper.place),
        )
    })
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
        Box::pin(async move {
            let client = self.begin().await?;
            let acls = match client.ask_one_now(get_acl(&self.names.register)).await {
                Ok(acls) if acls.iter().any(is_hidden) => None,
                Ok(acls) => Some(acls),
                // The probe will say what this means.
                Err(Error::Answered(Code::NO_NODE | Code::NO_AUTH)) => Some(self.acls()),
                Err(error) => return Err(failure(&error)),
            };
            Ok(Connection {
                client,
                acls: acls.map(Arc::from),
            })
        })
    }

    fn probe(&self, connection: Connection) -> BoxFuture<'_, Result<Answering<MetaStamp>, Failure>> {
        Box::pin(async move {
            let Connection { client, .. } = &connection;
            let asked = [self.names.meta.as_str(), "/zookeeper/config"].map(get_data);
            let [meta, config] =
                match <[_; 2]>::try_from(client.ask_now(asked).await.map_err(|error| failure(&error))?) {
                    Ok(both) => both,
                    Err(_) => return Err(another_question()),
                };
            let config = match config {
                Ok((config, _)) => Some(config),
                Err(Error::Answered(Code::NO_NODE | Code::NO_AUTH)) => None,
                Err(error) => return Err(failure(&error)),
            };
            let (text, stat) = match meta {
                Ok(found) => found,
                Err(Error::Answered(Code::NO_NODE)) => {
                    return Ok(Answering {
                        meta: None,
                        whole: true,
                        durability: judge(config.as_deref()),
                        incarnation: String::new(),
                        unbounded: None,
                    });
                }
                Err(Error::Answered(Code::NO_AUTH)) => {
                    let why = "this account may not read mint_meta".to_string();
                    return Err(Failure::Useless(StoreErrorKind::Denied, why));
                }
                Err(error) => return Err(failure(&error)),
            };
            let damaged = |why: &str| Failure::Useless(StoreErrorKind::Corrupt, why.to_string());
            let meta: InitRecord =
                record::read_meta(&text).ok_or_else(|| damaged("mint_meta is not as it was made"))?;
            let cluster = self.names.sentinel(meta.cluster_id);
            let whole = match client.ask(exists(&cluster)).await {
                Ok(_) => true,
                Err(Error::Answered(Code::NO_NODE)) => false,
                Err(error) => return Err(failure(&error)),
            };
            Ok(Answering {
                meta: Some((
                    meta,
                    MetaStamp {
                        text,
                        version: stat.version,
                        cluster,
                    },
                )),
                whole,
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

/// Several reads at one moment; an answer each, in order. With `now` the server first catches up.
pub(super) async fn read_all(
    client: &Client,
    asked: &[Ask<'_>],
    now: bool,
) -> Result<Vec<Result<Found, Code>>, Failure> {
    let request = multi_read(asked.iter().copied());
    let answers = match now {
        true => client.ask_one_now(request).await,
        false => client.ask(request).await,
    };
    let answers = answers.map_err(|error| failure(&error))?;
    if answers.len() != asked.len() {
        return Err(another_question());
    }
    let found = answers
        .into_iter()
        .zip(asked)
        .map(|(answer, asked)| match (answer, asked) {
            (Read::Data(data, stat), Ask::Data(_)) => Ok(Ok(Found::Data(data, stat.version))),
            (Read::Children(children), Ask::Children(_)) => Ok(Ok(Found::Children(children))),
            (Read::Refused(code @ (Code::NO_NODE | Code::NO_AUTH)), _) => Ok(Err(code)),
            (Read::Refused(code), _) => Err(failure(&Error::Answered(code))),
            _ => Err(another_question()),
        });
    found.collect()
}

pub(super) fn another_question() -> Failure {
    Failure::Lost("an answer to another question".to_string())
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
            &StoreSettings::default(),
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
            ("//a?writes_per_node=7&answer_bytes=4194304", "zookeeper://a:2181"),
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
            ("//a?answer_bytes=4194303", "from 4194304 to"),
            ("//a?answer_bytes=1073741825", "from 4194304 to"),
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
        let said = Error::Answered;
        for (error, certain) in [
            (said(Code::NO_AUTH), true),
            (said(Code::BAD_VERSION), true),
            (said(Code::THROTTLED), true),
            (said(Code::NOT_READ_ONLY), true),
            (said(Code::AUTH_FAILED), true),
            (Error::NotSent(String::new()), true),
            (Error::Unreachable(String::new()), true),
            (Error::TooLong(1), true),
            (said(Code::SESSION_EXPIRED), false),
            (said(Code::SESSION_MOVED), false),
            (said(Code::OPERATION_TIMEOUT), false),
            (said(Code::RUNTIME_INCONSISTENCY), false),
            (said(Code(-1)), false),
            (said(Code(7)), false),
            (Error::Lost(String::new()), false),
        ] {
            let lost = matches!(failure(&error), Failure::Lost(_));
            assert_eq!(!lost, certain, "{error}");
        }
    }
}
