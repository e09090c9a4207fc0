//! The register of this process: everything it holds hangs off it (protocol R4).
//!
//! A store that one process has to itself (an exclusive lock) needs none: the lock says the same.

use std::sync::atomic::Ordering;
use std::time::Duration;

use serde::Serialize;

use crate::context::Context;
use crate::runtime::fresh_token;
use crate::store::{Cas, Key, Marks, Value, Version};

const RENEW_EVERY: Duration = Duration::from_secs(1);

#[derive(Serialize)]
struct Body<'a> {
    name: &'a str,
    wall_ms: i64,
}

fn key(instance: u128) -> Key {
    Key::new(format!("instance/{instance:032x}")).expect("hexadecimal digits are within the key grammar")
}

/// Renews the register every second until the ledger closes. `lost` drops everything that was held.
pub(crate) async fn keep(context: &Context, lost: impl Fn()) {
    let mut held: Option<(Key, Version)> = None;
    let mut tokens: Vec<u128> = Vec::new();
    while !context.closing.load(Ordering::Acquire) {
        let (key, version) = match held.take() {
            Some((key, version)) => (key, Some(version)),
            None => (key(context.instance()), None),
        };
        let token = fresh_token(&*context.runtime);
        let body = Body {
            name: &context.settings.instance_name,
            wall_ms: context.runtime.wall().unix_millis(),
        };
        let body = serde_json::to_string(&body).expect("plain fields always serialise");
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
                context.renew_instance();
                tokens.clear();
                lost();
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
    if let Some((key, version)) = held {
        // Best effort: a register that stays is only clutter.
        let _ = context.store.remove(&key, version).await;
    }
}
