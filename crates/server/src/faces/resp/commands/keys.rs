//! EXISTS, DEL, UNLINK, GETDEL, TYPE, KEYS, SCAN, DBSIZE: which sequences there are.

use std::sync::{Arc, Mutex};

use mintage_ledger::Name;

use super::{Call, Flow};
use crate::auth::{Identity, Right, What};
use crate::error::{Answer, Code, ServiceError};
use crate::faces::resp::cursors::Cursors;
use crate::faces::resp::frame::strict_integer;
use crate::glob;
use crate::service::Service;

/// `EXISTS key…`: how many exist, repeated names counted again.
pub(super) fn exists(call: &mut Call<'_>) -> Flow {
    let names: Vec<Vec<u8>> = call.args.from(1).map(<[u8]>::to_vec).collect();
    call.later(move |thread, mut reply| async move {
        let mut count = 0;
        for name in &names {
            match thread.exists(name).await {
                Ok(found) => count += i64::from(found),
                Err(error) => {
                    reply.refuse(&error);
                    return reply;
                }
            }
        }
        reply.integer(count);
        reply
    })
}

/// `GETDEL key`: nothing where there is nothing; else what is given out between the reading and the drop would be missing in
/// the answer.
pub(super) fn getdel(call: &mut Call<'_>) -> Flow {
    let name = call.owned(1);
    call.later(move |thread, mut reply| async move {
        match thread.exists(&name).await {
            Ok(false) => reply.null(),
            Ok(true) => reply.refuse(
                &ServiceError::new(
                    Code::UnknownCommand,
                    "a number that is given out meanwhile would be missing in the answer",
                )
                .with_hint("use GET, and DEL once nobody takes numbers any more"),
            ),
            Err(error) => reply.refuse(&error),
        }
        reply
    })
}

/// `DEL key…`, `UNLINK key…`: how many were dropped.
pub(super) fn del(call: &mut Call<'_>) -> Flow {
    let names: Vec<Vec<u8>> = call.args.from(1).map(<[u8]>::to_vec).collect();
    call.later(move |thread, mut reply| async move {
        let mut count = 0;
        for name in &names {
            let dropped = match thread.service().name(name) {
                Ok(name) => thread.service().drop_sequence(&name).await,
                // What is no name does not exist.
                Err(_) => Ok(None),
            };
            match dropped {
                Ok(dropped) => count += i64::from(dropped.is_some()),
                Err(error) => {
                    reply.refuse(&error);
                    return reply;
                }
            }
        }
        reply.integer(count);
        reply
    })
}

/// `TYPE key`.
pub(super) fn type_of(call: &mut Call<'_>) -> Flow {
    let name = call.owned(1);
    call.later(move |thread, mut reply| async move {
        match thread.exists(&name).await {
            Ok(found) => reply.simple(if found { "string" } else { "none" }),
            Err(error) => reply.refuse(&error),
        }
        reply
    })
}

/// `KEYS pattern`.
pub(super) fn keys(call: &mut Call<'_>) -> Flow {
    let (pattern, who) = (call.owned(1), call.session.identity.clone());
    let max = call.thread.config().resp_max_keys;
    call.later_with_room(
        max.saturating_mul(NAME_BYTES),
        move |thread, mut reply| async move {
            let list = |service: Arc<Service>| async move {
                let matches =
                    |name: &Name| glob::matches(&pattern, name.as_str().as_bytes()) && sees(&who, name);
                service.names_matching(max, "", matches).await
            };
            match thread.service().aside(list).await {
                Ok(names) => {
                    reply.array(names.len());
                    names.iter().for_each(|name| reply.bulk(name.as_str().as_bytes()));
                }
                Err(error) if error.code == Code::TooMany => {
                    reply.refuse(&error.with_hint("read them page by page (SCAN)"))
                }
                Err(error) => reply.refuse(&error),
            }
            reply
        },
    )
}

/// About what a name takes until it has left.
const NAME_BYTES: u64 = 64;

/// `SCAN cursor [MATCH pattern] [COUNT n] [TYPE type]`.
pub(super) fn scan(call: &mut Call<'_>) -> Flow {
    let cursor = std::str::from_utf8(call.args.at(1))
        .ok()
        .and_then(|text| text.parse::<u64>().ok());
    let Some(cursor) = cursor else {
        return call.error(Code::InvalidArgument, "ERR invalid cursor");
    };
    let (mut pattern, mut count, mut wanted_type) = (b"*".to_vec(), SCAN_COUNT, true);
    let mut i = 2;
    while i < call.args.len() {
        let Some(value) = call.args.get(i + 1) else {
            return call.syntax_error();
        };
        if call.is(i, "match") {
            pattern = value.to_vec();
        } else if call.is(i, "count") {
            match strict_integer(value) {
                Some(n) if n < 1 => return call.syntax_error(),
                Some(n) => count = u16::try_from(n).unwrap_or(SCAN_COUNT_MAX).min(SCAN_COUNT_MAX),
                None => return call.error(Code::InvalidArgument, super::NOT_AN_INTEGER),
            }
        } else if call.is(i, "type") {
            wanted_type = value.eq_ignore_ascii_case(b"string");
        } else {
            return call.syntax_error();
        }
        i += 2;
    }
    let who = call.session.identity.clone();
    call.later_with_room(
        u64::from(count) * NAME_BYTES,
        move |thread, mut reply| async move {
            let cursors = thread.shared().of_face::<Mutex<Cursors>>();
            let list = |service: Arc<Service>| async move {
                let mut page = page(&service, &cursors, cursor, count).await?;
                page.names.retain(|name| {
                    wanted_type && glob::matches(&pattern, name.as_str().as_bytes()) && sees(&who, name)
                });
                Ok(page)
            };
            match thread.service().aside(list).await {
                Ok(page) => {
                    reply.array(2);
                    reply.bulk_number(page.cursor);
                    reply.array(page.names.len());
                    page.names
                        .iter()
                        .for_each(|name| reply.bulk(name.as_str().as_bytes()));
                }
                Err(error) if error.code == Code::InvalidArgument => {
                    reply.error(error.code, "ERR invalid cursor")
                }
                Err(error) => reply.refuse(&error),
            }
            reply
        },
    )
}

/// Whether a name is one that it may see: whose rights are limited to some sees no others.
pub(super) fn sees(who: &Option<Identity>, name: &Name) -> bool {
    let name = What::Named(name.as_str().as_bytes());
    who.as_ref().is_some_and(|who| who.may(Right::Read, name))
}

/// One page of names.
struct Page {
    /// In order.
    names: Vec<Name>,
    /// Where to go on; 0 at the end.
    cursor: u64,
}

/// The next page of names behind a cursor; 0 begins. Names that exist all the time are seen exactly once.
///
/// # Errors
/// [`Code::InvalidArgument`] for a cursor that was never given out or is forgotten, and what the store says.
async fn page(service: &Service, cursors: &Mutex<Cursors>, cursor: u64, limit: u16) -> Answer<Page> {
    let cursors = || cursors.lock().expect("no panic while held");
    let after = match cursor {
        0 => None,
        cursor => {
            let found = cursors().find(cursor);
            Some(found.ok_or_else(|| ServiceError::new(Code::InvalidArgument, "invalid cursor"))?)
        }
    };
    let infos = service.list(after.as_ref(), limit).await?;
    let names: Vec<Name> = infos.into_iter().map(|info| info.name).collect();
    let more = names.len() == usize::from(limit);
    let cursor = match names.last() {
        Some(last) if more => cursors().remember(last.clone()),
        _ => 0,
    };
    Ok(Page { names, cursor })
}

/// `DBSIZE`.
pub(super) fn dbsize(call: &mut Call<'_>) -> Flow {
    call.reply
        .integer(i64::try_from(call.thread.service().count()).unwrap_or(i64::MAX));
    Flow::Done
}

/// Names looked at per page, as in Redis.
const SCAN_COUNT: u16 = 10;
/// The most names looked at per page, whatever COUNT says (a hint, in Redis too).
const SCAN_COUNT_MAX: u16 = 1000;
