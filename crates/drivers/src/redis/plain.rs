//! A Redis server whose own keys are looked at or moved: reached and judged like a store, without any record of ours.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{Pipeline, RedisResult, Value};

use super::super::link::{Driver, Failure, on_own_thread};
use super::super::{Durability, Outcome, StoreError, StoreErrorKind, StoreSettings};
use super::connect::{self, Redis};
use super::durability::judge;
use super::script;
use crate::runtime::Runtime;

/// The way to one server. Nothing is connected before the first call.
pub struct PlainRedis {
    driver: Redis,
    settings: StoreSettings,
    runtime: Arc<dyn Runtime>,
    kept: Mutex<Option<MultiplexedConnection>>,
}

/// What commands answered, each by itself.
pub(crate) type Answers = Vec<RedisResult<Value>>;

impl fmt::Debug for PlainRedis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PlainRedis({})", self.driver.place())
    }
}

impl PlainRedis {
    /// Reads a URL, without connecting.
    pub fn new(
        scheme: &'static str,
        rest: &str,
        settings: &StoreSettings,
        runtime: Arc<dyn Runtime>,
    ) -> Result<PlainRedis, StoreError> {
        let driver = Redis::new(scheme, rest, runtime.clone())?;
        if driver.names.has_prefix() {
            let why = format!("source {scheme}: keys of others have no prefix of ours: leave out prefix=");
            return Err(StoreError::new(StoreErrorKind::Invalid, Outcome::NotDone, why));
        }
        Ok(PlainRedis {
            driver,
            settings: settings.clone(),
            runtime,
            kept: Mutex::default(),
        })
    }

    /// Scheme, host, port and database, without credentials.
    pub fn place(&self) -> String {
        self.driver.place()
    }

    /// The account that the URL names.
    pub fn account(&self) -> &str {
        &self.driver.account
    }

    /// The world as it is seen from here.
    pub fn runtime(&self) -> &dyn Runtime {
        &*self.runtime
    }

    /// What the server may forget.
    pub async fn durability(&self) -> Result<Durability, StoreError> {
        let what = "reading its settings";
        let mut connection = self.connection(what).await?;
        let limit = self.settings.request_timeout;
        let found = self
            .within(limit, async move { connect::found(&mut connection).await })
            .await;
        match found {
            Ok(found) => Ok(judge(&found)),
            Err(failure) => Err(self.failed(what, failure, Outcome::NotDone)),
        }
    }

    /// Runs commands on one connection, one round trip, not as a transaction. An error that one of them answers stands
    /// in its place; `unclear` is what a lost answer means.
    pub async fn ask(&self, what: &str, commands: Pipeline, unclear: Outcome) -> Result<Answers, StoreError> {
        let mut connection = self.connection(what).await?;
        let mut commands = commands;
        commands.ignore_errors();
        let limit = self.settings.request_timeout;
        let asked = async move {
            commands
                .query_async(&mut connection)
                .await
                .map_err(script::failure)
        };
        let answer = self.within(limit, asked).await;
        answer.map_err(|failure| self.failed(what, failure, unclear))
    }

    /// A connection that answers: one that the server closed meanwhile must not make a write's outcome unknown.
    async fn connection(&self, what: &str) -> Result<MultiplexedConnection, StoreError> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(connection) = kept {
            let mut asked = connection.clone();
            let ping = async move {
                let pong: RedisResult<Value> = redis::cmd("PING").query_async(&mut asked).await;
                pong.map_err(script::failure)
            };
            match self.within(self.settings.request_timeout, ping).await {
                // Whoever may not even PING answers, too.
                Ok(_) | Err(Failure::Refused(..)) => return Ok(connection),
                Err(_) => self.drop_kept(),
            }
        }
        let dialled = self.driver.dial();
        let connected = self
            .within(self.settings.connect_timeout, async move {
                let mut connection = dialled.await?;
                connect::found(&mut connection).await?;
                Ok(connection)
            })
            .await;
        match connected {
            Ok(connection) => {
                let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
                *kept = Some(connection.clone());
                Ok(connection)
            }
            Err(failure) => Err(self.failed(what, failure, Outcome::NotDone)),
        }
    }

    fn drop_kept(&self) {
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    async fn within<T: Send + 'static>(
        &self,
        limit: Duration,
        work: impl Future<Output = Result<T, Failure>> + Send + 'static,
    ) -> Result<T, Failure> {
        tokio::select! {
            biased;
            answer = on_own_thread(&self.runtime, work) => answer,
            () = self.runtime.sleep(limit) => Err(Failure::Lost(format!("no answer within {limit:?}"))),
        }
    }

    fn failed(&self, what: &str, failure: Failure, unclear: Outcome) -> StoreError {
        let (kind, outcome, why) = match failure {
            Failure::Refused(kind, why) => (kind, Outcome::NotDone, why),
            Failure::Useless(kind, why) => {
                self.drop_kept();
                (kind, Outcome::NotDone, why)
            }
            Failure::Lost(why) => {
                self.drop_kept();
                (StoreErrorKind::Unavailable, unclear, why)
            }
            Failure::Stranger => (
                StoreErrorKind::Foreign,
                Outcome::NotDone,
                "another server".to_string(),
            ),
        };
        StoreError::new(kind, outcome, format!("{}: {what}: {why}", self.place()))
    }

    /// The error of one command among several, as the server's answer to it.
    pub fn refused(&self, what: &str, error: redis::RedisError) -> StoreError {
        self.failed(what, script::failure(error), Outcome::NotDone)
    }
}
