//! `/v1/ids/{format}`, `/v1/snowflakes/{pool}`

use std::rc::Rc;

use mintage::{GenOptions, Id, Uuid};
use mintage_ledger::{DEFAULT_POOL, UUID1_POOL};
use mintage_wire::parameter;

use super::id_list::IdList;
use super::request::Query;
use crate::auth::{Identity, Right, What};
use crate::error::{Code, ServiceError};
use crate::faces::web::answer::Response;
use crate::faces::web::head::{Head, Media};
use crate::formats::{FormatRow, Make, format};
use crate::service::Answer;
use crate::thread::ServingThread;
use crate::turn::{SLICE, Turn, make_in_turns};

/// `POST /v1/ids/{format}?count=N`; `&pool=NAME` for those that come from a pool (`uuid1`, `uuid6`, `snowflake`), and
/// the format's own options (`&prefix=user`) for the others.
pub(super) async fn of_format(
    thread: &Rc<ServingThread>,
    who: &Identity,
    head: &Head<'_>,
    query: &Query<'_>,
    name: &[u8],
) -> Answer<Response> {
    let row = format(name)?;
    match row.make {
        Make::Core => of_core(thread, head, query, &row).await,
        Make::Snowflake => {
            query.only(&["count", "pool"])?;
            let pool = query.get("pool")?.unwrap_or(DEFAULT_POOL.as_bytes().into());
            who.check(Right::Allocate, What::Named(&pool))?;
            snowflakes(thread, head, query, &pool).await
        }
        make => {
            let pooled = matches!(make, Make::Uuid1 | Make::Uuid6);
            query.only(if pooled { &["count", "pool"] } else { &["count"] })?;
            let pool = query.get("pool")?;
            if let Some(pool) = &pool {
                who.check(Right::Allocate, What::Named(pool))?;
            }
            let pool = pool.unwrap_or(UUID1_POOL.as_bytes().into());
            let media = head.media()?;
            let mut ids = vec![Uuid::nil(); query.count(thread)? as usize];
            thread.mint_timed(make, &pool, &mut ids).await?;
            let body = write_in_turns(thread, media, &ids, &UUIDS).await;
            Ok(Response::ids(media, body))
        }
    }
}

async fn of_core(
    thread: &Rc<ServingThread>,
    head: &Head<'_>,
    query: &Query<'_>,
    row: &FormatRow,
) -> Answer<Response> {
    let names: Vec<String> = row
        .format
        .options
        .iter()
        .map(|option| parameter(*option))
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
    let count = query.count(thread)? as usize;
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
    row.check_answer(&options, count)?;
    let width = options.length.unwrap_or(row.format.text_len.1.min(64)) + 3;
    let mut list = IdList::new(media, count * width);
    let write = |ids: &[Id]| {
        for id in ids {
            list.push(|body| text(body, id), |body| body.extend_from_slice(id.bytes()));
        }
    };
    make_in_turns(thread, row, &options, count, write).await?;
    Ok(Response::ids(media, list.finish(false)))
}

/// `POST /v1/snowflakes/{pool}?count=N`
pub(super) async fn of_pool(
    thread: &Rc<ServingThread>,
    head: &Head<'_>,
    query: &Query<'_>,
    pool: &[u8],
) -> Answer<Response> {
    snowflakes(thread, head, query, pool).await
}

async fn snowflakes(
    thread: &Rc<ServingThread>,
    head: &Head<'_>,
    query: &Query<'_>,
    pool: &[u8],
) -> Answer<Response> {
    let media = head.media()?;
    let mut ids = vec![0u64; query.count(thread)? as usize];
    let minted = thread.try_mint(pool, &mut ids);
    if minted < ids.len() {
        thread.mint(pool, &mut ids[minted..]).await?;
    }
    let body = write_in_turns(thread, media, &ids, &NUMBERS).await;
    Ok(Response::ids(media, body))
}

/// How one id is written: as text, which takes about `width` bytes with its quotes, and packed.
struct Written<I> {
    width: usize,
    text: fn(&mut Vec<u8>, &I),
    packed: fn(&mut Vec<u8>, &I),
}

const UUIDS: Written<Uuid> = Written {
    width: 39,
    text: |body, id| {
        let mut buffer = Uuid::encode_buffer();
        body.extend_from_slice(id.hyphenated().encode_lower(&mut buffer).as_bytes());
    },
    packed: |body, id| body.extend_from_slice(id.as_bytes()),
};

const NUMBERS: Written<u64> = Written {
    width: 23,
    text: |body, id| body.extend_from_slice(itoa::Buffer::new().format(*id).as_bytes()),
    packed: |body, id| body.extend_from_slice(&id.to_be_bytes()),
};

/// Writes ids in the form that the client accepts, in turns with the other connections of this thread.
async fn write_in_turns<I>(
    thread: &Rc<ServingThread>,
    media: Media,
    ids: &[I],
    written: &Written<I>,
) -> Vec<u8> {
    let mut turn = Turn::begin(thread);
    let mut list = IdList::new(media, ids.len() * written.width);
    for slice in ids.chunks(SLICE) {
        turn.give_way_if_over().await;
        for id in slice {
            list.push(|body| (written.text)(body, id), |body| (written.packed)(body, id));
        }
    }
    list.finish(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list<I>(media: Media, ids: &[I], written: &Written<I>) -> Vec<u8> {
        let mut list = IdList::new(media, 0);
        for id in ids {
            list.push(|body| (written.text)(body, id), |body| (written.packed)(body, id));
        }
        list.finish(false)
    }

    #[test]
    fn ids_are_written_in_every_form() {
        let ids = [1u64, u64::MAX];
        assert_eq!(
            list(Media::Json, &ids, &NUMBERS),
            b"{\"ids\":[\"1\",\"18446744073709551615\"]}\n"
        );
        assert_eq!(list(Media::Text, &ids, &NUMBERS), b"1\n18446744073709551615\n");
        assert_eq!(
            list(Media::Octets, &ids, &NUMBERS),
            [[0, 0, 0, 0, 0, 0, 0, 1], [255; 8]].concat()
        );
        let id = Uuid::from_u128(0x017f22e2_79b0_7cc3_98c4_dc0c0c07398f);
        assert_eq!(
            list(Media::Text, &[id], &UUIDS),
            b"017f22e2-79b0-7cc3-98c4-dc0c0c07398f\n"
        );
        assert_eq!(list(Media::Octets, &[id], &UUIDS), id.as_bytes());
    }
}
