//! An act from beginning to end: the one order in which every face does what it tells of.

use super::act::{Act, describe};
use crate::error::{Answer, Code};
use crate::service::Service;

/// Does what an administrator asks for, and tells the trail, if there is one; `refused`: what came of it, where it is a refusal.
///
/// # Errors
/// [`Code::Unavailable`]: it cannot be told of, and nothing of it was begun; or, where a line has to be on disk first, it was
/// done and could not be told of.
pub async fn audited<T>(
    service: &Service,
    act: Act,
    doing: impl Future<Output = T>,
    refused: impl FnOnce(&T) -> Option<Code>,
) -> Answer<T> {
    let trail = service.audit();
    if !trail.is_on() {
        return Ok(doing.await);
    }
    trail.check()?;
    let before = describe(service, &act.names).await;
    let done = doing.await;
    let after = describe(service, &act.names).await;
    let outcome = refused(&done).map_or("done", |code| code.as_str());
    let told = trail.tell(act, before, after, outcome).await;
    // A refusal says more than that it could not be told of.
    match outcome {
        "done" => told.map(|()| done),
        _ => Ok(done),
    }
}

/// The same of what the service answers.
///
/// # Errors
/// As [`audited`], and what is refused.
pub async fn audited_answer<T>(
    service: &Service,
    act: Act,
    doing: impl Future<Output = Answer<T>>,
) -> Answer<T> {
    let refused = |answer: &Answer<T>| answer.as_ref().err().map(|error| error.code);
    audited(service, act, doing, refused).await?
}

/// Tells of what somebody asked for who has not the right: nothing of it was begun.
pub async fn refused(service: &Service, act: Act) {
    refused_for(service, act, Code::Forbidden).await;
}

/// The same of what is refused for this, whoever asks.
pub async fn refused_for(service: &Service, act: Act, code: Code) {
    // It is refused, whether it can be told of or not.
    let trail = service.audit();
    let _ = trail.tell(act, Vec::new(), Vec::new(), code.as_str()).await;
}
