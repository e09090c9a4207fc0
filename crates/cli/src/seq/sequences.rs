//! What can be asked of sequences: server and store answer both in the documents of the HTTP interface, so everything
//! above is written once.

use mintage::{Base, Run};
use mintage_ledger::{Gap, LedgerError, Name, RestartAt, SequenceInfo, SequencePatch, SequenceSpec};
use mintage_server::render::{changed, sequence};
use serde_json::{Map, Value, json};

use crate::backend::{Backend, PAGE};
use crate::connect::escaped;
use crate::errors::Failure;

/// The sequences of a server or store.
pub(super) struct Sequences(pub(super) Backend);

impl Sequences {
    pub(super) fn create(&self, name: &Name, wanted: &SequencePatch) -> Result<Value, Failure> {
        match &self.0 {
            Backend::Server(client) => client.call("PUT", &path(name), Some(&document(wanted))),
            Backend::Store(local) => {
                let spec = SequenceSpec {
                    options: wanted.options,
                    gap: wanted.gap.unwrap_or_default(),
                    max_gap: wanted.max_gap,
                };
                info(local.run(async |ledger| ledger.create(name, &spec).await))
            }
        }
    }

    pub(super) fn alter(&self, name: &Name, wanted: &SequencePatch) -> Result<Value, Failure> {
        match &self.0 {
            Backend::Server(client) => client.call("PATCH", &path(name), Some(&document(wanted))),
            Backend::Store(local) => {
                let done = local.run(async |ledger| ledger.alter(name, wanted).await)?;
                Ok(changed(&done))
            }
        }
    }

    pub(super) fn drop_sequence(&self, name: &Name) -> Result<(), Failure> {
        match &self.0 {
            Backend::Server(client) => client.call("DELETE", &path(name), None).map(drop),
            Backend::Store(local) => local
                .run(async |ledger| ledger.drop_sequence(name).await)
                .map(drop),
        }
    }

    pub(super) fn show(&self, name: &Name) -> Result<Value, Failure> {
        match &self.0 {
            Backend::Server(client) => client.call("GET", &path(name), None),
            Backend::Store(local) => info(local.run(async |ledger| ledger.show(name).await)),
        }
    }

    /// All of them.
    pub(super) fn list(&self) -> Result<Vec<Value>, Failure> {
        self.0.list("sequences", |local, after| {
            let page = local.run(async |ledger| ledger.list(after, PAGE).await)?;
            Ok(page.iter().map(sequence).collect())
        })
    }

    /// `count` numbers as texts, or fewer.
    pub(super) fn next(&self, name: &Name, count: u64) -> Result<Vec<String>, Failure> {
        match &self.0 {
            Backend::Server(client) => {
                let answer = client.call("POST", &format!("{}/next?count={count}", path(name)), None)?;
                let ids = answer["ids"].as_array().into_iter().flatten();
                Ok(ids.filter_map(|id| id.as_str().map(String::from)).collect())
            }
            Backend::Store(local) => {
                let run =
                    local.run(async |ledger| ledger.sequence_or_create(name).await?.take(count).await)?;
                Ok(run.iter().map(|n| n.to_string()).collect())
            }
        }
    }

    /// `count` numbers as one run.
    pub(super) fn range(&self, name: &Name, count: u64) -> Result<Value, Failure> {
        match &self.0 {
            Backend::Server(client) => client.call(
                "POST",
                &format!("{}/next?count={count}&as=range", path(name)),
                None,
            ),
            Backend::Store(local) => {
                let take = async |ledger: &mintage_ledger::Ledger| -> Result<Run, LedgerError> {
                    ledger
                        .sequence_or_create(name)
                        .await?
                        .take_contiguous(count)
                        .await
                };
                let run = local.run(take)?;
                Ok(json!({
                    "first": run.first.to_string(),
                    "last": run.last().to_string(),
                    "increment": run.step.to_string(),
                }))
            }
        }
    }

    /// Moves to `value`, or to the definition's start.
    pub(super) fn restart(
        &self,
        name: &Name,
        value: Option<i64>,
        is_called: bool,
        allow_repeat: bool,
    ) -> Result<Value, Failure> {
        match &self.0 {
            Backend::Server(client) => {
                let value = match value {
                    Some(value) => value.to_string().into(),
                    None => self.show(name)?["start"].clone(),
                };
                let to = json!({"value": value, "is_called": is_called, "allow_repeat": allow_repeat});
                client.call("POST", &format!("{}/restart", path(name)), Some(&to))
            }
            Backend::Store(local) => {
                let done = local.run(async |ledger| {
                    let value = match value {
                        Some(value) => value,
                        None => ledger.show(name).await?.def.start,
                    };
                    ledger
                        .restart(name, Base { value, is_called }, allow_repeat)
                        .await
                })?;
                Ok(changed(&done))
            }
        }
    }
}

fn path(name: &Name) -> String {
    format!("/v1/sequences/{}", escaped(name))
}

/// A definition as the HTTP interface takes it; only what was asked for.
fn document(wanted: &SequencePatch) -> Value {
    let options = &wanted.options;
    let numbers = [
        ("start", options.start),
        ("increment", options.increment),
        ("min", options.min),
        ("max", options.max),
    ];
    let mut document: Map<String, Value> = numbers
        .into_iter()
        .filter_map(|(field, value)| Some((field.to_string(), value?.to_string().into())))
        .collect();
    if let Some(cycle) = options.cycle {
        document.insert("cycle".into(), cycle.into());
    }
    if let Some(gap) = wanted.gap {
        document.insert("gap".into(), gap_word(gap).into());
    }
    if let Some(max_gap) = wanted.max_gap {
        document.insert("max_gap".into(), max_gap.to_string().into());
    }
    match wanted.restart {
        None => None,
        Some(RestartAt::Start) => document.insert("restart".into(), true.into()),
        Some(RestartAt::With(value)) => document.insert("restart".into(), value.to_string().into()),
    };
    if wanted.allow_repeat {
        document.insert("allow_repeat".into(), true.into());
    }
    document.into()
}

fn info(found: Result<SequenceInfo, Failure>) -> Result<Value, Failure> {
    found.map(|info| sequence(&info))
}

fn gap_word(gap: Gap) -> &'static str {
    match gap {
        Gap::Bounded => "bounded",
        Gap::None => "none",
    }
}
