//! An act from beginning to end: the one order in which every face does what it tells of.

use super::act::{Act, describe};
use crate::error::{Answer, Code};
use crate::service::Service;

/// Does what an administrator asks for, and tells the trail, if there is one; `refused`: what came of it, where it is a refusal.
///
/// # Errors
/// [`Code::Unavailable`]: it could not be told of. Nothing of it was begun.
pub(crate) async fn audited<T>(
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
    trail.tell(act, before, after, outcome).await;
    Ok(done)
}

/// The same of what the service answers.
///
/// # Errors
/// As [`audited`], and what is refused.
pub(crate) async fn audited_answer<T>(
    service: &Service,
    act: Act,
    doing: impl Future<Output = Answer<T>>,
) -> Answer<T> {
    let refused = |answer: &Answer<T>| answer.as_ref().err().map(|error| error.code);
    audited(service, act, doing, refused).await?
}
