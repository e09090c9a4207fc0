//! Reading nodes that are not ours: those of other systems, whose workers a pool is to avoid. Writes nothing, and asks
//! for nothing that ZooKeeper 3.4 does not have.

use std::sync::Arc;
use std::time::Duration;

use super::client::{Client, Code, Error, get_children, get_data};
use super::connect::{ZooKeeper, failure};
use crate::browse::answered_within;
use crate::link::{Driver, Failure};
use crate::runtime::Runtime;
use crate::{StoreError, StoreErrorKind, StoreSettings};

/// The way to an ensemble, and the path that the URL names there. Nothing is connected before the first look.
#[derive(Clone)]
pub struct ZooKeeperNodes {
    driver: ZooKeeper,
    connect_timeout: Duration,
    request_timeout: Duration,
    runtime: Arc<dyn Runtime>,
}

/// A session for one look.
pub struct Look<'a> {
    nodes: &'a ZooKeeperNodes,
    client: Client,
}

/// How many nodes are asked for at once.
const BATCH: usize = 128;

impl ZooKeeperNodes {
    /// Checks what follows `zookeeper:`, without connecting.
    pub fn new(
        rest: &str,
        settings: &StoreSettings,
        runtime: Arc<dyn Runtime>,
    ) -> Result<ZooKeeperNodes, StoreError> {
        Ok(ZooKeeperNodes {
            driver: ZooKeeper::new(rest, settings, Arc::clone(&runtime))?,
            connect_timeout: settings.connect_timeout,
            request_timeout: settings.request_timeout,
            runtime,
        })
    }

    /// Its URL without credentials and options.
    pub fn place(&self) -> String {
        self.driver.place()
    }

    /// The path of the URL: empty, or one that begins with a slash.
    pub fn path(&self) -> &str {
        &self.driver.names.chroot
    }

    /// Begins a session.
    pub async fn look(&self) -> Result<Look<'_>, StoreError> {
        // Every server may be asked in vain before one answers.
        let connected = self.within(self.connect_timeout * 5, self.driver.begin());
        Ok(Look {
            client: connected.await?,
            nodes: self,
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
    /// The names of a node's children in order, and how often children were made or removed; `None`: there is no
    /// such node.
    pub async fn children(&self, path: &str) -> Result<Option<(Vec<String>, u64)>, StoreError> {
        let asked = async {
            match self.client.ask_one_now(get_children(path)).await {
                Ok((mut names, stat)) => {
                    names.sort_unstable();
                    Ok(Some((names, u64::try_from(stat.cversion).unwrap_or(0))))
                }
                Err(Error::Answered(Code::NO_NODE)) => Ok(None),
                Err(error) => Err(unreadable(path, &error)),
            }
        };
        self.nodes.within(self.nodes.request_timeout, asked).await
    }

    /// What nodes hold, in order; `None` for one that is not there, or no more.
    pub async fn data(&self, paths: &[String]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        let mut all = Vec::with_capacity(paths.len());
        for batch in paths.chunks(BATCH) {
            let asked = async {
                let asked = batch.iter().map(|path| get_data(path));
                let answers = self
                    .client
                    .ask_all(asked)
                    .await
                    .map_err(|error| failure(&error))?;
                let mut found = Vec::with_capacity(batch.len());
                for (path, answer) in batch.iter().zip(answers) {
                    found.push(match answer {
                        Ok((data, _)) => Some(data),
                        Err(Error::Answered(Code::NO_NODE)) => None,
                        Err(error) => return Err(unreadable(path, &error)),
                    });
                }
                Ok(found)
            };
            all.extend(self.nodes.within(self.nodes.request_timeout, asked).await?);
        }
        Ok(all)
    }
}

fn unreadable(path: &str, error: &Error) -> Failure {
    match error {
        Error::Answered(Code::NO_AUTH) => Failure::Refused(
            StoreErrorKind::Denied,
            format!(
                "this account may not read {path}: give it the right, as in setAcl {path} world:anyone:r"
            ),
        ),
        error => match failure(error) {
            Failure::Lost(why) => Failure::Lost(format!("{path}: {why}")),
            other => other,
        },
    }
}
