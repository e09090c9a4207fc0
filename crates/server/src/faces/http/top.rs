//! `/v1/top`: sequences in the order of what is asked for.

use std::rc::Rc;

use hyper::StatusCode;
use memchr::memmem::Finder;
use mintage_ledger::Name;
use mintage_wire::Top;

use super::request::Query;
use crate::auth::{Identity, Right, What};
use crate::error::{Code, ServiceError};
use crate::faces::web::answer::Response;
use crate::ranking::{By, Ranking};
use crate::service::Answer;
use crate::thread::ServingThread;

/// `GET /v1/top?by=rate|ends|lost|last|name&contains=TEXT&offset=N&limit=N`
pub(super) async fn list(thread: &Rc<ServingThread>, who: &Identity, query: &Query<'_>) -> Answer<Response> {
    let by = match query.get("by")?.as_deref() {
        Some(b"ends") => By::Ends,
        Some(b"lost") => By::Lost,
        Some(b"last") => By::Last,
        Some(b"name") => By::Name,
        _ => By::Rate,
    };
    let Some(offset) = query.number("offset")?.unwrap_or(Some(0)) else {
        let message = "offset must be a whole number from 0";
        return Err(ServiceError::new(Code::InvalidCount, message));
    };
    let limit = query.limit()?;
    let contains = query.get("contains")?.unwrap_or_default().into_owned();
    let ranking = thread.shared().of_face::<Ranking>();
    let who = who.clone();
    let listed = thread.service().aside(async move |service| {
        let ranked = ranking.now(service.ledger()).await?;
        let (sees_all, finder) = (who.may(Right::Read, What::Everything), Finder::new(&contains));
        // Whose rights are limited to some names sees no others.
        let fits = |name: &Name| {
            let name = name.as_str().as_bytes();
            finder.find(name).is_some() && (sees_all || who.may(Right::Read, What::Named(name)))
        };
        let (total, mut sequences) = ranked.page(by, fits, offset, limit);
        for row in &mut sequences {
            row.recent = service.history().rates(&row.sequence.name);
        }
        let at_ms = ranked.at_ms();
        let top = Top {
            total,
            at_ms,
            sequences,
        };
        Ok(Response::json(StatusCode::OK, &top))
    });
    listed.await
}
