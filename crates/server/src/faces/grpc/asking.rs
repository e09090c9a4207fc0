//! Who calls, and whether he may.

use std::rc::Rc;

use hyper::http::request::Parts;
use mintage_wire::Op;

use crate::auth::{Identity, What};
use crate::error::{Code, ServiceError};
use crate::faces::web::Client;
use crate::faces::web::cors;
use crate::faces::web::head::Head;
use crate::faces::web::host::{self, Guarded};
use crate::noise::Asker;
use crate::service::Answer;
use crate::thread::ServingThread;
use crate::watch::Verdict;

/// A call, without its message.
pub(super) struct Asking {
    pub(super) thread: Rc<ServingThread>,
    pub(super) client: Rc<Client>,
    pub(super) parts: Parts,
}

impl Asking {
    /// Its head, as any request of HTTP has one.
    pub(super) fn head(&self) -> Head<'_> {
        Head::of(&self.parts, self.client.local())
    }

    /// Lets it in where it may do what an operation does, and counts it.
    ///
    /// # Errors
    /// What any request of HTTP is refused for.
    pub(super) async fn admit(&self, op: Op, what: What<'_>) -> Answer<Identity> {
        let (head, config) = (self.head(), self.thread.config());
        let service = self.thread.service();
        host::check(&self.thread, &self.client, &head, Guarded::of(service.tokens()))?;
        cors::check_origin(&head, &config)?;
        let who = self
            .client
            .identify(&self.thread, &head, self.client.face)
            .await?;
        if let Some(right) = op.row().right {
            who.check(right, what)?;
        }
        service.admit(&who, self.client.peer)?;
        Ok(who)
    }

    /// Notes how many ids it asks for.
    pub(super) fn spend(&self, who: &Identity, ids: u64) {
        self.thread.service().spend(who, self.client.peer, ids);
    }

    /// For the log.
    pub(super) fn asker<'w>(&self, who: &'w Identity) -> Asker<'w> {
        Asker {
            token: who.name().into(),
            peer: self.client.peer,
        }
    }

    /// Whether a stream goes on: the server may stop, and a token be revoked. Its next block is counted as a request.
    ///
    /// # Errors
    /// Why it ends.
    pub(super) fn goes_on(&self, who: &Identity) -> Answer<()> {
        if matches!(self.client.watch().peek(), Some(Verdict::Stopping | Verdict::Now)) {
            return Err(ServiceError::new(Code::Unavailable, ServiceError::STOPPING));
        }
        let service = self.thread.service();
        if !service.tokens().holds(who) {
            return Err(ServiceError::new(
                Code::Unauthenticated,
                "the token is good no longer",
            ));
        }
        service.admit(who, self.client.peer)
    }
}
