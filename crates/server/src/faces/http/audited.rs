//! What of requests the audit trail tells.

use mintage_wire::{Op, Operation, Right};

use super::Guest;
use super::route::Route;
use crate::audit::{self, Act, audited};
use crate::auth::Identity;
use crate::error::Answer;
use crate::faces;
use crate::faces::web::answer::Response;
use crate::faces::web::head::Head;
use crate::thread::ServingThread;

/// The act that a request is, where it is one that changes something for good, or takes everything away.
pub(super) fn act(
    guest: &Guest,
    operation: &Operation,
    route: &Route<'_>,
    who: &Identity,
    body: &[u8],
) -> Option<Act> {
    // Who looks at tokens and acts needs the right too, and does nothing.
    let backup = (operation.op == Op::Backup).then_some("backup");
    let what = operation.change.or(backup)?;
    (operation.right == Some(Right::Admin)).then(|| Act {
        what,
        names: match route.arguments[0].is_empty() {
            true => Vec::new(),
            false => vec![String::from_utf8_lossy(&route.arguments[0]).into_owned()],
        },
        token: who.name().to_string(),
        peer: guest.peer.to_string(),
        face: faces::name(guest.face),
        with: allows_repeat(body).then(|| audit::ALLOW_REPEAT.to_string()),
    })
}

/// Whether a document gives leave to repeat numbers, fit for the rest or not.
fn allows_repeat(body: &[u8]) -> bool {
    let document = serde_json::from_slice::<serde_json::Value>(body);
    document.is_ok_and(|document| document["allow_repeat"] == true)
}

/// Does it, and tells.
pub(super) async fn done(
    thread: &ServingThread,
    act: Act,
    doing: impl Future<Output = Answer<Response>>,
) -> Answer<Response> {
    let refused = |answered: &Answer<Response>| match answered {
        Ok(response) => response.refused(),
        Err(error) => Some(error.code),
    };
    audited(thread.service(), act, doing, refused).await?
}

/// Tells of one that was refused for want of the right.
pub(super) async fn refused(
    thread: &ServingThread,
    guest: &Guest,
    head: &Head<'_>,
    route: &Option<Route<'_>>,
    who: &Identity,
) {
    let Some(route) = route else { return };
    let act = route
        .operation(head.method)
        .and_then(|operation| act(guest, operation, route, who, &[]));
    if let Some(act) = act {
        audit::refused(thread.service(), act).await;
    }
}
