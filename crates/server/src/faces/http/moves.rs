//! `/v1/moves…`: our side of moves, for imports that run elsewhere.

use std::rc::Rc;
use std::sync::Arc;

use hyper::StatusCode;
use mintage_ledger::Name;
use mintage_ledger::moves::{Move, Ours, OursError, Phase};
use mintage_wire::{LostMove, MoveStep, Moves, Right};

use super::document::parse;
use crate::auth::{Identity, What};
use crate::config::own_table_line;
use crate::error::{Code, ServiceError};
use crate::faces::web::answer::Response;
use crate::moves::{read_record, refusal, stepped, versioned};
use crate::service::{Answer, Service};
use crate::thread::ServingThread;

/// `GET /v1/moves`
pub(super) async fn list(thread: &Rc<ServingThread>) -> Answer<Response> {
    let list = |service: Arc<Service>| async move {
        let found = Ours::list(&**service.ledger()).await.map_err(refusal)?;
        let moves = found.iter().map(|(name, now)| versioned(name, now)).collect();
        Ok(Response::json(StatusCode::OK, &Moves { moves }))
    };
    thread.service().aside(list).await
}

/// `GET /v1/moves/{name}`
pub(super) async fn show(thread: &Rc<ServingThread>, name: &[u8]) -> Answer<Response> {
    let name = thread.service().name(name)?;
    let found = Ours::read(&**thread.service().ledger(), &name)
        .await
        .map_err(refusal)?;
    let none = || ServiceError::new(Code::NotFound, format!("no move of {name}"));
    let now = found.ok_or_else(none)?;
    Ok(Response::json(StatusCode::OK, &versioned(&name, &now)))
}

/// `PUT /v1/moves/{name}`: 409 with what is there where another step came first.
pub(super) async fn step(
    thread: &Rc<ServingThread>,
    who: &Identity,
    name: &[u8],
    body: &[u8],
) -> Answer<Response> {
    let name = thread.service().name(name)?;
    let asked: MoveStep = parse(body)?;
    let expected = asked.expected.map(|version| version.0);
    let next = read_record(asked.record)?;
    // Whatever the phase: who brings the counter on later does with the source what the record says.
    for counter in next.counters() {
        who.check(Right::Admin, What::Source(&counter.source))?;
    }
    check_sources(thread, &name, &next)?;
    let ledger = thread.service().ledger();
    match ledger.step(&name, expected, &next, asked.into_used).await {
        Ok(done) => Ok(Response::json(StatusCode::OK, &stepped(&name, &done))),
        Err(OursError::Lost(now)) => {
            let now = now.map(|now| versioned(&name, &now));
            Ok(Response::json(StatusCode::CONFLICT, &LostMove { now }))
        }
        Err(error) => Err(refusal(error)),
    }
}

/// A record names a source by what the configuration calls it, where servers take numbers out of it; and brings no SQL that
/// does not stand there.
fn check_sources(thread: &ServingThread, name: &Name, next: &Move) -> Answer<()> {
    let sources = &thread.config().sources;
    let refuse =
        |why: String, hint: String| Err(ServiceError::new(Code::InvalidArgument, why).with_hint(hint));
    for (at, counter) in next.counters().iter().enumerate() {
        let source = &counter.source;
        let is_known = sources.url(source).is_some();
        // Of several they take out of the first.
        if next.phase == Phase::Beside && at == 0 && !is_known {
            return refuse(
                format!("this server knows no source {source:?}, out of which {name} is to take"),
                "put it under [sources] into the configuration of every server, and start them again".into(),
            );
        }
        if let Some(own) = &next.table
            && is_known
            && !sources.has_table(source, own)
        {
            return refuse(
                format!(
                    "the configuration of the source {source:?} has no table like this one: {}",
                    own.table
                ),
                format!(
                    "write {} under [sources.{source}] into the configuration of every server, and start them again",
                    own_table_line(own)
                ),
            );
        }
    }
    Ok(())
}
