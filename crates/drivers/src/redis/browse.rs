//! Reading keys that are not ours: those of other systems, whose workers a pool is to avoid. Writes nothing.

use std::sync::Arc;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Cmd, FromRedisValue};

use super::connect::Redis;
use super::script;
use crate::browse::answered_within;
use crate::link::{Driver, Failure, on_own_thread};
use crate::runtime::Runtime;
use crate::{StoreError, StoreErrorKind, StoreSettings};

/// The way to a server. Nothing is connected before the first look.
#[derive(Clone)]
pub struct RedisKeys {
    driver: Arc<Redis>,
    connect_timeout: Duration,
    request_timeout: Duration,
    runtime: Arc<dyn Runtime>,
}

/// A connection for one look.
pub struct Look<'a> {
    keys: &'a RedisKeys,
    connection: MultiplexedConnection,
}

/// How many keys one step of a search looks at.
const SCAN_COUNT: u32 = 1000;
/// How many keys a search may find, and how many steps it may take: a million keys of others are passed over.
const FOUND_MAX: usize = 100_000;
const STEPS_MAX: usize = 10_000;

impl RedisKeys {
    /// Checks what follows `SCHEME:`, without connecting.
    pub fn new(
        scheme: &'static str,
        rest: &str,
        settings: &StoreSettings,
        runtime: Arc<dyn Runtime>,
    ) -> Result<RedisKeys, StoreError> {
        Ok(RedisKeys {
            driver: Arc::new(Redis::new(scheme, rest, Arc::clone(&runtime))?),
            connect_timeout: settings.connect_timeout,
            request_timeout: settings.request_timeout,
            runtime,
        })
    }

    /// Its URL without credentials.
    pub fn place(&self) -> String {
        self.driver.place()
    }

    /// Connects.
    pub async fn look(&self) -> Result<Look<'_>, StoreError> {
        let driver = Arc::clone(&self.driver);
        let connecting = on_own_thread(&self.runtime, async move {
            // Time is kept here; the driver's own limits are off.
            let config = AsyncConnectionConfig::new()
                .set_connection_timeout(None)
                .set_response_timeout(None);
            let made = driver
                .client
                .get_multiplexed_async_connection_with_config(&config);
            made.await.map_err(script::failure)
        });
        Ok(Look {
            connection: self.within(self.connect_timeout, connecting).await?,
            keys: self,
        })
    }

    async fn within<T>(
        &self,
        limit: Duration,
        call: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, StoreError> {
        answered_within(&*self.runtime, limit, &self.place(), call).await
    }
}

impl Look<'_> {
    /// Asks one thing.
    pub async fn ask<T: FromRedisValue>(&mut self, command: &Cmd) -> Result<T, StoreError> {
        let asked = command.query_async(&mut self.connection);
        let asked = async { asked.await.map_err(script::failure) };
        self.keys.within(self.keys.request_timeout, asked).await
    }

    /// The keys that fit a pattern, each once, in order.
    pub async fn matching(&mut self, pattern: &str) -> Result<Vec<String>, StoreError> {
        let (mut cursor, mut found) = (0u64, Vec::<String>::new());
        for _ in 0..STEPS_MAX {
            let mut command = redis::cmd("SCAN");
            command.arg(cursor).arg("MATCH").arg(pattern);
            command.arg("COUNT").arg(SCAN_COUNT);
            let (next, page): (u64, Vec<String>) = self.ask(&command).await?;
            found.extend(page);
            if found.len() > FOUND_MAX {
                break;
            }
            if next == 0 {
                found.sort_unstable();
                found.dedup();
                return Ok(found);
            }
            cursor = next;
        }
        let why = format!("more keys than can be looked through for {pattern}");
        let refused = async { Err(Failure::Refused(StoreErrorKind::Invalid, why)) };
        self.keys.within(self.keys.request_timeout, refused).await
    }
}
