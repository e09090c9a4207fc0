//! `/v1/ids/{format}`, `/v1/snowflakes/{pool}`, `/v1/inspect/{id}`

use std::rc::Rc;

use hyper::StatusCode;
use mintage::{GenOptions, Id, Uuid};
use mintage_ledger::{DEFAULT_POOL, UUID1_POOL};
use serde_json::json;

use super::answer::Response;
use super::head::{Head, Media};
use super::request::Query;
use crate::error::{Code, ServiceError};
use crate::formats::{FormatRow, Make, format};
use crate::readings::Document;
use crate::service::{Answer, Worker};

/// `POST /v1/ids/{format}?count=N`; `&pool=NAME` for those that come from a pool (`uuid1`, `uuid6`, `snowflake`), and
/// the format's own options (`&prefix=user`) for the others.
pub(super) async fn of_format(
    worker: &Rc<Worker>,
    head: &Head<'_>,
    query: &Query<'_>,
    name: &[u8],
) -> Answer<Response> {
    let row = format(name)?;
    match row.make {
        Make::Core => of_core(worker, head, query, &row),
        Make::Snowflake => {
            query.only(&["count", "pool"])?;
            let pool = query.get("pool")?.unwrap_or(DEFAULT_POOL.as_bytes().into());
            snowflakes(worker, head, query, &pool).await
        }
        make => {
            let pooled = matches!(make, Make::Uuid1 | Make::Uuid6);
            query.only(if pooled { &["count", "pool"] } else { &["count"] })?;
            let pool = query.get("pool")?.unwrap_or(UUID1_POOL.as_bytes().into());
            let media = head.media()?;
            let mut ids = vec![Uuid::nil(); query.count(worker)? as usize];
            worker.mint_timed(make, &pool, &mut ids).await?;
            Ok(Response::ids(media, write_uuids(media, &ids)))
        }
    }
}

fn of_core(worker: &Rc<Worker>, head: &Head<'_>, query: &Query<'_>, row: &FormatRow) -> Answer<Response> {
    let names: Vec<String> = row
        .format
        .options
        .iter()
        .map(|option| option.name().replace('-', "_"))
        .collect();
    let mut known = vec!["count"];
    known.extend(names.iter().map(String::as_str));
    query.only(&known)?;
    let mut options = GenOptions::default();
    for name in &names {
        if let Some(value) = query.get(name)? {
            row.set(&mut options, name.as_bytes(), &value)?;
        }
    }
    let media = head.media()?;
    if matches!(media, Media::Octets) && row.format.bits == 0 {
        let message = format!("format {} is text alone and has no bytes", row.format.name);
        return Err(ServiceError::new(Code::NotAcceptable, message)
            .with_hint("ask for application/json or text/plain"));
    }
    let ids = worker.make(row, &options, query.count(worker)? as usize)?;
    let width = row.format.text_len.1.min(64) + 3;
    // Alphabets of the caller's may hold what JSON must escape.
    let text = |body: &mut Vec<u8>, id: &Id| {
        let written = row.format.text(id).expect("made by this format");
        if matches!(media, Media::Json) {
            let escaped = serde_json::Value::from(written).to_string();
            body.extend_from_slice(&escaped.as_bytes()[1..escaped.len() - 1]);
        } else {
            body.extend_from_slice(written.as_bytes());
        }
    };
    let body = write_list(media, &ids, width, text, |body, id| {
        body.extend_from_slice(id.bytes())
    });
    Ok(Response::ids(media, body))
}

/// `POST /v1/snowflakes/{pool}?count=N`
pub(super) async fn of_pool(
    worker: &Rc<Worker>,
    head: &Head<'_>,
    query: &Query<'_>,
    pool: &[u8],
) -> Answer<Response> {
    query.only(&["count"])?;
    snowflakes(worker, head, query, pool).await
}

async fn snowflakes(
    worker: &Rc<Worker>,
    head: &Head<'_>,
    query: &Query<'_>,
    pool: &[u8],
) -> Answer<Response> {
    let media = head.media()?;
    let mut ids = vec![0u64; query.count(worker)? as usize];
    let minted = worker.try_mint(pool, &mut ids);
    if minted < ids.len() {
        worker.mint(pool, &mut ids[minted..]).await?;
    }
    Ok(Response::ids(media, write_numbers(media, &ids)))
}

/// `GET /v1/inspect/{id}`
pub(super) fn inspect(worker: &Rc<Worker>, id: &[u8]) -> Answer<Response> {
    let text = String::from_utf8_lossy(id);
    let readings = worker.service().inspect(&text);
    Ok(Response::json(
        StatusCode::OK,
        &json!(Document::new(&text, &readings)),
    ))
}

fn write_uuids(media: Media, ids: &[Uuid]) -> Vec<u8> {
    let write = |body: &mut Vec<u8>, id: &Uuid| {
        body.extend_from_slice(
            id.hyphenated()
                .encode_lower(&mut Uuid::encode_buffer())
                .as_bytes(),
        );
    };
    write_list(media, ids, 39, write, |body, id| {
        body.extend_from_slice(id.as_bytes())
    })
}

fn write_numbers(media: Media, ids: &[u64]) -> Vec<u8> {
    let write = |body: &mut Vec<u8>, id: &u64| {
        body.extend_from_slice(itoa::Buffer::new().format(*id).as_bytes());
    };
    write_list(media, ids, 23, write, |body, id| {
        body.extend_from_slice(&id.to_be_bytes())
    })
}

/// Writes ids in the form that the client accepts; an id in text takes about `width` bytes with its quotes.
fn write_list<T>(
    media: Media,
    ids: &[T],
    width: usize,
    text: impl Fn(&mut Vec<u8>, &T),
    packed: impl Fn(&mut Vec<u8>, &T),
) -> Vec<u8> {
    let mut body = Vec::with_capacity(ids.len() * width + 16);
    match media {
        Media::Json => {
            body.extend_from_slice(b"{\"ids\":[");
            for (i, id) in ids.iter().enumerate() {
                body.extend_from_slice(if i == 0 { b"\"" } else { b",\"" });
                text(&mut body, id);
                body.push(b'"');
            }
            body.extend_from_slice(b"]}\n");
        }
        Media::Text => {
            for id in ids {
                text(&mut body, id);
                body.push(b'\n');
            }
        }
        Media::Octets => ids.iter().for_each(|id| packed(&mut body, id)),
    }
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_written_in_every_form() {
        let ids = [1u64, u64::MAX];
        assert_eq!(
            write_numbers(Media::Json, &ids),
            b"{\"ids\":[\"1\",\"18446744073709551615\"]}\n"
        );
        assert_eq!(write_numbers(Media::Text, &ids), b"1\n18446744073709551615\n");
        assert_eq!(
            write_numbers(Media::Octets, &ids),
            [[0, 0, 0, 0, 0, 0, 0, 1], [255; 8]].concat()
        );
        let id = Uuid::from_u128(0x017f22e2_79b0_7cc3_98c4_dc0c0c07398f);
        assert_eq!(
            write_uuids(Media::Text, &[id]),
            b"017f22e2-79b0-7cc3-98c4-dc0c0c07398f\n"
        );
        assert_eq!(write_uuids(Media::Octets, &[id]), id.as_bytes());
    }
}
