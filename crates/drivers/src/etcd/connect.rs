//! How an etcd cluster is reached, and who answers there.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tonic::client::Grpc;
use tonic::codegen::Service;
use tonic::codegen::http::Uri;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use tonic::{Code, Status};
use tonic_prost::ProstCodec;

use super::super::address::{Address, Host, TlsFiles, invalid};
use super::super::link::{Answering, Driver, Failure, on_own_thread};
use super::super::{Class, Durability, Setting, Standing, StoreError, StoreErrorKind, record};
use super::proto::{
    AuthenticateRequest, AuthenticateResponse, MemberListRequest, MemberListResponse, RangeRequest,
    RangeResponse, StatusRequest, StatusResponse, TxnRequest, TxnResponse,
};
use crate::runtime::{BoxFuture, Runtime};

/// The way to a cluster: one connection at a time, to whichever member answers.
#[derive(Clone)]
pub(crate) struct Etcd {
    hosts: Vec<Host>,
    tls: Option<ClientTlsConfig>,
    credentials: Option<AuthenticateRequest>,
    place: String,
    pub(super) names: Names,
    /// How long one member may take before the next is tried, too.
    patience: Duration,
    /// The member to begin with: the one after the last that failed.
    first: Arc<AtomicUsize>,
    runtime: Arc<dyn Runtime>,
}

/// What our keys are called.
#[derive(Clone, Debug)]
pub(super) struct Names {
    pub(super) meta: Vec<u8>,
    /// No key of a register has this name.
    pub(super) sentinel: Vec<u8>,
    /// What stands before a register's key.
    pub(super) register: String,
}

/// A connection to one member.
#[derive(Clone)]
pub(crate) struct Connection {
    grpc: Grpc<Channel>,
    token: Option<MetadataValue<Ascii>>,
}

/// A page of a thousand of the largest registers.
const ANSWER_MAX_BYTES: usize = 32 * 1024 * 1024;

impl Etcd {
    /// Checks a URL, without connecting: `//[USER:PASSWORD@]HOST[:PORT][,…][?prefix=…&tls=on&tls_ca=FILE]`.
    pub(super) fn new(
        rest: &str,
        connect_timeout: Duration,
        runtime: Arc<dyn Runtime>,
    ) -> Result<Etcd, StoreError> {
        let bad = |why: &str| invalid(format!("store etcd: {why}"));
        let mut address = Address::parse("etcd", rest, 2379, true)?;
        let prefix = address.take_option("prefix").unwrap_or_default();
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"_.:-/".contains(&b);
        if prefix.len() > 64 || !prefix.bytes().all(plain) {
            return Err(bad("its prefix has at most 64 characters of [A-Za-z0-9_.:/-]"));
        }
        let tls = address.take_tls_if_on()?;
        address.no_more_options("prefix, tls, tls_ca, tls_cert, tls_key")?;
        if !address.path.is_empty() {
            return Err(bad("its URL has no path: use ?prefix=NAME/"));
        }
        let credentials = match (&address.user, &address.password) {
            (Some(name), Some(password)) => Some(AuthenticateRequest {
                name: name.clone(),
                password: password.clone(),
            }),
            (None, None) => None,
            _ => return Err(bad("user and password go together")),
        };
        let place = match prefix.as_str() {
            "" => address.to_string(),
            prefix => format!("{address}?prefix={prefix}"),
        };
        let members = u32::try_from(address.hosts.len()).unwrap_or(u32::MAX);
        Ok(Etcd {
            hosts: address.hosts,
            tls: tls.as_ref().map(tls_config).transpose()?,
            credentials,
            place,
            names: Names {
                meta: format!("{prefix}mint_meta").into_bytes(),
                sentinel: format!("{prefix}mint_register/!cluster").into_bytes(),
                register: format!("{prefix}mint_register/"),
            },
            patience: connect_timeout / members,
            first: Arc::default(),
            runtime,
        })
    }

    /// Connects to one member after the other until one answers for the whole cluster. The next is tried when one
    /// has failed or is slow; a slow one may still come first.
    async fn connect_any(&self) -> Result<Connection, Failure> {
        let first = self.first.load(Ordering::Relaxed);
        let mut untried = (0..self.hosts.len()).map(|n| (first + n) % self.hosts.len());
        let mut attempts: Vec<(usize, BoxFuture<'_, Result<Connection, Failure>>)> = Vec::new();
        let mut last = Failure::Lost("no host".to_string());
        loop {
            match untried.next() {
                Some(at) => attempts.push((at, Box::pin(self.connect_one(&self.hosts[at])))),
                None if attempts.is_empty() => return Err(last),
                None => {}
            }
            let all_tried = untried.len() == 0;
            let ended = tokio::select! {
                biased;
                ended = first_of(&mut attempts) => Some(ended),
                () = self.runtime.sleep(self.patience), if !all_tried => None,
            };
            match ended {
                Some((at, Ok(connection))) => {
                    // If it fails later, the next one is tried first.
                    self.first.store((at + 1) % self.hosts.len(), Ordering::Relaxed);
                    return Ok(connection);
                }
                // Credentials are the same everywhere.
                Some((
                    _,
                    Err(failure @ (Failure::Refused(..) | Failure::Useless(StoreErrorKind::Denied, _))),
                )) => {
                    return Err(failure);
                }
                Some((_, Err(failure))) => last = failure,
                None => {}
            }
        }
    }

    async fn connect_one(&self, host: &Host) -> Result<Connection, Failure> {
        let lost = |error: &dyn Error| Failure::Lost(format!("{host}: {}", with_sources(error)));
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let mut endpoint =
            Endpoint::from_shared(format!("{scheme}://{host}")).map_err(|error| lost(&error))?;
        if let Some(tls) = &self.tls {
            let tls = tls.clone().domain_name(&host.name);
            endpoint = endpoint.tls_config(tls).map_err(|error| lost(&error))?;
        }
        let once = Once {
            host: Some(host.clone()),
        };
        let channel = endpoint
            .connect_with_connector(once)
            .await
            .map_err(|error| lost(&error))?;
        let mut connection = Connection {
            grpc: Grpc::new(channel).max_decoding_message_size(ANSWER_MAX_BYTES),
            token: None,
        };
        if let Some(credentials) = &self.credentials {
            let login: Result<AuthenticateResponse, _> = connection
                .call("/etcdserverpb.Auth/Authenticate", credentials.clone())
                .await;
            let token = login.map_err(|failure| match failure {
                Failure::Refused(StoreErrorKind::Invalid, why) => {
                    Failure::Useless(StoreErrorKind::Denied, why)
                }
                failure => failure,
            })?;
            let token = MetadataValue::try_from(token.token);
            connection.token = Some(token.map_err(|error| lost(&error))?);
        }
        // A member without a majority accepts connections and answers nothing that counts.
        connection.range(&self.names.meta).await?;
        Ok(connection)
    }
}

/// Waits for the first of these to end, and takes it out.
async fn first_of<T>(attempts: &mut Vec<(usize, BoxFuture<'_, T>)>) -> (usize, T) {
    std::future::poll_fn(|context| {
        for n in 0..attempts.len() {
            if let Poll::Ready(ended) = attempts[n].1.as_mut().poll(context) {
                return Poll::Ready((attempts.swap_remove(n).0, ended));
            }
        }
        Poll::Pending
    })
    .await
}

fn tls_config(files: &TlsFiles) -> Result<ClientTlsConfig, StoreError> {
    let mut tls = ClientTlsConfig::new();
    tls = match TlsFiles::read(&files.ca)? {
        Some(pem) => tls.ca_certificate(Certificate::from_pem(pem)),
        None => tls.with_native_roots(),
    };
    let own = TlsFiles::read(&files.cert)?.zip(TlsFiles::read(&files.key)?);
    Ok(match own {
        Some((cert, key)) => tls.identity(Identity::from_pem(cert, key)),
        None => tls,
    })
}

/// Connects once: tonic would connect again by itself, and nobody would have asked who answers.
struct Once {
    host: Option<Host>,
}

impl Service<Uri> for Once {
    type Response = TokioIo<TcpStream>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let host = self.host.take();
        Box::pin(async move {
            let host = host.ok_or_else(|| io::Error::other(Ended))?;
            let stream = TcpStream::connect((host.name.as_str(), host.port)).await?;
            stream.set_nodelay(true)?;
            Ok(TokioIo::new(stream))
        })
    }
}

/// The one connection has ended before a request was sent on it.
#[derive(Debug)]
struct Ended;

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the connection has ended")
    }
}

impl Error for Ended {}

impl Connection {
    /// One call; never sent twice.
    async fn call<Q, A>(&self, path: &'static str, request: Q) -> Result<A, Failure>
    where
        Q: prost::Message + 'static,
        A: prost::Message + Default + 'static,
    {
        let mut grpc = self.grpc.clone();
        grpc.ready().await.map_err(|error| {
            // Nothing was sent yet.
            Failure::Useless(StoreErrorKind::Unavailable, with_sources(&error))
        })?;
        let mut request = tonic::Request::new(request);
        if let Some(token) = &self.token {
            request.metadata_mut().insert("token", token.clone());
        }
        let path = PathAndQuery::from_static(path);
        let answer = grpc.unary(request, path, ProstCodec::<Q, A>::default()).await;
        answer
            .map(tonic::Response::into_inner)
            .map_err(|status| failure(&status))
    }

    /// A conditional transaction.
    pub(super) async fn txn(&self, request: TxnRequest) -> Result<TxnResponse, Failure> {
        self.call("/etcdserverpb.KV/Txn", request).await
    }

    /// Reads one key, as the majority has it.
    async fn range(&self, key: &[u8]) -> Result<RangeResponse, Failure> {
        let request = RangeRequest {
            key: key.to_vec(),
            range_end: Vec::new(),
            limit: 0,
        };
        self.call("/etcdserverpb.KV/Range", request).await
    }
}

/// Judges a failed call: whether etcd itself says that it did nothing, and whether the connection can go on.
fn failure(status: &Status) -> Failure {
    let mut source = status.source();
    while let Some(error) = source {
        if error.is::<Ended>()
            || error
                .downcast_ref::<io::Error>()
                .and_then(io::Error::get_ref)
                .is_some_and(|inner| inner.is::<Ended>())
        {
            return Failure::Useless(StoreErrorKind::Unavailable, Ended.to_string());
        }
        source = error.source();
    }
    let why = match status.source() {
        // Made on this side of the connection: the code says nothing about the server.
        Some(error) => return Failure::Lost(with_sources(error)),
        None => status.message().to_string(),
    };
    match status.code() {
        Code::PermissionDenied => Failure::Refused(StoreErrorKind::Denied, why),
        // A token that is too old, or that a change of rights made so: another connection gets a new one.
        Code::Unauthenticated => Failure::Useless(StoreErrorKind::Unavailable, why),
        Code::InvalidArgument => Failure::Refused(StoreErrorKind::Invalid, why),
        Code::FailedPrecondition | Code::NotFound => Failure::Refused(StoreErrorKind::Invalid, why),
        // No space left, or too many requests at a time.
        Code::ResourceExhausted => Failure::Refused(StoreErrorKind::Unavailable, why),
        // "request timed out", "leader changed" and the like: what was proposed may still be agreed on.
        _ => Failure::Lost(why),
    }
}

/// An error and what it came from.
fn with_sources(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let more = error.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        source = error.source();
    }
    text
}

impl Driver for Etcd {
    type Connection = Connection;
    /// The meta record's text.
    type MetaStamp = Vec<u8>;

    fn scheme(&self) -> &'static str {
        "etcd"
    }

    fn place(&self) -> String {
        self.place.clone()
    }

    fn connect(&self) -> BoxFuture<'_, Result<Connection, Failure>> {
        let own = self.clone();
        let work = async move { own.connect_any().await };
        Box::pin(on_own_thread(&self.runtime, work))
    }

    fn probe(&self, connection: Connection) -> BoxFuture<'_, Result<Answering<Vec<u8>>, Failure>> {
        Box::pin(async move {
            let meta = connection.range(&self.names.meta).await?;
            let header = meta.header.unwrap_or_default();
            let listed: Result<MemberListResponse, _> = connection
                .call("/etcdserverpb.Cluster/MemberList", MemberListRequest {})
                .await;
            let voters = match listed {
                Ok(list) => Some(list.members.iter().filter(|member| !member.is_learner).count()),
                Err(Failure::Refused(..)) => None,
                Err(failure) => return Err(failure),
            };
            // Not Alarm itself, which the members would have to agree on.
            let status: Result<StatusResponse, _> = connection
                .call("/etcdserverpb.Maintenance/Status", StatusRequest {})
                .await;
            let alarms = match status {
                Ok(status) => Some(status.errors),
                Err(Failure::Refused(..)) => None,
                Err(failure) => return Err(failure),
            };
            let meta = match meta.kvs.into_iter().next() {
                None => None,
                Some(found) => match record::read_meta(&found.value) {
                    Some(meta) => Some((meta, found.value)),
                    None => {
                        let why = "mint_meta is not as it was made".to_string();
                        return Err(Failure::Useless(StoreErrorKind::Corrupt, why));
                    }
                },
            };
            Ok(Answering {
                meta,
                whole: !connection.range(&self.names.sentinel).await?.kvs.is_empty(),
                durability: judge(voters, alarms.as_deref()),
                incarnation: format!("cluster {:016x}", header.cluster_id),
                unbounded: None,
            })
        })
    }
}

/// What a cluster of this many voting members may forget, and what hinders it. Members sync before they answer, unless
/// they were started with `--unsafe-no-fsync`, which nobody can ask for from outside.
fn judge(voters: Option<usize>, alarms: Option<&[String]>) -> Durability {
    let (class, why) = match voters {
        Some(n @ 3..) => (
            Class::Survives,
            format!("{n} voting members, a write is on most of their disks before it is answered"),
        ),
        Some(n) => (
            Class::Durable,
            format!(
                "{n} voting member(s): a write is on disk before it is answered, but no member may be lost"
            ),
        ),
        None => (
            Class::Durable,
            "a write is on disk before it is answered; the member list is forbidden to this account"
                .to_string(),
        ),
    };
    let unseen = |one: Setting, why: &str| one.but(Standing::Note, why, "");
    let members = match voters {
        Some(n) if n >= 3 => Setting::good("voting members", n, "3 or more"),
        Some(n) => Setting::good("voting members", n, "3 or more").but(
            Standing::Note,
            "no member may be lost",
            "etcdctl member add NAME --peer-urls=URL",
        ),
        None => unseen(
            Setting::good("voting members", "?", "3 or more"),
            "the member list is forbidden to this account",
        ),
    };
    let told = match alarms {
        None => "?".to_string(),
        Some([]) => "none".to_string(),
        Some(alarms) => alarms.join(", "),
    };
    let raised = Setting::good("alarms", told, "none");
    let raised = match alarms {
        Some([]) => raised,
        Some(_) => raised.but(
            Standing::Weak,
            "an alarm is raised, and it takes no writes",
            "make room (etcdctl compact, etcdctl defrag), then etcdctl alarm disarm",
        ),
        None => unseen(raised, "alarms are not told to this account"),
    };
    let synced = unseen(
        Setting::good("--unsafe-no-fsync", "?", "not given"),
        "cannot be seen from outside: no member may have it",
    );
    Durability::judged(class, why, "", vec![members, raised, synced])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::SystemRuntime;

    fn new(rest: &str) -> Result<String, String> {
        let tokio = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let runtime = SystemRuntime::new(tokio.handle().clone());
        Etcd::new(rest, Duration::from_secs(3), runtime)
            .map(|etcd| etcd.place)
            .map_err(|error| error.message)
    }

    #[test]
    fn urls_name_members_and_show_no_secret() {
        for (rest, place) in [
            ("//a,b:1,c", "etcd://a:2379,b:1,c:2379"),
            ("//ann:s%40cret@a?prefix=eu/", "etcd://a:2379?prefix=eu/"),
            ("//a?tls=on", "etcd://a:2379"),
        ] {
            assert_eq!(new(rest).as_deref(), Ok(place));
        }
    }

    #[test]
    fn urls_that_make_no_sense_are_refused() {
        for (rest, why) in [
            ("//", "names no host"),
            ("//a/x", "no path"),
            ("//ann@a", "go together"),
            ("//a?tls=yes", "on or off"),
            ("//a?tls=off&tls_ca=x", "on or off"),
            ("//a?timeout=1", "no option is named \"timeout\""),
            ("//a?tls_ca=/does/not/exist", "cannot read /does/not/exist"),
        ] {
            let error = new(rest).unwrap_err();
            assert!(error.contains(why), "{rest}: {error}");
        }
    }

    #[test]
    fn only_etcds_own_word_makes_an_outcome_certain() {
        for (code, certain) in [
            (Code::PermissionDenied, true),
            (Code::Unauthenticated, true),
            (Code::InvalidArgument, true),
            (Code::ResourceExhausted, true),
            (Code::Unavailable, false),
            (Code::DeadlineExceeded, false),
            (Code::Cancelled, false),
            (Code::Unknown, false),
            (Code::Internal, false),
            (Code::OutOfRange, false),
        ] {
            let mut status = Status::new(code, "etcdserver: …");
            let lost = matches!(failure(&status), Failure::Lost(_));
            assert_eq!(!lost, certain, "{code:?}");
            status.set_source(Arc::new(io::Error::other("made here")));
            assert!(matches!(failure(&status), Failure::Lost(_)), "{code:?}");
            status.set_source(Arc::new(io::Error::other(Ended)));
            assert!(matches!(failure(&status), Failure::Useless(..)), "{code:?}");
        }
    }

    #[test]
    fn an_alarm_is_told_by_its_name() {
        let found = judge(Some(3), Some(&["memberID:171 alarm:NOSPACE ".to_string()]));
        let alarms = &found.settings[1];
        assert_eq!(
            (alarms.found.as_str(), alarms.standing),
            ("memberID:171 alarm:NOSPACE ", Standing::Weak)
        );
        assert_eq!(found.class, Class::Survives);
    }

    #[test]
    fn three_members_survive_one() {
        for (voters, class) in [
            (Some(1), Class::Durable),
            (Some(2), Class::Durable),
            (Some(3), Class::Survives),
            (Some(5), Class::Survives),
            (None, Class::Durable),
        ] {
            assert_eq!(judge(voters, Some(&[])).class, class);
        }
    }
}
