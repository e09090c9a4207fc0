//! `/v1/pools…`, `/v1/presets`, `/v1/formats`

use std::rc::Rc;
use std::sync::Arc;

use hyper::StatusCode;
use mintage_ledger::{Name, Pool};
use mintage_wire::{
    Borrower, Format, Formats, Held, PoolPage, PoolWithWindows, Pools, Preset, Presets, Retired,
};

use super::document::parse;
use super::request::Query;
use crate::auth::{Identity, Right, What};
use crate::error::{Code, ServiceError};
use crate::faces::web::answer::Response;
use crate::render;
use crate::requests::{self, invalid};
use crate::service::{Answer, Service, from_ledger};
use crate::thread::ServingThread;

/// `GET /v1/pools?prefix=BEGINNING&after=NAME&limit=N`
pub(super) async fn list(thread: &Rc<ServingThread>, who: &Identity, query: &Query<'_>) -> Answer<Response> {
    let (prefix, after) = (query.name("prefix", thread)?, query.name("after", thread)?);
    let limit = query.limit()?;
    let who = who.clone();
    let list = |service: Arc<Service>| async move {
        let found = service
            .ledger()
            .pools_of(prefix.as_ref(), after.as_ref(), limit)
            .await;
        let found = found.map_err(from_ledger)?;
        let next = found
            .last()
            .filter(|_| found.len() == usize::from(limit))
            .map(|info| info.name.to_string());
        // Whose rights are limited to some names sees no others.
        let seen = found
            .iter()
            .filter(|info| who.may(Right::Read, What::Named(info.name.as_str().as_bytes())));
        let pools: Vec<_> = seen.map(render::pool).collect();
        Ok(Response::json(StatusCode::OK, &Pools { pools, next }))
    };
    thread.service().aside(list).await
}

/// `GET /v1/pools/{name}?from=WORKER&limit=N`: the pool and its windows.
pub(super) async fn show(thread: &Rc<ServingThread>, query: &Query<'_>, name: &[u8]) -> Answer<Response> {
    let (from, limit) = (query.first_worker()?, query.limit()?);
    let name = thread.service().name(name)?;
    let pool = thread
        .service()
        .ledger()
        .existing_pool(&name)
        .await
        .map_err(from_ledger)?;
    let list = |_| async move {
        let windows = pool.windows(from, limit).await.map_err(from_ledger)?;
        pool.count_held().await.map_err(from_ledger)?;
        let full = windows.len() == usize::from(limit);
        let page = PoolPage {
            next_from: windows.last().filter(|_| full).map(|window| window.worker + 1),
            shown: PoolWithWindows {
                pool: render::pool(&pool.info()),
                windows: windows.iter().map(render::window).collect(),
            },
        };
        Ok(Response::json(StatusCode::OK, &page))
    };
    thread.service().aside(list).await
}

/// `PUT /v1/pools/{name}`
pub(super) async fn create(thread: &Rc<ServingThread>, name: &[u8], body: &[u8]) -> Answer<Response> {
    let name = thread.service().name(name)?;
    let spec = requests::pool_spec(&parse(body)?)?;
    let pool = thread
        .service()
        .ledger()
        .create_pool(&name, spec)
        .await
        .map_err(from_ledger)?;
    Ok(Response::created(
        &["pools", name.as_str()],
        &render::pool(&pool.info()),
    ))
}

/// `PATCH /v1/pools/{name}`: which workers it avoids.
pub(super) async fn alter(thread: &Rc<ServingThread>, name: &[u8], body: &[u8]) -> Answer<Response> {
    let name = thread.service().name(name)?;
    let change = requests::avoid_change(&parse(body)?)?;
    let change = |service: Arc<Service>| async move {
        let avoided = service.ledger().avoid_workers(&name, &change).await;
        let avoided = avoided.map_err(from_ledger)?;
        Ok(Response::json(StatusCode::OK, &render::avoided(&avoided)))
    };
    thread.service().aside(change).await
}

/// `DELETE /v1/pools/{name}`: refused while somebody's window of it lasts.
pub(super) async fn drop_pool(thread: &Rc<ServingThread>, name: &[u8]) -> Answer<Response> {
    let name = thread.service().name(name)?;
    thread
        .service()
        .ledger()
        .drop_pool(&name)
        .await
        .map_err(from_ledger)?;
    Ok(Response::empty(StatusCode::NO_CONTENT))
}

/// `POST /v1/pools/{name}/windows`: lends a window to a program that mints by itself.
pub(super) async fn lend(thread: &Rc<ServingThread>, name: &[u8], body: &[u8]) -> Answer<Response> {
    let borrower: Borrower = parse(body)?;
    let called = borrower.name.unwrap_or_default();
    if called.len() > BORROWER_MAX_BYTES {
        return Err(invalid(format!(
            "a name of {} bytes, largest is {BORROWER_MAX_BYTES}",
            called.len()
        )));
    }
    let pool = find(thread, name).await?;
    let lent = pool.lend(&called).await.map_err(from_ledger)?;
    let number = lent.worker.to_string();
    Ok(Response::created(
        &["pools", pool.name().as_str(), "windows", &number],
        &render::lent_window(&lent, pool.kind()),
    ))
}

/// `PATCH /v1/pools/{name}/windows/{worker}`: renews a lent window.
pub(super) async fn renew(
    thread: &Rc<ServingThread>,
    name: &[u8],
    id: &[u8],
    body: &[u8],
) -> Answer<Response> {
    let held: Held = parse(body)?;
    let pool = find(thread, name).await?;
    let attempt = requests::attempt(&held)?;
    let (owner, version) = requests::held(held)?;
    let lent = pool
        .renew_lent(worker_id(id)?, &owner, version, attempt.as_ref())
        .await
        .map_err(from_ledger)?;
    Ok(Response::json(
        StatusCode::OK,
        &render::lent_window(&lent, pool.kind()),
    ))
}

/// `DELETE /v1/pools/{name}/windows/{worker}`: with owner and version, the borrower is done with it; without,
/// an operator takes a passed window from its holder.
pub(super) async fn end(thread: &Rc<ServingThread>, name: &[u8], id: &[u8], body: &[u8]) -> Answer<Response> {
    let held: Held = parse(body)?;
    let id = worker_id(id)?;
    if held.attempt.is_some() {
        return Err(invalid(
            "an end has no attempt: the same request may be sent until it is answered",
        ));
    }
    let pool = find(thread, name).await?;
    match (&held.owner, &held.version) {
        (None, None) => pool.release(id).await.map_err(|error| match error {
            // The request makes sense; the window's state stands against it.
            mintage_ledger::LedgerError::Invalid(why) => ServiceError::new(Code::Conflict, why),
            other => from_ledger(other),
        })?,
        _ => {
            let (owner, version) = requests::held(held)?;
            pool.end_lent(id, &owner, version).await.map_err(from_ledger)?;
        }
    }
    Ok(Response::empty(StatusCode::NO_CONTENT))
}

/// `PUT /v1/pools/{name}/windows/{worker}`: an operator gives a worker up for as long as its window lies ahead.
pub(super) async fn retire(
    thread: &Rc<ServingThread>,
    name: &[u8],
    id: &[u8],
    body: &[u8],
) -> Answer<Response> {
    let asked: Retired = parse(body)?;
    if !asked.retired {
        return Err(invalid(
            "a worker can be retired, not taken back: it is free once its window has passed",
        ));
    }
    let pool = find(thread, name).await?;
    pool.retire(worker_id(id)?).await.map_err(from_ledger)?;
    Ok(Response::empty(StatusCode::NO_CONTENT))
}

/// `GET /v1/presets`
pub(super) fn presets() -> Response {
    let rows = mintage::PRESETS.iter().chain(mintage::WIDE_PRESETS);
    let presets = rows.map(Preset::from).collect();
    Response::json(StatusCode::OK, &Presets { presets })
}

/// `GET /v1/formats`
pub(super) fn formats() -> Response {
    let formats = mintage::FORMATS.iter().map(Format::from).collect();
    Response::json(StatusCode::OK, &Formats { formats })
}

async fn find(thread: &Rc<ServingThread>, name: &[u8]) -> Answer<Arc<Pool>> {
    let name: Name = thread.service().name(name)?;
    thread
        .service()
        .ledger()
        .pool_or_default(&name)
        .await
        .map_err(from_ledger)
}

fn worker_id(text: &[u8]) -> Answer<u64> {
    std::str::from_utf8(text)
        .ok()
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| invalid("a worker is a whole number"))
}

/// Whether a body can be read as a definition, a change, a borrower and a held window.
#[cfg(feature = "testing")]
pub(super) fn documents(body: &[u8]) -> [bool; 4] {
    [
        parse::<mintage_wire::PoolDefinition>(body).is_ok_and(|read| requests::pool_spec(&read).is_ok()),
        parse::<mintage_wire::PoolPatch>(body).is_ok_and(|read| requests::avoid_change(&read).is_ok()),
        parse::<Borrower>(body).is_ok(),
        parse::<Held>(body)
            .is_ok_and(|read| requests::attempt(&read).is_ok() && requests::held(read).is_ok()),
    ]
}

/// What a borrower may call itself.
const BORROWER_MAX_BYTES: usize = 128;
