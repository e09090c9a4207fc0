//! How a Redis server is reached, and who answers there.

use std::sync::Arc;

use mintage::Timestamp;
use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, Client, ClientTlsConfig, ConnectionAddr, IntoConnectionInfo, RedisConnectionInfo,
    RedisError, TlsCertificates,
};

use super::super::address::{Address, TlsFiles, invalid};
use super::super::link::{Answering, Driver, Failure, InitRecord, on_own_thread};
use super::super::{StoreError, StoreErrorKind};
use super::durability::{Found, judge};
use super::script;
use crate::runtime::{BoxFuture, Runtime};

/// What our keys are called.
#[derive(Clone, Debug)]
pub(super) struct Names {
    pub(super) meta: String,
    pub(super) index: String,
    /// What stands before a register's key.
    pub(super) register: String,
}

impl Names {
    /// Whether a prefix sets them apart.
    pub(super) fn has_prefix(&self) -> bool {
        self.meta != META
    }
}

/// The record of `mint init`, but for a prefix.
const META: &str = "mint_meta";

/// The way to one server.
pub(super) struct Redis {
    pub(super) client: Client,
    place: String,
    /// Whom the server takes us for.
    pub(super) account: String,
    pub(super) names: Names,
    runtime: Arc<dyn Runtime>,
}

const OPTIONS: &str = "prefix, tls_ca, tls_cert and tls_key of rediss, db of redis+unix";

impl Redis {
    /// Checks a URL, without connecting: `//[USER[:PASSWORD]@][HOST[:PORT]][/DATABASE][?prefix=…]`, or
    /// `///PATH/OF/SOCKET?db=N` for scheme `redis+unix`.
    pub(super) fn new(
        scheme: &'static str,
        rest: &str,
        runtime: Arc<dyn Runtime>,
    ) -> Result<Redis, StoreError> {
        let bad = |why: &str| invalid(format!("store {scheme}: {why}"));
        let mut address = Address::parse(scheme, rest, 6379, false)?;
        let prefix = address.take_option("prefix").unwrap_or_default();
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"_.:-{}".contains(&b);
        if prefix.len() > 64 || !prefix.bytes().all(plain) {
            return Err(bad("its prefix has at most 64 characters of [A-Za-z0-9_.:{}-]"));
        }
        let tls = address.take_tls()?;
        let unix = scheme == "redis+unix";
        let database = match unix {
            true => address.take_option("db").unwrap_or_default(),
            false => address.path.clone(),
        };
        address.no_more_options(OPTIONS)?;
        let database: u32 = match database.as_str() {
            "" => 0,
            digits => digits
                .parse()
                .map_err(|_| bad("its database is a number, as in redis://host/1"))?,
        };
        let (host, port) = match address.hosts.as_slice() {
            [] => ("127.0.0.1".to_string(), 6379),
            [host] => (host.name.clone(), host.port),
            _ => return Err(bad("its URL names one host")),
        };
        let mut login = RedisConnectionInfo::default()
            .set_db(i64::from(database))
            .set_skip_set_lib_name();
        if let Some(user) = &address.user {
            login = login.set_username(user);
        }
        if let Some(password) = &address.password {
            login = login.set_password(password);
        }
        if tls.any() && scheme != "rediss" {
            return Err(bad("certificates are for rediss://"));
        }
        let (reach, place) = match scheme {
            "redis+unix" => {
                if !address.hosts.is_empty() || address.path.is_empty() {
                    return Err(bad("its URL is redis+unix:///PATH/OF/SOCKET?db=N"));
                }
                let path = format!("/{}", address.path);
                let place = format!("{scheme}://{path}?db={database}");
                (ConnectionAddr::Unix(path.into()), place)
            }
            _ => {
                let place = format!("{scheme}://{host}:{port}/{database}");
                let reach = match scheme {
                    "rediss" => ConnectionAddr::TcpTls {
                        host,
                        port,
                        insecure: false,
                        tls_params: None,
                    },
                    _ => ConnectionAddr::Tcp(host, port),
                };
                (reach, place)
            }
        };
        let info = reach
            .into_connection_info()
            .map(|info| info.set_redis_settings(login));
        let client = match scheme {
            "rediss" => {
                let certificates = certificates(&tls)?;
                info.and_then(|info| Client::build_with_tls(info, certificates))
            }
            _ => info.and_then(Client::open),
        };
        Ok(Redis {
            account: address.user.unwrap_or_else(|| "default".to_string()),
            client: client.map_err(|error| bad(&error.to_string()))?,
            place: match prefix.as_str() {
                "" => place,
                prefix if unix => format!("{place}&prefix={prefix}"),
                prefix => format!("{place}?prefix={prefix}"),
            },
            names: Names {
                meta: format!("{prefix}{META}"),
                index: format!("{prefix}mint_register"),
                register: format!("{prefix}mint_register:"),
            },
            runtime,
        })
    }

    /// Makes a connection.
    pub(super) fn dial(
        &self,
    ) -> impl Future<Output = Result<MultiplexedConnection, Failure>> + Send + 'static {
        let client = self.client.clone();
        async move {
            // Time is kept by the link; the driver's own limits, and its own retries, are off.
            let config = AsyncConnectionConfig::new()
                .set_connection_timeout(None)
                .set_response_timeout(None);
            let made = client.get_multiplexed_async_connection_with_config(&config);
            made.await.map_err(script::failure)
        }
    }
}

fn certificates(files: &TlsFiles) -> Result<TlsCertificates, StoreError> {
    let own = TlsFiles::read(&files.cert)?.zip(TlsFiles::read(&files.key)?);
    Ok(TlsCertificates {
        client_tls: own.map(|(client_cert, client_key)| ClientTlsConfig {
            client_cert,
            client_key,
        }),
        root_cert: TlsFiles::read(&files.ca)?,
    })
}

impl Driver for Redis {
    type Connection = MultiplexedConnection;
    type MetaStamp = InitRecord;

    fn scheme(&self) -> &'static str {
        "redis"
    }

    fn place(&self) -> String {
        self.place.clone()
    }

    fn connect(&self) -> BoxFuture<'_, Result<MultiplexedConnection, Failure>> {
        Box::pin(async move {
            let dialled = self.dial();
            on_own_thread(&self.runtime, async move {
                let connection = dialled.await?;
                script::load(connection.clone()).await?;
                Ok(connection)
            })
            .await
        })
    }

    fn probe(
        &self,
        mut connection: MultiplexedConnection,
    ) -> BoxFuture<'_, Result<Answering<InitRecord>, Failure>> {
        Box::pin(async move {
            let found = found(&mut connection).await?;
            type Bytes = Option<Vec<u8>>;
            // In this order, and without MULTI, which an account may lack: mint init writes both at once.
            let (meta, whole): ((Bytes, Bytes), Bytes) = redis::pipe()
                .cmd("HMGET")
                .arg(&self.names.meta)
                .arg("schema_version")
                .arg("cluster_id")
                .cmd("ZSCORE")
                .arg(&self.names.index)
                .arg("!cluster")
                .query_async(&mut connection)
                .await
                .map_err(script::failure)?;
            let meta = match meta {
                (None, None) => None,
                (Some(schema), Some(id)) if script::meta(&schema, &id).is_some() => {
                    script::meta(&schema, &id)
                }
                _ => {
                    let why = format!("{} is not as it was made", self.names.meta);
                    return Err(Failure::Useless(StoreErrorKind::Corrupt, why));
                }
            };
            Ok(Answering {
                meta: meta.map(|meta| (meta, meta)),
                whole: whole.is_some(),
                durability: judge(&found),
                incarnation: found.incarnation(),
                unbounded: found.unbounded(),
            })
        })
    }
}

/// What the server says of itself; one that is a replica or a node of a cluster is of no use.
pub(super) async fn found(connection: &mut MultiplexedConnection) -> Result<Found, Failure> {
    let info: Result<String, _> = redis::cmd("INFO").query_async(connection).await;
    let config: Result<Vec<String>, _> = redis::cmd("CONFIG")
        .arg("GET")
        .arg("*append*")
        .query_async(connection)
        .await;
    let replicas: Result<Vec<String>, _> = redis::cmd("CONFIG")
        .arg("GET")
        .arg("min-replicas-*")
        .query_async(connection)
        .await;
    let config = answered(config)?.zip(answered(replicas)?);
    let config = config.map(|(appended, replicas)| [appended, replicas].concat());
    let found = Found::new(answered(info)?.as_deref(), config);
    if let Some(master) = found.replica_of() {
        let why = format!("it is a replica, writes go to its master {master}");
        return Err(Failure::Useless(StoreErrorKind::Unavailable, why));
    }
    if found.is_cluster() {
        let why = "it is a node of a Redis Cluster, which is not supported: use a server of its own";
        return Err(Failure::Useless(StoreErrorKind::Invalid, why.to_string()));
    }
    Ok(found)
}

/// What the server answered; nothing where it does not let us ask.
fn answered<T>(answer: Result<T, RedisError>) -> Result<Option<T>, Failure> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(error) => match script::failure(error) {
            // NOPERM, or a command that was renamed away.
            Failure::Refused(..) => Ok(None),
            failure => Err(failure),
        },
    }
}

/// The server's own clock.
pub(super) async fn time(mut connection: MultiplexedConnection) -> Result<Timestamp, Failure> {
    let time: (i64, i64) = redis::cmd("TIME")
        .query_async(&mut connection)
        .await
        .map_err(script::failure)?;
    let (seconds, micros) = time;
    Ok(Timestamp::from_unix_nanos(
        i128::from(seconds) * 1_000_000_000 + i128::from(micros) * 1_000,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::SystemRuntime;

    fn new(scheme: &'static str, rest: &str) -> Result<String, String> {
        let tokio = tokio::runtime::Builder::new_current_thread().build().unwrap();
        Redis::new(scheme, rest, SystemRuntime::new(tokio.handle().clone()))
            .map(|redis| redis.place)
            .map_err(|error| error.message)
    }

    #[test]
    fn urls_name_one_server_and_a_database() {
        for (scheme, rest, place) in [
            ("redis", "//", "redis://127.0.0.1:6379/0"),
            ("redis", "//ann:s%40cret@db/3", "redis://db:6379/3"),
            (
                "redis",
                "//:secret@[::1]:7/?prefix=eu:",
                "redis://::1:7/0?prefix=eu:",
            ),
            ("rediss", "//db:1", "rediss://db:1/0"),
            (
                "redis+unix",
                "///run/redis.sock?db=2",
                "redis+unix:///run/redis.sock?db=2",
            ),
        ] {
            assert_eq!(new(scheme, rest).as_deref(), Ok(place));
        }
    }

    #[test]
    fn urls_that_make_no_sense_are_refused() {
        for (scheme, rest, why) in [
            ("redis", "//a,b", "one host"),
            ("redis", "//a/x", "database is a number"),
            ("redis", "//a?prefix=a%20b", "prefix"),
            ("redis", "//a?db=1", "no option is named \"db\""),
            ("redis", "//a?tls_ca=x", "certificates are for rediss"),
            (
                "rediss",
                "//a?tls_ca=/does/not/exist",
                "cannot read /does/not/exist",
            ),
            ("redis+unix", "//a/b", "redis+unix:///PATH"),
        ] {
            let error = new(scheme, rest).unwrap_err();
            assert!(error.contains(why), "{scheme}:{rest}: {error}");
        }
    }
}
