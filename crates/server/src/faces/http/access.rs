//! `/v1/access`, `/v1/trail`: who may do what, and what was done.

use std::rc::Rc;

use hyper::StatusCode;
use mintage_wire::{Access, AccessToken, Acts};

use super::request::Query;
use crate::auth::TokenUse;
use crate::error::{Code, ServiceError};
use crate::faces::web::answer::Response;
use crate::service::Answer;
use crate::thread::ServingThread;

/// `GET /v1/access`
pub(super) fn show(thread: &Rc<ServingThread>) -> Response {
    let service = thread.service();
    let mut tokens: Vec<AccessToken> = service.tokens().uses().iter().map(token).collect();
    tokens.sort_by(|a, b| a.name.cmp(&b.name));
    let access = Access {
        needed: service.tokens().required(),
        tokens,
        trail: service.audit().path().map(|path| path.display().to_string()),
    };
    Response::json(StatusCode::OK, &access)
}

fn token(of: &TokenUse) -> AccessToken {
    AccessToken {
        name: of.token.name.clone(),
        may: of.token.may.iter().map(ToString::to_string).collect(),
        faces: of.token.faces.clone().unwrap_or_default(),
        expires: of.token.until.map(|until| until.to_string()),
        last_used: of.last_used.map(|last| last.to_string()),
        refused: of.refused,
    }
}

/// `GET /v1/trail?limit=N`
pub(super) async fn acts(thread: &Rc<ServingThread>, query: &Query<'_>) -> Answer<Response> {
    let (limit, trail) = (usize::from(query.limit()?), thread.service().audit());
    let read = tokio::task::spawn_blocking(move || trail.last(limit)).await;
    let read = read.map_err(|_| ServiceError::new(Code::Unavailable, ServiceError::STOPPING))?;
    let acts = read.map_err(|error| {
        ServiceError::new(
            Code::Unavailable,
            format!("the audit trail cannot be read: {error}"),
        )
    })?;
    Ok(Response::json(StatusCode::OK, &Acts { acts }))
}
