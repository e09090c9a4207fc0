//! `/v1/sequences…`

use std::rc::Rc;
use std::sync::Arc;

use hyper::StatusCode;
use mintage::Run;
use mintage_wire::{Pending, Sequences};

use super::document::parse;
use super::id_list::IdList;
use super::request::Query;
use crate::auth::{Identity, Right, What};
use crate::error::{Code, ServiceError};
use crate::faces::web::answer::Response;
use crate::faces::web::head::{Head, Media};
use crate::noise::Asker;
use crate::service::{Answer, Service, from_ledger};
use crate::thread::ServingThread;
use crate::turn::take_in_turns;
use crate::{render, requests};

/// `POST …/next?count=N&as=ids|range`
pub(super) async fn next(
    thread: &Rc<ServingThread>,
    head: &Head<'_>,
    query: &Query<'_>,
    name: &[u8],
    by: &Asker<'_>,
) -> Answer<Response> {
    let media = head.media()?;
    let count = query.count(thread)?;
    match query.get("as")?.as_deref() {
        Some(b"range") => next_range(thread, media, count, name, by).await,
        _ => next_ids(thread, media, count, name, by).await,
    }
}

async fn next_ids(
    thread: &Rc<ServingThread>,
    media: Media,
    count: u64,
    name: &[u8],
    by: &Asker<'_>,
) -> Answer<Response> {
    // A number has at most 20 characters; few have more than 10.
    let mut list = IdList::new(media, count as usize * 13);
    take_in_turns(thread, name, count, by, |run| push_run(&mut list, run)).await?;
    let cycling = thread.is_cycling(name);
    Ok(marked(Response::ids(media, list.finish(cycling)), cycling))
}

fn push_run(list: &mut IdList, run: Run) {
    for number in run.iter() {
        list.push_number(number, number.to_be_bytes());
    }
}

async fn next_range(
    thread: &Rc<ServingThread>,
    media: Media,
    count: u64,
    name: &[u8],
    by: &Asker<'_>,
) -> Answer<Response> {
    if media != Media::Json {
        return Err(ServiceError::new(
            Code::NotAcceptable,
            "a range is answered as application/json only",
        ));
    }
    let (run, sequence) = thread.take_contiguous(name, count, by).await?;
    let cycling = sequence.is_cycling();
    let document = render::range(run, cycling);
    Ok(marked(Response::json(StatusCode::OK, &document), cycling))
}

/// Numbers of a cycling sequence repeat by definition: every answer says so.
fn marked(mut response: Response, cycling: bool) -> Response {
    if cycling {
        response.add(CYCLE_HEADER, "true");
    }
    response
}

/// `GET /v1/sequences?prefix=BEGINNING&after=NAME&limit=N`
pub(super) async fn list(thread: &Rc<ServingThread>, who: &Identity, query: &Query<'_>) -> Answer<Response> {
    let (prefix, after) = (query.name("prefix", thread)?, query.name("after", thread)?);
    let limit = query.limit()?;
    let who = who.clone();
    let list = |service: Arc<Service>| async move {
        let found = service
            .ledger()
            .list_of(prefix.as_ref(), after.as_ref(), limit)
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
        let sequences: Vec<_> = seen.map(render::sequence).collect();
        Ok(Response::json(StatusCode::OK, &Sequences { sequences, next }))
    };
    thread.service().aside(list).await
}

/// `GET /v1/sequences/{name}`
pub(super) async fn show(thread: &Rc<ServingThread>, name: &[u8]) -> Answer<Response> {
    let name = thread.service().name(name)?;
    let info = thread.service().show(&name).await?;
    Ok(Response::json(StatusCode::OK, &render::sequence(&info)))
}

/// `PUT /v1/sequences/{name}`
pub(super) async fn create(thread: &Rc<ServingThread>, name: &[u8], body: &[u8]) -> Answer<Response> {
    let name = thread.service().name(name)?;
    let spec = requests::sequence_spec(&parse(body)?)?;
    let (info, made) = thread.service().create(&name, &spec).await?;
    let shown = render::sequence(&info);
    Ok(match made {
        true => Response::created(&["sequences", name.as_str()], &shown),
        false => Response::json(StatusCode::OK, &shown),
    })
}

/// `PATCH /v1/sequences/{name}`
pub(super) async fn alter(thread: &Rc<ServingThread>, name: &[u8], body: &[u8]) -> Answer<Response> {
    let name = thread.service().name(name)?;
    let patch = requests::sequence_patch(&parse(body)?)?;
    let changed = thread.service().alter(&name, &patch).await?;
    Ok(Response::json(StatusCode::OK, &render::changed(&changed)))
}

/// `DELETE /v1/sequences/{name}`
pub(super) async fn drop_sequence(thread: &Rc<ServingThread>, name: &[u8]) -> Answer<Response> {
    let name = thread.service().name(name)?;
    match thread.service().drop_sequence(&name).await? {
        None => Err(ServiceError::new(Code::NotFound, format!("no sequence {name}"))),
        Some(pending) if pending.is_empty() => Ok(Response::empty(StatusCode::NO_CONTENT)),
        Some(pending) => Ok(Response::json(StatusCode::OK, &Pending { pending })),
    }
}

/// `POST /v1/sequences/{name}/restart`
pub(super) async fn restart(thread: &Rc<ServingThread>, name: &[u8], body: &[u8]) -> Answer<Response> {
    let name = thread.service().name(name)?;
    let (to, allow_repeat) = requests::base(&parse(body)?);
    let changed = thread.service().restart(&name, to, allow_repeat).await?;
    Ok(Response::json(StatusCode::OK, &render::changed(&changed)))
}

/// Whether a body can be read as a definition, and as a restart.
#[cfg(feature = "testing")]
pub(super) fn documents(body: &[u8]) -> [bool; 2] {
    let definition = parse::<mintage_wire::SequenceDefinition>(body);
    [
        definition.is_ok_and(|read| requests::sequence_patch(&read).is_ok()),
        parse::<mintage_wire::Restart>(body).is_ok(),
    ]
}

/// Stands on every answer with numbers of a cycling sequence, in whatever form.
const CYCLE_HEADER: &str = "mint-cycle";

#[cfg(test)]
mod tests {
    use mintage_wire::{Restart, SequenceDefinition};

    use super::*;

    fn spec(body: &[u8]) -> Answer<mintage_ledger::SequenceSpec> {
        requests::sequence_spec(&parse::<SequenceDefinition>(body)?)
    }

    #[test]
    fn numbers_in_bodies_may_be_quoted() {
        let spec = spec(br#"{"start": "9223372036854775807", "min": -5, "cache": 10}"#).unwrap();
        assert_eq!(spec.options.start, Some(i64::MAX));
        assert_eq!(spec.options.min, Some(-5));
        assert_eq!(spec.max_gap, Some(10));
    }

    #[test]
    fn bodies_that_make_no_sense_are_refused() {
        for (body, says) in [
            (&br#"{"strat": 1}"#[..], "unknown field `strat`"),
            (br#"{"start": 1, "start": 2}"#, "duplicate field"),
            (br#"{"start": 1.5}"#, "whole number"),
            (br#"{"start": 9223372036854775808}"#, "whole number"),
            (br#"{"start": "x"}"#, "whole number"),
            (br#"{"start": true}"#, "start is true, it must be a whole number"),
            (b"[", "EOF"),
            (b"{} x", "trailing"),
            (b"\xff", "JSON"),
            (br#"{"gap": "some"}"#, "neither"),
            (br#"{"order": "cluster"}"#, "not built"),
            (br#"{"order": "x"}"#, "is not \"node\""),
            (br#"{"cache": 1, "max_gap": 1}"#, "two names of one thing"),
            (br#"{"cache": -1}"#, "max_gap -1 is less than 1"),
            (br#"{"restart": true}"#, "belong to changes"),
        ] {
            let error = spec(body).unwrap_err();
            assert!(error.message.contains(says), "{error}");
        }
        let error = parse::<Restart>(b"{}").unwrap_err();
        assert!(error.message.contains("missing field `value`"), "{error}");
    }
}
