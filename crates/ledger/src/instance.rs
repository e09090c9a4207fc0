//! The register of this process: everything it holds hangs off it (protocol R4).
//!
//! A store that one process has to itself (an exclusive lock) needs none: the lock says the same.
//!
//! A process with a journal has the register of its *node*: the next process that opens the same journal puts
//! itself in the place of the dead one by one compare-and-set, and owns its blocks from then on (protocol S7).

use std::sync::atomic::Ordering;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::context::Context;
use crate::error::LedgerError;
use crate::runtime::fresh_token;
use crate::store::{Cas, Key, Marks, Value, Version};

const RENEW_EVERY: Duration = Duration::from_secs(1);

#[derive(Serialize, Deserialize)]
struct Body {
    name: String,
    wall_ms: i64,
    /// How often the journal's state was copied here, as the journal counts it: a journal that counts less is an
    /// old copy of itself, and what it owned has been handed out by another (protocol S7).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    journal: Option<u64>,
    /// The process has stopped; its register waits for the next one with the same journal.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    stopped: bool,
}

/// A register that is ours, as last acknowledged.
pub(crate) type Entered = (Key, Version);

fn key(instance: u128) -> Key {
    Key::new(format!("instance/{instance:032x}")).expect("hexadecimal digits are within the key grammar")
}

async fn body(context: &Context, stopped: bool) -> String {
    let journal = match &context.journal {
        // By now it may be closed.
        Some(journal) if stopped => Some(journal.copies()),
        Some(journal) => Some(journal.count_copy().await),
        None => None,
    };
    let body = Body {
        name: context.settings.instance_name.clone(),
        wall_ms: context.runtime.wall().unix_millis(),
        journal,
        stopped,
    };
    serde_json::to_string(&body).expect("plain fields always serialise")
}

/// Puts this process in the place of the one that had its journal before: one compare-and-set. Where that cannot
/// be had, or the journal is older than what was last copied from it, this is a new node that owns nothing.
///
/// # Errors
/// The store does not answer: whether the blocks are ours is not known, so the start must wait for it.
pub(crate) async fn enter(context: &Context) -> Result<Option<Entered>, LedgerError> {
    let Some(journal) = &context.journal else {
        return Ok(None);
    };
    let key = key(context.instance());
    let found = context.store.get(&key).await.map_err(LedgerError::from_store)?;
    let why = match found {
        None => "its register is not there",
        Some(found) => match serde_json::from_str::<Body>(&found.value.body) {
            Ok(body)
                if body.journal.unwrap_or(0) <= journal.copies()
                    || mintage::planted!("old-journal-trusted") =>
            {
                let value = Value {
                    mark: 0,
                    token: fresh_token(&*context.runtime),
                    body: self::body(context, false).await,
                };
                let written = context
                    .store
                    .compare_and_set(&key, Some(found.version), value, Marks::NeverLower)
                    .await;
                match written {
                    Ok(Cas::Done(version)) => return Ok(Some((key, version))),
                    Ok(Cas::Lost(_)) => "another process has its register",
                    // It may have landed: the next process with this journal finds out, or it is a gap.
                    Err(error) => return Err(LedgerError::from_store(error)),
                }
            }
            Ok(_) => "the journal is an old copy",
            Err(_) => "its register makes no sense",
        },
    };
    tracing::info!(why, "this node owns nothing from before");
    let node = context.renew_instance();
    journal.begin_anew(node, context.store.cluster_id()).await;
    Ok(None)
}

/// Renews the register every second until the ledger closes. `lost` drops everything that was held.
pub(crate) async fn keep(context: &Context, entered: Option<Entered>, lost: impl Fn()) {
    let mut held = entered;
    let mut tokens: Vec<u128> = Vec::new();
    while !context.closing.load(Ordering::Acquire) {
        let (key, version) = match held.take() {
            Some((key, version)) => (key, Some(version)),
            None => (key(context.instance()), None),
        };
        let token = fresh_token(&*context.runtime);
        let body = body(context, false).await;
        let value = Value { mark: 0, token, body };
        match context
            .store
            .compare_and_set(&key, version, value, Marks::NeverLower)
            .await
            .map(|cas| cas.of_attempt(token))
        {
            Ok(Cas::Done(version)) => {
                tokens.clear();
                held = Some((key, version));
            }
            // An earlier write of ours, of unknown outcome, had landed.
            Ok(Cas::Lost(Some(found))) if tokens.contains(&found.value.token) => {
                tokens.clear();
                held = Some((key, found.version));
                continue;
            }
            Ok(Cas::Lost(_)) => {
                tracing::error!("this process's register was lost: dropping all it holds");
                let node = context.renew_instance();
                tokens.clear();
                if !mintage::planted!("lost-register-ignored") {
                    lost();
                }
                if let Some(journal) = &context.journal {
                    // Whoever has the register has a copy of our journal, and owns what it says.
                    journal.begin_anew(node, context.store.cluster_id()).await;
                }
                continue;
            }
            Err(error) => {
                tracing::debug!(%error, "could not renew the instance register");
                tokens.truncate(63);
                tokens.push(token);
                held = version.map(|version| (key, version));
            }
        }
        context.runtime.sleep(RENEW_EVERY).await;
    }
    let Some((key, version)) = held else { return };
    if context.journal.is_none() {
        // Best effort: a register that stays is only clutter.
        let _ = context.store.remove(&key, version).await;
        return;
    }
    let value = Value {
        mark: 0,
        token: fresh_token(&*context.runtime),
        body: body(context, true).await,
    };
    // Best effort too: it says who is alive. The blocks are found by any version of it.
    let _ = context
        .store
        .compare_and_set(&key, Some(version), value, Marks::NeverLower)
        .await;
}
