//! One administrative act.

use jiff::Timestamp;
use mintage_ledger::Name;
use serde::Serialize;
use serde_json::Value;

use crate::render;
use crate::service::Service;

/// Who asked for what.
#[derive(Clone, Debug, Serialize)]
pub struct Act {
    /// What was asked for: `create`, `alter`, `drop`, `set`, …
    pub what: &'static str,
    /// Of which sequences or pools.
    pub names: Vec<String>,
    /// The name of the token that was shown; `default` where there are none.
    pub token: String,
    /// From where.
    pub peer: String,
    /// Through which face.
    pub face: &'static str,
    /// What else makes it what it is: [`ALLOW_REPEAT`], or what was set or ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub with: Option<String>,
}

/// It was asked for with leave to repeat numbers.
pub const ALLOW_REPEAT: &str = "allow_repeat";

/// A line of the trail.
#[derive(Debug, Serialize)]
pub(super) struct Line<'a> {
    pub(super) time: String,
    #[serde(flatten)]
    pub(super) act: &'a Act,
    /// What the names stood for, in their order; null where there was nothing.
    pub(super) before: &'a [Value],
    pub(super) after: &'a [Value],
    /// `done`, or the code of the refusal.
    pub(super) outcome: &'a str,
}

impl<'a> Line<'a> {
    pub(super) fn new(act: &'a Act, before: &'a [Value], after: &'a [Value], outcome: &'a str) -> Line<'a> {
        Line {
            time: format!("{:.3}", Timestamp::now()),
            act,
            before,
            after,
            outcome,
        }
    }
}

/// What these names stand for now.
pub(super) async fn describe(service: &Service, names: &[String]) -> Vec<Value> {
    let mut all = Vec::new();
    for name in names {
        all.push(match Name::from_bytes(name.as_bytes()) {
            Ok(name) => of_name(service, &name).await,
            Err(_) => Value::Null,
        });
    }
    all
}

/// A sequence, else a pool; what cannot be read is told as null, since the act itself says what the store says.
async fn of_name(service: &Service, name: &Name) -> Value {
    if let Ok(Some(info)) = service.find(name).await {
        return serde_json::to_value(render::sequence(&info)).unwrap_or_default();
    }
    match service.ledger().existing_pool(name).await {
        Ok(pool) => serde_json::to_value(render::pool(&pool.info())).unwrap_or_default(),
        Err(_) => Value::Null,
    }
}
